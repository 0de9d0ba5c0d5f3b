//! Compaction: from a bijection on `n` points to the permutation of the `m <= n` items that are
//! wanted.
//!
//! Slots are visited in order, and a slot survives if its value is an index below `m`:
//!
//! ```text
//! for i in 0..n:  w = f(i);  if w < m:  out[rank(i)] = src[w]      rank(i) = #{ j < i : f(j) < m }
//! ```
//!
//! If `f` is uniform over the permutations of `n` points, the result is uniform over those of `m`
//! (Mitchell et al., 2022, algorithm 1 and proposition 1). A [`Compactor`] is an engine that does
//! this; all of them give the same answer.
//!
//! # What uses what
//!
//! Each line uses those above it, and none below:
//!
//! ```text
//! direction   which way items are moved
//! check       what is wrong with a bijection, in its own terms
//! (mod)       the trait Compactor
//! serial      the reference engine
//! columns     arrays that are moved together: what they may be, and a list of them
//! cpu         the engine on threads: see cpu/mod.rs
//! batch       many permutations of one length
//! ```
//!
//! The engine on a GPU is a room of its own, `crate::cuda`.

pub(crate) mod batch;
mod check;
pub(crate) mod columns;
pub(crate) mod cpu;
mod direction;
mod serial;

pub use columns::{Columns, Rows};
pub use cpu::{Cpu, Strategy, Workspace};
pub use serial::Serial;

pub(crate) use check::{with_slots, wrong_count};
pub(crate) use columns::{ColumnSet, StaticRow};
pub(crate) use cpu::direct::is_parallel;
pub(crate) use cpu::survivors::{SlotRange, Values, room_for};
pub(crate) use direction::Direction;

use crate::bijection::Bijection;
use crate::error::Error;
use crate::word::Word;

pub(crate) mod sealed {
    /// Only engines of this crate are [`Compactor`](super::Compactor)s.
    pub trait Sealed {}
}

/// An engine that turns a bijection and a length into indexes or moved items.
///
/// With `m` the length of the slice that is passed and `p` the permutation that the bijection
/// compacts to, item `k` of the shuffled slice is item `p[k]` of the original. The bijection's code
/// runs before any item is moved, so that whatever it does, no item is lost. Items of no size
/// cannot be told apart, so any order is every order: they are left alone, and the bijection is
/// only asked for its domain.
///
/// The trait is sealed: more methods may come.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::from_keys(5, [1; 24]);
/// let mut p = [0_u32; 20];
/// Serial.indices(&f, &mut p)?;
///
/// let mut items: Vec<u32> = (0..20).collect();
/// Cpu.shuffle(&f, &mut items)?;
/// assert_eq!(items, p);
/// # Ok::<(), Error>(())
/// ```
pub trait Compactor: sealed::Sealed {
    /// Writes the permutation: `out[k] = p[k]`, for the length of `out`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], and [`Error::IndexTooWide`] if `N` does not hold the
    /// indexes; [`Error::NotABijection`] and [`Error::OutOfMemory`], after which `out` holds
    /// unspecified values.
    fn indices<N: Word>(&self, bijection: &dyn Bijection, out: &mut [N]) -> Result<(), Error>;

    /// Moves the items: item `p[k]` comes to place `k`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] and [`Error::OutOfMemory`]; the
    /// items are then where they were.
    fn shuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error>;

    /// Moves the items back: item `k` comes to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    fn unshuffle<T: Send>(&self, bijection: &dyn Bijection, items: &mut [T]) -> Result<(), Error>;

    /// A shuffled copy: item `k` of the result is a clone of item `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    fn shuffled<T: Clone + Send + Sync>(
        &self,
        bijection: &dyn Bijection,
        items: &[T],
    ) -> Result<Vec<T>, Error>;
}
