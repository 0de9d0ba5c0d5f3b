//! Lengths beyond 32 bits. They take tens of gigabytes of device memory, and are skipped where there are not.

use bijective_shuffle::prelude::*;
use bijective_shuffle::{CudaStrategy, CudaWorkspace};
use rayon::prelude::*;

use crate::cuda;

#[test]
fn more_than_32_bits_of_bytes_go_there_and_back() {
    let Some(cuda) = cuda() else { return };
    let stream = cuda.stream();
    let len = (1_usize << 33) + 7;
    let (free, _) = stream.context().mem_get_info().unwrap();
    if free < 4 * len {
        println!("skipped: {free} bytes of device memory are too few");
        return;
    }
    let f = VariablePhilox::<24>::from_seed(len as u64, 6);
    let mut workspace = CudaWorkspace::new(&cuda.clone().with_strategy(CudaStrategy::SinglePass));
    // Each byte is a hash of its index, so that bytes in a wrong place are seen.
    let byte = |index: u64| (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8;
    let items: Vec<u8> = (0..len).into_par_iter().map(|index| byte(index as u64)).collect();
    let source = stream.clone_htod(&items).unwrap();
    let mut out = stream.alloc_zeros::<u8>(len).unwrap();
    workspace.shuffle_into(&f, &source, &mut out).unwrap();

    // The first and the last items, one by one.
    let shuffled = stream.clone_dtoh(&out.slice(..100_000)).unwrap();
    stream.synchronize().unwrap();
    let p = Permutation::with_bijection(len as u64, f).unwrap();
    assert!(shuffled.into_iter().eq(p.iter().take(100_000).map(byte)));

    let mut back = stream.alloc_zeros::<u8>(len).unwrap();
    workspace.unshuffle_into(&f, &out, &mut back).unwrap();
    drop(out);
    let back = stream.clone_dtoh(&back).unwrap();
    stream.synchronize().unwrap();
    assert!(back == items);
}
