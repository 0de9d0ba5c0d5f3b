//! [`AnyOrder`]: a permutation that another language has made, and what is asked of it there.

use std::sync::Arc;

use bijective_shuffle::bijection::{BlockShuffle, CycleWalk, Standard};
use bijective_shuffle::iter::IntoIter;
use bijective_shuffle::{
    Bijection, Direction, Error, FromSeed, Permutation, Rows, Seed, Word, Workspace,
};

use crate::run::PlaceRun;
use crate::threads::FEW_POINTS;

/// How an [`AnyOrder`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OrderKind {
    /// That of a shuffle by a seed: [`Permutation::new`].
    Compacted,
    /// Another order, which needs no index: [`Permutation::walk`].
    Walk,
    /// That of data in blocks: [`BlockShuffle`].
    Blocks {
        /// The items of a block.
        block: u64,
        /// The blocks of a window.
        window: u64,
    },
}

/// What is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The index at a place.
    Index,
    /// The place of an index.
    Place,
}

/// A permutation of any kind. Its items are moved on the CPU.
///
/// The kinds differ in their bijections alone, and the engines call any bijection through a
/// pointer, once for a run of hundreds of points. So one type serves all.
#[derive(Clone, Debug)]
pub struct AnyOrder {
    /// Whether it is that of a caller's bijection, whose values may be wrong or unevenly spread.
    is_given: bool,
    /// Whether there is a point for each item and none besides: then a look-up is one evaluation.
    is_full: bool,
    permutation: Permutation<Arc<dyn Bijection>>,
}

/// The greatest distance between places that are counted to.
const MOST_COUNTED: i128 = 1 << 10;

/// The indexes that are evaluated at a time for narrower words: they fit the L1 cache.
const CHUNK: usize = 1 << 11;

impl AnyOrder {
    /// The order of `len` items that a seed determines.
    ///
    /// # Errors
    ///
    /// Those of [`BlockShuffle::new`].
    pub fn new(kind: OrderKind, len: u64, seed: Seed) -> Result<Self, Error> {
        let bijection: Arc<dyn Bijection> = match kind {
            OrderKind::Walk => Arc::new(CycleWalk::<Standard>::from_seed(len, seed)),
            OrderKind::Blocks { block, window } => {
                Arc::new(BlockShuffle::new(len, block, window, seed)?)
            }
            OrderKind::Compacted => Arc::new(Standard::from_seed(len, seed)),
        };
        Self::of(len, bijection, false)
    }

    /// The order that a caller's bijection gives.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`].
    pub fn given(len: u64, bijection: impl Bijection + 'static) -> Result<Self, Error> {
        Self::of(len, Arc::new(bijection), true)
    }

    fn of(len: u64, bijection: Arc<dyn Bijection>, is_given: bool) -> Result<Self, Error> {
        let is_full = len.checked_sub(1).is_none_or(|last| last == bijection.last());
        Ok(Self { is_given, is_full, permutation: Permutation::from_bijection(len, bijection)? })
    }

    /// The inverse.
    #[must_use]
    pub fn inverted(&self) -> Self {
        Self { permutation: self.permutation.inverted(), ..*self }
    }

    /// The number of items.
    #[expect(clippy::len_without_is_empty, reason = "no language asks")]
    pub const fn len(&self) -> u64 {
        self.permutation.len()
    }

    /// Whether it is the inverse of what its bijection compacts to.
    pub const fn is_inverted(&self) -> bool {
        self.permutation.is_inverted()
    }

    /// The bijection that is compacted.
    pub fn bijection(&self) -> &dyn Bijection {
        &**self.permutation.bijection()
    }

    /// Whether there is a point for each item and none besides: then a look-up is one evaluation.
    pub const fn is_full(&self) -> bool {
        self.is_full
    }

    /// Whether single places can be looked up without building an index.
    pub fn is_random_access(&self) -> bool {
        self.is_full || self.permutation.index_bytes().is_some()
    }

    /// The points that all items are found among.
    pub fn points(&self) -> u64 {
        self.bijection().last().saturating_add(1)
    }

    /// Whether looking up a number below the length builds no index, or one over few points, and so
    /// takes a millisecond at most.
    pub fn is_at_hand(&self, number: u64, lookup: Lookup) -> bool {
        // What is near an end is counted to, unless the items may be unevenly spread.
        let is_near = || match lookup {
            Lookup::Index => self.permutation.is_place_at_hand(number),
            Lookup::Place => self.permutation.is_index_at_hand(number),
        };
        self.is_random_access() || self.points() < FEW_POINTS || (!self.is_given && is_near())
    }

