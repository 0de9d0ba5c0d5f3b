//! [`ParBijectiveShuffle`]: the extension trait for one slice.

use crate::bijection::hooks::EngineForm;
use crate::compact::{Compactor, Cpu, Direction, Order, Workspace};
use crate::engine::check::or_panic;
use crate::permutation::Permutation;
use crate::{Error, Seed};

mod sealed {
    /// Gives the provided methods access to the slice.
    pub trait Slice {
        /// The slice's item type.
        type Item;

        fn items(&self) -> &[Self::Item];

        fn items_mut(&mut self) -> &mut [Self::Item];
    }

    impl<T> Slice for [T] {
        type Item = T;

        fn items(&self) -> &[T] {
            self
        }

        fn items_mut(&mut self) -> &mut [T] {
            self
        }
    }
}

/// Shuffles slices, and so vectors and arrays: deterministically, in parallel, and reversibly.
///
/// The order is that of [`Permutation::new`](crate::Permutation::new). It depends only on the seed
/// and the length, not on the number of threads, the item type, the machine or the back end.
///
/// | method | by a seed | by a seed or a bijection, returning failures |
/// | --- | --- | --- |
/// | shuffles | [`par_bijective_shuffle`] | [`try_par_bijective_shuffle`] |
/// | undoes a shuffle | [`par_bijective_unshuffle`] | [`try_par_bijective_unshuffle`] |
/// | returns a shuffled copy | [`par_bijective_shuffled`] | [`try_par_bijective_shuffled`] |
/// | returns a copy in the original order | [`par_bijective_unshuffled`] | [`try_par_bijective_unshuffled`] |
/// | shuffles the first places only | [`par_bijective_partial_shuffle`] | [`try_par_bijective_partial_shuffle`] |
/// | returns a sample | [`par_bijective_sample`] | [`try_par_bijective_sample`] |
///
/// With a seed only the allocation of memory can fail, and the plain form then panics. A bijection
/// may also be too small for the slice, or wrong, so only the `try_` forms, which return the error,
/// take one. Partial shuffles and samples cannot be undone, since neither tells the order of all
/// items.
///
/// To give several arrays the same order, such as keys and their values, use
/// [`ParBijectiveShuffleTogether`](crate::ParBijectiveShuffleTogether). To give each row of a
/// matrix an order of its own, use
/// [`Permutations::apply_rows`](crate::Permutations::apply_rows). A loop that shuffles millions of
/// items repeatedly should reuse its working memory through a [`Workspace`].
///
/// # Choosing the strategy
///
/// These methods choose between a copy of the items and work in place by the size of the slice. A
/// [`Workspace`] that is used once makes the same call by a [`Strategy`](crate::Strategy) of the
/// caller's choice:
///
/// ```
/// use bijective_shuffle::Strategy;
/// use bijective_shuffle::prelude::*;
///
/// let mut v: Vec<u64> = (0..200_000).collect();
/// Workspace::new().with_strategy(Strategy::InPlace).shuffle(42, &mut v)?;
/// v.par_bijective_unshuffle(42);
/// assert!(v.into_iter().eq(0..200_000));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
///
/// [`par_bijective_shuffle`]: Self::par_bijective_shuffle
/// [`par_bijective_unshuffle`]: Self::par_bijective_unshuffle
/// [`par_bijective_shuffled`]: Self::par_bijective_shuffled
/// [`par_bijective_unshuffled`]: Self::par_bijective_unshuffled
/// [`par_bijective_partial_shuffle`]: Self::par_bijective_partial_shuffle
/// [`par_bijective_sample`]: Self::par_bijective_sample
/// [`try_par_bijective_partial_shuffle`]: Self::try_par_bijective_partial_shuffle
/// [`try_par_bijective_shuffle`]: Self::try_par_bijective_shuffle
/// [`try_par_bijective_unshuffle`]: Self::try_par_bijective_unshuffle
/// [`try_par_bijective_shuffled`]: Self::try_par_bijective_shuffled
/// [`try_par_bijective_unshuffled`]: Self::try_par_bijective_unshuffled
/// [`try_par_bijective_sample`]: Self::try_par_bijective_sample
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut v: Vec<u32> = (0..1000).collect();
/// v.par_bijective_shuffle(42);
/// v.par_bijective_unshuffle(42);
/// assert!(v.into_iter().eq(0..1000));
/// ```
///
/// The trait is sealed, so that methods can be added to it.
pub trait ParBijectiveShuffle: sealed::Slice {
    /// Shuffles the slice. Items are moved, never cloned, and need not be `Clone`, `Copy` or
    /// `Sync`.
    ///
    /// Up to 24 MiB of items, or what the last-level cache holds if that is less, are copied to
    /// other memory and back. More are moved [in place](crate::Strategy::InPlace), with two extra
    /// bytes per item; items of more than 256 bytes are always copied. The
    /// [strategy](Self#choosing-the-strategy) can be chosen.
    ///
    /// # Several arrays
    ///
    /// An array of references is a slice, too, and shuffling it moves only the references: the
    /// vectors behind them keep their order, and the array is dropped at the end of the statement.
    /// To shuffle the vectors themselves in the same order, put the references into a tuple and
    /// call [`par_bijective_shuffle_together`]. (The compiler cannot reject the first form, since a
    /// program may want to shuffle references.)
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let (mut a, mut b) = (vec![1, 2, 3, 4], vec![1, 2, 3, 4]);
    /// [&mut a, &mut b].par_bijective_shuffle(42); // exchanges two references, or does not
    /// assert_eq!((&a[..], &b[..]), (&[1, 2, 3, 4][..], &[1, 2, 3, 4][..]));
    ///
    /// (&mut a, &mut b).par_bijective_shuffle_together(42);
    /// assert_ne!(a, [1, 2, 3, 4]);
    /// assert_eq!(a, b);
    /// ```
    ///
    /// [`par_bijective_shuffle_together`]: crate::ParBijectiveShuffleTogether::par_bijective_shuffle_together
    ///
    /// # Panics
    ///
    /// If memory for a copy of the items' bytes cannot be allocated, or rayon cannot start its
    /// threads. The slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut boxes: Vec<Box<dyn Fn() -> u32 + Send>> = vec![Box::new(|| 1), Box::new(|| 2)];
    /// boxes.par_bijective_shuffle(Seed::new(42).with_epoch(1));
    /// assert_eq!(boxes.iter().map(|b| b()).sum::<u32>(), 3);
    /// ```
    ///
    /// Items that must not be sent to another thread are rejected:
    ///
    /// ```compile_fail,E0277
    /// use bijective_shuffle::prelude::*;
    ///
    /// vec![std::rc::Rc::new(1)].par_bijective_shuffle(42);
    /// ```
    #[track_caller]
    fn par_bijective_shuffle(&mut self, seed: impl Into<Seed>)
    where
        Self::Item: Send,
    {
        or_panic(Workspace::reorder_plainly::<_, false>(seed.into(), self.items_mut()));
    }

