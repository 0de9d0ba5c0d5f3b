//! Keyed bijections on `[0, n)`, and the combinators that build new ones.
//!
//! | family | domain | for |
//! | --- | --- | --- |
//! | [`Standard`] | at least the length | the default, which a seed chooses |
//! | [`VariablePhilox`] | `2^b`, `b` from 2 to 64 | the paper's cipher, exactly |
//! | [`MulXorshift`] | `2^b`, `b` from 2 to 64 | the fastest good family |
//! | [`GridFeistel`] | hardly more than the length | one evaluation for each item, at any length |
//! | [`SwapOrNot`] | any, up to `2^64 - 1` | a proved distance from uniform, for all points |
//! | [`Lcg`] | `2^b`, `b` from 1 to 64 | the paper's cheap and weak alternative |
//! | [`Affine`](crate::affine::Affine) | `2^b`, `b` from 0 to 64 | bit reversal, transposition and similar maps |
//! | [`Table`] | any | a given permutation, or one drawn exactly |
//!
//! | combinator | meaning |
//! | --- | --- |
//! | [`Compose`] | one bijection after another |
//! | [`Inverse`] | the two directions exchanged |
//! | [`RandomSign`] | for half of the keys, two values exchanged |
//! | [`CycleWalk`] | restricted to `[0, m)` by walking |
//! | [`BlockShuffle`] | whole blocks, then the items of a few blocks at a time |
//!
//! # Words
//!
//! A family's word is part of its type, with `u64` as the default: `VariablePhilox<24>` is a
//! `Bijection<u64>` and `VariablePhilox<24, u32>` a `Bijection<u32>`. If one type implemented both,
//! every call of `last()` on it would be ambiguous, and a width of 40 bits would break the
//! requirements in 32-bit words. Constructors exist for `u64`; `to_word` checks the width and
//! converts.

mod block_shuffle;
mod compose;
mod cycle_walk;
pub(crate) mod device;
pub(crate) mod from_seed;
mod grid_feistel;
mod inverse;
pub(crate) mod lanes;
mod lcg;
mod mul_xorshift;
pub(crate) mod passes;
#[cfg(test)]
mod plain;
mod pointers;
mod random_sign;
mod standard;
mod swap_or_not;
mod table;
pub(crate) mod traits;
mod variable_philox;
mod verify;

pub use block_shuffle::{BlockShuffle, BlockWindow};
pub use compose::Compose;
pub use cycle_walk::CycleWalk;
pub(crate) use device::DeviceSource;
pub(crate) use from_seed::FromSeed;
pub use grid_feistel::GridFeistel;
pub use inverse::Inverse;
pub use lcg::Lcg;
#[cfg(all(feature = "cuda", any(target_os = "linux", target_os = "windows")))]
pub(crate) use mul_xorshift::DeviceWidth;
pub use mul_xorshift::MulXorshift;
pub(crate) use passes::Passes;
#[cfg(test)]
pub(crate) use plain::Plain;
pub use random_sign::RandomSign;
pub use standard::Standard;
pub(crate) use standard::StandardCipher;
pub use swap_or_not::SwapOrNot;

pub use table::Table;
pub(crate) use table::{batch, draw_exchanges, rejected};
pub(crate) use traits::{Bijection, Trusted, TrustedBijection};
pub use variable_philox::VariablePhilox;
pub use verify::verify;
