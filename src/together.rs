//! [`ParBijectiveShuffleTogether`]: the methods on several arrays at once.

use crate::bijection::{FromSeed, Standard};
use crate::compact::{Columns, Direction, Frame, Workspace};
use crate::error::Error;
use crate::seed::Seed;
use crate::shuffle::or_panic;

/// Shuffles for several arrays together, such as keys and their values: [`Columns`] says what they may be.
///
/// Each array gets the order that [`ParBijectiveShuffle`](crate::ParBijectiveShuffle) with the same seed gives it alone.
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
/// The trait is there for all [`Columns`], which are sealed.
pub trait ParBijectiveShuffleTogether: Columns + Sized {
    /// Shuffles the arrays.
    ///
    /// # Panics
    ///
    /// If they are not of one length, if there is no memory for a copy of the items' bytes, or if rayon cannot start
    /// its threads; they are then as they were.
    #[track_caller]
    fn par_bijective_shuffle_together(self, seed: impl Into<Seed>) {
        or_panic(self.try_par_bijective_shuffle_together(seed));
    }

    /// Undoes [`par_bijective_shuffle_together`](Self::par_bijective_shuffle_together) with the same seed.
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
    /// let (mut a, mut b) = ([1, 2, 3], ["x", "y", "z"]);
    /// (&mut a, &mut b).par_bijective_shuffle_together(42);
    /// (&mut a, &mut b).par_bijective_unshuffle_together(42);
    /// assert_eq!((a, b), ([1, 2, 3], ["x", "y", "z"]));
    /// ```
    #[track_caller]
    fn par_bijective_unshuffle_together(self, seed: impl Into<Seed>) {
        or_panic(self.try_par_bijective_unshuffle_together(seed));
    }

    /// [`par_bijective_shuffle_together`](Self::par_bijective_shuffle_together), for those who would rather hear of
    /// failure.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the arrays are not of one length, and [`Error::OutOfMemory`] if there is no memory
    /// for a copy of the items' bytes; they are then as they were.
    ///
    /// # Panics
    ///
    /// If rayon cannot start its threads; the arrays are then as they were, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle::prelude::*;
    ///
    /// let error = (&mut [1, 2, 3], &mut [1, 2]).try_par_bijective_shuffle_together(42).unwrap_err();
    /// assert_eq!(error, Error::LengthMismatch { expected: 3, actual: 2 });
    /// ```
    fn try_par_bijective_shuffle_together(self, seed: impl Into<Seed>) -> Result<(), Error> {
        move_together(self, seed.into(), Direction::Shuffle)
    }

    /// [`par_bijective_unshuffle_together`](Self::par_bijective_unshuffle_together), for those who would rather hear of
    /// failure.
    ///
    /// # Errors
    ///
    /// As [`try_par_bijective_shuffle_together`](Self::try_par_bijective_shuffle_together).
    fn try_par_bijective_unshuffle_together(self, seed: impl Into<Seed>) -> Result<(), Error> {
        move_together(self, seed.into(), Direction::Unshuffle)
    }
}

impl<C: Columns> ParBijectiveShuffleTogether for C {}

fn move_together(columns: impl Columns, seed: Seed, direction: Direction) -> Result<(), Error> {
    let mut frame = Frame::new(columns)?;
    let bijection = Standard::from_seed(frame.len().unwrap_or(0) as u64, seed);
    Workspace::new().move_together(&bijection, &mut frame, direction)
}