    /// Undoes [`par_bijective_shuffle`](Self::par_bijective_shuffle) with the same seed.
    ///
    /// # Panics
    ///
    /// If memory for a copy of the items' bytes cannot be allocated, or rayon cannot start its
    /// threads. The slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4];
    /// v.par_bijective_shuffle(42);
    /// v.par_bijective_unshuffle(42);
    /// assert_eq!(v, [1, 2, 3, 4]);
    /// ```
    #[track_caller]
    fn par_bijective_unshuffle(&mut self, seed: impl Into<Seed>)
    where
        Self::Item: Send,
    {
        or_panic(Workspace::reorder_plainly::<_, true>(seed.into(), self.items_mut()));
    }

    /// Returns a shuffled copy: what [`par_bijective_shuffle`](Self::par_bijective_shuffle) would
    /// make of a clone.
    ///
    /// # Panics
    ///
    /// If memory for the copy and its indexes cannot be allocated, if rayon cannot start its
    /// threads, or if a clone panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let v = ["a", "b", "c"];
    /// let shuffled = v.par_bijective_shuffled(42);
    /// let mut in_place = v;
    /// in_place.par_bijective_shuffle(42);
    /// assert_eq!(shuffled, in_place);
    /// ```
    #[must_use]
    #[track_caller]
    fn par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Vec<Self::Item>
    where
        Self::Item: Clone + Send + Sync,
    {
        or_panic(self.try_par_bijective_shuffled(seed.into()))
    }

    /// Returns a copy in the original order: what
    /// [`par_bijective_unshuffle`](Self::par_bijective_unshuffle) would make of a clone.
    ///
    /// # Panics
    ///
    /// If memory for the copy cannot be allocated, if rayon cannot start its threads, or if a clone
    /// panics.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let v = ["a", "b", "c"];
    /// assert_eq!(v.par_bijective_shuffled(42).par_bijective_unshuffled(42), v);
    /// ```
    #[must_use]
    #[track_caller]
    fn par_bijective_unshuffled(&self, seed: impl Into<Seed>) -> Vec<Self::Item>
    where
        Self::Item: Clone + Send + Sync,
    {
        or_panic(self.try_par_bijective_unshuffled(seed.into()))
    }

