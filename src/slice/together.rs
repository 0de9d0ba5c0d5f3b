//! [`ParBijectiveShuffleTogether`]: the methods on several arrays at once.

use crate::base::check::or_panic;
use crate::bijection::Bijection;
use crate::compact::{Columns, Workspace};
use crate::error::Error;
use crate::seed::Seed;

/// Shuffles for several arrays together, such as keys and their values: [`Columns`] says what they
/// may be.
///
/// Each array gets the order that [`ParBijectiveShuffle`](crate::ParBijectiveShuffle) with the same
/// seed or bijection gives it alone. The forms by a seed panic where a `try_` form returns an
/// error; the forms `_with` a bijection, which may be wrong, always return a `Result`.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let mut keys: Vec<u64> = (0..1000).collect();
/// let mut values: Vec<String> = keys.iter().map(|key| key.to_string()).collect();
/// (&mut keys, &mut values).par_bijective_shuffle_together(42);
/// assert!(keys.iter().zip(&values).all(|(key, value)| key.to_string() == *value));
///
/// values.par_bijective_unshuffle(42);
/// assert!((0..1000).zip(&values).all(|(key, value)| key.to_string() == *value));
/// ```
///
/// Only [`Columns`] have these methods, which are sealed. The trait is there for every type, so
/// that the compiler says of anything else what a column is, instead of that there is no such
/// method:
///
/// ```compile_fail,E0277
/// use bijective_shuffle::prelude::*;
///
/// let (keys, values) = (vec![1, 2, 3], vec![4, 5, 6]);
/// (keys, values).par_bijective_shuffle_together(42); // lacks two `&mut`
/// ```
pub trait ParBijectiveShuffleTogether: Sized {
    /// Shuffles the arrays.
    ///
    /// # Panics
    ///
    /// If they are not of one length, if there is no memory for a copy of the items' bytes, or if
    /// rayon cannot start its threads; they are then unchanged.
    #[track_caller]
    fn par_bijective_shuffle_together(self, seed: impl Into<Seed>)
    where
        Self: Columns,
    {
        or_panic(self.try_par_bijective_shuffle_together(seed));
    }

    /// Undoes [`par_bijective_shuffle_together`](Self::par_bijective_shuffle_together) with the
    /// same seed.
    ///
    /// # Panics
    ///
    /// If they are not of one length, if there is no memory for a copy of the items' bytes, or if
    /// rayon cannot start its threads; they are then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let (mut a, mut b) = ([1, 2, 3], ["x", "y", "z"]);
    /// (&mut a, &mut b).par_bijective_shuffle_together(42);
    /// (&mut a, &mut b).par_bijective_unshuffle_together(42);
    /// assert_eq!((a, b), ([1, 2, 3], ["x", "y", "z"]));
    /// ```
    #[track_caller]
    fn par_bijective_unshuffle_together(self, seed: impl Into<Seed>)
    where
        Self: Columns,
    {
        or_panic(self.try_par_bijective_unshuffle_together(seed));
    }

    /// [`par_bijective_shuffle_together`](Self::par_bijective_shuffle_together), which returns what
    /// went wrong.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the arrays are not of one length, and [`Error::OutOfMemory`] if
    /// there is no memory for a copy of the items' bytes; they are then unchanged.
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the arrays are then unchanged, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let error = (&mut [1, 2, 3], &mut [1, 2]).try_par_bijective_shuffle_together(42).unwrap_err();
    /// assert_eq!(error, Error::LengthMismatch { expected: 3, actual: 2 });
    /// ```
    fn try_par_bijective_shuffle_together(self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        Self: Columns,
    {
        Workspace::new().shuffle_together_by_seed(seed, self)
    }

    /// [`par_bijective_unshuffle_together`](Self::par_bijective_unshuffle_together), which returns
    /// what went wrong.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle_together`](Self::try_par_bijective_shuffle_together).
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the arrays are then unchanged.
    fn try_par_bijective_unshuffle_together(self, seed: impl Into<Seed>) -> Result<(), Error>
    where
        Self: Columns,
    {
        Workspace::new().unshuffle_together_by_seed(seed, self)
    }

    /// Shuffles the arrays by any bijection on at least as many points, of this crate or of your
    /// own.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the arrays are not of one length,
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] if the bijection's values below the
    /// length are not a permutation, and [`Error::OutOfMemory`]; they are then unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads; the arrays are then unchanged,
    /// too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let (mut letters, mut numbers) = (['a', 'b', 'c', 'd', 'e'], vec![0, 1, 2, 3, 4]);
    /// (&mut letters, &mut numbers).par_bijective_shuffle_together_with(&f)?;
    /// assert_eq!(letters, ['d', 'a', 'c', 'e', 'b']);
    /// assert_eq!(numbers, [3, 0, 2, 4, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    fn par_bijective_shuffle_together_with<B>(self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        Self: Columns,
    {
        // The reference is itself a bijection, and has a size.
        Workspace::new().shuffle_together(&bijection, self)
    }

    /// Undoes [`par_bijective_shuffle_together_with`](Self::par_bijective_shuffle_together_with)
    /// with the same bijection.
    ///
    /// # Errors
    ///
    /// As [`par_bijective_shuffle_together_with`](Self::par_bijective_shuffle_together_with).
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads; the arrays are then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let f = Lcg::new(3, 5, 3)?;
    /// let (mut letters, mut numbers) = (['d', 'a', 'c', 'e', 'b'], vec![3, 0, 2, 4, 1]);
    /// (&mut letters, &mut numbers).par_bijective_unshuffle_together_with(&f)?;
    /// assert_eq!(letters, ['a', 'b', 'c', 'd', 'e']);
    /// assert_eq!(numbers, [0, 1, 2, 3, 4]);
    /// # Ok::<(), Error>(())
    /// ```
    fn par_bijective_unshuffle_together_with<B>(self, bijection: &B) -> Result<(), Error>
    where
        B: Bijection + ?Sized,
        Self: Columns,
    {
        Workspace::new().unshuffle_together(&bijection, self)
    }
}

impl<C> ParBijectiveShuffleTogether for C {}
