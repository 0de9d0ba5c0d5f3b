//! Times how segments of different lengths in device memory are shuffled, each by a permutation of
//! its own, and prints rows.

use std::error::Error;

use bijective_shuffle::cuda::cudarc::driver::{CudaStream, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::Common;
use crate::gpu_time;
use crate::sheet::Sheet;

/// All items, and the longest segments: those of 1000 are in benches/peers/cuda/segments.cu too.
const ITEMS: u64 = 1 << 26;
const LONGEST: [u64; 5] = [4, 32, 256, 1000, 100_000];
/// How long the calls of a sample take, at least.
const SAMPLE_SECONDS: f64 = 0.01;

/// The columns after the origin.
const COLUMNS: [&str; 6] = ["name", "item_bytes", "length", "longest", "segments", "seconds"];

/// The offsets of segments of 1 to `longest` items.
fn offsets(longest: u64) -> Vec<u32> {
    let mut offsets = vec![0];
    let mut end = 0;
    while end < ITEMS {
        end = ITEMS.min(end + 1 + mix(offsets.len() as u64) % longest);
        offsets.push(end as u32);
    }
    offsets
}

/// A number that looks random: the finaliser of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ x >> 31
}

/// Measures segments of all lengths, of items of 4 and 8 bytes.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let (cuda, repeats) = (Cuda::new()?, common.effort().repeats);
    let number = format!("seconds: of all segments, median of {repeats}");
    let sheet = Sheet::of_gpu(&cuda, &number, &COLUMNS)?;
    let mut workspace = CudaWorkspace::new(&cuda);
    for longest in LONGEST {
        let offsets = offsets(longest);
        let mut order = vec![0_u32; ITEMS as usize];
        Segments::new(&offsets, 1)?.write_indexes(&mut order)?;
        for ends in offsets.windows(2) {
            let segment = &mut order[ends[0] as usize..ends[1] as usize];
            segment.iter_mut().for_each(|index| *index += ends[0]);
        }
        let sizes = [longest.to_string(), (offsets.len() - 1).to_string()];
        let mut print = |name: &str, bytes: usize, seconds: f64| {
            let items = [bytes.to_string(), ITEMS.to_string()];
            let cells = [&[name.to_owned()], &items[..], &sizes[..], &[format!("{seconds:e}")]];
            sheet.row(&cells.concat().iter().map(String::as_str).collect::<Vec<_>>())
        };
        measure(&mut workspace, &offsets, &order, repeats, |index| index, &mut print)?;
        measure(&mut workspace, &offsets, &order, repeats, u64::from, &mut print)?;
    }
    Ok(())
}

/// Measures segments of one kind of item.
fn measure<T: DeviceRepr + Copy + PartialEq>(
    workspace: &mut CudaWorkspace,
    offsets: &[u32],
    order: &[u32],
    repeats: usize,
    item: impl Fn(u32) -> T,
    print: &mut impl FnMut(&str, usize, f64) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let stream = workspace.stream().clone();
    let offsets = stream.clone_htod(offsets)?;
    let items: Vec<T> = (0..ITEMS as u32).map(&item).collect();
    let source = stream.clone_htod(&items)?;
    let (mut out, mut back) = (stream.clone_htod(&items)?, stream.clone_htod(&items)?);
    let seconds = time(&stream, repeats, || stream.memcpy_dtod(&source, &mut out))?;
    print("a copy", size_of::<T>(), seconds)?;
    let seconds =
        time(&stream, repeats, || workspace.shuffle_segments_into(&offsets, 1, &source, &mut out))?;
    let got = stream.clone_dtoh(&out)?;
    stream.synchronize()?;
    if !got.iter().zip(order).all(|(&got, &index)| got == item(index)) {
        return Err("shuffle_segments_into is wrong".into());
    }
    print("shuffled", size_of::<T>(), seconds)?;
    let seconds =
        time(&stream, repeats, || workspace.unshuffle_segments_into(&offsets, 1, &out, &mut back))?;
    let got = stream.clone_dtoh(&back)?;
    stream.synchronize()?;
    if got != items {
        return Err("unshuffle_segments_into is wrong".into());
    }
    print("back", size_of::<T>(), seconds)
}

/// The median time of a call.
fn time<E: Into<Box<dyn Error>>>(
    stream: &CudaStream,
    repeats: usize,
    mut call: impl FnMut() -> Result<(), E>,
) -> gpu_time::Seconds {
    gpu_time::of_calls(repeats, (SAMPLE_SECONDS, 1000), |calls| {
        gpu_time::by_events(stream, calls, &mut call)
    })
}
