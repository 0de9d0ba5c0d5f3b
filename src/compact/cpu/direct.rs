//! The direct strategy: evaluate every slot, keep the survivors, in order.
//!
//! Slots are evaluated a *tile* at a time into a buffer of the tile's own, where the survivors are packed. A *wave*
//! is as many tiles as keep all threads busy; after it the tiles' counts are added up, which gives each tile its
//! places in the output, and the survivors are put there. So every slot is evaluated once, and no thread ever
//! waits for another in the middle of its work.

use rayon::prelude::*;

use super::tuning;
use crate::bijection::Bijection;
use crate::compact::{check_length, check_word, try_with_capacity, wrong_count};
use crate::error::Error;
use crate::word::Word;

/// Writes the survivors among all slots, in order, over the whole of `out`.
///
/// # Errors
///
/// [`Error::LengthExceedsDomain`], [`Error::IndexTooWide`], and [`Error::NotABijection`] if there are not exactly as
/// many survivors as places. Whether they are different is not checked.
pub(crate) fn fill<N: Word>(bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error> {
    fill_with(bijection, out, |places, survivors: &[N]| places.copy_from_slice(survivors))
}

/// Hands the places out in order, in runs, each with the survivors that belong to it, to be filled by `put`; several
/// runs at a time, on several threads.
///
/// # Errors
///
/// As [`fill`]. Before [`Error::NotABijection`] some of the places were handed out.
pub(crate) fn fill_with<P: Send, N: Word>(
    bijection: &dyn Bijection,
    places: &mut [P],
    put: impl Fn(&mut [P], &[N]) + Sync,
) -> Result<(), Error> {
    let last = bijection.last();
    let len = places.len();
    check_length(len as u64, last)?;
    check_word::<N>(len)?;
    if len == 0 {
        return Ok(());
    }
    let left = if last < tuning::SEQUENTIAL_SLOTS || rayon::current_num_threads() == 1 {
        fill_sequentially(bijection, last, places, put)?
    } else {
        fill_in_waves(bijection, last, places, put)?
    };
    if left == 0 { Ok(()) } else { Err(wrong_count(len, len - left)) }
}

/// Returns how many places are left over.
fn fill_sequentially<P, N: Word>(
    bijection: &dyn Bijection,
    last: u64,
    places: &mut [P],
    put: impl Fn(&mut [P], &[N]),
) -> Result<usize, Error> {
    let len = places.len();
    let mut output = Output { len, rest: places };
    let mut survivors = [N::zero(); tuning::RUN];
    let mut run = Some(SlotRange::first(last, tuning::RUN));
    while let Some(slots) = run {
        let count = slots.compact(bijection, len as u64, &mut survivors);
        put(output.take(count)?, &survivors[..count]);
        run = slots.next(last, tuning::RUN);
    }
    Ok(output.rest.len())
}

/// Returns how many places are left over.
fn fill_in_waves<P: Send, N: Word>(
    bijection: &dyn Bijection,
    last: u64,
    places: &mut [P],
    put: impl Fn(&mut [P], &[N]) + Sync,
) -> Result<usize, Error> {
    let len = places.len();
    let mut output = Output { len, rest: places };
    let tiles = rayon::current_num_threads() * tuning::TILES_PER_THREAD;
    // No more than there are in the domain.
    let tiles = (last / tuning::TILE as u64).min(tiles as u64 - 1) + 1;
    let mut wave: Vec<Tile<N>> = (0..tiles).map(|_| Tile::new()).collect::<Result<_, _>>()?;
    let mut next = Some(SlotRange::first(last, tuning::TILE));
    while next.is_some() {
        for tile in &mut wave {
            tile.slots = next;
            next = next.and_then(|slots| slots.next(last, tuning::TILE));
        }
        wave.par_iter_mut().with_max_len(1).for_each(|tile| tile.evaluate(bijection, len as u64));
        let outputs: Vec<&mut [P]> =
            wave.iter().map(|tile| output.take(tile.count)).collect::<Result<_, _>>()?;
        outputs
            .into_par_iter()
            .zip(&wave)
            .with_max_len(1)
            .for_each(|(places, tile)| put(places, tile.survivors()));
    }
    Ok(output.rest.len())
}

/// The part of the output that has not been given out.
struct Output<'a, P> {
    len: usize,
    rest: &'a mut [P],
}

