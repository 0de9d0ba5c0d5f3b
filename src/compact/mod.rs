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
//! this. All engines give the same result.
//!
//! Engines take `&dyn Bijection` from the [`Order`] that they are given. They call a bijection for
//! runs of a thousand slots, so a virtual call costs nothing, and an engine is compiled once for
//! each item type instead of once for each pair of item type and bijection.
//!
//! # What uses what
//!
//! Each line uses those above it, and none below:
//!
//! ```text
//! direction   the direction in which items move
//! order       what a workspace is given to move items by: a seed or a bijection
//! defects     describing what is wrong with a bijection
//! passes      several permutations, one after the other
//! (mod)       the trait Compactor
//! serial      the reference engine
//! columns     arrays that are moved together
//! cpu         the engine on threads; see cpu/mod.rs
//! batch       many permutations of one length
//! ```
//!
//! The GPU engine is in `crate::cuda`.

pub(crate) mod batch;
pub(crate) mod columns;
pub(crate) mod cpu;
mod defects;
mod direction;
mod order;
pub(crate) mod passes;
#[cfg(test)]
pub(crate) mod plain;
mod serial;

pub use columns::{Columns, Rows};
pub use cpu::{Cpu, Strategy, Workspace};
pub use order::Order;
pub use serial::Serial;

pub(crate) use columns::{ColumnForm, ColumnSet};
pub(crate) use cpu::direct::is_parallel;
pub(crate) use cpu::partitioned::block::Block;
pub(crate) use cpu::partitioned::mailbox::{Arrivals, DividedMailbox, Mailbox};
pub(crate) use cpu::partitioned::outbox::Outbox;
pub(crate) use cpu::partitioned::shape::{
    BLOCK_BYTES, OutboxShape, RankSizes, bucket_count, chunk_of, fits, most_items, others, shape_of,
};
pub(crate) use cpu::partitioned::sort::BucketKey;
pub(crate) use cpu::survivors::{SlotRange, Values, room_for};
pub(crate) use defects::{with_slots, wrong_count};
pub use direction::Direction;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
pub(crate) use order::Chosen;
pub(crate) use order::OrderBy;

use rayon::prelude::*;

use crate::engine::check::try_with_capacity;
use crate::{Error, Word};

pub(crate) mod sealed {
    use crate::engine::check::check_length;
    use crate::{Bijection, Error, Word};

    /// What an engine of this crate does; only these are [`Compactor`](super::Compactor)s, which
    /// has what each method promises.
    pub trait Compact {
        fn write_indexes_by<N: Word>(&self, f: &dyn Bijection, out: &mut [N]) -> Result<(), Error>;

        fn shuffle_by<T: Send>(&self, f: &dyn Bijection, items: &mut [T]) -> Result<(), Error>;

        fn unshuffle_by<T: Send>(&self, f: &dyn Bijection, items: &mut [T]) -> Result<(), Error>;

        fn shuffled_by<T: Clone + Send + Sync>(
            &self,
            f: &dyn Bijection,
            items: &[T],
        ) -> Result<Vec<T>, Error>;

        fn unshuffled_by<T: Clone + Send + Sync>(
            &self,
            f: &dyn Bijection,
            items: &[T],
        ) -> Result<Vec<T>, Error> {
            check_length(items.len() as u64, f.last())?;
            let mut copy = super::cloned(items)?;
            self.unshuffle_by(f, &mut copy)?;
            Ok(copy)
        }
    }
}

/// An engine that turns a bijection and a length into indexes or moved items. Its methods take a
/// seed or a reference to any bijection, as an [`Order`].
///
/// Let `m` be the length of the slice and `p` the permutation of `m` items that the bijection
/// compacts to. Then item `k` of the shuffled slice is item `p[k]` of the original. Code of a
/// bijection that is not [trusted](crate::TrustedBijection) runs before any item is moved, so no
/// item is lost, whatever the bijection does. Items of size zero cannot be told apart, so they are
/// not moved, and the bijection is only asked for its domain.
///
/// The trait is sealed, so that methods can be added. Implementing an engine also means promising,
/// to unsafe code, how items are moved; those promises will change as faster engines come.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::bijection::VariablePhilox;
/// use bijective_shuffle::{Cpu, Serial};
/// use bijective_shuffle::prelude::*;
///
/// let f = VariablePhilox::<24>::new(5, [1; 24])?;
/// let mut p = [0_u32; 20];
/// Serial.write_indexes(&f, &mut p)?;
///
/// let mut items: Vec<u32> = (0..20).collect();
/// Cpu.shuffle(&f, &mut items)?;
/// assert_eq!(items, p);
///
/// assert_eq!(Cpu.shuffled(42, &p)?, p.par_bijective_shuffled(42));
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub trait Compactor: sealed::Compact {
    /// Writes the permutation of `out.len()` items: `out[k] = p[k]`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::IndexTooWide`] if `N` cannot hold the indexes,
    /// [`Error::NotABijection`] and [`Error::OutOfMemory`]. After the last two, `out` holds
    /// unspecified values. For a [composition](crate::Permutation::then) that has to be evaluated
    /// point by point, also the errors of [`Permutation::get`](crate::Permutation::get).
    fn write_indexes<'a, N: Word>(
        &self,
        order: impl Into<Order<'a>>,
        out: &mut [N],
    ) -> Result<(), Error> {
        let len = out.len() as u64;
        self.write_indexes_by(order.into().for_len(len).bijection(), out)
    }

    /// Shuffles the items: item `p[k]` moves to place `k`.
    ///
    /// # Errors
    ///
    /// [`Error::LengthExceedsDomain`], [`Error::NotABijection`] and [`Error::OutOfMemory`], and for
    /// a composition as [`write_indexes`](Self::write_indexes). After an error the items are
    /// unchanged.
    fn shuffle<'a, T: Send>(
        &self,
        order: impl Into<Order<'a>>,
        items: &mut [T],
    ) -> Result<(), Error> {
        let len = items.len() as u64;
        self.shuffle_by(order.into().for_len(len).bijection(), items)
    }

    /// Undoes [`shuffle`](Self::shuffle): item `k` moves to place `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    fn unshuffle<'a, T: Send>(
        &self,
        order: impl Into<Order<'a>>,
        items: &mut [T],
    ) -> Result<(), Error> {
        let len = items.len() as u64;
        self.unshuffle_by(order.into().for_len(len).bijection(), items)
    }

    /// Returns a shuffled copy: item `k` of the result is a clone of item `p[k]`.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    fn shuffled<'a, T: Clone + Send + Sync>(
        &self,
        order: impl Into<Order<'a>>,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        let len = items.len() as u64;
        self.shuffled_by(order.into().for_len(len).bijection(), items)
    }

    /// Returns a copy in the original order, as [`unshuffle`](Self::unshuffle) restores it: a clone
    /// of item `k` is item `p[k]` of the result.
    ///
    /// # Errors
    ///
    /// As [`shuffle`](Self::shuffle).
    fn unshuffled<'a, T: Clone + Send + Sync>(
        &self,
        order: impl Into<Order<'a>>,
        items: &[T],
    ) -> Result<Vec<T>, Error> {
        let len = items.len() as u64;
        self.unshuffled_by(order.into().for_len(len).bijection(), items)
    }
}

/// Clones of all items, made on all threads.
fn cloned<T: Clone + Send + Sync>(items: &[T]) -> Result<Vec<T>, Error> {
    let mut copy = try_with_capacity(items.len())?;
    items.par_iter().with_min_len(cpu::tuning::MOVE_CHUNK).cloned().collect_into_vec(&mut copy);
    Ok(copy)
}
