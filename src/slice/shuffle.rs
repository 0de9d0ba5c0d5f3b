//! [`ParBijectiveShuffle`]: the methods on slices.

use crate::base::check::or_panic;
use crate::bijection::{Bijection, FromSeed, Standard};
use crate::compact::{Compactor, Cpu, Direction, Workspace};
use crate::error::Error;
use crate::permutation::Permutation;
use crate::seed::Seed;

mod sealed {
    /// What the methods need of a type: that it is a slice.
    pub trait Slice {
        /// What the slice is of.
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

/// Shuffles for slices, and so for vectors and arrays: deterministic, parallel, and undoable.
///
/// The order depends on the seed and the length, and on nothing else: not on the number of threads,
/// the items' type, the machine or the back end. It is that of
/// [`Permutation::new`](crate::Permutation::new).
///
/// | by | in place | undone | a copy | a sample |
/// | --- | --- | --- | --- | --- |
/// | a seed | [`par_bijective_shuffle`] | [`par_bijective_unshuffle`] | [`par_bijective_shuffled`] | [`par_bijective_sample`] |
/// | a seed, returning failures | [`try_par_bijective_shuffle`] | [`try_par_bijective_unshuffle`] | [`try_par_bijective_shuffled`] | [`try_par_bijective_sample`] |
/// | a bijection | [`par_bijective_shuffle_with`] | [`par_bijective_unshuffle_with`] | [`par_bijective_shuffled_with`] | [`Permutation::sample`] |
///
/// A seed can only fail for want of memory, so there the plain form panics and a `try_` form
/// returns the error. A bijection may be too small for the slice or wrong, so the forms `_with` a
/// bijection always return a `Result`.
///
/// Several arrays in the same order, such as keys and their values, are for
/// [`ParBijectiveShuffleTogether`](crate::ParBijectiveShuffleTogether). A loop that shuffles
/// millions of items again and again should keep its memory in a
/// [`Workspace`](crate::Workspace).
///
/// [`par_bijective_shuffle`]: Self::par_bijective_shuffle
/// [`par_bijective_unshuffle`]: Self::par_bijective_unshuffle
/// [`par_bijective_shuffled`]: Self::par_bijective_shuffled
/// [`par_bijective_sample`]: Self::par_bijective_sample
/// [`try_par_bijective_sample`]: Self::try_par_bijective_sample
/// [`try_par_bijective_shuffle`]: Self::try_par_bijective_shuffle
/// [`try_par_bijective_unshuffle`]: Self::try_par_bijective_unshuffle
/// [`try_par_bijective_shuffled`]: Self::try_par_bijective_shuffled
/// [`par_bijective_shuffle_with`]: Self::par_bijective_shuffle_with
/// [`par_bijective_unshuffle_with`]: Self::par_bijective_unshuffle_with
/// [`par_bijective_shuffled_with`]: Self::par_bijective_shuffled_with
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
/// The trait is sealed: more methods may come.
pub trait ParBijectiveShuffle: sealed::Slice {
    /// Shuffles the slice. Items are moved, never cloned, and need not be `Clone`, `Copy` or
    /// `Sync`.
    ///
    /// # Several arrays
    ///
    /// An array of references is a slice too, and shuffling it moves the references: the vectors
    /// behind them keep their order, and the array is gone at the end of the statement. To shuffle
    /// the vectors in the same order, put the references into a tuple and call
    /// [`par_bijective_shuffle_together`]. (The compiler cannot refuse the first form, as a slice
    /// of references may be just what is to be shuffled.)
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
    /// If there is no memory for a copy of the items' bytes, or rayon cannot start its threads; the
    /// slice is then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut boxes: Vec<Box<dyn Fn() -> u32 + Send>> = vec![Box::new(|| 1), Box::new(|| 2)];
    /// boxes.par_bijective_shuffle(Seed::new(42).epoch(1));
    /// assert_eq!(boxes.iter().map(|b| b()).sum::<u32>(), 3);
    /// ```
    ///
    /// Items that must not change threads are refused:
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
        or_panic(self.try_par_bijective_shuffle(seed));
    }

    /// Undoes [`par_bijective_shuffle`](Self::par_bijective_shuffle) with the same seed.
    ///
    /// # Panics
    ///
    /// If there is no memory for a copy of the items' bytes, or rayon cannot start its threads; the
    /// slice is then unchanged.
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
        or_panic(self.try_par_bijective_unshuffle(seed));
    }

