#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
// Some of it is there for bijections that need memory, or for machines with vectors.
#![cfg_attr(not(feature = "std"), allow(dead_code, unreachable_pub, unused_imports))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[allow(
    missing_docs,
    missing_debug_implementations,
    reason = "only the project's own packages see what has none"
)]
mod base;
pub mod bijection;
pub mod error;
#[cfg(feature = "std")]
#[doc(hidden)]
pub mod internal;
mod seed;
mod word;

#[doc(inline)]
pub use base::philox4x32::Philox4x32;
#[doc(inline)]
#[cfg(feature = "alloc")]
pub use bijection::device::DeviceSource;
#[doc(inline)]
pub use bijection::from_seed::FromSeed;
#[doc(inline)]
pub use bijection::traits::{Bijection, Trusted, TrustedBijection};
#[doc(inline)]
#[cfg(not(feature = "alloc"))]
pub use bijection::without_alloc::DeviceSource;
pub use seed::{KeyDomain, KeyStream, Seed, Words};
pub use word::Word;

// The order of `Permutation::walk` is there without an allocator: see docs/recipes.md. These values
// are examples and vectors of docs/specification.md, and the compiler of the target computes them.
#[cfg(not(feature = "alloc"))]
const _: () = {
    use bijection::{CycleWalk, Standard};

    const fn walk(len: u64, epoch: u64) -> CycleWalk<Standard> {
        CycleWalk::of_seed(len, Seed::new(42).with_epoch(epoch))
    }

    /// The digest of all values; the inverse leads back from each.
    const fn digest(len: u64, epoch: u64) -> u64 {
        let walk = walk(len, epoch);
        let (mut digest, mut slot) = (0xcbf2_9ce4_8422_2325_u64, 0);
        while slot < len {
            let index = walk.forward(slot);
            assert!(walk.inverse(index) == slot);
            let mut shift = 0;
            while shift < u64::BITS {
                digest = (digest ^ (index >> shift & 0xff)).wrapping_mul(0x0000_0100_0000_01b3);
                shift += 8;
            }
            slot += 1;
        }
        digest
    }

    let far = walk(1_000_000_000_000, 0);
    assert!(far.forward(0) == 0x24_5c8b_0ad5 && far.inverse(0x70_366b_4dbb) == 15);
    assert!(walk(10, 0).forward(0) == 4 && walk(10, 0).inverse(2) == 9);
    assert!(digest(5, 3) == 0x79a9_dd77_4b34_a921);
    assert!(digest(256, 3) == 0x3773_2c41_8cdd_1ec5);
    assert!(digest(257, 3) == 0x9ba0_b9bc_7da7_4542);
};
