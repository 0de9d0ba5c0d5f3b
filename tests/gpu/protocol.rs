//! What tiles tell each other, when tiles are slow at random, and when the device is busy: few of
//! them add up all counts at once, more of them look back.

use bijective_shuffle::DeviceSource;
use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::{Lcg, VariablePhilox};
use bijective_shuffle::cuda::{Cuda, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;

use super::{cuda, reference};
use bijective_shuffle_laws::{long, short};

/// A bijection that takes its time at slots that a salt chooses.
struct Dawdling<B> {
    inner: B,
    salt: u64,
    cycles: u64,
}

impl<B: TrustedBijection> Bijection for Dawdling<B> {
    fn last(&self) -> u64 {
        self.inner.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.inner.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.inner.inverse(index)
    }
    fn trusted(&self) -> Option<bijective_shuffle::Trusted<'_>> {
        Some(bijective_shuffle::Trusted::new(self))
    }
    fn device_source(&self) -> Option<DeviceSource> {
        let inner = self.inner.device_source()?;
        let text = format!(
            "{}
            #ifndef DAWDLING
            #define DAWDLING
            template <class B>
            struct alignas(8) Dawdling {{
                B inner;
                uint64_t salt, cycles;
                __device__ uint64_t forward(uint64_t slot) const {{
                    const uint64_t random = (slot / 64 + salt) * 0x9E3779B97F4A7C15ull;
                    if (random >> 58 == 0) {{
                        const long long start = clock64();
                        while (clock64() - start < (long long)(random >> 40 & cycles)) {{}}
                    }}
                    return inner.forward(slot);
                }}
                __device__ uint64_t inverse(uint64_t index) const {{ return inner.inverse(index); }}
            }};
            #endif
            ",
            inner.form().text()
        );
        let mut params = inner.params().to_vec();
        params.extend(self.salt.to_le_bytes());
        params.extend(self.cycles.to_le_bytes());
        let type_name = format!("Dawdling<{}>", inner.form().type_name());
        // SAFETY: the functions end, later, and touch nothing but the struct's own members.
        Some(unsafe { DeviceSource::new(type_name, text, params) })
    }
}

// SAFETY: a trusted bijection, later.
unsafe impl<B: TrustedBijection> TrustedBijection for Dawdling<B> {}

/// A length with more tiles than a device holds.
const MANY_TILES: u64 = (1 << 22) + 1;

/// Counts the indexes that differ from the reference's.
fn wrong(
    cuda: &Cuda,
    got: &bijective_shuffle::cuda::cudarc::driver::CudaSlice<u32>,
    p: &[u64],
) -> usize {
    let got = cuda.stream().clone_dtoh(got).unwrap();
    cuda.stream().synchronize().unwrap();
    got.iter().zip(p).filter(|&(&got, &expected)| u64::from(got) != expected).count()
}

#[test]
fn slow_tiles_lose_nothing() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_strategy(CudaStrategy::SinglePass);
    let runs = match () {
        () if long() => 10_000,
        () if short() => 40,
        () => 1000,
    };
    for (len, runs) in [(50_001, runs), (MANY_TILES, runs / 20)] {
        let inner = VariablePhilox::<24>::from_seed(len, 3);
        let p = reference(&inner, len as usize);
        let mut out = cuda.stream().alloc_zeros::<u32>(len as usize).unwrap();
        let mut workspace = CudaWorkspace::new(&cuda);
        for salt in 0..runs {
            let f = Dawdling { inner, salt, cycles: 0x3FFF };
            workspace.write_indexes(&f, &mut out).unwrap();
            assert_eq!(wrong(&cuda, &out, &p), 0, "{len} items, run {salt}");
        }
    }
}

