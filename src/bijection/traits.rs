//! [`Bijection`], and [`TrustedBijection`], the marker with which an author vouches for one.

use core::fmt;

use super::DeviceSource;
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
/// items by a bijection it first checks the whole permutation, and answers [`Error::NotABijection`](crate::Error::NotABijection) with every item
/// still in its place if the values below the length are not a permutation. An implementation that is proved right
/// may skip the check with [`TrustedBijection`]. What the engines do not need they do not check, such as whether
/// `inverse` fits `forward`: [`verify()`](crate::bijection::verify()) does, in a test.
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
    /// [`GpuError::NoSource`](crate::GpuError::NoSource). What the text answers is checked as the Rust methods' values are, for a permutation,
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

/// A bijection whose author vouches for it, so that items may be moved by it without a check.
///
/// The check costs a pass over the permutation's indexes and a bit an item. To skip it, implement this
/// trait and hand the bijection out from [`Bijection::trusted`]:
///
/// ```
/// use bijective_shuffle::{Bijection, Trusted, TrustedBijection};
///
/// struct Backwards {
///     last: u64,
/// }
///
/// impl Bijection for Backwards {
///     fn last(&self) -> u64 {
///         self.last
///     }
///     fn forward(&self, slot: u64) -> u64 {
///         self.last.wrapping_sub(slot)
///     }
///     fn inverse(&self, index: u64) -> u64 {
///         self.last.wrapping_sub(index)
///     }
///     fn trusted(&self) -> Option<Trusted<'_>> {
///         Some(Trusted::new(self))
///     }
/// }
///
/// // SAFETY: on [0, last] the map is x -> last - x, its own inverse; it never panics.
/// unsafe impl TrustedBijection for Backwards {}
/// ```
///
/// # Safety
///
/// The [requirements](Bijection#requirements) hold without exception, for every value of the type that safe code can
/// make, for as long as it lives; for every method that the type overrides, the runs forwards and backwards and those
/// in 32 bits among them, and for the functions of its [`device_source`](Bijection::device_source): engines rely on any
/// of them for memory safety. A method may panic.
///
/// `Inverse` and `RandomSign` of a trusted bijection are trusted. `Compose` and `CycleWalk` rest on a check of their
/// parts, so it is their [`trusted`](Bijection::trusted) form, made of checked parts, that is.
///
/// # Examples
///
/// The word is given with `unsafe`, never by accident:
///
/// ```compile_fail,E0200
/// use bijective_shuffle::{Bijection, TrustedBijection};
///
/// struct Identity;
///
/// impl Bijection for Identity {
///     fn last(&self) -> u64 { u64::MAX }
///     fn forward(&self, slot: u64) -> u64 { slot }
///     fn inverse(&self, index: u64) -> u64 { index }
/// }
///
/// impl TrustedBijection for Identity {}
/// ```
pub unsafe trait TrustedBijection<N: Word = u64>: Bijection<N> {}

// SAFETY: the pointers pass every call on to B, which keeps the requirements; a shared pointer gives
// nobody the means to change B behind it.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for &B {}
// SAFETY: the box passes every call on to B, and its methods take `&self`, by which a B that keeps
// the requirements answers always the same.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for Box<B> {}
// SAFETY: the shared pointer passes every call on to B. Other owners can only share B too, and
// sharing does not change what a trusted bijection answers.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for std::sync::Arc<B> {}

/// A [`TrustedBijection`] of whatever type.
///
/// Whoever moves items without a check asks the bijection for its [`trusted`](Bijection::trusted) form and from then
/// on evaluates that, and no longer the bijection itself. So a bijection that hands out another one fools nobody but
/// itself.
pub struct Trusted<'a, N: Word = u64>(Inner<'a, N>);

enum Inner<'a, N: Word> {
    Borrowed(&'a dyn TrustedBijection<N>),
    Owned(Box<dyn TrustedBijection<N> + 'a>),
}

impl<'a, N: Word> Trusted<'a, N> {
    /// Wraps a reference.
    ///
    /// Only what is vouched for can be wrapped:
    ///
    /// ```compile_fail,E0277
    /// use bijective_shuffle::{Bijection, Trusted};
    ///
    /// struct Identity;
    ///
    /// impl Bijection for Identity {
    ///     fn last(&self) -> u64 { u64::MAX }
    ///     fn forward(&self, slot: u64) -> u64 { slot }
    ///     fn inverse(&self, index: u64) -> u64 { index }
    ///     fn trusted(&self) -> Option<Trusted<'_>> { Some(Trusted::new(self)) }
    /// }
    /// ```
    pub fn new<B: TrustedBijection<N>>(bijection: &'a B) -> Self {
        Self(Inner::Borrowed(bijection))
    }

    /// Wraps a value. Combinators need it: they are made anew from their parts' trusted forms.
    pub fn from_owned<B: TrustedBijection<N> + 'a>(bijection: B) -> Self {
        Self(Inner::Owned(Box::new(bijection)))
    }

    fn get(&self) -> &dyn TrustedBijection<N> {
        match &self.0 {
            Inner::Borrowed(bijection) => *bijection,
            Inner::Owned(bijection) => &**bijection,
        }
    }
}

impl<N: Word> Bijection<N> for Trusted<'_, N> {
    fn last(&self) -> N {
        self.get().last()
    }
    fn forward(&self, slot: N) -> N {
        self.get().forward(slot)
    }
    fn inverse(&self, index: N) -> N {
        self.get().inverse(index)
    }
    fn forward_run(&self, first: N, out: &mut [N]) {
        self.get().forward_run(first, out);
    }
    fn inverse_run(&self, first: N, out: &mut [N]) {
        self.get().inverse_run(first, out);
    }
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        self.get().forward_run_u32(first, out);
    }
    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        self.get().inverse_run_u32(first, out);
    }
    fn evaluation_picoseconds(&self) -> u32 {
        self.get().evaluation_picoseconds()
    }
    fn forward_each(&self, values: &mut [N]) {
        self.get().forward_each(values);
    }
    fn inverse_each(&self, values: &mut [N]) {
        self.get().inverse_each(values);
    }
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted(Inner::Borrowed(self.get())))
    }
    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        self.get().uncompacted()
    }
    fn device_source(&self) -> Option<DeviceSource> {
        self.get().device_source()
    }
}

// SAFETY: every call goes to the wrapped bijection, which is trusted.
unsafe impl<N: Word> TrustedBijection<N> for Trusted<'_, N> {}

impl<N: Word> fmt::Debug for Trusted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trusted").field("last", &self.last()).finish_non_exhaustive()
    }
}
