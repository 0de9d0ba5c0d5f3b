//! Moving the items of one slice.
//!
//! ```text
//! reorder_words(p, items):                    p: a CheckedPermutation
//!     for attempt in strategy.attempts(p):    in place, or sorted into buckets
//!         if it moves the items: return       it fails without memory, or if a bucket overflows
//!     if the items are wide: move them along the cycles of p, return
//!     scratch = items gathered by p           the direct strategy
//!     copy scratch back over items
//! ```
//!
//! All code of a user's has returned before an item moves: an untrusted bijection is evaluated when
//! the [`CheckedPermutation`] is made, and the strategy in place refuses one that may panic. The
//! unsafe code here rests on the [`CheckedPermutation`] being a permutation.

use core::mem::MaybeUninit;
use core::ptr;

use super::call::{Call, PlainCall};
use super::checked_permutation::CheckedPermutation;
use super::exact::{exchange, is_exact};
use super::partitioned::{outbox, place, sort};
use super::places::Span;
use super::relocation::{Gather, Relocation, Scatter};
use super::strategy::Attempt;
use super::words::as_words;
use super::workspace::Workspace;
use super::{cycles, short, tuning};
use crate::compact::columns::Column;
use crate::compact::{Direction, Order, OrderBy, passes};
use crate::engine::bijection::StandardCipher;
use crate::engine::check::check_length;
use crate::engine::memory::SharedPtr;
use crate::engine::parallel;
use crate::{Bijection, Error, Seed, Trusted};