impl<'a, P> Output<'a, P> {
    /// Gives out the next places.
    fn take(&mut self, count: usize) -> Result<&'a mut [P], Error> {
        let left = self.rest.len();
        self.rest
            .split_off_mut(..count)
            .ok_or_else(|| wrong_count(self.len, self.len - left + count))
    }
}

/// Slots from `first` on, at least one.
#[derive(Clone, Copy)]
struct SlotRange {
    first: u64,
    count: usize,
}

impl SlotRange {
    /// The first `most` slots of `[0, last]`.
    fn first(last: u64, most: usize) -> Self {
        Self::from(0, last, most)
    }

    /// The `most` slots after these.
    fn next(self, last: u64, most: usize) -> Option<Self> {
        let end = self.first + (self.count as u64 - 1);
        (end < last).then(|| Self::from(end + 1, last, most))
    }

    fn from(first: u64, last: u64, most: usize) -> Self {
        // `last - first` is one less than the number of slots left, which may be 2^64.
        let count = (last - first).min(most as u64 - 1) as usize + 1;
        Self { first, count }
    }

    /// Packs the survivors at the front of `out`, which has room for all the slots, and counts them.
    fn compact<N: Word>(self, bijection: &dyn Bijection, len: u64, out: &mut [N]) -> usize {
        let mut run = [0; tuning::RUN];
        let mut survivors = 0;
        let mut first = self.first;
        let mut left = self.count;
        while left > 0 {
            let run = &mut run[..left.min(tuning::RUN)];
            bijection.forward_run(first, run);
            for &mut index in &mut *run {
                // Every value is written, and only survivors stay: no branch to mispredict.
                out[survivors] = N::wrap(index);
                survivors += usize::from(index < len);
            }
            left -= run.len();
            first = first.wrapping_add(run.len() as u64);
        }
        survivors
    }
}

/// A tile and its buffer.
struct Tile<N> {
    slots: Option<SlotRange>,
    survivors: Box<[N]>,
    count: usize,
}

impl<N: Word> Tile<N> {
    fn new() -> Result<Self, Error> {
        let mut survivors = try_with_capacity(tuning::TILE)?;
        survivors.resize(tuning::TILE, N::zero());
        Ok(Self { slots: None, survivors: survivors.into(), count: 0 })
    }

    fn evaluate(&mut self, bijection: &dyn Bijection, len: u64) {
        self.count = match self.slots {
            Some(slots) => slots.compact(bijection, len, &mut self.survivors),
            None => 0,
        };
    }

    fn survivors(&self) -> &[N] {
        &self.survivors[..self.count]
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::bijection::{FromSeed, GridFeistel, MulXorshift};

    /// Small domains never get to waves by themselves, so they are sent there.
    #[test]
    fn waves_give_what_one_thread_gives() {
        let copy = |places: &mut [u32], survivors: &[u32]| places.copy_from_slice(survivors);
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for len in [1, 2, 1000, 32_767, 32_768, 32_769, 65_537, 150_000] {
                let chain = MulXorshift::<8>::from_seed(len, 1);
                let grid = GridFeistel::<12>::from_seed(len, 1);
                for f in [&chain as &dyn Bijection, &grid] {
                    let (mut one, mut waves) = (vec![0; len as usize], vec![0; len as usize]);
                    assert_eq!(fill_sequentially(f, f.last(), &mut one, copy), Ok(0));
                    let left = pool.install(|| fill_in_waves(f, f.last(), &mut waves, copy));
                    assert_eq!(left, Ok(0));
                    assert!(one == waves, "length {len}, {threads} threads");
                }
            }
        }
    }
}
