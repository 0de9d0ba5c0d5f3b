//! Rows of a batch on the device are those of the host.

use bijective_shuffle::Error;
use bijective_shuffle::Word;
use bijective_shuffle::cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, RawArray};
use bijective_shuffle::error::{GpuError, ViewError};
use bijective_shuffle::prelude::*;

use super::{cuda, guarded};
use bijective_shuffle_laws::short;

/// Compares rows from `first` on, in words of both widths.
fn check(cuda: &Cuda, permutations: &Permutations, first: u64, rows: usize) {
    fn check_words<N: Word + DeviceRepr>(
        cuda: &Cuda,
        permutations: &Permutations,
        first: u64,
        rows: usize,
    ) {
        let words = rows * permutations.row_len() as usize;
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
        (300_000_usize, 32),
        (20_000, 300),
        (20_000, 1024),
        (3000, 5000),
        (1500, 20_000),
        (700, 1 << 15),
        (300, 30_000),
        (5, 1 << 20),
        (3, (1 << 20) + 1),
    ] {
        let rows = if short() { rows.div_ceil(50).max(rows.min(45)) } else { rows };
        check(&cuda, &Permutations::new(1 << 40, len, 9), 7, rows);
    }
}

/// Moves rows from the seventh on and back, and compares the items with those of the host.
fn check_items<T: DeviceRepr + Copy + PartialEq>(
    cuda: &Cuda,
    len: u64,
    rows: usize,
    item: impl Fn(u64) -> T,
) {
    let permutations = Permutations::new(1 << 40, len, 9);
    let mut order = vec![0_u64; rows * len as usize];
    permutations.write_rows(7, &mut order).unwrap();
    let source: Vec<T> = (0..order.len() as u64).map(&item).collect();
    let moved = order.chunks(len as usize).zip(source.chunks(len as usize));
    let moved = moved.flat_map(|(order, row)| order.iter().map(|&index| row[index as usize]));
    let moved: Vec<T> = moved.collect();
    let (poison, what) =
        (item(u64::MAX), format!("{rows} rows of {len}, {} bytes", size_of::<T>()));
    let there = guarded(cuda, poison, &source, |workspace, source, out| {
        workspace.shuffle_rows_into(&permutations, 7, source, out)
    });
    assert!(there.unwrap() == moved, "{what}");
    let back = guarded(cuda, poison, &moved, |workspace, source, out| {
        workspace.unshuffle_rows_into(&permutations, 7, source, out)
    });
    assert!(back.unwrap() == source, "back, {what}");
}

#[test]
fn items_of_rows_are_moved_and_back() {
    let Some(cuda) = cuda() else { return };
    let mix = |index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // Drawn exactly, staged in shared memory, shared by blocks, and a few rows of both lengths.
    for (rows, len) in [
        (1_usize, 1),
        (100, 2),
        (100_000, 32),
        (4000, 255),
        (20_000, 300),
        (5000, 1024),
        (2000, 2049),
        (3, 10_001),
        (700, 1 << 15),
        (300, 30_000),
        (100, 70_001),
        (3, (1 << 20) + 1),
    ] {
        let rows = if short() { rows.div_ceil(50).max(rows.min(45)) } else { rows };
        check_items(&cuda, len, rows, mix);
        check_items(&cuda, len, rows, |index| [mix(index), index]);
        check_items(&cuda, len, rows, |index| mix(index) as u32);
        check_items(&cuda, len, rows, |index| (mix(index) >> 48) as u16);
        check_items(&cuda, len, rows, |index| (mix(index) >> 56) as u8);
    }
    // One row after the other: more than the second-level cache holds.
    check_items(&cuda, (1 << 23) + 1, 2, |index| [mix(index), index]);
    // Items that are not words.
    for (rows, len) in [(100, 1), (3000, 32), (200, 256), (2000, 300), (300, 1024), (20, 9001)] {
        check_items(&cuda, len, rows, |index| [index as u8, (mix(index) >> 40) as u8, 7]);
        check_items(&cuda, len, rows, |index| [mix(index), index, !index]);
        check_items(&cuda, len, rows, |_| [0_u64; 0]);
    }
    check_items(&cuda, 257, 5, |index| [mix(index); 500]);
}