    /// Whether [writing](Self::write) the indexes at a run builds no index, or one over few points.
    pub fn is_run_at_hand(&self, run: PlaceRun) -> bool {
        // The slots of an inverse's indexes are anywhere, also where one of them is near.
        let is_near = !self.is_inverted() || self.is_random_access();
        let is_at_hand = |place| is_near && self.is_at_hand(place, Lookup::Index);
        // Either all of its places are near one end, or those behind the first follow it.
        let reach = run.step.unsigned_abs().saturating_mul(run.count.into());
        let is_short = run.step == 1 || reach < u128::from(self.len() / 2);
        let last = run.after(run.count.saturating_sub(1)).start;
        run.count == 0 || (is_short && is_at_hand(run.start) && is_at_hand(last))
    }

    /// Whether the places of a run are best counted to from the beginning, without an index. Where
    /// they are far apart, an index takes less time, and there is an error where it is not built
    /// unasked.
    pub fn is_counted(&self, run: PlaceRun) -> bool {
        let is_near = run.start == 0 && (1..=MOST_COUNTED).contains(&run.step);
        is_near && !self.is_inverted() && !self.is_random_access()
    }

    /// Builds the index that single places need, if they need one, as long as `go_on` says so.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::build_index`].
    pub fn build_index_while(&self, go_on: impl Fn() -> bool + Sync) -> Result<(), Error> {
        self.permutation.build_index_while(go_on).map(drop)
    }

    /// Builds that index if it is small enough for a view that did not ask for it. Whether it is
    /// there afterwards, [`is_random_access`](Self::is_random_access) tells.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::build_index`].
    pub fn prepare(&self, go_on: impl Fn() -> bool + Sync) -> Result<(), Error> {
        if self.is_random_access() || !self.permutation.is_built_unasked() {
            return Ok(());
        }
        self.build_index_while(go_on)
    }

    /// What is looked up for a number below the length.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::get`], if it [needs an index](Self::is_random_access), and
    /// [`Error::NotABijection`].
    #[inline]
    pub fn look_up(&self, number: u64, lookup: Lookup) -> Result<u64, Error> {
        if self.is_full && !self.is_given {
            let is_forward = (lookup == Lookup::Index) != self.is_inverted();
            let bijection = self.bijection();
            return Ok(if is_forward {
                bijection.forward(number)
            } else {
                bijection.inverse(number)
            });
        }
        match lookup {
            Lookup::Index => self.permutation.get(number),
            Lookup::Place => self.permutation.position(number),
        }
    }

    /// Replaces each number, all of which are below the length, by what is looked up for it.
    ///
    /// # Errors
    ///
    /// As [`look_up`](Self::look_up). Some numbers may then have been replaced.
    pub fn each(&self, numbers: &mut [u64], lookup: Lookup) -> Result<(), Error> {
        match lookup {
            _ if !self.is_full || self.is_given => {
                for number in numbers {
                    *number = self.look_up(*number, lookup)?;
                }
            }
            Lookup::Index => self.permutation.forward_each(numbers),
            Lookup::Place => self.permutation.inverse_each(numbers),
        }
        Ok(())
    }

    /// Writes the indexes at the places of a run, as many as there is room for.
    ///
    /// # Errors
    ///
    /// As [`look_up`](Self::look_up), and [`Error::IndexTooWide`].
    pub fn write<N: Word>(&self, run: PlaceRun, out: &mut [N]) -> Result<(), Error> {
        if self.len().saturating_sub(1) > N::MAX.widen() {
            return Err(Error::IndexTooWide { len: self.len(), bits: N::BITS });
        }
        if N::BITS == u64::BITS {
            let (first, len) = (out.as_mut_ptr().cast(), out.len());
            // SAFETY: the trait is sealed, and its one word of 64 bits is `u64`.
            return self.write_wide(run, unsafe { core::slice::from_raw_parts_mut(first, len) });
        }
        let (mut wide, mut left) = ([0; CHUNK], run);
        for out in out.chunks_mut(CHUNK) {
            let wide = &mut wide[..out.len()];
            self.write_wide(left, wide)?;
            out.iter_mut().zip(&*wide).for_each(|(out, &index)| *out = N::wrap(index));
            left = left.after(out.len() as u64);
        }
        Ok(())
    }

    fn write_wide(&self, run: PlaceRun, out: &mut [u64]) -> Result<(), Error> {
        if out.is_empty() {
            // The place after the last one may be out of range.
            return Ok(());
        }
        if run.step != 1 {
            let mut place = i128::from(run.start);
            for index in &mut *out {
                *index = place as u64;
                // One step behind the last place may be out of range.
                place = place.wrapping_add(run.step);
            }
            return self.each(out, Lookup::Index);
        }
        if self.is_full && !self.is_given {
            self.permutation.forward_run(run.start, out);
            return Ok(());
        }
        let places = run.start..run.start + out.len() as u64;
        let mut written = 0;
        self.permutation.range(places)?.try_for_each_run(|run| {
            out[written..][..run.len()].copy_from_slice(run);
            written += run.len();
        })
    }

