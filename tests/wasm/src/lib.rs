//! What check.mjs calls, and compares with the golden values.

use bijective_shuffle::cuda::Cuda;
use bijective_shuffle::error::Unavailable;
use bijective_shuffle::prelude::*;

/// FNV-1a, 64 bits, over the values as 64-bit little-endian words.
fn fnv1a64(values: impl Iterator<Item = u64>) -> u64 {
    values.flat_map(u64::to_le_bytes).fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

/// The hash of the numbers below `len`, shuffled by a seed.
#[unsafe(no_mangle)]
pub extern "C" fn hash_of_shuffled(len: u32, seed: u64, epoch: u64) -> u64 {
    let mut items: Vec<u64> = (0..u64::from(len)).collect();
    items.par_bijective_shuffle(Seed::new(seed).with_epoch(epoch));
    fnv1a64(items.into_iter())
}

/// The same by the permutation, an index at a time.
#[unsafe(no_mangle)]
pub extern "C" fn hash_of_permutation(len: u32, seed: u64, epoch: u64) -> u64 {
    fnv1a64(Permutation::new(u64::from(len), Seed::new(seed).with_epoch(epoch)).iter())
}

/// Whether the engine for many threads moves items as the sequential one does, there and back.
#[unsafe(no_mangle)]
pub extern "C" fn engines_agree(len: u32) -> bool {
    let f = Standard::from_seed(u64::from(len), 42);
    let original: Vec<u32> = (0..len).collect();
    let (mut expected, mut items) = (original.clone(), original.clone());
    let done = Serial.shuffle(&f, &mut expected).and(Cpu.shuffle(&f, &mut items));
    let same = done.is_ok() && items == expected;
    same && Cpu.unshuffle(&f, &mut items).is_ok() && items == original
}

/// Whether the GPU is refused by the error that says why.
#[unsafe(no_mangle)]
pub extern "C" fn gpu_is_refused() -> bool {
    let refused = Error::BackendUnavailable { reason: Unavailable::NoSuchSystem };
    let mut items = [1, 2, 3];
    let moved = Permutation::new(3, 1).with_backend(Backend::Cuda).apply_in_place(&mut items);
    Cuda::new().err().as_ref() == Some(&refused) && moved == Err(refused) && items == [1, 2, 3]
}
