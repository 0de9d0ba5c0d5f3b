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
//! | `Affine` | `2^b`, `b` from 0 to 64 | bit reversal, transposition and similar maps |
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

/// A list of the families that are drawn for a length, each with the name that golden values give
/// it and the function `$of` of its type. What holds for every family is tested by this list. More
/// may be added to it, such as those of other packages. It is here, and not among the tests,
/// because the unit tests of a published package reach no package that is not.
#[doc(hidden)]
#[macro_export]
macro_rules! families {
    ($of:ident $(, $name:literal $family:ty)*) => {{
        use $crate::bijection::{
            CycleWalk, GridFeistel, Lcg, MulXorshift, RandomSign, SwapOrNot, Table, VariablePhilox,
        };
        [
            ("VariablePhilox<24>", $of::<VariablePhilox<24>> as fn(_, _) -> _),
            ("RandomSign<VariablePhilox<24>>", $of::<RandomSign<VariablePhilox<24>>>),
            ("MulXorshift<10>", $of::<MulXorshift<10>>),
            ("MulXorshift<5>", $of::<MulXorshift<5>>),
            ("GridFeistel<12>", $of::<GridFeistel<12>>),
            ("SwapOrNot", $of::<SwapOrNot>),
            ("Lcg", $of::<Lcg>),
            ("Table", $of::<Table>),
            ("CycleWalk<MulXorshift<10>>", $of::<CycleWalk<MulXorshift<10>>>),
            $(($name, $of::<$family>),)*
        ]
    }};
}

#[cfg(feature = "alloc")]
mod block_shuffle;
mod compose;
#[doc(hidden)]
pub mod copies;
mod cycle_walk;
#[cfg(feature = "alloc")]
pub(crate) mod device;
pub(crate) mod exact;
#[cfg(feature = "alloc")]
mod form;
pub(crate) mod from_seed;
mod grid_feistel;
#[doc(hidden)]
#[allow(missing_docs, reason = "only the project's own packages see it")]
pub mod hooks;
mod inverse;
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "only the project's own packages see it")]
pub mod lanes;
mod lcg;
pub(crate) mod mul_xorshift;
mod narrow;
#[cfg(feature = "alloc")]
pub(crate) mod passes;
mod pointers;
mod random_sign;
pub(crate) mod standard;
#[cfg(feature = "alloc")]
mod swap_or_not;
#[cfg(feature = "alloc")]
pub(crate) mod table;
pub(crate) mod traits;
mod variable_philox;
#[cfg(feature = "alloc")]
mod verify;
#[cfg(not(feature = "alloc"))]
pub(crate) mod without_alloc;

#[cfg(feature = "alloc")]
pub use block_shuffle::{BlockShuffle, BlockWindow};
pub use compose::Compose;
pub use cycle_walk::CycleWalk;
#[cfg(feature = "alloc")]
pub(crate) use device::DeviceSource;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use form::{BijectionForm, BijectionView};
pub(crate) use from_seed::FromSeed;
pub use grid_feistel::GridFeistel;
pub use inverse::Inverse;
pub use lcg::Lcg;
pub use mul_xorshift::MulXorshift;
#[cfg(feature = "alloc")]
#[doc(hidden)]
pub use passes::Passes;
pub use random_sign::RandomSign;
pub use standard::Standard;
#[cfg(feature = "alloc")]
pub use swap_or_not::SwapOrNot;
#[cfg(feature = "alloc")]
pub use table::Table;
pub(crate) use traits::{Bijection, Trusted, TrustedBijection};
pub use variable_philox::VariablePhilox;
#[cfg(feature = "alloc")]
pub use verify::verify;
#[cfg(not(feature = "alloc"))]
pub(crate) use without_alloc::DeviceSource;
#[cfg(not(feature = "alloc"))]
#[doc(hidden)]
pub use without_alloc::Passes;
