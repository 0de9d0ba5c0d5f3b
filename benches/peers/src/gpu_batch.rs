//! Times how the items of many rows in device memory are moved, each row by a permutation of its
//! own, and prints rows.

use std::error::Error;

use bijective_shuffle::cuda::cudarc::driver::CudaStream;
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::Common;
use crate::gpu_time;
use crate::sheet::Sheet;

/// The items of all rows, about.
const ITEMS: usize = 1 << 26;
/// Their lengths.
const LENGTHS: [usize; 12] = [
    32,
    256,
    257,
    1 << 11,
    (1 << 11) + 1,
    10_000,
    1 << 15,
    (1 << 17) - 3,
    1 << 17,
    (1 << 18) + 1,
    (1 << 19) + 1,
    (1 << 20) + 1,
];
/// How long the calls of a sample take, at least.
const SAMPLE_SECONDS: f64 = 0.01;

/// The columns after the origin.
const COLUMNS: [&str; 5] = ["name", "item_bytes", "length", "rows", "seconds"];

/// Measures rows of all lengths, of items of 8 bytes.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let (stream, repeats) = (cuda.stream(), common.effort().repeats);
    let number = format!("seconds: of all rows, median of {repeats}");
    let sheet = Sheet::of_gpu(&cuda, &number, &COLUMNS)?;
    let mut workspace = CudaWorkspace::new(&cuda);
    for len in LENGTHS {
        let rows = ITEMS / len;
        let items: Vec<u64> = (0..(rows * len) as u64).collect();
        let source = stream.clone_htod(&items)?;
        let mut out = stream.alloc_zeros::<u64>(items.len())?;
        let permutations = Permutations::new(rows as u64, len as u64, 1);
        let print = |name: &str, seconds: f64| {
            let cells = ["8", &len.to_string(), &rows.to_string(), &format!("{seconds:e}")];
            sheet.row(&[&[name], &cells[..]].concat())
        };
        print("a copy", time(stream, repeats, || stream.memcpy_dtod(&source, &mut out))?)?;
        let seconds = time(stream, repeats, || {
            workspace.shuffle_rows_into(&permutations, 0, &source, &mut out)
        })?;
        let got = stream.clone_dtoh(&out)?;
        stream.synchronize()?;
        let is_right = |row: u64, order: &[u32]| {
            let (first, got) = (row * len as u64, got.chunks_exact(len).nth(row as usize));
            let expected = order.iter().map(|&index| first + u64::from(index));
            got.is_some_and(|got| got.iter().copied().eq(expected))
        };
        if permutations.par_map(is_right)?.contains(&false) {
            return Err(format!("shuffle_rows_into is wrong with rows of {len}").into());
        }
        print("one call", seconds)?;
    }
    Ok(())
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
