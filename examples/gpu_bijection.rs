//! A bijection of one's own that runs on the GPU and on the CPU, with the same answer. The guide
//! docs/writing-a-bijection.md explains it.
//!
//! ```sh
//! cargo run --release --example gpu_bijection
//! ```
//!
//! Without a GPU it says what is missing, and uses the CPU.

use bijective_shuffle::DeviceSource;
use bijective_shuffle::Error;
use bijective_shuffle::cuda::Cuda;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cpu, Serial};

/// A Feistel network of four rounds on two halves of `half` bits.
struct Feistel {
    half: u32,
    keys: [u32; 4],
}

/// The same in CUDA C++. The keys are parameters, so that one compiled kernel serves all of them;
/// the width is a template argument, so that shifts and masks are constants.
const TEXT: &str = "
#ifndef MY_FEISTEL
#define MY_FEISTEL
template <int HALF>
struct Feistel {
    uint32_t keys[4];

    static __device__ uint32_t mix(uint32_t x, uint32_t key) {
        x = (x ^ key) * 0x9E3779B1u;
        return (x ^ x >> 15) & ((1u << HALF) - 1);
    }
    __device__ uint64_t forward(uint64_t slot) const {
        uint32_t left = uint32_t(slot >> HALF), right = uint32_t(slot) & ((1u << HALF) - 1);
        for (int k = 0; k < 4; k += 2) {
            left ^= mix(right, keys[k]);
            right ^= mix(left, keys[k + 1]);
        }
        return uint64_t(left) << HALF | right;
    }
    __device__ uint64_t inverse(uint64_t index) const {
        uint32_t left = uint32_t(index >> HALF), right = uint32_t(index) & ((1u << HALF) - 1);
        for (int k = 2; k >= 0; k -= 2) {
            right ^= mix(left, keys[k + 1]);
            left ^= mix(right, keys[k]);
        }
        return uint64_t(left) << HALF | right;
    }
};
#endif
";

impl Feistel {
    /// Halves of 1 to 16 bits.
    fn new(half: u32, keys: [u32; 4]) -> Self {
        assert!((1..=16).contains(&half), "halves of {half} bits");
        Self { half, keys }
    }

    fn split(&self, x: u64) -> (u32, u32) {
        ((x >> self.half) as u32, x as u32 & ((1 << self.half) - 1))
    }

    fn join(&self, left: u32, right: u32) -> u64 {
        u64::from(left) << self.half | u64::from(right)
    }

    fn mix(&self, x: u32, key: u32) -> u32 {
        let x = (x ^ key).wrapping_mul(0x9E37_79B1);
        (x ^ x >> 15) & ((1 << self.half) - 1)
    }
}

impl Bijection for Feistel {
    fn last(&self) -> u64 {
        (1 << (2 * self.half)) - 1
    }
    fn forward(&self, slot: u64) -> u64 {
        let (mut left, mut right) = self.split(slot);
        for pair in self.keys.chunks_exact(2) {
            left ^= self.mix(right, pair[0]);
            right ^= self.mix(left, pair[1]);
        }
        self.join(left, right)
    }
    fn inverse(&self, index: u64) -> u64 {
        let (mut left, mut right) = self.split(index);
        for pair in self.keys.chunks_exact(2).rev() {
            right ^= self.mix(left, pair[1]);
            left ^= self.mix(right, pair[0]);
        }
        self.join(left, right)
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let params = self.keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        let name = format!("Feistel<{}>", self.half);
        // SAFETY: for any argument the functions end, and they read nothing but the keys. No shift
        // is by 32 bits or more, since `half` is at most 16.
        Some(unsafe { DeviceSource::new(name, TEXT, params) })
    }
}

fn main() -> Result<(), Error> {
    // A domain of 2^20 points, and fewer items.
    let f = Feistel::new(10, [0x243F_6A88, 0x85A3_08D3, 0x1319_8A2E, 0x0370_7344]);
    let mut items: Vec<u64> = (0..1_000_000).collect();
    match Cuda::new().and_then(|cuda| cuda.shuffle(&f, &mut items)) {
        Ok(()) => println!("shuffled {} items on the GPU", items.len()),
        // No GPU, no driver or no compiler is an ordinary state. Nothing has moved then.
        Err(Error::BackendUnavailable { reason }) => {
            println!("no GPU: {reason}");
            Cpu.shuffle(&f, &mut items)?;
            println!("shuffled {} items on the CPU", items.len());
        }
        Err(error) => return Err(error),
    }
    let mut expected: Vec<u64> = (0..1_000_000).collect();
    Serial.shuffle(&f, &mut expected)?;
    assert!(items == expected, "GPU and CPU agree");
    println!("the first of them: {:?}", &items[..8]);
    Ok(())
}