    /// A shuffled copy: what [`par_bijective_shuffle`](Self::par_bijective_shuffle) makes of a
    /// clone.
    ///
    /// # Panics
    ///
    /// If there is no memory for the copy and its indexes, if rayon cannot start its threads, or if
    /// a clone panics.
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
        or_panic(self.try_par_bijective_shuffled(seed))
    }

    /// [`par_bijective_shuffle`](Self::par_bijective_shuffle), which returns an error where there
    /// is no memory.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if there is no memory for a copy of the items' bytes; the slice is
    /// then unchanged.
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the slice is then unchanged, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut v = [1, 2, 3, 4];
    /// v.try_par_bijective_shuffle(42)?;
    /// v.try_par_bijective_unshuffle(42)?;
    /// assert_eq!(v.try_par_bijective_shuffled(42)?, v.par_bijective_shuffled(42));
    /// # Ok::<(), Error>(())
    /// ```
    fn try_par_bijective_shuffle(&mut self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        Self::Item: Send,
    {
        let items = self.items_mut();
        let bijection = Standard::from_seed(items.len() as u64, seed);
        Workspace::new().reorder(&bijection, items, Direction::Shuffle)
    }

    /// [`par_bijective_unshuffle`](Self::par_bijective_unshuffle), which returns an error where
    /// there is no memory.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if there is no memory for a copy of the items' bytes; the slice is
    /// then unchanged.
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the slice is then unchanged, too.
    fn try_par_bijective_unshuffle(&mut self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        Self::Item: Send,
    {
        let items = self.items_mut();
        let bijection = Standard::from_seed(items.len() as u64, seed);
        Workspace::new().reorder(&bijection, items, Direction::Unshuffle)
    }

    /// [`par_bijective_shuffled`](Self::par_bijective_shuffled), which returns an error where there
    /// is no memory.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if there is no memory for the copy and its indexes.
    ///
    /// # Panics
    ///
    /// If a clone panics, or rayon cannot start its threads.
    fn try_par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync,
    {
        let items = self.items();
        Cpu.shuffled(&Standard::from_seed(items.len() as u64, seed), items)
    }

    /// Shuffles the slice by any bijection on at least as many points, of this crate or of your
    /// own.
    ///
    /// [`par_bijective_unshuffle_with`](Self::par_bijective_unshuffle_with) undoes it.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] if the bijection's values below the
    /// length are not a permutation, and [`Error::OutOfMemory`]; the slice is then unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads; the slice is then unchanged,
    /// too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let mut v = [0, 1, 2, 3, 4];
    /// v.par_bijective_shuffle_with(&Lcg::new(3, 5, 3)?)?; // 3 0 5 2 7 4 1 6
    /// assert_eq!(v, [3, 0, 2, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// A seed is no bijection:
    ///
    /// ```compile_fail,E0277
    /// use bijective_shuffle::prelude::*;
    ///
    /// let _ = [1, 2, 3].par_bijective_shuffle_with(&42);
    /// ```
    fn par_bijective_shuffle_with<B>(&mut self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        Self::Item: Send,
    {
        // The reference is itself a bijection, and has a size.
        Workspace::new().reorder(&bijection, self.items_mut(), Direction::Shuffle)
    }

    /// Undoes [`par_bijective_shuffle_with`](Self::par_bijective_shuffle_with) with the same
    /// bijection.
    ///
    /// It takes the bijection itself. A shuffle by its [`Inverse`](crate::bijection::Inverse) is another
    /// permutation, unless the slice has as many items as the bijection has points.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] if the bijection's values below the
    /// length are not a permutation, and [`Error::OutOfMemory`]; the slice is then unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads; the slice is then unchanged,
    /// too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?;
    /// let mut v = ["a", "b", "c", "d", "e"];
    /// v.par_bijective_shuffle_with(&f)?;
    /// assert_eq!(v, ["d", "a", "c", "e", "b"]);
    /// v.par_bijective_unshuffle_with(&f)?;
    /// assert_eq!(v, ["a", "b", "c", "d", "e"]);
    /// # Ok::<(), Error>(())
    /// ```
    fn par_bijective_unshuffle_with<B>(&mut self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        Self::Item: Send,
    {
        Workspace::new().reorder(&bijection, self.items_mut(), Direction::Unshuffle)
    }

    /// A shuffled copy by any bijection: what
    /// [`par_bijective_shuffle_with`](Self::par_bijective_shuffle_with) makes of a clone.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] if the bijection's values below the
    /// length are not a permutation, and [`Error::OutOfMemory`].
    ///
    /// # Panics
    ///
    /// If the bijection or a clone panics, or rayon cannot start its threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// assert_eq!([0, 1, 2, 3, 4].par_bijective_shuffled_with(&f)?, [3, 0, 2, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    fn par_bijective_shuffled_with<B>(&self, bijection: &B) -> Result<Vec<Self::Item>, Error>
    where
        B: Bijection + ?Sized,
        Self::Item: Clone + Send + Sync,
    {
        Cpu.shuffled(&bijection, self.items())
    }

    /// A sample without replacement, in random order: clones of `count` items, or of all if there
    /// are fewer.
    ///
    /// They are the first `count` of [`par_bijective_shuffled`](Self::par_bijective_shuffled), at
    /// the cost of the sample: 8 bytes and about two evaluations for each of its items.
    ///
    /// # Panics
    ///
    /// If there is no memory for the sample, if a clone panics, or rayon cannot start its threads.
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
        or_panic(self.try_par_bijective_sample(count, seed))
    }

    /// [`par_bijective_sample`](Self::par_bijective_sample), which returns an error where there is no
    /// memory.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if there is no memory for the sample.
    ///
    /// # Panics
    ///
    /// If a clone panics, or rayon cannot start its threads.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let v = ["a", "b", "c", "d"];
    /// assert_eq!(v.try_par_bijective_sample(2, 42)?, v.par_bijective_sample(2, 42));
    /// # Ok::<(), Error>(())
    /// ```
    fn try_par_bijective_sample(
        &self,
        count: usize,
        seed: impl Into<Seed>,
    ) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync,
    {
        let items = self.items();
        Permutation::for_slice(items, seed).sample(items, count)
    }
}

impl<T> ParBijectiveShuffle for [T] {}
