//! [`ParBijectiveShuffle`]: the methods on slices.

use crate::bijection::{Bijection, FromSeed, Standard};
use crate::compact::{Compactor, Cpu};
use crate::error::Error;
use crate::permutation::Permutation;
use crate::seed::Seed;

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for [T] {}
}

/// Shuffles for slices, and so for vectors and arrays: deterministic, parallel, and undoable.
///
/// The order depends on the seed and the length, and on nothing else: not on the number of threads, the items' type,
/// the machine or the back end. It is that of [`Permutation::new`](crate::Permutation::new).
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
pub trait ParBijectiveShuffle: sealed::Sealed {
    /// What the slice is of.
    type Item;

    /// Shuffles the slice. Items are moved, never cloned, and need not be `Clone`, `Copy` or `Sync`.
    ///
    /// # Panics
    ///
    /// If there is no memory for a copy of the items' bytes, or rayon cannot start its threads; the slice is then as
    /// it was.
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
    fn par_bijective_shuffle(&mut self, seed: impl Into<Seed>)
    where
        Self::Item: Send;

    /// Undoes [`par_bijective_shuffle`](Self::par_bijective_shuffle) with the same seed.
    ///
    /// # Panics
    ///
    /// As it.
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
    fn par_bijective_unshuffle(&mut self, seed: impl Into<Seed>)
    where
        Self::Item: Send;

    /// A shuffled copy: what [`par_bijective_shuffle`](Self::par_bijective_shuffle) makes of a clone.
    ///
    /// # Panics
    ///
    /// As it, and if a clone panics.
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
    fn par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Vec<Self::Item>
    where
        Self::Item: Clone + Send + Sync;

    /// [`par_bijective_shuffle`](Self::par_bijective_shuffle), for those who would rather hear of failure.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if there is no memory for a copy of the items' bytes; the slice is then as it was.
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the slice is then as it was, too.
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
        Self::Item: Send;

    /// [`par_bijective_unshuffle`](Self::par_bijective_unshuffle), for those who would rather hear of failure.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle).
    fn try_par_bijective_unshuffle(&mut self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        Self::Item: Send;

    /// [`par_bijective_shuffled`](Self::par_bijective_shuffled), for those who would rather hear of failure.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle`](Self::try_par_bijective_shuffle).
    ///
    /// # Panics
    ///
    /// If a clone panics.
    fn try_par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Result<Vec<Self::Item>, Error>
    where
        Self::Item: Clone + Send + Sync;

    /// Shuffles the slice by any bijection on at least as many points, of this crate or of your own.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] if the bijection's values below the length are not a
    /// permutation, and [`Error::OutOfMemory`]; the items are then where they were. So they are if the bijection
    /// panics.
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
    fn par_bijective_shuffle_with<B>(&mut self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        Self::Item: Send;

    /// A sample without replacement, in random order: clones of `count` items, or of all if there are
    /// fewer.
    ///
    /// They are the first `count` of [`par_bijective_shuffled`](Self::par_bijective_shuffled), at the cost
    /// of the sample: 8 bytes and about two evaluations for each of its items.
    ///
    /// # Panics
    ///
    /// If there is no memory for the sample, or a clone panics.
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
        Self: AsRef<[Self::Item]>,
        Self::Item: Clone + Send + Sync,
    {
        let items = self.as_ref();
        or_panic(Permutation::for_slice(items, seed).sample(items, count))
    }
}

impl<T> ParBijectiveShuffle for [T] {
    type Item = T;

    #[track_caller]
    fn par_bijective_shuffle(&mut self, seed: impl Into<Seed>)
    where
        T: Send,
    {
        or_panic(self.try_par_bijective_shuffle(seed));
    }

    #[track_caller]
    fn par_bijective_unshuffle(&mut self, seed: impl Into<Seed>)
    where
        T: Send,
    {
        or_panic(self.try_par_bijective_unshuffle(seed));
    }

    #[track_caller]
    fn par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Vec<T>
    where
        T: Clone + Send + Sync,
    {
        or_panic(self.try_par_bijective_shuffled(seed))
    }

    fn try_par_bijective_shuffle(&mut self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        T: Send,
    {
        Cpu.shuffle(&Standard::from_seed(self.len() as u64, seed), self)
    }

    fn try_par_bijective_unshuffle(&mut self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        T: Send,
    {
        Cpu.unshuffle(&Standard::from_seed(self.len() as u64, seed), self)
    }

    fn try_par_bijective_shuffled(&self, seed: impl Into<Seed>) -> Result<Vec<T>, Error>
    where
        T: Clone + Send + Sync,
    {
        Cpu.shuffled(&Standard::from_seed(self.len() as u64, seed), self)
    }

    fn par_bijective_shuffle_with<B>(&mut self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        T: Send,
    {
        // The reference is itself a bijection, and has a size.
        Cpu.shuffle(&bijection, self)
    }
}

#[track_caller]
pub(crate) fn or_panic<R>(result: Result<R, Error>) -> R {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
