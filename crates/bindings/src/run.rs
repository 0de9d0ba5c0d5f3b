//! [`PlaceRun`]: places at equal distances, which a view of a permutation consists of.

use bijective_shuffle::Error;

/// Places at equal distances: `start`, `start + step` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PlaceRun {
    /// The first place.
    pub start: u64,
    /// The distance from one place to the next, not 0.
    pub step: i128,
    /// The number of places.
    pub count: u64,
}

impl PlaceRun {
    /// The first `count` places.
    pub const fn first(count: u64) -> Self {
        Self { start: 0, step: 1, count }
    }

    /// Places that somebody has written down, if all of them are below a length.
    pub fn within(len: u64, start: u64, step: i128, count: u64) -> Option<Self> {
        let run = Self { start, step, count }.trimmed();
        let last = run.step.checked_mul(i128::from(count) - 1)?.checked_add(start.into())?;
        let is_in = start < len && (0..i128::from(len)).contains(&last);
        (step != 0 && (is_in || count == 0)).then_some(run)
    }

    /// The contiguous share of one of several ranks in `len` places.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`].
    pub fn shard(len: u64, rank: u64, ranks: u64) -> Result<Self, Error> {
        check_rank(rank, ranks)?;
        // At most the length.
        let bound = |rank: u64| (u128::from(len) * u128::from(rank) / u128::from(ranks)) as u64;
        let (start, end) = (bound(rank), bound(rank + 1));
        Ok(Self { start, step: 1, count: end - start })
    }

    /// The places `rank`, `rank + ranks`, `rank + 2 * ranks` and so on of `len`.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`].
    pub fn shard_strided(len: u64, rank: u64, ranks: u64) -> Result<Self, Error> {
        check_rank(rank, ranks)?;
        let count = len.saturating_sub(rank).div_ceil(ranks);
        Ok(Self { start: rank, step: ranks.into(), count }.trimmed())
    }

    /// What is left after the first `count` places. There are at least that many.
    #[must_use]
    pub fn after(self, count: u64) -> Self {
        // If nothing is left, the next place may be out of range, and has no meaning.
        let start = i128::from(self.start).wrapping_add(self.step.wrapping_mul(count.into()));
        Self { start: start as u64, count: self.count.saturating_sub(count), ..self }
    }

    /// The place with a number, which may be negative and then counts from the end; `None` if there
    /// is no such place.
    pub fn place(self, number: i128) -> Option<u64> {
        let count = i128::from(self.count);
        let from_start = if number < 0 { number + count } else { number };
        // Below 2^64, as all places are.
        (0..count)
            .contains(&from_start)
            .then(|| (i128::from(self.start) + from_start * self.step) as u64)
    }

    /// Whether a place is one of these.
    pub fn has(self, place: u64) -> bool {
        let distance = i128::from(place) - i128::from(self.start);
        distance % self.step == 0 && (0..self.count.into()).contains(&(distance / self.step))
    }

    /// The places of a slice of these, as Python's slices are: from `start` to before `end`, where
    /// negative numbers count from the end. The step is not 0, and no number is beyond 2^100.
    #[must_use]
    pub fn slice(self, start: Option<i128>, end: Option<i128>, step: i128) -> Self {
        let count = i128::from(self.count);
        let (least, most) = if step < 0 { (-1, count - 1) } else { (0, count) };
        let bound = |given: Option<i128>, default: i128| match given {
            None => default,
            Some(number) if number < 0 => (number + count).clamp(least, most),
            Some(number) => number.clamp(least, most),
        };
        let (first, last) = if step < 0 { (most, least) } else { (least, most) };
        let (start, end) = (bound(start, first), bound(end, last));
        let way = if step < 0 { start - end } else { end - start };
        // At most as many as before.
        let taken = (way.max(0) as u128).div_ceil(step.unsigned_abs()) as u64;
        let start = i128::from(self.start) + start * self.step;
        // A single place's distance to the next does not matter, and may be beyond all bounds.
        let step = if taken > 1 { step * self.step } else { 1 };
        Self { start: start as u64, step, count: taken }.trimmed()
    }

    /// The same places. Runs of none, and of one place, get one form, so that equal runs compare
    /// equal.
    fn trimmed(self) -> Self {
        match self.count {
            0 => Self::first(0),
            1 => Self { step: 1, ..self },
            _ => self,
        }
    }
}

