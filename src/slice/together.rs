//! [`ParBijectiveShuffleTogether`]: the extension trait for several arrays at once.

use crate::compact::{ColumnForm, Columns, Order, Workspace};
use crate::engine::check::or_panic;
use crate::{Error, Seed};

/// Shuffles several arrays in the same order, such as keys and their values. [`Columns`] lists the
/// types that can be shuffled together.
///
/// Each array gets the order that [`ParBijectiveShuffle`](crate::ParBijectiveShuffle) would give it
/// alone, with the same seed or bijection. With a seed, the plain form panics where the `try_` form
/// returns an error. A bijection may be wrong, so only the `try_` forms take one.
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
/// Only [`Columns`] have these methods, and they are sealed. The trait is implemented for tuples,
/// vectors and arrays of any types, so that for one that is not a column the compiler explains what
/// a column is, instead of reporting that there is no such method:
///
/// ```compile_fail,E0277
/// use bijective_shuffle::prelude::*;
///
/// let (keys, values) = (vec![1, 2, 3], vec![4, 5, 6]);
/// (keys, values).par_bijective_shuffle_together(42); // lacks two `&mut`
/// ```
///
/// Types of other forms do not have the trait, and the compiler does not offer it for them. A
/// `VecDeque` is not a slice, but has one:
///
/// ```compile_fail,E0599
/// use std::collections::VecDeque;
///
/// use bijective_shuffle::prelude::*;
///
/// VecDeque::from([1, 2, 3]).par_bijective_shuffle_together(42);
/// ```
///
/// ```
/// use std::collections::VecDeque;
///
/// use bijective_shuffle::prelude::*;
///
/// let (mut keys, mut values) = (VecDeque::from([1, 2, 3]), ["one", "two", "three"]);
/// (keys.make_contiguous(), &mut values).par_bijective_shuffle_together(42);
/// keys.make_contiguous().par_bijective_unshuffle(42);
/// assert_eq!(keys, [1, 2, 3]);
/// ```
pub trait ParBijectiveShuffleTogether: Sized {
    /// Shuffles the arrays.
    ///
    /// # Panics
    ///
    /// If the arrays differ in length, if memory for a copy of the items' bytes cannot be
    /// allocated, or if rayon cannot start its threads. The arrays are then unchanged.
    #[track_caller]
    fn par_bijective_shuffle_together(self, seed: impl Into<Seed>)
    where
        Self: Columns,
    {
        or_panic(self.try_par_bijective_shuffle_together(seed.into()));
    }

    /// Undoes [`par_bijective_shuffle_together`](Self::par_bijective_shuffle_together) with the
    /// same seed.
    ///
    /// # Panics
    ///
    /// If the arrays differ in length, if memory for a copy of the items' bytes cannot be
    /// allocated, or if rayon cannot start its threads. The arrays are then unchanged.
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
        or_panic(self.try_par_bijective_unshuffle_together(seed.into()));
    }

    /// Shuffles the arrays by a seed or by a bijection, from this crate or the user's own, whose
    /// domain must have at least as many points as an array has items.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the arrays differ in length, and [`Error::OutOfMemory`] if
    /// memory for a copy of the items' bytes cannot be allocated. With a bijection also
    /// [`Error::LengthExceedsDomain`] if the domain has too few points, and
    /// [`Error::NotABijection`] if the bijection's values below the length are not a permutation.
    /// The arrays are then unchanged.
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads. The arrays are then unchanged.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::Error;
    /// use bijective_shuffle::bijection::Lcg;
    /// use bijective_shuffle::prelude::*;
    ///
    /// let (three, two) = (&mut [1, 2, 3], &mut [1, 2]);
    /// let error = (three, two).try_par_bijective_shuffle_together(42).unwrap_err();
    /// assert_eq!(error, Error::LengthMismatch { expected: 3, actual: 2 });
    ///
    /// let f = Lcg::new(3, 5, 3)?; // 3 0 5 2 7 4 1 6
    /// let (mut letters, mut numbers) = (['a', 'b', 'c', 'd', 'e'], vec![0, 1, 2, 3, 4]);
    /// (&mut letters, &mut numbers).try_par_bijective_shuffle_together(&f)?;
    /// assert_eq!(letters, ['d', 'a', 'c', 'e', 'b']);
    /// assert_eq!(numbers, [3, 0, 2, 4, 1]);
    /// (&mut letters, &mut numbers).try_par_bijective_unshuffle_together(&f)?;
    /// assert_eq!(letters, ['a', 'b', 'c', 'd', 'e']);
    /// # Ok::<(), Error>(())
    /// ```
    fn try_par_bijective_shuffle_together<'a>(
        self,
        order: impl Into<Order<'a>>,
    ) -> Result<(), Error>
    where
        Self: Columns,
    {
        Workspace::once().shuffle_together(order, self)
    }

    /// Undoes [`try_par_bijective_shuffle_together`](Self::try_par_bijective_shuffle_together) with
    /// the same seed or the same bijection.
    ///
    /// # Errors
    ///
    /// Those of [`try_par_bijective_shuffle_together`](Self::try_par_bijective_shuffle_together).
    ///
    /// # Panics
    ///
    /// If the bijection panics, or rayon cannot start its threads. The arrays are then unchanged.
    fn try_par_bijective_unshuffle_together<'a>(
        self,
        order: impl Into<Order<'a>>,
    ) -> Result<(), Error>
    where
        Self: Columns,
    {
        Workspace::once().unshuffle_together(order, self)
    }
}

impl<C: ColumnForm> ParBijectiveShuffleTogether for C {}