    /// Writes all indexes, by the engine.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::write_indexes`].
    pub fn write_all<N: Word>(&self, out: &mut [N]) -> Result<(), Error> {
        self.permutation.write_indexes(out)
    }

    /// Iterates over all indexes in order, without an index unless it is an inverse.
    pub fn indexes(&self) -> IntoIter<Arc<dyn Bijection>> {
        self.permutation.clone().into_iter()
    }

    /// Moves the items of a slice.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::apply_in_place`].
    pub fn reorder<T: Send>(&self, items: &mut [T], direction: Direction) -> Result<(), Error> {
        match direction {
            Direction::Shuffle => self.permutation.apply_in_place(items),
            Direction::Unshuffle => self.permutation.unapply_in_place(items),
        }
    }

    /// Copies the items of a slice in their new order to another of the same length.
    ///
    /// # Errors
    ///
    /// Those of [`Workspace::shuffle_into`], and [`Error::LengthMismatch`] unless there are as many
    /// items as the order has.
    pub fn reorder_into<T: Copy + Send + Sync>(
        &self,
        workspace: &mut Workspace,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        let (expected, actual) = (self.len(), source.len() as u64);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        match self.is_inverted() {
            false => workspace.shuffle_into(self.bijection(), source, out),
            true => workspace.unshuffle_into(self.bijection(), source, out),
        }
    }

