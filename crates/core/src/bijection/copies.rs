//! [`ItemCopies`]: items that are copied between the rounds of an evaluation.
//!
//! ```text
//! for vectors of points:
//!     for round in rounds:
//!         x = round(x), for each vector      keeps the multipliers busy
//!         copy a few items                   keeps the load and store units busy
//! ```
//!
//! Done one after the other, each leaves the units of the other idle: a processor does not look far
//! enough ahead to overlap them. The steps of a run are all of one size, so that no branch is
//! mispredicted.

use core::any::TypeId;
use core::fmt;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use crate::word::Index;

/// What an evaluation does between its rounds.
pub(super) trait Meanwhile {
    /// Does a little of it.
    fn step(&mut self);
}

/// Nothing.
impl Meanwhile for () {
    #[inline(always)]
    fn step(&mut self) {}
}

/// An evaluation during which something else is done.
pub(super) trait Evaluation {
    /// Evaluates, and returns what was done meanwhile.
    fn evaluate<W: Meanwhile>(self, meanwhile: W) -> W;
}

/// Copies of items: to consecutive places from where the indexes say, or the other way round.
/// An evaluation may make some of them, from the first on.
pub struct ItemCopies<'a, N> {
    from: *const u8,
    to: *mut u8,
    indexes: &'a [N],
    item_bytes: usize,
    /// Whether the indexes are those of the places.
    scatters: bool,
    done: usize,
    /// The most that are made during one evaluation.
    quota: usize,
    memory: PhantomData<&'a mut u8>,
}

impl<'a, N: Index> ItemCopies<'a, N> {
    /// Plans to copy item `indexes[k]` to place `k`, and copies nothing yet.
    ///
    /// # Safety
    ///
    /// From `from` on there is an item at each of the indexes, to which nobody writes during `'a`.
    /// None of them is one of the places.
    pub unsafe fn gather<T>(
        from: *const T,
        indexes: &'a [N],
        to: &'a mut [MaybeUninit<T>],
    ) -> Self {
        assert_eq!(indexes.len(), to.len());
        let (from, to, item_bytes) = (from.cast(), to.as_mut_ptr().cast(), size_of::<T>());
        Self::new(from, to, indexes, item_bytes, false)
    }

    /// Plans to copy item `k` to place `indexes[k]`, and copies nothing yet.
    ///
    /// # Safety
    ///
    /// From `to` on there is a place at each of the indexes, which nobody else uses during `'a`.
    /// None of them is one of the items.
    pub unsafe fn scatter<T>(from: &'a [T], indexes: &'a [N], to: *mut MaybeUninit<T>) -> Self {
        assert_eq!(indexes.len(), from.len());
        let (from, to, item_bytes) = (from.as_ptr().cast(), to.cast(), size_of::<T>());
        Self::new(from, to, indexes, item_bytes, true)
    }

    fn new(
        from: *const u8,
        to: *mut u8,
        indexes: &'a [N],
        item_bytes: usize,
        scatters: bool,
    ) -> Self {
        let (done, quota, memory) = (0, usize::MAX, PhantomData);
        Self { from, to, indexes, item_bytes, scatters, done, quota, memory }
    }

