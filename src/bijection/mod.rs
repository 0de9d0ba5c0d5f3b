//! Keyed bijections on `[0, n)`, and the combinators that build new ones.
//!
//! | family | domain | for |
//! | --- | --- | --- |
//! | [`Standard`] | at least the length | the default: what a seed chooses |
//! | [`VariablePhilox`] | `2^b`, `b` from 2 to 64 | exactly the paper's cipher |
//! | [`MulXorshift`] | `2^b`, `b` from 2 to 64 | the fastest good one |
//! | [`GridFeistel`] | hardly more than the length | one evaluation an item at any length |
//! | [`Lcg`] | `2^b`, `b` from 1 to 64 | the paper's cheap and weak alternative |
//! | [`Affine`](crate::Affine) | `2^b`, `b` from 0 to 64 | bit reversal, transposes and their like |
//! | [`Table`] | any | a permutation that is given, or drawn exactly |
//!
//! | combinator | what it is |
//! | --- | --- |
//! | [`Compose`] | one after another |
//! | [`Inverse`] | backwards |
//! | [`RandomSign`] | the same and, for half of the keys, one swap more |
//! | [`CycleWalk`] | restricted to `[0, m)` by walking |
//! | [`BlockShuffle`] | whole blocks, then the items of a few blocks at a time |

mod block_shuffle;
mod compose;
mod cycle_walk;
mod device;
mod from_seed;
mod grid_feistel;
mod inverse;
pub(crate) mod lanes;
mod lcg;
mod mul_xorshift;
mod random_sign;
mod standard;
mod table;
mod trusted;
mod variable_philox;
mod verify;

pub use block_shuffle::{BlockShuffle, BlockWindow};
pub use compose::Compose;
pub use cycle_walk::CycleWalk;
pub use device::DeviceSource;
pub use from_seed::FromSeed;
pub use grid_feistel::GridFeistel;
pub use inverse::Inverse;
pub use lcg::Lcg;
pub use mul_xorshift::MulXorshift;
pub use random_sign::RandomSign;
pub(crate) use standard::Chain;
pub use standard::Standard;
pub use table::Table;
pub(crate) use table::{batch, draw_exchanges, rejected};
pub use trusted::{Trusted, TrustedBijection};
pub use variable_philox::VariablePhilox;
pub use verify::verify;

use crate::error::Error;
use crate::word::Word;

/// A bijection on the domain `[0, n)`: a permutation of `n` points that any processor can evaluate at any
/// point on its own.
///
/// Implement [`last`](Self::last), [`forward`](Self::forward) and [`inverse`](Self::inverse); that is
/// enough for every back end that runs on the CPU. The trait is object safe, and `&B`, `Box<B>` and
/// `Arc<B>` are bijections, also for `B = dyn Bijection<u64>`.
///
/// # Requirements
///
/// With `n = last() + 1`, for every `x < n`:
///
/// * `last()` is always the same;
/// * `forward(x)` and `inverse(x)` are below `n` and depend on `x` alone;
/// * `inverse(forward(x)) = x`, from which `forward(inverse(x)) = x` follows;
/// * the methods for runs and slices agree with the single ones, and `trusted` and `device_source`, if they give
///   anything, give the same map; what `uncompacted` gives compacts to the same permutations.
///
/// The values for `x >= n` are unspecified. The families of this crate do not panic there.
///
/// The trait is safe: code that uses it must not rely on these requirements for memory safety. Where the crate moves
/// items by a bijection it first checks the whole permutation, and answers [`Error::NotABijection`] with every item
/// still in its place if the values below the length are not a permutation. An implementation that is proved right
/// may skip the check with [`TrustedBijection`]. What the engines do not need they do not check, such as whether
/// `inverse` fits `forward`: [`verify()`] does, in a test.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::prelude::*;
///
/// /// Counts backwards.
/// struct Backwards {
///     last: u64,
/// }
///
/// impl Bijection for Backwards {
///     fn last(&self) -> u64 {
///         self.last
///     }
///     fn forward(&self, slot: u64) -> u64 {
///         self.last - slot
///     }
///     fn inverse(&self, index: u64) -> u64 {
///         self.last - index
///     }
/// }
///
/// let mut v = [1, 2, 3, 4, 5];
/// v.par_bijective_shuffle_with(&Backwards { last: 9 })?;
/// assert_eq!(v, [5, 4, 3, 2, 1]);
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bijection on words of type `{N}`",
    label = "not a bijection",
    note = "a seed goes to the method without `_with`, such as `par_bijective_shuffle(42)`, or to one \
            that ends in `_by_seed`, such as `Workspace::shuffle_by_seed(42, ..)`"
)]
pub trait Bijection<N: Word = u64>: Send + Sync {
    /// The last point of the domain, `n - 1`; so a domain of `2^64` points has a name too.
    fn last(&self) -> N;

    /// The value at a slot: the index of the item that comes there.
    fn forward(&self, slot: N) -> N;

    /// The slot at which an index is the value.
    fn inverse(&self, index: N) -> N;

