//! Rows of a batch on the device are those of the host.

use bijective_shuffle::Word;
use bijective_shuffle::cuda::cudarc::driver::DeviceRepr;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;

use super::{cuda, guarded};

/// Compares rows from `first` on, in words of both widths.
fn check(cuda: &Cuda, permutations: &Permutations, first: u64, rows: usize) {
    fn check_words<N: Word + DeviceRepr>(
        cuda: &Cuda,
        permutations: &Permutations,
        first: u64,
        rows: usize,
    ) {
        let words = rows * permutations.len() as usize;
        let mut expected = vec![N::ZERO; words];
        permutations.write_rows(first, &mut expected).unwrap();
        let poison = N::MAX;
        let got = guarded(cuda, poison, &vec![N::ZERO; words], |workspace, _, out| {
            workspace.write_rows(permutations, first, out)
        });
        let bits = N::BITS;
        assert!(
            got.unwrap() == expected,
            "{rows} rows from {first} in {bits} bits: {permutations:?}"
        );
    }
    check_words::<u32>(cuda, permutations, first, rows);
    check_words::<u64>(cuda, permutations, first, rows);
}

#[test]
fn many_and_long_rows_agree() {
    let Some(cuda) = cuda() else { return };
    // More rows than the device holds at a time; on one of 132 multiprocessors rows of 1, 1, 1, 2,
    // 4, 8 and 16 warps, the others one after another. Those of 2^10 and 2^15 items have no gaps.
    for (rows, len) in [
        (300_000, 32),
        (20_000, 300),
        (20_000, 1024),
        (3000, 5000),
        (1500, 20_000),
        (700, 1 << 15),
        (300, 30_000),
        (5, 1 << 20),
        (3, (1 << 20) + 1),
    ] {
        check(&cuda, &Permutations::new(1 << 40, len, 9), 7, rows);
    }
}

#[test]
fn rows_in_host_memory_agree() {
    let Some(_) = cuda() else { return };
    // 300 MB, so more than a piece.
    for (count, len) in [(0, 5), (1, 1), (100, 0), (1000, 32), (100, 300), (1_200_000, 64)] {
        let permutations = Permutations::new(count, len, 5);
        let on_gpu = permutations.with_backend(Backend::Cuda);
        let words = (count * len) as usize;
        let (mut here, mut there) = (vec![0_u32; words], vec![0_u32; words]);
        permutations.write_indexes(&mut here).unwrap();
        on_gpu.write_indexes(&mut there).unwrap();
        assert!(here == there, "{count} rows of {len}");
        let first = |_, order: &[u32]| order.first().copied();
        assert_eq!(on_gpu.par_map(first), permutations.par_map(first), "{count} rows of {len}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let Some(cuda) = cuda() else { return };
    let mut out = cuda.stream().alloc_zeros::<u32>(10).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let permutations = Permutations::new(10, 4, 1);
    let error = workspace.write_rows(&permutations, 0, &mut out);
    assert_eq!(error, Err(Error::View(ViewError::NotWhole { len: 4, actual: 10 })));
    let error = workspace.write_rows(&permutations, 9, &mut out.slice_mut(..8));
    assert_eq!(error, Err(Error::View(ViewError::OutOfRange { start: 9, end: 11, len: 10 })));
    workspace.write_rows(&permutations, 10, &mut out.slice_mut(..0)).unwrap();
    let other = CudaWorkspace::new(&Cuda::new().unwrap()).write_rows(
        &permutations,
        0,
        &mut out.slice_mut(..8),
    );
    assert_eq!(other, Ok(()));
}

#[test]
fn nothing_is_got_after_a_reservation() {
    let Some(cuda) = cuda() else { return };
    let mut workspace = CudaWorkspace::new(&cuda);
    for (rows, len) in [(1000, 32), (1000, 300), (2, (1 << 20) + 1)] {
        let permutations = Permutations::new(1 << 20, len, 1);
        let words = rows * len as usize;
        let mut out = cuda.stream().alloc_zeros::<u32>(words).unwrap();
        let held = workspace.reserve_rows::<u32>(&permutations, words).unwrap();
        workspace.write_rows(&permutations, 3, &mut out).unwrap();
        assert_eq!(workspace.bytes(), held, "{rows} rows of {len}");
    }
}