#[test]
fn a_busy_device_loses_nothing() {
    let Some(cuda) = cuda() else { return };
    let hog = Cuda::new().unwrap();
    // Long enough to be there for many of the others.
    let long_len = 1_u64 << 22;
    let slow =
        Dawdling { inner: VariablePhilox::<24>::from_seed(long_len, 1), salt: 0, cycles: 0xF_FFFF };
    let expected = reference(&slow.inner, long_len as usize);
    let mut hogged = hog.stream().alloc_zeros::<u32>(long_len as usize).unwrap();
    let mut hog_workspace = CudaWorkspace::new(&hog);
    hog_workspace.write_indexes(&slow, &mut hogged).unwrap();
    hog.stream().synchronize().unwrap();

    let cuda = cuda.with_strategy(CudaStrategy::SinglePass);
    let mut workspace = CudaWorkspace::new(&cuda);
    for len in [300_001, MANY_TILES] {
        let f = VariablePhilox::<24>::from_seed(len, 3);
        let p = reference(&f, len as usize);
        let mut out = cuda.stream().alloc_zeros::<u32>(len as usize).unwrap();
        for run in 0..if short() { 2 } else { 20 } {
            hog_workspace.write_indexes(&slow, &mut hogged).unwrap();
            for _ in 0..5 {
                workspace.write_indexes(&f, &mut out).unwrap();
                assert_eq!(wrong(&cuda, &out, &p), 0, "{len} items, run {run}");
            }
        }
    }
    assert_eq!(wrong(&hog, &hogged, &expected), 0);
}

#[test]
fn launches_are_told_apart_when_their_numbers_come_again() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_strategy(CudaStrategy::SinglePass);
    let mut workspace = CudaWorkspace::new(&cuda);
    let small = VariablePhilox::<24>::from_seed(600, 1);
    let few = reference(&small, 600);
    let mut small_out = cuda.stream().alloc_zeros::<u32>(600).unwrap();
    // The words of the large launch lie there until its number comes again, 2^16 launches later,
    // and a little more. A tool that watches every launch takes milliseconds for each, so the short
    // form stops before that.
    let between = if short() { 300 } else { (1 << 16) - 2 };
    for len in [200_000, MANY_TILES, 200_001] {
        let large = VariablePhilox::<24>::from_seed(len, 2);
        let many = reference(&large, len as usize);
        let mut large_out = cuda.stream().alloc_zeros::<u32>(len as usize).unwrap();
        workspace.write_indexes(&large, &mut large_out).unwrap();
        assert_eq!(wrong(&cuda, &large_out, &many), 0);
        for _ in 0..between {
            workspace.write_indexes(&small, &mut small_out).unwrap();
        }
        assert_eq!(wrong(&cuda, &small_out, &few), 0);
        for _ in 0..4 {
            workspace.write_indexes(&large, &mut large_out).unwrap();
            assert_eq!(wrong(&cuda, &large_out, &many), 0);
        }
    }
}

#[test]
fn buckets_that_overflow_are_put_right() {
    let Some(cuda) = cuda() else { return };
    let cuda = cuda.with_strategy(CudaStrategy::Partitioned);
    // All survivors in the first half of the slots, or every other slot: nothing like a random
    // permutation.
    for (bits, multiplier, increment) in [(17, 1, 0), (17, 1, 12_345), (20, 1, 77), (20, 3, 1)] {
        let f = Lcg::new(bits, multiplier, increment).unwrap();
        for len in [(1_u64 << (bits - 1)) + 1, (1 << bits) / 3] {
            let p = reference(&f, len as usize);
            let mut items: Vec<u64> = (0..len).collect();
            cuda.shuffle(&f, &mut items).unwrap();
            assert!(items == p, "{bits} bits, times {multiplier}, {len} items");
            cuda.unshuffle(&f, &mut items).unwrap();
            assert!(items.into_iter().eq(0..len));
        }
    }
    // As even as can be at the first level, and crowded at the second.
    let f = Lcg::new(24, 0xC0_0001, 0).unwrap();
    let len = 5_033_164_u64;
    let mut items: Vec<u64> = (0..len).collect();
    cuda.shuffle(&f, &mut items).unwrap();
    assert!(items == reference(&f, len as usize));
}