    /// Writes `forward(first + k)` to `out[k]`. All the slots are in the domain.
    fn forward_run(&self, first: N, out: &mut [N]) {
        let mut slot = first;
        for value in out {
            *value = self.forward(slot);
            slot = slot.wrapping_add(&N::one());
        }
    }

    /// Writes `inverse(first + k)` to `out[k]`. All the indexes are in the domain.
    fn inverse_run(&self, first: N, out: &mut [N]) {
        let mut index = first;
        for value in out {
            *value = self.inverse(index);
            index = index.wrapping_add(&N::one());
        }
    }

    /// Writes `forward(first + k)` to `out[k]`, in 32 bits, for a domain of at most `2^32` points. All the slots are
    /// in the domain.
    ///
    /// The engines ask for this where they can, since it halves what is written and read. The default goes through
    /// [`forward_run`](Self::forward_run).
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        narrow_run(first, out, |first, run| self.forward_run(first, run));
    }

    /// Writes `inverse(first + k)` to `out[k]`, in 32 bits, as [`forward_run_u32`](Self::forward_run_u32) does.
    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        narrow_run(first, out, |first, run| self.inverse_run(first, run));
    }

    /// Replaces each value `x` by `forward(x)`.
    fn forward_each(&self, values: &mut [N]) {
        for value in values {
            *value = self.forward(*value);
        }
    }

    /// Replaces each value `x` by `inverse(x)`.
    fn inverse_each(&self, values: &mut [N]) {
        for value in values {
            *value = self.inverse(*value);
        }
    }

    /// About how long an evaluation takes, in picoseconds, when one core evaluates a long run.
    ///
    /// It is a hint: the engines weigh with it whether to evaluate every slot or every index. The default is that of
    /// a cipher that is evaluated point by point.
    fn evaluation_picoseconds(&self) -> u32 {
        10_000
    }

    /// The same bijection with its author's word that it is one, or `None`, the default, if it has to be
    /// checked. See [`TrustedBijection`] for how to override it.
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        None
    }

    /// A bijection on more points that compacts to the same permutation as this one for every length up
    /// to this one's number of points, or `None`, the default.
    ///
    /// It is for a bijection that is itself a compaction, such as a [`Permutation`], whose values have to
    /// be looked for: the CPU engine then compacts the other one, once, instead of evaluating this one.
    ///
    /// [`Permutation`]: crate::Permutation
    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        None
    }

    /// The bijection in CUDA C++, or `None`, the default, if it runs on the CPU only; a GPU engine then answers
    /// [`Error::NoDeviceSource`]. What the text answers is checked as the Rust methods' values are, for a permutation,
    /// and not for being the same one; that it does no harm is its author's word, see [`DeviceSource::new`].
    fn device_source(&self) -> Option<DeviceSource> {
        None
    }
}

/// Makes a run in 32 bits, by runs in another word.
fn narrow_run<N: Word>(first: N, out: &mut [u32], run: impl Fn(N, &mut [N])) {
    let mut wide = [N::zero(); 256];
    let mut first = first;
    for out in out.chunks_mut(wide.len()) {
        let wide = &mut wide[..out.len()];
        run(first, wide);
        for (narrow, value) in out.iter_mut().zip(&*wide) {
            *narrow = value.widen() as u32;
        }
        first = first.wrapping_add(&N::wrap(out.len() as u64));
    }
}

/// Hands every method of [`Bijection`] to what a pointer points at.
macro_rules! forward_bijection {
    ($($pointer:ty),*) => {$(
        impl<N: Word, B: Bijection<N> + ?Sized> Bijection<N> for $pointer {
            fn last(&self) -> N {
                (**self).last()
            }
            fn forward(&self, slot: N) -> N {
                (**self).forward(slot)
            }
            fn inverse(&self, index: N) -> N {
                (**self).inverse(index)
            }
            fn forward_run(&self, first: N, out: &mut [N]) {
                (**self).forward_run(first, out);
            }
            fn inverse_run(&self, first: N, out: &mut [N]) {
                (**self).inverse_run(first, out);
            }
            fn forward_run_u32(&self, first: N, out: &mut [u32]) {
                (**self).forward_run_u32(first, out);
            }
            fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
                (**self).inverse_run_u32(first, out);
            }
            fn evaluation_picoseconds(&self) -> u32 {
                (**self).evaluation_picoseconds()
            }
            fn forward_each(&self, values: &mut [N]) {
                (**self).forward_each(values);
            }
            fn inverse_each(&self, values: &mut [N]) {
                (**self).inverse_each(values);
            }
            fn trusted(&self) -> Option<Trusted<'_, N>> {
                (**self).trusted()
            }
            fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
                (**self).uncompacted()
            }
            fn device_source(&self) -> Option<DeviceSource> {
                (**self).device_source()
            }
        }
    )*};
}

forward_bijection!(&B, Box<B>, std::sync::Arc<B>);

/// Checks that a width is one that a family and its word have.
pub(crate) fn check_bits<N: Word>(bits: u32, min: u32) -> Result<(), Error> {
    if (min..=N::BITS).contains(&bits) {
        Ok(())
    } else {
        Err(Error::BitsOutOfRange { bits, min, max: N::BITS })
    }
}
