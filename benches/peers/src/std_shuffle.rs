//! `std::shuffle` of C++: see `cpp/std_shuffle.cpp`.

use crate::contender::Contender;
use crate::peers::generator;

// SAFETY: the declarations agree with the definitions in cpp/std_shuffle.cpp. Seeding takes a
// number, and touches nothing but a generator of the calling thread, so it is safe to call.
unsafe extern "C" {
    safe fn peers_mt19937_64_seed(seed: u64);
    safe fn peers_splitmix64_seed(seed: u64);
    /// Shuffles the `len` items at `items`, which must be valid for reads and writes.
    fn peers_mt19937_64_shuffle(items: *mut u64, len: usize);
    /// Shuffles the `len` items at `items`, which must be valid for reads and writes.
    fn peers_splitmix64_shuffle(items: *mut u64, len: usize);
}

/// `std::shuffle` with the generator that most programs take, and with a cheap one.
pub(crate) fn all() -> [Contender<u64>; 2] {
    let mersenne_twister = |items: &mut [u64], _: &mut ()| {
        // SAFETY: the pointer and the length are those of a slice that is borrowed for the call.
        unsafe { peers_mt19937_64_shuffle(items.as_mut_ptr(), items.len()) }
    };
    let split_mix = |items: &mut [u64], _: &mut ()| {
        // SAFETY: `items` is borrowed for the call, and these are its pointer and its length.
        unsafe { peers_splitmix64_shuffle(items.as_mut_ptr(), items.len()) }
    };
    [
        generator("std::shuffle, mt19937_64", |seed| peers_mt19937_64_seed(seed), mersenne_twister),
        generator("std::shuffle, SplitMix64", |seed| peers_splitmix64_seed(seed), split_mix),
    ]
}