impl Workspace {
    /// Shuffles the items in the order of a seed or of a bijection: item `p[k]` moves to place `k`.
    ///
    /// The order of a seed is that of
    /// [`par_bijective_shuffle`](crate::ParBijectiveShuffle::par_bijective_shuffle), and only
    /// memory can be lacking for it.
    ///
    /// # Errors
    ///
    /// As [`Compactor::shuffle`](crate::Compactor::shuffle). After an error the items are
    /// unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut workspace = Workspace::new();
    /// let mut items: Vec<u32> = (0..1000).collect();
    /// let mut others = items.clone();
    /// for epoch in 0..3 {
    ///     workspace.shuffle(Seed::new(42).with_epoch(epoch), &mut items)?;
    ///     others.par_bijective_shuffle(Seed::new(42).with_epoch(epoch));
    ///     assert_eq!(items, others);
    /// }
    /// for epoch in (0..3).rev() {
    ///     workspace.unshuffle(Seed::new(42).with_epoch(epoch), &mut items)?;
    /// }
    /// assert!(items.into_iter().eq(0..1000));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn shuffle<'a, T: Send>(
        &mut self,
        order: impl Into<Order<'a>>,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.reorder(order.into(), items, Direction::Shuffle)
    }

    /// Undoes [`shuffle`](Self::shuffle) in the same order: item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    pub fn unshuffle<'a, T: Send>(
        &mut self,
        order: impl Into<Order<'a>>,
        items: &mut [T],
    ) -> Result<(), Error> {
        self.reorder(order.into(), items, Direction::Unshuffle)
    }

    /// Copies the items in shuffled order: item `p[k]` of `source` to place `k` of `out`.
    ///
    /// The order of a seed is that of
    /// [`par_bijective_shuffled`](crate::ParBijectiveShuffle::par_bijective_shuffled).
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the slices are not of one length; otherwise those of
    /// [`shuffle`](Self::shuffle). On error every element of `out` is valid: its old value or a
    /// copy of some source item.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let letters = ['a', 'b', 'c', 'd', 'e'];
    /// let (mut out, mut back) = ([' '; 5], [' '; 5]);
    /// let mut workspace = Workspace::new();
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// workspace.shuffle_into(&f, &letters, &mut out)?;
    /// assert_eq!(out, ['d', 'a', 'c', 'e', 'b']);
    /// workspace.unshuffle_into(&f, &out, &mut back)?;
    /// assert_eq!(back, letters);
    ///
    /// workspace.shuffle_into(42, &letters, &mut out)?;
    /// assert_eq!(out.to_vec(), letters.par_bijective_shuffled(42));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    pub fn shuffle_into<'a, T: Copy + Send + Sync>(
        &mut self,
        order: impl Into<Order<'a>>,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        self.reorder_into(order.into(), source, out, Direction::Shuffle)
    }

    /// Copies the items back into their original order, as [`unshuffle`](Self::unshuffle) restores
    /// it: item `k` of `source` to place `p[k]` of `out`.
    ///
    /// # Errors
    ///
    /// As [`shuffle_into`](Self::shuffle_into).
    pub fn unshuffle_into<'a, T: Copy + Send + Sync>(
        &mut self,
        order: impl Into<Order<'a>>,
        source: &[T],
        out: &mut [T],
    ) -> Result<(), Error> {
        self.reorder_into(order.into(), source, out, Direction::Unshuffle)
    }

    /// Copies items to other memory by the permutation of an order, in a given direction.
    fn reorder_into<T: Copy + Send + Sync>(
        &mut self,
        order: Order,
        source: &[T],
        out: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        if source.len() != out.len() {
            let (expected, actual) = (source.len() as u64, out.len() as u64);
            return Err(Error::LengthMismatch { expected, actual });
        }
        let chosen = order.for_len(source.len() as u64);
        let bijection = chosen.bijection();
        if size_of::<T>() == 0 {
            return Ok(check_length(source.len() as u64, bijection.last())?);
        }
        let passes = passes::passes(bijection, source.len());
        let passes = passes.map(|passes| passes::in_direction(passes, direction));
        // The first pass copies the items, and the others move the copies.
        let mut steps = passes.iter().flat_map(passes::in_order);
        match steps.next() {
            Some((first, direction)) => {
                self.reorder_into_at_once(first, source, out, direction)?;
                steps.try_for_each(|(pass, direction)| self.reorder_at_once(pass, out, direction))
            }
            None => self.reorder_into_at_once(bijection, source, out, direction),
        }
    }

    /// [`reorder_into`](Self::reorder_into) for items of some size, as many in both slices, not by
    /// passes.
    fn reorder_into_at_once<T: Copy + Send + Sync>(
        &mut self,
        bijection: &dyn Bijection,
        source: &[T],
        out: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        as_words!(T, source by words, out by words_mut => {
            self.reorder_words_into(bijection, source, out, direction)
        })
    }

    /// [`reorder_into_at_once`](Self::reorder_into_at_once) for items that have become words.
    pub(super) fn reorder_words_into<T: Copy + Send + Sync>(
        &mut self,
        bijection: &dyn Bijection,
        source: &[T],
        out: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        let p = CheckedPermutation::new(bijection, source.len())?;
        let far = tuning::is_far::<T>(source.len()) || p.is_sparse();
        let (is_parallel, workers) = (p.is_parallel(size_of::<T>()), p.workers());
        let reorder = || {
            let places = places_of(out);
            // The source is only read through this pointer.
            let start = SharedPtr::new(source.as_ptr().cast_mut());
            if let Some(sorting) = self.strategy.sorting::<T>(&p, direction, far) {
                // SAFETY: the places are those of `out`, which this call has borrowed mutably and
                // does not use otherwise until the sort is done.
                let out = unsafe { Span::new(places) };
                // SAFETY: `source` is borrowed, so nobody writes to it and it does not overlap
                // `out`, and it has as many items as `p` has indexes.
                let sorted = unsafe { sorting.sort(&start, out, &mut self.partition) };
                let placed = sorted.map(place);
                if self.settle(placed)? {
                    return Ok(());
                }
            }
            // SAFETY: the places are those of `out`, which is borrowed mutably. Only copies of
            // items are written to them, so every item of `out` is initialised at any time.
            let places = unsafe { &mut *places };
            let p = p.listed(&mut self.partition);
            let tiles = &mut self.partition.tiles;
            match direction {
                Direction::Shuffle => p.for_each_run(places, tiles, &Gather(start)),
                Direction::Unshuffle => {
                    p.for_each_run(source, tiles, &Scatter(SharedPtr::new(places.as_mut_ptr())))
                }
            }
        };
        if is_parallel { parallel::inside(workers, reorder) } else { reorder() }
    }

    /// Moves the items by the permutation of an order, in a given direction.
    #[inline]
    pub(crate) fn reorder<T: Send>(
        &mut self,
        order: Order,
        items: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        match order.0 {
            OrderBy::Seed(seed) => self.reorder_by_seed(seed, items, direction),
            OrderBy::Bijection(bijection) => self.reorder_by(bijection, items, direction),
        }
    }

    /// Moves the items by the permutation of a seed in a workspace that is not kept, or in none;
    /// `BACK` is that of [`PlainCall`].
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the items are then unchanged.
    #[inline]
    pub(crate) fn reorder_plainly<T: Send, const BACK: bool>(
        seed: Seed,
        items: &mut [T],
    ) -> Result<(), Error> {
        let call = PlainCall::<BACK>;
        if is_exact(items.len()) {
            exchange(&seed, items, call.direction());
            return Ok(());
        }
        if short::is_short::<T>(items.len()) {
            return short::reorder(seed, items, call.direction());
        }
        Self::once().reorder_by_seed(seed, items, call)
    }

    /// Moves the items by the permutation of a seed, in a given direction.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; the items are then unchanged.
    fn reorder_by_seed<T: Send>(
        &mut self,
        seed: Seed,
        items: &mut [T],
        call: impl Call,
    ) -> Result<(), Error> {
        if is_exact(items.len()) {
            exchange(&seed, items, call.direction());
            return Ok(());
        }
        // Items of no size cannot be told apart. A seed's permutation has no passes.
        if size_of::<T>() == 0 {
            return Ok(());
        }
        let cipher = StandardCipher::of_seed(items.len() as u64, seed);
        self.reorder_checked(CheckedPermutation::of_seed(&cipher, items.len()), items, call)
    }

    /// Moves the items by the permutation that a bijection compacts to, in a given direction.
    ///
    /// # Errors
    ///
    /// As [`Compactor::shuffle`](crate::Compactor::shuffle). After an error, or a panic of the
    /// bijection, the items are unchanged.
    pub(crate) fn reorder_by<T: Send>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        if size_of::<T>() == 0 {
            return Ok(check_length(items.len() as u64, bijection.last())?);
        }
        passes::reorder(bijection, items.len(), direction, &mut |bijection, direction| {
            self.reorder_at_once(bijection, items, direction)
        })
    }

    /// [`reorder_by`](Self::reorder_by) for items of some size, not by passes.
    pub(super) fn reorder_at_once<T: Send>(
        &mut self,
        bijection: &dyn Bijection,
        items: &mut [T],
        direction: Direction,
    ) -> Result<(), Error> {
        self.reorder_checked(CheckedPermutation::new(bijection, items.len())?, items, direction)
    }

    /// Moves as many items as a permutation has, in a given direction.
    fn reorder_checked<T: Send>(
        &mut self,
        p: CheckedPermutation,
        items: &mut [T],
        call: impl Call,
    ) -> Result<(), Error> {
        as_words!(T, items by words_mut => self.reorder_words(p, items, call))
    }

    /// [`reorder_checked`](Self::reorder_checked) for items that have become words.
    pub(super) fn reorder_words<T: Send, C: Call>(
        &mut self,
        p: CheckedPermutation,
        items: &mut [T],
        call: C,
    ) -> Result<(), Error> {
        let far = tuning::is_far::<T>(items.len()) || p.is_sparse();
        let (is_parallel, workers) = (p.is_parallel(size_of::<T>()), p.workers());
        if p.is_long(size_of::<T>()) {
            self.adopt();
        }
        let reorder = || {
            for attempt in self.strategy.attempts::<T, C>(&p, call, far, self.is_plain) {
                let places = places_of(items);
                let start = SharedPtr::new(places.cast::<T>());
                let moved = match attempt {
                    Attempt::Sorted(_) if !C::SORTS => continue,
                    Attempt::Sorted(sorting) => {
                        // SAFETY: the places are those of `items`, which this call has borrowed
                        // mutably and does not use otherwise until the sort is done.
                        let out = unsafe { Span::new(places) };
                        // SAFETY: the source is `items` as well. It has one initialised item for
                        // each index of `p`, and nobody else uses them.
                        let sorted = unsafe { sorting.sort(&start, out, &mut self.partition) };
                        sorted.map(place)
                    }
                    Attempt::InPlace(in_place) => {
                        // SAFETY: there are as many items from the start on as `p` has indexes, and
                        // this call has borrowed them mutably and does not use them meanwhile.
                        unsafe { in_place.run(start, &mut self.in_place) }.map(|()| true)
                    }
                };
                if self.settle(moved)? {
                    return Ok(());
                }
            }
            if self.follow_cycles(&p, call.direction(), items)? {
                return Ok(());
            }
            let p = p.listed(&mut self.partition);
            let moving = Relocation::new(items, &mut self.scratch)?;
            let tiles = &mut self.partition.tiles;
            match call.direction() {
                Direction::Shuffle => {
                    let gather = Gather(SharedPtr::new(moving.items.as_mut_ptr()));
                    p.for_each_run(&mut *moving.scratch, tiles, &gather)?;
                }
                Direction::Unshuffle => {
                    let scatter = Scatter(SharedPtr::new(moving.scratch.as_mut_ptr()));
                    p.for_each_run(&mut *moving.items, tiles, &scatter)?;
                }
            }
            // SAFETY: `p` has each index exactly once, and each place was in exactly one run. So
            // each item has been copied once, and each scratch place holds an item.
            unsafe { moving.commit() };
            Ok(())
        };
        if is_parallel { parallel::inside(workers, reorder) } else { reorder() }
    }

    /// Moves the items along the permutation's cycles. Returns `false`, with nothing moved, if that
    /// does not apply.
    fn follow_cycles<T: Send>(
        &mut self,
        p: &CheckedPermutation,
        direction: Direction,
        items: &mut [T],
    ) -> Result<bool, Error> {
        // The compiler knows the size, and has no code for cycles where they are not followed.
        if const { size_of::<T>() < tuning::LEAST_FOLLOWED }
            || !self.strategy.follows_cycles(p, size_of::<T>())
        {
            return Ok(false);
        }
        assert_eq!(p.len(), items.len());
        let column = Column { start: items.as_mut_ptr().cast(), bytes: size_of::<T>() };
        let tiles = &mut self.partition.tiles;
        // SAFETY: the column is the slice, which is borrowed mutably, of the permutation's length,
        // and not longer than the strategy allows.
        let moved = unsafe { cycles::reorder(p, direction, &[column], tiles, &mut self.cycles) };
        self.settle_cycles(moved)
    }

    /// Sorts copies of a rank's items into buckets that can be sent; see [`outbox::sort_to_send`].
    pub(crate) fn sort_to_send<T: Copy + Send + Sync>(
        &mut self,
        f: &Trusted,
        key: sort::BucketKey,
        last: u64,
        items: &[T],
    ) -> Result<Option<outbox::Outbox<'_, T>>, Error> {
        outbox::sort_to_send(&mut self.partition, &mut self.scratch, f, key, last, items)
    }
}