    /// Moves the rows of several matrices together.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::apply_together`].
    pub fn reorder_rows(&self, rows: Vec<Rows<'_, u8>>, direction: Direction) -> Result<(), Error> {
        match direction {
            Direction::Shuffle => self.permutation.apply_together(rows),
            Direction::Unshuffle => self.permutation.unapply_together(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::error::Defect;

    use super::*;

    /// Maps all points but 0 to themselves, and 0 to any.
    struct Liar {
        last: u64,
        zero: u64,
    }

    impl Bijection for Liar {
        fn last(&self) -> u64 {
            self.last
        }
        fn forward(&self, slot: u64) -> u64 {
            if slot == 0 { self.zero } else { slot }
        }
        fn inverse(&self, index: u64) -> u64 {
            index
        }
    }

    fn check(order: &AnyOrder, indexes: &[u64]) {
        let len = indexes.len() as u64;
        assert_eq!(order.len(), len);
        for (place, &index) in (0..).zip(indexes) {
            assert_eq!(order.look_up(place, Lookup::Index), Ok(index));
            assert_eq!(order.look_up(index, Lookup::Place), Ok(place));
        }
        let (mut places, mut found) = (indexes.to_vec(), (0..len).collect::<Vec<_>>());
        order.each(&mut places, Lookup::Place).unwrap();
        order.each(&mut found, Lookup::Index).unwrap();
        assert!(places.into_iter().eq(0..len) && found == indexes);
        assert!(order.is_inverted() || order.indexes().eq(indexes.iter().copied()));
        let whole = PlaceRun::first(len);
        for (start, end, step) in [(0, len, 1), (len / 3, len, 1), (1, len, 2), (0, len / 2, 5)] {
            let run = whole.slice(Some(start.into()), Some(end.into()), step);
            for run in [run, run.slice(None, None, -1)] {
                let expected = (0..run.count).map(|k| indexes[run.after(k).start as usize]);
                let (mut wide, mut narrow) = (vec![0; run.count as usize], Vec::new());
                narrow.resize(wide.len(), 0_u32);
                order.write(run, &mut wide).unwrap();
                order.write(run, &mut narrow).unwrap();
                assert!(expected.eq(wide.iter().copied()));
                assert!(narrow.into_iter().map(u64::from).eq(wide));
            }
        }
        let (mut all, mut items) = (vec![0_u32; indexes.len()], (0..len).collect::<Vec<_>>());
        order.write_all(&mut all).unwrap();
        assert!(all.into_iter().map(u64::from).eq(indexes.iter().copied()));
        let (source, mut copy) = (items.clone(), vec![0; items.len()]);
        order.reorder_into(&mut Workspace::new(), &source, &mut copy).unwrap();
        order.reorder(&mut items, Direction::Shuffle).unwrap();
        assert!(items == indexes && copy == indexes);
        order.reorder(&mut items, Direction::Unshuffle).unwrap();
        assert_eq!(items, source);
    }

    #[test]
    fn every_view_of_every_kind_is_the_permutation() {
        for len in [0, 1, 5, 256, 300, 1 << 11, 2500] {
            let blocks = OrderKind::Blocks { block: 7, window: 3 };
            for kind in
                [OrderKind::Compacted, OrderKind::Walk, blocks].into_iter().take(2 + len.min(1))
            {
                let len = len as u64;
                let indexes = match kind {
                    OrderKind::Compacted => Permutation::new(len, 42).to_vec(),
                    OrderKind::Walk => Permutation::walk(len, 42).to_vec(),
                    OrderKind::Blocks { block, window } => {
                        let order = BlockShuffle::new(len, block, window, 42).unwrap();
                        (0..len).map(|slot| order.forward(slot)).collect()
                    }
                };
                let order = AnyOrder::new(kind, len, Seed::new(42)).unwrap();
                assert!(order.is_full() || kind == OrderKind::Compacted);
                check(&order, &indexes);
                let mut places = vec![0; indexes.len()];
                (0..).zip(&indexes).for_each(|(place, &index)| places[index as usize] = place);
                check(&order.inverted(), &places);
                let bijection = Permutation::new(len + 9, 1);
                let given = AnyOrder::given(len, bijection.clone()).unwrap();
                check(&given, &Permutation::from_bijection(len, bijection).unwrap().to_vec());
            }
        }
    }

    #[test]
    fn lookups_at_hand_build_no_index() {
        let order = AnyOrder::new(OrderKind::Compacted, 1 << 40 | 1, Seed::new(1)).unwrap();
        for place in [0, 1000, order.len() - 1] {
            assert!(order.is_at_hand(place, Lookup::Index));
            let index = order.look_up(place, Lookup::Index).unwrap();
            assert!(order.is_at_hand(index, Lookup::Place));
            assert!(order.inverted().is_at_hand(place, Lookup::Place));
            assert_eq!(order.look_up(index, Lookup::Place), Ok(place));
            assert!(!order.is_random_access());
        }
        assert!(!order.is_at_hand(1 << 39, Lookup::Index) && !order.is_at_hand(0, Lookup::Place));
        let run = PlaceRun { start: 3, step: 1, count: 900 };
        assert!(order.is_run_at_hand(run) && !order.is_counted(run));
        assert!(order.is_counted(PlaceRun { step: 7, ..PlaceRun::first(1 << 30) }));
        assert!(!order.is_run_at_hand(PlaceRun { step: 1 << 30, ..run }));
        assert!(!order.inverted().is_run_at_hand(run));
        order.write(run, &mut [0_u64; 900]).unwrap();
        order.prepare(|| true).unwrap();
        assert!(!order.is_random_access());
        let order = AnyOrder::new(OrderKind::Compacted, 1_000_000, Seed::new(1)).unwrap();
        order.prepare(|| false).unwrap();
        assert!(!order.is_random_access());
        order.prepare(|| true).unwrap();
        assert!(order.is_random_access());
    }

    #[test]
    fn bijections_that_lie_are_refused() {
        for (last, zero) in [(99, 200), (99, 100), (150, 200)] {
            let order = AnyOrder::given(100, Liar { last, zero }).unwrap();
            let refused = |done: Result<u64, Error>| matches!(done, Err(Error::NotABijection(_)));
            assert!(refused(order.write(PlaceRun::first(100), &mut [0_u64; 100]).map(|()| 0)));
            assert!(refused(order.write_all(&mut [0_u64; 100]).map(|()| 0)));
            let defect = Defect::OutOfRange { method: "forward", point: 0, value: zero, last: 99 };
            let found = order.look_up(0, Lookup::Index);
            assert!(found == Err(Error::NotABijection(defect)) || last > 99);
            let mut items: Vec<u64> = (0..100).collect();
            assert!(refused(order.reorder(&mut items, Direction::Shuffle).map(|()| 0)));
            assert!(items.into_iter().eq(0..100));
        }
        assert!(AnyOrder::given(100, Liar { last: 98, zero: 0 }).is_err());
    }

    #[test]
    fn slices_of_another_length_and_words_that_are_too_narrow_are_refused() {
        let order = AnyOrder::new(OrderKind::Walk, (1 << 32) + 1, Seed::new(1)).unwrap();
        let wide = Error::IndexTooWide { len: order.len(), bits: 32 };
        assert_eq!(order.write(PlaceRun::first(3), &mut [0_u32; 3]), Err(wide));
        let order = AnyOrder::new(OrderKind::Compacted, 5, Seed::new(1)).unwrap();
        let done = order.reorder_into(&mut Workspace::new(), &[1; 4], &mut [0; 4]);
        assert_eq!(done, Err(Error::LengthMismatch { expected: 5, actual: 4 }));
    }
}
