//! Times how the items of many rows in device memory are moved, each row by a permutation of its
//! own, and prints rows.

use std::error::Error;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{CudaSlice, CudaStream, DeviceRepr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::Common;
use crate::gpu_time;
use crate::machine::{self, Origin};

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
/// The most rows that are moved by a call each.
const MOST_CALLS: u64 = 1 << 15;
/// How long the calls of a sample take, at least.
const SAMPLE_SECONDS: f64 = 0.01;

/// The columns after the origin.
const COLUMNS: [&str; 5] = ["name", "item_bytes", "length", "rows", "seconds"];

/// Measures rows of all lengths, of items of 8 and of 4 bytes.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let origin = Origin::new(&cuda.stream().context().name()?)?;
    println!("# $ {}", machine::command());
    println!("# {}", machine::LIBRARY);
    println!("# seconds: of all rows, median of {}", common.effort().repeats);
    println!("{}", origin.head(&COLUMNS));
    for len in LENGTHS {
        Bench::<u64>::new(&cuda, &origin, common.effort().repeats, len)?.run(|word| word)?;
        Bench::<u32>::new(&cuda, &origin, common.effort().repeats, len)?.run(|word| word as u32)?;
    }
    Ok(())
}

/// Rows of one length.
struct Bench<'a, T> {
    cuda: &'a Cuda,
    origin: &'a Origin,
    repeats: usize,
    permutations: Permutations,
    source: CudaSlice<T>,
    out: CudaSlice<T>,
}

impl<'a, T: DeviceRepr + Copy + PartialEq + Sync> Bench<'a, T> {
    fn new(
        cuda: &'a Cuda,
        origin: &'a Origin,
        repeats: usize,
        len: usize,
    ) -> Result<Self, Box<dyn Error>> {
        let (rows, stream) = ((ITEMS / len) as u64, cuda.stream());
        let permutations = Permutations::new(rows, len as u64, 1);
        let words = rows as usize * len;
        // SAFETY: `run` writes it before it is read.
        let source = unsafe { stream.alloc::<T>(words) }?;
        // SAFETY: every call writes all of it before it is read.
        let out = unsafe { stream.alloc::<T>(words) }?;
        Ok(Self { cuda, origin, repeats, permutations, source, out })
    }

    fn run(mut self, item: impl Fn(u64) -> T) -> Result<(), Box<dyn Error>> {
        let stream = self.cuda.stream().clone();
        let items: Vec<T> = (0..self.source.len() as u64).map(item).collect();
        stream.memcpy_htod(&items, &mut self.source)?;
        let mut workspace = CudaWorkspace::new(self.cuda);
        let (permutations, len) = (self.permutations, self.permutations.len() as usize);
        let Self { source, out, .. } = &mut self;
        let seconds = time(&stream, 5, || stream.memcpy_dtod(source, out))?;
        self.print("a copy", seconds);
        let (repeats, Self { source, out, .. }) = (self.repeats, &mut self);
        let seconds =
            time(&stream, repeats, || workspace.shuffle_rows_into(&permutations, 0, source, out))?;
        self.compare(&items, "shuffle_rows_into")?;
        self.print("one call", seconds);
        if permutations.count() <= MOST_CALLS {
            let seed = |row| permutations.seed().with_epoch(row);
            let orders = (0..permutations.count()).map(seed);
            let orders: Vec<_> = orders.map(|seed| Standard::from_seed(len as u64, seed)).collect();
            let Self { source, out, .. } = &mut self;
            // So that what the call before has moved does not pass for this one's work.
            stream.memcpy_dtod(source, out)?;
            let seconds = time(&stream, repeats, || {
                orders.iter().enumerate().try_for_each(|(row, f)| {
                    let places = row * len..(row + 1) * len;
                    let (from, mut to) = (source.slice(places.clone()), out.slice_mut(places));
                    workspace.shuffle_into(f, &from, &mut to)
                })
            })?;
            self.compare(&items, "shuffle_into")?;
            self.print("a call for each row", seconds);
        }
        let Self { source, out, .. } = &mut self;
        stream.memcpy_dtod(out, source)?;
        let seconds = time(&stream, repeats, || {
            workspace.unshuffle_rows_into(&permutations, 0, out, source)
        })?;
        let back = stream.clone_dtoh(&self.source)?;
        stream.synchronize()?;
        if back != items {
            return Err(format!("unshuffle_rows_into is wrong with rows of {len}").into());
        }
        self.print("back, one call", seconds);
        Ok(())
    }

    /// Compares all rows with the host's.
    fn compare(&self, items: &[T], name: &str) -> Result<(), Box<dyn Error>> {
        let got = self.cuda.stream().clone_dtoh(&self.out)?;
        self.cuda.stream().synchronize()?;
        let len = self.permutations.len() as usize;
        let is_right = |row: u64, order: &[u32]| {
            let places = row as usize * len..(row as usize + 1) * len;
            let (row, got) = (&items[places.clone()], &got[places]);
            order.iter().zip(got).all(|(&index, got)| row[index as usize] == *got)
        };
        if self.permutations.par_map(is_right)?.contains(&false) {
            return Err(format!("{name} is wrong with rows of {len}").into());
        }
        Ok(())
    }

    /// Prints a row.
    fn print(&self, name: &str, seconds: f64) {
        let (len, rows) = (self.permutations.len(), self.permutations.count());
        let cells = [size_of::<T>().to_string(), len.to_string(), rows.to_string()];
        let [bytes, len, rows] = &cells;
        println!("{}", self.origin.row(&[name, bytes, len, rows, &format!("{seconds:e}")]));
    }
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
