//! [`Bijection`], and [`TrustedBijection`], the marker by which an author vouches for one; and
//! [`EngineHooks`], which authors do not see.
//!
//! `forward_each` and `inverse_each` stand beside the methods for runs because of compositions. A
//! composition evaluates its first part on consecutive slots, but its second part on whatever
//! values the first returns. Without a method for arbitrary points the second part could never be
//! vectorised.
//!
//! Trust is asked for at run time: [`Bijection::trusted`] returns the bijection as a [`Trusted`],
//! and only a [`TrustedBijection`] can become one. Rust has no specialisation, so a generic
//! function cannot ask whether a type has a marker, and a `Box<dyn Bijection>` should be able to
//! skip the check, too. Combinators are rebuilt from their parts' trusted forms by their checked
//! constructors.

#[cfg(feature = "alloc")]
use alloc::boxed::Box;
use core::any::Any;
use core::fmt;

use super::{DeviceSource, Passes, narrow};
use crate::base::check::check_length;
use crate::error::IndexError;
use crate::word::Word;

/// The methods of a bijection that passes calls on to another.
macro_rules! pass_on {
    ($word:ty, $self:ident => $to:expr) => {
        fn last(&$self) -> $word {
            $to.last()
        }
        fn forward(&$self, slot: $word) -> $word {
            $to.forward(slot)
        }
        fn inverse(&$self, index: $word) -> $word {
            $to.inverse(index)
        }
        pass_on!(runs of $word, $self => $to);
    };
    (runs of $word:ty, $self:ident => $to:expr) => {
        fn forward_run(&$self, first: $word, out: &mut [$word]) {
            $to.forward_run(first, out);
        }
        fn inverse_run(&$self, first: $word, out: &mut [$word]) {
            $to.inverse_run(first, out);
        }
        fn forward_each(&$self, values: &mut [$word]) {
            $to.forward_each(values);
        }
        fn inverse_each(&$self, values: &mut [$word]) {
            $to.inverse_each(values);
        }
        fn device_source(&$self) -> Option<DeviceSource> {
            $to.device_source()
        }
    };
}
pub(super) use pass_on;

/// A bijection on the domain `[0, n)`: a permutation of `n` points that any processor can evaluate
/// at any point independently.
///
/// Implement [`last`](Self::last), [`forward`](Self::forward) and [`inverse`](Self::inverse); that
/// is enough for every back end that runs on the CPU. The trait is object safe. `&B`, `Box<B>` and
/// `Arc<B>` are bijections, also for `B = dyn Bijection<u64>`.
///
/// # Requirements
///
/// With `n = last() + 1`, for every `x < n`:
///
/// * `last()` always returns the same value;
/// * `forward(x)` and `inverse(x)` are below `n` and depend on `x` alone;
/// * `inverse(forward(x)) = x`, from which `forward(inverse(x)) = x` follows;
/// * the methods for runs and slices agree with those for single points; and `trusted` and
///   `device_source`, if they return anything, return the same map.
///
/// The values for `x >= n` are unspecified. The families of this crate do not panic there.
///
/// The trait is safe, so code that uses it must not rely on these requirements for memory safety.
/// Before items are moved by a bijection, the whole permutation is checked. If the values below the
/// length are not a permutation, the error has the [`Defect`](crate::error::Defect), and every item
/// is still in its place. An implementation that is proved right may skip the check with
/// [`TrustedBijection`]. The engines do not check what they do not need, such as whether `inverse`
/// fits `forward`. Call [`verify()`](crate::bijection::verify()) in a test to check everything.
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
/// v.try_par_bijective_shuffle(&Backwards { last: 9 })?;
/// assert_eq!(v, [5, 4, 3, 2, 1]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a bijection on words of type `{N}`",
    label = "not a bijection",
    note = "a seed goes to a method that takes one, such as `par_bijective_shuffle(42)`, or an `Order`, \
            such as `Workspace::shuffle(42, ..)`"
)]
pub trait Bijection<N: Word = u64>: Send + Sync {
    /// The last point of the domain, `n - 1`, so that a domain of `2^64` points can be expressed.
    fn last(&self) -> N;

    /// The value at a slot: the index of the item that goes there.
    fn forward(&self, slot: N) -> N;

