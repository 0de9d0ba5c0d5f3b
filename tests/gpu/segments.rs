//! Segments of different lengths on the device are those of the host.

use bijective_shuffle::cuda::cudarc::driver::sys::CUstreamCaptureMode;
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaSlice, DevicePtr, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, RawArray, RawOffsets};
use bijective_shuffle::error::{GpuError, ViewError};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Error, Word};
use bijective_shuffle_laws::short;

use super::{cuda, guarded};

/// The offsets of segments with these lengths.
fn offsets(lens: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut offsets = vec![0];
    offsets.extend(lens.into_iter().scan(0, |end, len| {
        *end += len;
        Some(*end)
    }));
    offsets
}

fn mix(index: u64) -> u64 {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Lengths from 1 to a limit that look random.
fn up_to(count: usize, longest: u64) -> impl Iterator<Item = u32> {
    (0..count as u64).map(move |k| 1 + ((mix(k * k + k) >> 33) % longest) as u32)
}

/// Writes indexes of both widths.
fn check_indexes<N: Word + DeviceRepr>(cuda: &Cuda, offsets: &[u32], what: &str) {
    let segments = Segments::new(offsets, 9).unwrap();
    let mut expected = vec![N::ZERO; segments.items()];
    segments.write_indexes(&mut expected).unwrap();
    let on_device = cuda.stream().clone_htod(offsets).unwrap();
    let got = guarded(cuda, N::MAX, &expected, |workspace, _, out| {
        workspace.write_segments(&on_device, 9, out)
    });
    assert!(got.unwrap() == expected, "{what}: indexes");
}

/// Moves items there and back, and compares them with those of the host.
fn check_items<T: DeviceRepr + Copy + PartialEq + Send>(
    cuda: &Cuda,
    offsets: &[u32],
    what: &str,
    item: impl Fn(u64) -> T,
) {
    let segments = Segments::new(offsets, 9).unwrap();
    let what = format!("{what}, {} bytes", size_of::<T>());
    let source: Vec<T> = (0..segments.items() as u64).map(&item).collect();
    let mut moved = source.clone();
    segments.shuffle(&mut moved).unwrap();
    let (narrow, stream) = (cuda.stream().clone_htod(offsets).unwrap(), cuda.stream());
    let wide: Vec<u64> = offsets.iter().map(|&offset| offset.into()).collect();
    let wide = stream.clone_htod(&wide).unwrap();
    let there = guarded(cuda, item(u64::MAX), &source, |workspace, source, out| {
        workspace.shuffle_segments_into(&narrow, 9, source, out)
    });
    assert!(there.unwrap() == moved, "{what}");
    let back = guarded(cuda, item(u64::MAX), &moved, |workspace, source, out| {
        workspace.unshuffle_segments_into(&wide, 9, source, out)
    });
    assert!(back.unwrap() == source, "back, {what}");
}

#[test]
fn segments_of_every_length_are_moved_and_back() {
    let Some(cuda) = cuda() else { return };
    let fewer = if short() { 20 } else { 1 };
    let long = [3, 1 << 20, 0, 70_001, 1, (1 << 21) + 1, 40_000, 300];
    for (what, offsets) in [
        ("empty ones", offsets([0; 1000])),
        ("single items", offsets(vec![1; 1_000_000 / fewer])),
        ("every length", offsets((0..3000).rev().step_by(fewer))),
        ("up to 8", offsets(up_to(300_000 / fewer, 8))),
        ("up to 256", offsets(up_to(50_000 / fewer, 256))),
        ("up to 1000", offsets(up_to(20_000 / fewer, 1000))),
        ("up to 40,000", offsets(up_to(1000 / fewer, 40_000))),
        ("long ones", offsets(long)),
        ("one", offsets([10_000_000 / fewer as u32])),
    ] {
        check_indexes::<u32>(&cuda, &offsets, what);
        check_indexes::<u64>(&cuda, &offsets, what);
        check_items(&cuda, &offsets, what, mix);
        check_items(&cuda, &offsets, what, |index| [mix(index), index]);
        check_items(&cuda, &offsets, what, |index| mix(index) as u32);
        check_items(&cuda, &offsets, what, |index| (mix(index) >> 48) as u16);
        check_items(&cuda, &offsets, what, |index| (mix(index) >> 56) as u8);
        check_items(&cuda, &offsets, what, |index| [index as u8, (mix(index) >> 40) as u8, 7]);
        check_items(&cuda, &offsets, what, |index| [mix(index), index, !index]);
        check_items(&cuda, &offsets, what, |_| [0_u64; 0]);
    }
}

#[test]
fn a_million_segments_are_moved() {
    let Some(cuda) = cuda() else { return };
    let lens = up_to(1 << 20, 20).enumerate().map(|(k, len)| if k % 3 == 0 { 0 } else { len });
    check_items(&cuda, &offsets(lens), "many", |index| index as u32);
}

#[test]
fn segments_are_moved_at_addresses() {
    let Some(cuda) = cuda() else { return };
    let (stream, mut workspace) = (cuda.stream().clone(), CudaWorkspace::new(&cuda));
    let offsets = offsets(up_to(500, 900));
    let segments = Segments::new(&offsets, 3).unwrap();
    let items: Vec<u32> = (0..segments.items() as u32).collect();
    let mut expected = items.clone();
    segments.shuffle(&mut expected).unwrap();
    let ends = stream.clone_htod(&offsets).unwrap();
    let source = stream.clone_htod(&items).unwrap();
    let out = stream.alloc_zeros::<u32>(items.len()).unwrap();
    let again = stream.alloc_zeros::<u32>(items.len()).unwrap();
    let at = |slice: &CudaSlice<u32>| slice.device_ptr(&stream).0;
    let ends = RawOffsets { address: at(&ends), len: offsets.len(), are_wide: false };
    let there = RawArray { source: at(&source), out: at(&out), len: items.len(), item_bytes: 4 };
    let back = RawArray { source: at(&out), out: at(&again), ..there };
    // SAFETY: all slices have as many words, are different, and are kept until the copies below,
    // which wait for the stream.
    unsafe { workspace.shuffle_segments_raw(ends, 3, there) }.unwrap();
    assert!(stream.clone_dtoh(&out).unwrap() == expected);
    // SAFETY: `out` and `again` are different slices of as many items, which are kept until the
    // copy below, and so are the offsets.
    unsafe { workspace.unshuffle_segments_raw(ends, 3, back) }.unwrap();
    assert!(stream.clone_dtoh(&again).unwrap() == items);
    let overlapping = RawArray { out: there.source + 4, len: 100, ..there };
    // SAFETY: the arrays overlap, so this fails before anything is launched.
    let refused = unsafe { workspace.shuffle_segments_raw(ends, 3, overlapping) };
    assert_eq!(refused, Err(Error::Gpu(GpuError::ArraysOverlap)));
}

/// Nothing is moved, and the workspace is as usable as before.
#[test]
fn wrong_offsets_are_found_by_the_device() {
    let Some(cuda) = cuda() else { return };
    let (stream, mut workspace) = (cuda.stream().clone(), CudaWorkspace::new(&cuda));
    let source = stream.clone_htod(&[1_u64, 2, 3, 4, 5, 6]).unwrap();
    let mut out = stream.clone_htod(&[7_u64; 6]).unwrap();
    for (offsets, number) in [
        (&[1_u32, 6][..], 0),
        (&[0, 4, 3, 6], 2),
        (&[0, 5], 1),
        (&[0, 7], 1),
        (&[0, u32::MAX, 6], 2),
    ] {
        let offsets = stream.clone_htod(offsets).unwrap();
        let wrong = Err(Error::View(ViewError::Offsets { number }));
        assert_eq!(workspace.shuffle_segments_into(&offsets, 1, &source, &mut out), wrong);
        assert_eq!(workspace.unshuffle_segments_into(&offsets, 1, &source, &mut out), wrong);
        assert_eq!(workspace.write_segments(&offsets, 1, &mut out), wrong);
    }
    let none = stream.alloc_zeros::<u32>(0).unwrap();
    let wrong = Err(Error::View(ViewError::Offsets { number: 0 }));
    assert_eq!(workspace.shuffle_segments_into(&none, 1, &source, &mut out), wrong);
    let mut short = stream.alloc_zeros::<u64>(5).unwrap();
    let whole = stream.clone_htod(&[0_u64, 6]).unwrap();
    let refused = Err(Error::LengthMismatch { expected: 6, actual: 5 });
    assert_eq!(workspace.shuffle_segments_into(&whole, 1, &source, &mut short), refused);
    assert!(stream.clone_dtoh(&out).unwrap() == [7; 6]);
    workspace.shuffle_segments_into(&whole, 1, &source, &mut out).unwrap();
    let mut expected = [1, 2, 3, 4, 5, 6];
    Segments::new(&[0, 6], 1).unwrap().shuffle(&mut expected).unwrap();
    assert!(stream.clone_dtoh(&out).unwrap() == expected);
}

/// The capture is not spoilt.
#[test]
fn segments_are_refused_in_a_capture() {
    let Some(_) = cuda() else { return };
    let context = CudaContext::new_non_primary(0, 0).unwrap();
    // SAFETY: everything here is on one stream.
    unsafe { context.disable_event_tracking() };
    // SAFETY: nothing is captured.
    let cuda = unsafe { Cuda::on_stream(context.new_stream().unwrap()).unwrap().with_capture() };
    let (stream, mut workspace) = (cuda.stream().clone(), CudaWorkspace::new(&cuda));
    let offsets = stream.clone_htod(&[0_u32, 3]).unwrap();
    let source = stream.clone_htod(&[1_u32, 2, 3]).unwrap();
    let mut out = stream.alloc_zeros::<u32>(3).unwrap();
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).unwrap();
    let refused = workspace.shuffle_segments_into(&offsets, 1, &source, &mut out);
    assert_eq!(refused, Err(Error::Gpu(GpuError::StreamCaptured)));
    // SAFETY: the stream exists, and its capture is ended, whatever it is like.
    let graph = unsafe {
        bijective_shuffle::cuda::cudarc::driver::result::stream::end_capture(stream.cu_stream())
    };
    assert!(graph.is_ok());
}
