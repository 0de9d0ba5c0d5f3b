//! Pointers to bijections, which are bijections.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, sync::Arc};

use super::traits::{EngineHooks, pass_on};
use super::{Bijection, DeviceSource, Trusted, TrustedBijection};
use crate::word::Word;

/// Forwards every method of [`Bijection`] to a pointer's target.
macro_rules! forward_bijection {
    ($($pointer:ty),*) => {$(
        impl<N: Word, B: Bijection<N> + ?Sized> Bijection<N> for $pointer {
            pass_on!(N, self => (**self));

            fn trusted(&self) -> Option<Trusted<'_, N>> {
                (**self).trusted()
            }
            #[inline]
            fn hooks(&self) -> Option<&dyn EngineHooks<N>> {
                (**self).hooks()
            }
        }
    )*};
}

forward_bijection!(&B);
#[cfg(feature = "alloc")]
forward_bijection!(Box<B>, Arc<B>);

// SAFETY: the reference passes every call on to B, which keeps the requirements, and nobody can
// change B while it is shared.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for &B {}
#[cfg(feature = "alloc")]
// SAFETY: the box passes every call on to B. All methods take `&self`, through which a B that keeps
// the requirements always returns the same values.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for Box<B> {}
#[cfg(feature = "alloc")]
// SAFETY: the `Arc` passes every call on to B. Its other owners can only share B as well, and
// sharing does not change what a trusted bijection returns.
unsafe impl<N: Word, B: TrustedBijection<N> + ?Sized> TrustedBijection<N> for Arc<B> {}