    /// The same copies, if their indexes are words of this type.
    pub fn of_words<M: Index>(&mut self) -> Option<&mut ItemCopies<'a, M>> {
        let copies = core::ptr::from_mut(self).cast::<ItemCopies<'a, M>>();
        // SAFETY: it is the same type.
        (TypeId::of::<M>() == TypeId::of::<N>()).then(|| unsafe { &mut *copies })
    }

    /// How many have been made.
    pub fn done(&self) -> usize {
        self.done
    }

    /// Spreads them over so many evaluations, so that none has all of them.
    pub fn spread(&mut self, evaluations: usize) {
        self.quota = self.indexes.len().div_ceil(evaluations).next_multiple_of(FOUR);
    }

    /// Evaluates something, and makes copies of items of 1, 2, 4, 8 or 16 bytes meanwhile.
    #[inline(always)]
    pub(super) fn during<E: Evaluation>(&mut self, steps: usize, evaluation: E) {
        match self.item_bytes {
            1 => self.during_of::<1, E>(steps, evaluation),
            2 => self.during_of::<2, E>(steps, evaluation),
            4 => self.during_of::<4, E>(steps, evaluation),
            8 => self.during_of::<8, E>(steps, evaluation),
            16 => self.during_of::<16, E>(steps, evaluation),
            _ => {
                evaluation.evaluate(());
            }
        }
    }

    #[inline(always)]
    fn during_of<const BYTES: usize, E: Evaluation>(&mut self, steps: usize, evaluation: E) {
        let most = self.quota.min(self.indexes.len() - self.done);
        let each = FOUR * (most / FOUR).div_ceil(steps.max(1)).max(1);
        let (done, end) = (self.done, self.done + most / each * each);
        let (from, to, indexes) = (self.from.cast(), self.to.cast(), self.indexes.as_ptr());
        let steps = CopySteps::<BYTES, N> { from, to, indexes, done, end, each };
        self.done = if self.scatters {
            evaluation.evaluate(Scattered(steps)).0.done
        } else {
            evaluation.evaluate(Gathered(steps)).0.done
        };
    }
}

impl<N> fmt::Debug for ItemCopies<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { item_bytes, scatters, done, .. } = self;
        let mut all = f.debug_struct("ItemCopies");
        all.field("item_bytes", item_bytes).field("scatters", scatters).field("done", done);
        all.field("len", &self.indexes.len()).finish_non_exhaustive()
    }
}

/// How many items are loaded before the first of them is stored, which is faster than one by one.
const FOUR: usize = 4;

type Bytes<const BYTES: usize> = MaybeUninit<[u8; BYTES]>;

/// Copies of items of a known size.
struct CopySteps<const BYTES: usize, N> {
    from: *const Bytes<BYTES>,
    to: *mut Bytes<BYTES>,
    indexes: *const N,
    done: usize,
    /// How many are made by all steps: more than are done by a multiple of `each`, and no more than
    /// there are.
    end: usize,
    /// How many a step makes: a multiple of four.
    each: usize,
}

impl<const BYTES: usize, N: Index> CopySteps<BYTES, N> {
    /// Makes the next copies, if any are left. `copy` makes four, from a number on.
    #[inline(always)]
    fn step(&mut self, copy: impl Fn(&Self, usize)) {
        if self.done < self.end {
            for _ in 0..self.each / FOUR {
                copy(self, self.done);
                self.done += FOUR;
            }
        }
    }

    /// The index of a copy.
    ///
    /// # Safety
    ///
    /// There are more copies than `number`.
    #[inline(always)]
    unsafe fn index(&self, number: usize) -> usize {
        // SAFETY: there are as many indexes as copies.
        let index = unsafe { self.indexes.add(number) };
        // SAFETY: an index is there, and is borrowed.
        unsafe { *index }.extend() as usize
    }
}

struct Gathered<const BYTES: usize, N>(CopySteps<BYTES, N>);

impl<const BYTES: usize, N: Index> Meanwhile for Gathered<BYTES, N> {
    #[inline(always)]
    fn step(&mut self) {
        self.0.step(|copies, first| {
            let mut items = [Bytes::<BYTES>::uninit(); FOUR];
            for (k, item) in items.iter_mut().enumerate() {
                // SAFETY: a step's copies are below `end`.
                let index = unsafe { copies.index(first + k) };
                // SAFETY: the constructor's caller promises that there is an item.
                let from = unsafe { copies.from.add(index) };
                // SAFETY: nobody writes to it meanwhile, by the same promise.
                *item = unsafe { *from };
            }
            // SAFETY: there are as many places as copies.
            let places = unsafe { copies.to.add(first) };
            // SAFETY: these are four of them, which are borrowed mutably.
            unsafe { places.cast::<[Bytes<BYTES>; FOUR]>().write(items) };
        });
    }
}

