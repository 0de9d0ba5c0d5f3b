//! A round of [`MulXorshift`](super::MulXorshift) in lanes, for the loops and for the intrinsics.

use crate::bijection::lanes::Lane;

/// A round: `x = a x + c` and a xorshift, or the inverse of that.
#[derive(Clone, Copy)]
pub(super) struct Round<L> {
    pub(super) multiplier: L,
    pub(super) increment: L,
    pub(super) shift: usize,
    /// The bits that the xorshift may change. Bits above the domain's are garbage until they are
    /// masked off at the end; nothing reads them before, since additions and multiplications carry
    /// nothing down.
    pub(super) mask: L,
}

impl<L: Lane> Round<L> {
    #[inline(always)]
    pub(super) fn xorshift(self, x: L) -> L {
        x ^ (x >> self.shift & self.mask)
    }
}