fn check_rank(rank: u64, ranks: u64) -> Result<(), Error> {
    if rank < ranks { Ok(()) } else { Err(Error::NoSuchRank { rank, ranks }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(run: PlaceRun) -> Vec<u64> {
        (0..run.count).map(|k| run.after(k).start).collect()
    }

    #[test]
    fn slices_are_those_of_vectors() {
        let bounds = || [None].into_iter().chain((-9..=9).map(Some));
        for (len, outer) in [(0, 1), (1, 1), (7, 1), (7, 2), (7, -3)] {
            let run = PlaceRun::first(len).slice(None, None, outer);
            let whole = places(run);
            for (start, end) in bounds().flat_map(|start| bounds().map(move |end| (start, end))) {
                for step in [1, 2, 5, 1 << 100, -1, -2, -(1 << 100)] {
                    let slice = run.slice(start, end, step);
                    let count = whole.len() as i128;
                    let at = |number: i128| if number < 0 { number + count } else { number };
                    let is_in = |k: i128| match step > 0 {
                        true => start.is_none_or(|s| k >= at(s)) && end.is_none_or(|e| k < at(e)),
                        false => start.is_none_or(|s| k <= at(s)) && end.is_none_or(|e| k > at(e)),
                    };
                    let mut all: Vec<i128> = (0..count).filter(|&k| is_in(k)).collect();
                    if step < 0 {
                        all.reverse();
                    }
                    let distance = step.unsigned_abs().min(1 << 20) as usize;
                    let expected = all.into_iter().step_by(distance).map(|k| whole[k as usize]);
                    assert!(
                        expected.eq(places(slice)),
                        "{start:?}..{end:?} by {step} of {whole:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn places_are_found_by_number_and_back() {
        for run in [PlaceRun::first(5), PlaceRun { start: 9, step: -4, count: 3 }] {
            let all = places(run);
            let count = i128::from(run.count);
            assert!((0..count).all(|k| run.place(k) == Some(all[k as usize])));
            assert!((0..count).all(|k| run.place(k - count) == Some(all[k as usize])));
            assert_eq!((run.place(count), run.place(-count - 1)), (None, None));
            assert!((0..20).all(|place| run.has(place) == all.contains(&place)));
        }
    }

    #[test]
    fn places_beyond_the_length_are_refused() {
        let within = |start, step, count| PlaceRun::within(10, start, step, count);
        assert_eq!(within(9, -3, 4), Some(PlaceRun { start: 9, step: -3, count: 4 }));
        assert_eq!(within(4, i128::MIN, 1), Some(PlaceRun { start: 4, step: 1, count: 1 }));
        assert_eq!(within(99, i128::MIN, 0), Some(PlaceRun::first(0)));
        for (start, step, count) in [(10, 1, 1), (8, 1, 3), (2, -1, 4), (0, 0, 2), (0, 0, 0)] {
            assert_eq!(within(start, step, count), None);
        }
        assert_eq!(within(0, i128::MAX, u64::MAX), None);
    }

    #[test]
    fn shards_are_disjoint_and_cover_all_places() {
        for (len, ranks) in [(0, 1), (1, 3), (10, 3), (10, 10), (u64::MAX, 2)] {
            for of in [PlaceRun::shard, PlaceRun::shard_strided] {
                let shares = (0..ranks).map(|rank| of(len, rank, ranks).unwrap());
                assert_eq!(shares.map(|share| share.count).sum::<u64>(), len, "{len} {ranks}");
                let refused = Err(Error::NoSuchRank { rank: ranks, ranks });
                assert_eq!(of(len, ranks, ranks), refused);
            }
        }
        // More ranks than places: 7 of them have one place each, and the others none.
        let ranks = u64::MAX;
        let places_of = |share: Result<PlaceRun, Error>| places(share.unwrap());
        for place in 0..7 {
            assert_eq!(places_of(PlaceRun::shard_strided(7, place, ranks)), [place]);
            let owner = ((u128::from(place) + 1) * u128::from(ranks)).div_ceil(7) as u64 - 1;
            assert_eq!(places_of(PlaceRun::shard(7, owner, ranks)), [place]);
            assert_eq!(places_of(PlaceRun::shard(7, owner - 1, ranks)), []);
        }
        for rank in [7, ranks - 1] {
            assert_eq!(places_of(PlaceRun::shard_strided(7, rank, ranks)), []);
        }
        assert_eq!(PlaceRun::shard(7, ranks, ranks), Err(Error::NoSuchRank { rank: ranks, ranks }));
        let mut strided: Vec<u64> =
            (0..3).flat_map(|rank| places(PlaceRun::shard_strided(10, rank, 3).unwrap())).collect();
        strided.sort_unstable();
        assert!(strided.into_iter().eq(0..10));
        let shares: Vec<u64> =
            (0..3).flat_map(|rank| places(PlaceRun::shard(10, rank, 3).unwrap())).collect();
        assert!(shares.into_iter().eq(0..10));
    }
}
