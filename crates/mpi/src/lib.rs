#![doc = include_str!("../README.md")]

mod agreement;
mod arrays;
mod buffers;
mod error;
mod fingerprint;
mod group;
mod in_flight;
mod plan;
mod shuffle;
mod spread;
mod tagged;
mod times;
mod untagged;

pub use arrays::Arrays;
pub use error::{Difference, MpiShuffleError};
pub use plan::Plan;
pub use spread::Spread;
pub use times::Times;

use bijective_shuffle::{Bijection, Permutation};
use bytemuck::Pod;
use mpi::topology::Communicator;

/// Re-exported in the version that this crate uses: items are [`Pod`].
pub use bytemuck;

/// Re-exported in the version that this crate uses, for its communicators.
pub use mpi;

/// Shuffles an array that is spread over the ranks of a communicator: place `k` of the whole array
/// receives item `p[k]`. Every rank calls it with the same permutation, and holds as many items
/// afterwards as before.
///
/// A program that shuffles again and again keeps a [`Spread`], which saves the communicator and the
/// buffers from being made anew.
///
/// # Errors
///
/// As [`Spread::new`], [`Spread::plan`] and [`Plan::shuffle`].
///
/// # Examples
///
/// ```no_run
/// use bijective_shuffle::Permutation;
/// use mpi::topology::Communicator;
///
/// let (universe, _) = mpi::initialize_with_threading(mpi::Threading::Funneled).unwrap();
/// let world = universe.world();
/// let p = Permutation::new(1000 * world.size() as u64, 42);
/// let mut items = vec![world.rank(); 1000];
/// bijective_shuffle_mpi::shuffle(&world, &p, &mut items)?;
/// # Ok::<(), bijective_shuffle_mpi::MpiShuffleError>(())
/// ```
pub fn shuffle<B: Bijection, T: Pod + Send + Sync>(
    communicator: &impl Communicator,
    p: &Permutation<B>,
    items: &mut Vec<T>,
) -> Result<(), MpiShuffleError> {
    shuffle_together(communicator, p, (items,))
}

/// Undoes [`shuffle`]: item `k` of the whole array moves to place `p[k]`.
///
/// # Errors
///
/// As [`shuffle`].
pub fn unshuffle<B: Bijection, T: Pod + Send + Sync>(
    communicator: &impl Communicator,
    p: &Permutation<B>,
    items: &mut Vec<T>,
) -> Result<(), MpiShuffleError> {
    unshuffle_together(communicator, p, (items,))
}

/// [`shuffle`]s several arrays alike: a tuple of up to eight `&mut Vec`, of equal lengths on each
/// rank.
///
/// # Errors
///
/// As [`shuffle`]; no array has moved without the others.
pub fn shuffle_together<B: Bijection>(
    communicator: &impl Communicator,
    p: &Permutation<B>,
    arrays: impl Arrays,
) -> Result<(), MpiShuffleError> {
    Spread::new(communicator, arrays.items())?.plan(p)?.shuffle_together(arrays)
}

/// Undoes [`shuffle_together`].
///
/// # Errors
///
/// As [`shuffle_together`].
pub fn unshuffle_together<B: Bijection>(
    communicator: &impl Communicator,
    p: &Permutation<B>,
    arrays: impl Arrays,
) -> Result<(), MpiShuffleError> {
    Spread::new(communicator, arrays.items())?.plan(p)?.unshuffle_together(arrays)
}
