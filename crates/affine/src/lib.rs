//! Affine maps of indexes over GF(2): the matrices, the families of permutations that they make,
//! and functions that permute arrays by them.
//!
//! An index below `2^n` is a vector of `n` bits, and `y = A x ^ c`, with an invertible bit matrix
//! `A`, permutes the indexes. It is a *bit matrix multiply complement* permutation, BMMC (Cormen,
//! *Fast permuting on disk arrays*, 1993). Bit reversal, transposes of arrays whose sides are
//! powers of two, strides, butterflies and Gray codes are of this kind. If `A` only permutes the
//! bits, it is a *bit permute complement* permutation, BPC.
//!
//! | for | see |
//! | --- | --- |
//! | matrices over GF(2), and named families of them | [`BitMatrix`] |
//! | permuting arrays by them | [`permute()`], [`permute_in_place`], [`permuted`] |
//! | transposing arrays with sides of any length | [`transpose`] |
//! | applying a function to both parts of an array | [`parm()`], [`Affine::parm`] |
//! | sorting networks and similar networks | [`Network`] |
//! | arrays on a GPU | `CudaWorkspace::permute_into` |
//! | the map `x -> A x ^ c` as a bijection | [`Affine`] |
//!
//! [`permute()`] scatters, `out[A x ^ c] = source[x]`. That is the convention of the literature,
//! and it composes as matrices do. A shuffle by the bijection [`Affine`] gathers, as with every
//! bijection, so it is the inverse permutation.
//!
//! Each function allocates all of its memory before it moves anything: after
//! [`MatrixError::OutOfMemory`] on the CPU all items are unchanged.
//!
//! # Sources
//!
//! * M. Bouverot-Dupuis and M. Sheeran, *Efficient GPU implementation of affine index permutations
//!   on arrays*, FHPNC 2023. Cited here: `parm` of an affine map is one (section 3), tiles (5.1),
//!   the sorting network (7.1), and `parm` by permutations (7.2).
//! * T. H. Cormen, *Fast permuting on disk arrays*, Journal of Parallel and Distributed Computing
//!   17 (1-2), 1993, pages 41 to 57.
//! * M. Dowd, Y. Perl, M. Saks, and L. Rudolph, *The balanced sorting network*, PODC 1983, pages
//!   161 to 172, <https://doi.org/10.1145/800221.806719>.

mod ahead;
mod bit_matrix;
mod blocks;
mod error;
mod families;
mod in_place;
mod map;
mod mover;
mod network;
mod parm;
mod permute;
mod shares;
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "only the project's own packages see it")]
pub mod subspace;
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "only the project's own packages see it")]
pub mod tiles;
mod transpose;
mod tuning;

pub use bit_matrix::BitMatrix;
pub use error::MatrixError;
pub use in_place::permute_in_place;
pub use map::Affine;
pub use network::Network;
pub use parm::parm;
pub use permute::{permute, permuted};
pub use transpose::transpose;

/// What the engine on a GPU takes of this package. It promises nothing to others.
#[doc(hidden)]
pub mod engine {
    pub use crate::permute::check_length;
    pub use crate::{subspace, tiles};
}