    /// The slot whose value is the given index.
    fn inverse(&self, index: N) -> N;

    /// Writes `forward(first + k)` to `out[k]`. All of these slots are in the domain.
    fn forward_run(&self, first: N, out: &mut [N]) {
        let mut slot = first;
        for value in out {
            *value = self.forward(slot);
            slot = slot.wrapping_add(N::ONE);
        }
    }

    /// Writes `inverse(first + k)` to `out[k]`. All of these indexes are in the domain.
    fn inverse_run(&self, first: N, out: &mut [N]) {
        let mut index = first;
        for value in out {
            *value = self.inverse(index);
            index = index.wrapping_add(N::ONE);
        }
    }

    /// Replaces each value `x` with `forward(x)`.
    fn forward_each(&self, values: &mut [N]) {
        for value in values {
            *value = self.forward(*value);
        }
    }

    /// Replaces each value `x` with `inverse(x)`.
    fn inverse_each(&self, values: &mut [N]) {
        for value in values {
            *value = self.inverse(*value);
        }
    }

    /// The same bijection as one that its author vouches for, or `None`, the default, if it has to
    /// be checked. [`TrustedBijection`] shows how to override it.
    fn trusted(&self) -> Option<Trusted<'_, N>> {
        None
    }

    /// The bijection in CUDA C++, or `None`, the default, if it runs on the CPU only. Without a
    /// source, a GPU engine returns `GpuError::NoSource`. The engine checks that the device code's
    /// values are a permutation, as it does for the Rust methods, but not that it is the same
    /// permutation. The author of the text promises that it does no harm; see
    /// [`DeviceSource::new`].
    fn device_source(&self) -> Option<DeviceSource> {
        None
    }

    /// What the engines ask beyond this trait, of the bijections that have an answer of their own.
    /// For all others they have defaults.
    #[doc(hidden)]
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        None
    }
}

/// The picoseconds of an evaluation that nobody has estimated: right for a cipher that is evaluated
/// point by point.
pub(super) const UNKNOWN_PICOSECONDS: u32 = 10_000;

/// What the engines ask a bijection beyond [`Bijection`]. It promises nothing to others: methods
/// come and go with the engines. They are called through `Hooked`, which has them for every
/// bijection.
///
/// What [`TrustedBijection`] promises holds for these methods too.
#[doc(hidden)]
pub trait EngineHooks<N: Word = u64>: Bijection<N> {
    /// Writes `forward(first + k)` to `out[k]` as 32-bit words, for a domain of at most `2^32`
    /// points. All of these slots are in the domain.
    ///
    /// The engines call this where they can, since it halves the memory traffic.
    fn forward_run_u32(&self, first: N, out: &mut [u32]) {
        narrow::run_u32(first, out, |first, out| self.forward_run(first, out));
    }

    /// Writes `forward(first + k)` to `out[k]` as 16-bit words, for a domain of at most `2^16`
    /// points. All of these slots are in the domain.
    ///
    /// The CPU engine calls this for short lengths, since a vector holds twice as many words of 16
    /// bits as of 32. There is no such method for inverses, which the engine evaluates in runs for
    /// longer lengths only.
    fn forward_run_u16(&self, first: N, out: &mut [u16]) {
        narrow::run_u16(first, out, |first, out| self.forward_run_u32(first, out));
    }

    /// Writes `inverse(first + k)` to `out[k]` as 32-bit words, like
    /// [`forward_run_u32`](Self::forward_run_u32).
    fn inverse_run_u32(&self, first: N, out: &mut [u32]) {
        narrow::run_u32(first, out, |first, out| self.inverse_run(first, out));
    }

    /// Replaces each value `x` with `forward(x)`, for a domain of at most `2^32` points.
    ///
    /// The CPU engine calls this to undo a shuffle in place, where it knows which slots have an
    /// item. There is no such method for inverses, which the engine needs at consecutive indexes
    /// only, but to undo a shuffle by an [`Inverse`](crate::bijection::Inverse).
    fn forward_each_u32(&self, values: &mut [u32]) {
        narrow::each_u32(values, |values| self.forward_each(values));
    }

    /// The member of a family which is this very map, of the same domain, by which an engine knows
    /// those for which it has code of its own.
    fn member(&self) -> Option<&dyn Any> {
        None
    }