    /// Shuffles the slice by a seed, as [`par_bijective_shuffle`](Self::par_bijective_shuffle)
    /// does, or by a bijection, from this crate or the user's own, and returns an error if that
    /// fails. The domain of a bijection must have at least as many points as the slice has items.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if memory for a copy of the items' bytes cannot be allocated. With a
    /// bijection also [`Error::LengthExceedsDomain`] if the domain has too few points, and
    /// [`Error::NotABijection`] if the bijection's values below the length are not a permutation.
    /// The slice is then unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads. The slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut v = [0, 1, 2, 3, 4];
    /// v.try_par_bijective_shuffle(&Lcg::new(3, 5, 3)?)?; // 3 0 5 2 7 4 1 6
    /// assert_eq!(v, [3, 0, 2, 4, 1]);
    ///
    /// assert_eq!(v.try_par_bijective_shuffled(42)?, v.par_bijective_shuffled(42));
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    fn try_par_bijective_shuffle<'a>(&mut self, order: impl Into<Order<'a>>) -> Result<(), Error>
    where
        Self::Item: Send,
    {
        Workspace::once().reorder(order.into(), self.items_mut(), Direction::Shuffle)
    }

    /// Undoes [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle) with the same seed or
    /// the same bijection.
    ///
    /// Pass the same bijection, not its [`Inverse`](crate::bijection::Inverse): a shuffle by the
    /// inverse is a different permutation, unless the slice has as many items as the bijection has
    /// points.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle). The slice is then
    /// unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads. The slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?;
    /// let mut v = ["a", "b", "c", "d", "e"];
    /// v.try_par_bijective_shuffle(&f)?;
    /// assert_eq!(v, ["d", "a", "c", "e", "b"]);
    /// v.try_par_bijective_unshuffle(&f)?;
    /// assert_eq!(v, ["a", "b", "c", "d", "e"]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    fn try_par_bijective_unshuffle<'a>(&mut self, order: impl Into<Order<'a>>) -> Result<(), Error>
    where
        Self::Item: Send,
    {
        Workspace::once().reorder(order.into(), self.items_mut(), Direction::Unshuffle)
    }

    /// Returns a shuffled copy: what
    /// [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle) would make of a clone.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle), where the memory is that
    /// for the copy and its indexes.
    ///
    /// # Panics
    ///
    /// If the bijection or a clone panics, or rayon cannot start its threads.
    fn try_par_bijective_shuffled<'a>(
        &self,
        order: impl Into<Order<'a>>,
    ) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync,
    {
        Cpu.shuffled(order, self.items())
    }

    /// Returns a copy in the original order: what
    /// [`try_par_bijective_unshuffle`](Self::try_par_bijective_unshuffle) would make of a clone.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle), where the memory is that
    /// for the copy and for moving its items.
    ///
    /// # Panics
    ///
    /// If the bijection or a clone panics, or rayon cannot start its threads.
    fn try_par_bijective_unshuffled<'a>(
        &self,
        order: impl Into<Order<'a>>,
    ) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync,
    {
        Cpu.unshuffled(order, self.items())
    }

    /// Shuffles only the first `count` places, or all if there are fewer, and returns them and the
    /// rest.
    ///
    /// The first `count` items are those that
    /// [`par_bijective_shuffle`](Self::par_bijective_shuffle) would put there, in the same order.
    /// The other items are all in the rest, in an unspecified order, which another version may
    /// change. So this cannot be undone from the seed.
    ///
    /// A small part takes about two evaluations of the bijection, one swap and 24 bytes of working
    /// memory for each of its items, all on the calling thread, and does not touch the other items.
    /// A part of an eighth of the slice or more is shuffled with all of the slice, on all threads.
    ///
    /// # Panics
    ///
    /// If working memory cannot be allocated, or rayon cannot start its threads. The slice is then
    /// unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut v: Vec<u32> = (0..1000).collect();
    /// let all = v.par_bijective_shuffled(42);
    /// let (winners, others) = v.par_bijective_partial_shuffle(3, 42);
    /// assert_eq!(winners, &all[..3]);
    /// assert_eq!(others.len(), 997);
    /// ```
    #[track_caller]
    fn par_bijective_partial_shuffle(
        &mut self,
        count: usize,
        seed: impl Into<Seed>,
    ) -> (&mut [Self::Item], &mut [Self::Item])
    where
        Self::Item: Send,
    {
        or_panic(self.try_par_bijective_partial_shuffle(count, seed.into()))
    }

    /// Shuffles only the first `count` places, as
    /// [`par_bijective_partial_shuffle`](Self::par_bijective_partial_shuffle) does, by a seed or by
    /// a bijection.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle), and for a composition the
    /// errors of [`Permutation::get`]. The slice is then unchanged. A bijection that breaks its
    /// requirements only beyond the first places may be accepted: only those are evaluated.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads. The slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(5, 5, 3)?; // 3 8 13 18 ..
    /// let mut v: Vec<u32> = (0..32).collect();
    /// let (first, _) = v.try_par_bijective_partial_shuffle(2, &f)?;
    /// assert_eq!(first, [3, 8]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    #[expect(clippy::type_complexity, reason = "a pair of slices, as `split_at_mut` returns it")]
    fn try_par_bijective_partial_shuffle<'a>(
        &mut self,
        count: usize,
        order: impl Into<Order<'a>>,
    ) -> Result<(&mut [Self::Item], &mut [Self::Item]), Error>
    where
        Self::Item: Send,
    {
        let (order, items) = (order.into(), self.items_mut());
        let count = count.min(items.len());
        if count < items.len() / 8 && size_of::<Self::Item>() > 0 {
            let len = items.len() as u64;
            match EngineForm::of(order.for_len(len).bijection()) {
                EngineForm::Trusted(f) => {
                    Permutation::from_bijection(len, f)?.bring_to_front(items, count, true)?;
                }
                EngineForm::Unchecked(f) => {
                    Permutation::from_bijection(len, f)?.bring_to_front(items, count, false)?;
                }
            }
        } else {
            Workspace::once().reorder(order, items, Direction::Shuffle)?;
        }
        Ok(items.split_at_mut(count))
    }

    /// Returns a sample without replacement, in random order: clones of `count` items, or of all
    /// items if there are fewer.
    ///
    /// The sample is the first `count` items of
    /// [`par_bijective_shuffled`](Self::par_bijective_shuffled), but costs only 8 bytes and about
    /// two evaluations of the bijection for each of them.
    ///
    /// # Panics
    ///
    /// If memory for the sample cannot be allocated, if a clone panics, or if rayon cannot start
    /// its threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let v: Vec<u32> = (0..1000).collect();
    /// assert_eq!(v.par_bijective_sample(3, 42), v.par_bijective_shuffled(42)[..3]);
    /// assert_eq!(v.par_bijective_sample(2000, 42).len(), 1000);
    /// ```
    #[must_use]
    #[track_caller]
    fn par_bijective_sample(&self, count: usize, seed: impl Into<Seed>) -> Vec<Self::Item>
    where
        Self::Item: Clone + Send + Sync,
    {
        let items = self.items();
        or_panic(Permutation::new(items.len() as u64, seed).sample(items, count))
    }

    /// Returns a sample as [`par_bijective_sample`](Self::par_bijective_sample) does, by a seed or
    /// by a bijection: clones of the first `count` items of
    /// [`try_par_bijective_shuffled`](Self::try_par_bijective_shuffled).
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if memory for the sample cannot be allocated. With a bijection also
    /// [`Error::LengthExceedsDomain`] if the domain has too few points, and the other errors of
    /// [`Permutation::sample`], which says what a wrong bijection gives.
    ///
    /// # Panics
    ///
    /// If the bijection or a clone panics, or rayon cannot start its threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let v = ["a", "b", "c", "d", "e"];
    /// assert_eq!(v.try_par_bijective_sample(2, 42)?, v.par_bijective_sample(2, 42));
    /// assert_eq!(v.try_par_bijective_sample(2, &Lcg::new(3, 5, 3)?)?, ["d", "a"]);
    /// # Ok::<(), bijective_shuffle::Error>(())
    /// ```
    fn try_par_bijective_sample<'a>(
        &self,
        count: usize,
        order: impl Into<Order<'a>>,
    ) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync,
    {
        let (items, order) = (self.items(), order.into());
        let len = items.len() as u64;
        Permutation::from_bijection(len, order.for_len(len).bijection())?.sample(items, count)
    }
}

impl<T> ParBijectiveShuffle for [T] {}