struct Scattered<const BYTES: usize, N>(CopySteps<BYTES, N>);

impl<const BYTES: usize, N: Index> Meanwhile for Scattered<BYTES, N> {
    #[inline(always)]
    fn step(&mut self) {
        self.0.step(|copies, first| {
            // SAFETY: there are as many items as copies.
            let items = unsafe { copies.from.add(first) };
            // SAFETY: these are four of them, which are borrowed.
            let items = unsafe { items.cast::<[Bytes<BYTES>; FOUR]>().read() };
            for (k, item) in items.into_iter().enumerate() {
                // SAFETY: a step's copies are below `end`.
                let index = unsafe { copies.index(first + k) };
                // SAFETY: the constructor's caller promises that there is a place for it.
                let to = unsafe { copies.to.add(index) };
                // SAFETY: nobody else uses it meanwhile, by the same promise.
                unsafe { to.write(item) };
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Nothing but steps.
    struct Steps(usize);

    impl Evaluation for Steps {
        fn evaluate<W: Meanwhile>(self, mut meanwhile: W) -> W {
            (0..self.0).for_each(|_| meanwhile.step());
            meanwhile
        }
    }

    fn check<T: Copy + PartialEq + core::fmt::Debug>(item: impl Fn(u32) -> T) {
        for len in [0, 1, 3, 4, 5, 31, 32, 100] {
            let items: Vec<T> = (0..len).map(&item).collect();
            let indexes: Vec<u32> = (0..len).map(|k| k * 37 % len).collect();
            for steps in [0, 1, 2, 7, 8, 1000] {
                let mut places = vec![MaybeUninit::new(item(200)); len as usize];
                // SAFETY: the indexes are below the number of items.
                let mut copies =
                    unsafe { ItemCopies::gather(items.as_ptr(), &indexes, &mut places) };
                copies.during(steps, Steps(steps));
                let done = copies.done();
                let expected = indexes[..done].iter().map(|&index| items[index as usize]);
                // SAFETY: all places were written before.
                let places = places.iter().map(|place| unsafe { place.assume_init() });
                let not_done = items[done..].iter().map(|_| item(200));
                assert!(places.eq(expected.chain(not_done)), "{len} {steps} {done}");
                assert!(done == 0 || steps > 0);
                assert!(
                    steps != 1 || !matches!(size_of::<T>(), 1 | 8) || done == len as usize / 4 * 4
                );

                let mut places = vec![MaybeUninit::new(item(200)); len as usize];
                // SAFETY: the indexes are below the number of places.
                let mut copies =
                    unsafe { ItemCopies::scatter(&items, &indexes, places.as_mut_ptr()) };
                copies.during(steps, Steps(steps));
                assert_eq!(copies.done(), done);
                let mut expected = vec![item(200); len as usize];
                for (&index, &item) in indexes.iter().zip(&items).take(done) {
                    expected[index as usize] = item;
                }
                // SAFETY: all places were written before.
                let places = places.iter().map(|place| unsafe { place.assume_init() });
                assert!(places.eq(expected));
            }
        }
    }

    #[test]
    fn some_copies_are_made_and_the_others_left() {
        check(|k| k as u8);
        check(|k| k as u16);
        check(|k| k);
        check(|k| u64::from(k) << 20);
        check(|k| [u64::from(k), 7]);
        // Of another size: none.
        check(|k| [k; 3]);
    }

    #[test]
    fn copies_know_their_words() {
        let (items, mut places) = ([1, 2], [MaybeUninit::uninit(); 2]);
        // SAFETY: both indexes are below 2.
        let mut copies = unsafe { ItemCopies::gather(items.as_ptr(), &[1_u32, 0], &mut places) };
        assert!(copies.of_words::<u16>().is_none() && copies.of_words::<u64>().is_none());
        assert!(copies.of_words::<u32>().is_some());
    }
}