    /// An estimate of the time for one evaluation, in picoseconds, when one core evaluates a long
    /// run.
    ///
    /// It is a hint, by which the engines decide whether to evaluate every slot or every index. It
    /// is not measured at run time: if it were, the same call would take different ways on
    /// different days, and a benchmark of it would mean little.
    fn evaluation_picoseconds(&self) -> u32 {
        UNKNOWN_PICOSECONDS
    }

    /// A bijection on more points that compacts to the same permutation as this one, for every
    /// length up to this one's number of points; or `None`, the default.
    ///
    /// It is for a bijection that is itself a compaction, such as a `Permutation`, whose values
    /// have to be searched for. The CPU engine then compacts the larger bijection once, instead of
    /// evaluating this one.
    fn uncompacted(&self) -> Option<&dyn Bijection<N>> {
        None
    }

    /// The compactions that, one after the other, move as many items as this bijection has points
    /// just as it does; or `None`, the default, if it is better evaluated as it is.
    ///
    /// It is for a bijection that is made of compactions, such as the composition of two
    /// permutations, whose values have to be searched for. The engines then move the items several
    /// times, each time by a bijection whose values they need not search for. All of these
    /// bijections are trusted, and free of panics.
    fn passes(&self) -> Option<Passes<Trusted<'_, N>>> {
        None
    }

    /// Builds what the methods that evaluate would build when they are first called and, since they
    /// cannot return an error, panic without: the indexes of permutations within this bijection.
    /// Those that take long are built only if that `is_asked` for.
    ///
    /// # Errors
    ///
    /// As `Permutation::get`.
    fn build_indexes(&self, _is_asked: bool) -> Result<(), IndexError> {
        Ok(())
    }
}

/// A bijection whose author vouches for it, so that items may be moved by it without a check.
///
/// The check costs a pass over the permutation's indexes, and one bit of memory for each item. To
/// skip it, implement this trait and return the bijection from [`Bijection::trusted`]:
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
/// The [requirements](Bijection#requirements) hold without exception, for as long as a value lives,
/// for every value of the type that safe code can make. They hold for every method that the type
/// overrides, including the runs in both directions and methods that are hidden, and for the
/// functions of its [`device_source`](Bijection::device_source). Engines rely on each of these for
/// memory safety.
///
/// A method may panic. It may also wait for other threads of rayon's pool, as `rayon::join` and
/// `rayon::broadcast` do. Meanwhile its thread may do any other task of the pool, such as another
/// evaluation of the same bijection. So a method that holds a lock, and waits for the pool or for
/// another thread, may wait for ever.
///
/// `Inverse` and `RandomSign` of a trusted bijection are trusted. `Compose` and `CycleWalk` depend
/// on a check of their parts, so only their [`trusted`](Bijection::trusted) forms, made of checked
/// parts, are. A blanket implementation for trusted parts would be unsound: one type may be trusted
/// in two words with different domains, and a clone may have a different domain from its original.
///
/// # Examples
///
/// Vouching takes the keyword `unsafe`, so nobody does it by accident:
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

/// A [`TrustedBijection`] of any type.
///
/// Code that moves items without a check asks a bijection for its [`trusted`](Bijection::trusted)
/// form and from then on evaluates only that, never the original. So a bijection that returns a
/// different one there does no harm.
pub struct Trusted<'a, N: Word = u64> {
    inner: Inner<'a, N>,
    conduct: Conduct,
}

/// What is known of a bijection's methods besides their values. A user can say that no method
/// panics, and nothing else. What is known of a combinator holds for all of its parts.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conduct {
    /// No method panics.
    pub is_panic_free: bool,
    /// The methods call code of these packages alone, and none of it waits for another thread.
    pub only_computes: bool,
}

impl Conduct {
    /// What holds for both of two bijections.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            is_panic_free: self.is_panic_free && other.is_panic_free,
            only_computes: self.only_computes && other.only_computes,
        }
    }
}