/// The places of a slice's items, as memory that need not be initialised.
fn places_of<T>(items: &mut [T]) -> *mut [MaybeUninit<T>] {
    ptr::from_mut(items) as *mut [MaybeUninit<T>]
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::engine::machine;
    use crate::{Permutation, Strategy};

    /// Makes a call on a thread of a pool of four, and checks that this thread leads a crew
    /// meanwhile, unless the machine has too few cores for one.
    fn led<R>(call: impl FnOnce() -> R) -> R {
        let before = parallel::crews_led();
        let result = call();
        assert_eq!(parallel::crews_led() > before, machine::cores() >= 4);
        result
    }

    /// By the seed's own cipher, whose tasks a crew does where there is one: in `.ci/sanitize`, on
    /// any machine.
    #[test]
    fn seeds_move_items_by_crews() {
        let len = (1 << 17) + 3_u32;
        let original: Vec<u32> = (0..len).collect();
        let shuffled = Permutation::new(len.into(), 1).apply(&original).unwrap();
        let pool = ThreadPoolBuilder::new().num_threads(4).build().unwrap();
        let strategies = [Strategy::Direct, Strategy::Partitioned, Strategy::InPlace];
        pool.install(|| {
            for strategy in strategies.into_iter().cycle().take(6) {
                let mut workspace = Workspace::new().with_strategy(strategy);
                let mut items = original.clone();
                led(|| workspace.shuffle(1, &mut items)).unwrap();
                assert!(items == shuffled, "{strategy:?}");
                led(|| workspace.unshuffle(1, &mut items)).unwrap();
                assert!(items == original, "{strategy:?}");
                let mut wide: Vec<_> = original.iter().map(|&item| [item; 3]).collect();
                led(|| workspace.shuffle_together(1, (&mut items, &mut wide))).unwrap();
                assert!(items.iter().zip(&wide).all(|(&item, wide)| [item; 3] == *wide));
                assert!(items == shuffled, "{strategy:?}");
                led(|| workspace.unshuffle_into(1, &shuffled, &mut items)).unwrap();
                assert!(items == original, "{strategy:?}");
            }
        });
    }
}