#[test]
fn items_of_rows_are_moved_at_addresses() {
    let Some(cuda) = cuda() else { return };
    let (stream, mut workspace) = (cuda.stream().clone(), CudaWorkspace::new(&cuda));
    let permutations = Permutations::new(50, 1000, 3);
    let items: Vec<u32> = (0..50_000).collect();
    let mut expected = items.clone();
    permutations.apply_rows(&mut expected).unwrap();
    let source = stream.clone_htod(&items).unwrap();
    let (out, again) = (stream.alloc_zeros::<u32>(50_000).unwrap(), stream.clone_htod(&items));
    let again = again.unwrap();
    let at = |slice: &CudaSlice<u32>| slice.device_ptr(&stream).0;
    let there = RawArray { source: at(&source), out: at(&out), len: 50_000, item_bytes: 4 };
    let back = RawArray { source: at(&out), out: at(&again), ..there };
    // SAFETY: all three slices have as many items, are different, and are kept until the copies
    // below, which wait for the stream.
    unsafe { workspace.shuffle_rows_raw(&permutations, 0, there) }.unwrap();
    assert!(stream.clone_dtoh(&out).unwrap() == expected);
    // SAFETY: `out` and `again` are different slices of as many items, which are kept until the
    // copy below.
    unsafe { workspace.unshuffle_rows_raw(&permutations, 0, back) }.unwrap();
    assert!(stream.clone_dtoh(&again).unwrap() == items);
    // SAFETY: nothing is moved, since a part of a row is refused.
    let refused =
        unsafe { workspace.shuffle_rows_raw(&permutations, 0, RawArray { len: 1500, ..there }) };
    assert_eq!(refused, Err(Error::View(ViewError::NotWholeRows { len: 1000, actual: 1500 })));
    // Nothing is moved onto items that are still to be read.
    let overlapping = RawArray { out: there.source + 4, len: 49_000, ..there };
    let rows = Permutations::new(49, 1000, 3);
    // SAFETY: the arrays overlap, so this fails before anything is launched.
    let shuffled = unsafe { workspace.shuffle_raw(1, overlapping) };
    // SAFETY: it fails for the same reason, on the way back.
    let unshuffled = unsafe { workspace.unshuffle_raw(1, overlapping) };
    // SAFETY: rows are checked by the same function, before their first launch.
    let rows_shuffled = unsafe { workspace.shuffle_rows_raw(&rows, 0, overlapping) };
    // SAFETY: so are rows on their way back.
    let rows_unshuffled = unsafe { workspace.unshuffle_rows_raw(&rows, 0, overlapping) };
    let refused = [shuffled, unshuffled, rows_shuffled, rows_unshuffled];
    assert_eq!(refused, [const { Err(Error::Gpu(GpuError::ArraysOverlap)) }; 4]);
    assert!(stream.clone_dtoh(&source).unwrap() == items);
}

/// What was reserved is enough for a launch for all rows in a graph, be they staged or shared.
#[test]
fn rows_are_moved_in_a_graph() {
    let Some(_) = cuda() else { return };
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    // SAFETY: everything here is on one stream.
    unsafe { context.disable_event_tracking() };
    for (rows, len) in [(100, 300), (40, 70_001)] {
        // SAFETY: the graph is dropped before what it uses, and launched in this stream.
        let cuda =
            unsafe { Cuda::on_stream(context.new_stream().unwrap()).unwrap().with_capture() };
        let (stream, mut workspace) = (cuda.stream().clone(), CudaWorkspace::new(&cuda));
        let permutations = Permutations::new(rows, len, 5);
        let items: Vec<u64> = (0..rows * len).collect();
        let source = stream.clone_htod(&items).unwrap();
        let mut out = stream.alloc_zeros::<u64>(items.len()).unwrap();
        let mut expected = items.clone();
        permutations.apply_rows(&mut expected).unwrap();
        let at = |slice: &CudaSlice<u64>| slice.device_ptr(&stream).0;
        let array = RawArray {
            source: at(&source),
            out: at(&out),
            len: items.len(),
            item_bytes: size_of::<u64>(),
        };
        workspace.reserve_rows_raw(&permutations, array).unwrap();
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        stream.begin_capture(mode).unwrap();
        workspace.shuffle_rows_into(&permutations, 0, &source, &mut out).unwrap();
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().unwrap();
        for _ in 0..2 {
            stream.memset_zeros(&mut out).unwrap();
            graph.launch().unwrap();
            assert!(stream.clone_dtoh(&out).unwrap() == expected);
        }
        drop(graph);
    }
}

#[test]
fn batches_that_a_gpu_cannot_make_are_refused() {
    let Some(cuda) = cuda() else { return };
    let mut out = cuda.stream().alloc_zeros::<u32>(10).unwrap();
    let mut workspace = CudaWorkspace::new(&cuda);
    let permutations = Permutations::new(10, 4, 1);
    let error = workspace.write_rows(&permutations, 0, &mut out);
    assert_eq!(error, Err(Error::View(ViewError::NotWholeRows { len: 4, actual: 10 })));
    let error = workspace.write_rows(&permutations, 9, &mut out.slice_mut(..8));
    assert_eq!(error, Err(Error::View(ViewError::OutOfRange { start: 9, end: 11, len: 10 })));
    workspace.write_rows(&permutations, 10, &mut out.slice_mut(..0)).unwrap();
    let (short, long) = (cuda.stream().alloc_zeros::<u32>(8).unwrap(), 10);
    let error = workspace.shuffle_rows_into(&permutations, 0, &short, &mut out);
    assert_eq!(error, Err(Error::LengthMismatch { expected: 8, actual: long }));
    let error = workspace.unshuffle_rows_into(&permutations, 9, &short, &mut out.slice_mut(..8));
    assert_eq!(error, Err(Error::View(ViewError::OutOfRange { start: 9, end: 11, len: 10 })));
    let other = CudaWorkspace::new(&Cuda::new().unwrap()).write_rows(
        &permutations,
        0,
        &mut out.slice_mut(..8),
    );
    assert_eq!(other, Ok(()));
}

#[test]
fn reserved_batches_allocate_nothing() {
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