enum Inner<'a, N: Word> {
    Borrowed(&'a dyn Bijection<N>),
    #[cfg(feature = "alloc")]
    Owned(Box<dyn Bijection<N> + 'a>),
}

impl<'a, N: Word> Trusted<'a, N> {
    /// Wraps a reference.
    ///
    /// Only a [`TrustedBijection`] can be wrapped:
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
        // SAFETY: the bijection is trusted.
        unsafe { Self::vouched(bijection) }
    }

    /// Wraps a reference to what is trusted for a reason that its type does not tell.
    ///
    /// # Safety
    ///
    /// The bijection keeps the promises of [`TrustedBijection`].
    pub(super) unsafe fn vouched(bijection: &'a dyn Bijection<N>) -> Self {
        Self { inner: Inner::Borrowed(bijection), conduct: Conduct::default() }
    }

    /// Wraps a value. Combinators use this to rebuild themselves from their parts' trusted forms.
    #[cfg(feature = "alloc")]
    pub fn from_owned<B: TrustedBijection<N> + 'a>(bijection: B) -> Self {
        Self { inner: Inner::Owned(Box::new(bijection)), conduct: Conduct::default() }
    }

    /// Declares that no method of the bijection panics, which holds for every family of this crate.
    /// Then items may be moved in place, where a panic could not be undone.
    ///
    /// If a method panics nevertheless while items are moved in place, the program is aborted.
    ///
    /// ```
    /// # use bijective_shuffle::prelude::*;
    /// # use bijective_shuffle::{Trusted, TrustedBijection};
    /// # struct Backwards { last: u64 }
    /// # impl Bijection for Backwards {
    /// #     fn last(&self) -> u64 { self.last }
    /// #     fn forward(&self, slot: u64) -> u64 { self.last.wrapping_sub(slot) }
    /// #     fn inverse(&self, index: u64) -> u64 { self.last.wrapping_sub(index) }
    /// // In `impl Bijection for Backwards`:
    /// fn trusted(&self) -> Option<Trusted<'_>> {
    ///     Some(Trusted::new(self).panic_free())
    /// }
    /// # }
    /// # // SAFETY: on [0, last] the map is x -> last - x, its own inverse; it never panics.
    /// # unsafe impl TrustedBijection for Backwards {}
    /// # assert!(Backwards { last: 9 }.trusted().is_some());
    /// ```
    #[must_use]
    pub fn panic_free(self) -> Self {
        let conduct = Conduct { is_panic_free: true, ..self.conduct };
        self.with_conduct(conduct)
    }

    /// Wraps a reference to a member of a family of these packages, whose methods neither panic nor
    /// do anything but compute.
    #[doc(hidden)]
    pub fn of_family<B: TrustedBijection<N>>(bijection: &'a B) -> Self {
        Self::new(bijection).with_conduct(Conduct { is_panic_free: true, only_computes: true })
    }

    /// Says what is known of the methods: for a combinator, what is known of its parts.
    #[doc(hidden)]
    #[must_use]
    pub fn with_conduct(self, conduct: Conduct) -> Self {
        Self { conduct, ..self }
    }

    /// What is known of the bijection's methods.
    #[doc(hidden)]
    pub fn conduct(&self) -> Conduct {
        self.conduct
    }

    /// The compaction to a length, as a pass; `None` if the domain is smaller or a method may
    /// panic.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    pub fn compacted_to(self, len: u64) -> Option<Passes<Self>> {
        let serves = self.conduct.is_panic_free && check_length(len, self.last().widen()).is_ok();
        serves.then(|| Passes::one(self, len))
    }

    fn get(&self) -> &dyn Bijection<N> {
        match &self.inner {
            Inner::Borrowed(bijection) => *bijection,
            #[cfg(feature = "alloc")]
            Inner::Owned(bijection) => &**bijection,
        }
    }
}

impl<N: Word> Bijection<N> for Trusted<'_, N> {
    pass_on!(N, self => self.get());

    fn trusted(&self) -> Option<Trusted<'_, N>> {
        Some(Trusted { inner: Inner::Borrowed(self.get()), conduct: self.conduct })
    }
    fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
        self.get().hooks()
    }
}

// SAFETY: every call goes to the wrapped bijection, which the constructors require to be trusted.
unsafe impl<N: Word> TrustedBijection<N> for Trusted<'_, N> {}

impl<N: Word> fmt::Debug for Trusted<'_, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trusted").field("last", &self.last()).finish_non_exhaustive()
    }
}
