//! The GPU engine, compared with the sequential reference. Without a GPU every test here is skipped
//! and says so; with `BIJECTIVE_SHUFFLE_REQUIRE_GPU=1` it fails instead.

// CUDA has no driver for 32 bits, nor for other systems.
#![cfg(all(target_pointer_width = "64", any(target_os = "linux", target_os = "windows")))]

#[path = "../common/mod.rs"]
mod common;

mod agreement;
mod batches;
mod device;
mod fill;
mod permute;
mod protocol;
mod refusals;

use bijective_shuffle::cudarc::driver::DeviceRepr;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaStrategy, CudaWorkspace};

use common::cuda;

/// Every strategy.
const STRATEGIES: [CudaStrategy; 5] = [
    CudaStrategy::Auto,
    CudaStrategy::Unfused,
    CudaStrategy::TwoPass,
    CudaStrategy::SinglePass,
    CudaStrategy::Partitioned,
];

/// Runs a movement into the middle of poisoned memory, and gives back what is there, after a look
/// at the guards on both sides.
fn guarded<T: DeviceRepr + Copy + PartialEq + core::fmt::Debug>(
    cuda: &Cuda,
    poison: T,
    source: &[T],
    run: impl FnOnce(
        &mut CudaWorkspace,
        &bijective_shuffle::cudarc::driver::CudaView<'_, T>,
        &mut bijective_shuffle::cudarc::driver::CudaViewMut<'_, T>,
    ) -> Result<(), Error>,
) -> Result<Vec<T>, Error> {
    const GUARD: usize = 1024;
    let stream = cuda.stream();
    let len = source.len();
    let mut padded = vec![poison; GUARD];
    padded.extend_from_slice(source);
    padded.resize(len + 2 * GUARD, poison);
    let source = stream.clone_htod(&padded).unwrap();
    let mut out = stream.clone_htod(&vec![poison; len + 2 * GUARD]).unwrap();
    let mut workspace = CudaWorkspace::new(cuda);
    let done = run(
        &mut workspace,
        &source.slice(GUARD..GUARD + len),
        &mut out.slice_mut(GUARD..GUARD + len),
    );
    let all = stream.clone_dtoh(&out).unwrap();
    let kept = stream.clone_dtoh(&source).unwrap();
    stream.synchronize().unwrap();
    assert!(kept == padded, "the source was written");
    assert!(all[..GUARD].iter().all(|&x| x == poison), "written before the beginning");
    assert!(all[GUARD + len..].iter().all(|&x| x == poison), "written beyond the end");
    done.map(|()| all[GUARD..GUARD + len].to_vec())
}

/// The permutation, by the reference.
fn reference(f: &dyn Bijection, len: usize) -> Vec<u64> {
    let mut p = vec![0; len];
    Serial.indices(f, &mut p).unwrap();
    p
}
