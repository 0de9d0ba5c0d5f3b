//! `std::shuffle` of C++: see `cpp/std_shuffle.cpp`.

use crate::contender::Contender;
use crate::peers::by_generator;

// SAFETY: the declarations agree with the definitions in cpp/std_shuffle.cpp. Seeding takes a
// number, and touches nothing but a generator of the calling thread, so it is safe to call.
unsafe extern "C" {
    safe fn peers_splitmix64_seed(seed: u64);
    /// Shuffles the `len` items at `items`, which must be valid for reads and writes.
    fn peers_splitmix64_shuffle(items: *mut u64, len: usize);
}

/// `std::shuffle` with a cheap generator.
pub(crate) fn std_shuffle() -> Contender {
    let shuffle = |items: &mut [u64], _: &mut ()| {
        // SAFETY: `items` is borrowed for the call, and these are its pointer and its length.
        unsafe { peers_splitmix64_shuffle(items.as_mut_ptr(), items.len()) }
    };
    by_generator("std::shuffle, SplitMix64", |seed| peers_splitmix64_seed(seed), shuffle)
}
