//! Times calls that move few items on a GPU, from several sides, to tell what their time consists
//! of: the host's work, the wait for the device, or the device's. Prints rows.

use std::error::Error;
use std::time::Instant;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use bijective_shuffle::cuda::cudarc::driver::{CudaContext, CudaStream, DevicePtr};
use bijective_shuffle::cuda::{Cuda, CudaWorkspace, RawArray};
use bijective_shuffle::prelude::*;

use crate::arguments::Common;
use crate::gpu_time;
use crate::measure::median;
use crate::sheet::Sheet;

/// Lengths are one more than 2 to these powers.
const POWERS: [u32; 4] = [8, 11, 14, 17];
/// How many calls are put in a stream before the first of them is waited for. The driver takes
/// about a thousand without waiting.
const SUBMITTED: usize = 200;
/// How often these are.
const SAMPLES: usize = 50;

/// The columns after the origin. A call is `submitted` when it returns, and many calls `in a row`
/// take as long as the host or the device does, whichever is slower; `in a graph` the host does
/// nothing; `alone` each call is waited for.
const COLUMNS: [&str; 5] = ["name", "item_bytes", "length", "what", "seconds"];

/// A call that may be timed.
type Call<'a> = dyn FnMut() -> Result<(), Box<dyn Error>> + 'a;

/// Measures calls with and without cudarc's events, and through raw addresses.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let own = Cuda::new()?;
    let repeats = common.effort().repeats;
    let number = format!("seconds: of one call, median of {repeats}");
    let sheet = Sheet::of_gpu(&own, &number, &COLUMNS)?;
    let default = Cuda::on_stream(CudaContext::new(0)?.default_stream())?;
    let context = CudaContext::new_non_primary(0, 0)?;
    // SAFETY: everything in this context is on one stream.
    unsafe { context.disable_event_tracking() };
    // SAFETY: each graph is dropped before what it uses, and launched in this stream.
    let captured = unsafe { Cuda::on_stream(context.new_stream()?)?.with_capture() };
    let bench = Bench { sheet: &sheet, repeats };
    for len in POWERS.map(|power| (1_usize << power) + 1) {
        bench.reserve("reserving, which is all but the launch", &own, len)?;
        bench.shuffle("own stream, slices", &own, len)?;
        bench.raw("own stream, addresses", &own, len)?;
        bench.shuffle("default stream, slices", &default, len)?;
        bench.graph("one stream, slices", &captured, len)?;
    }
    Ok(())
}

/// What is measured.
struct Bench<'a> {
    sheet: &'a Sheet,
    repeats: usize,
}

impl Bench<'_> {
    /// All that a call does on the host but to launch.
    fn reserve(&self, name: &str, cuda: &Cuda, len: usize) -> Result<(), Box<dyn Error>> {
        let f = Standard::from_seed(len as u64, 1);
        let mut workspace = CudaWorkspace::new(cuda);
        workspace.reserve::<u64>(&f, len)?;
        let reserve = || Ok(workspace.reserve::<u64>(&f, len).map(drop)?);
        let seconds = submitted(cuda.stream(), reserve)?;
        self.print(name, len, "submitted", seconds)?;
        Ok(())
    }

    fn shuffle(&self, name: &str, cuda: &Cuda, len: usize) -> Result<(), Box<dyn Error>> {
        let (stream, f) = (cuda.stream(), Standard::from_seed(len as u64, 1));
        let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>())?;
        let mut out = stream.alloc_zeros::<u64>(len)?;
        let mut workspace = CudaWorkspace::new(cuda);
        self.calls(name, len, stream, &mut || Ok(workspace.shuffle_into(&f, &source, &mut out)?))?;
        compare(&f, &stream.clone_dtoh(&out)?, stream)
    }

    fn raw(&self, name: &str, cuda: &Cuda, len: usize) -> Result<(), Box<dyn Error>> {
        let (stream, f) = (cuda.stream(), Standard::from_seed(len as u64, 1));
        let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>())?;
        let out = stream.alloc_zeros::<u64>(len)?;
        let (from, to) = (source.device_ptr(stream).0, out.device_ptr(stream).0);
        let array = RawArray { source: from, out: to, len, item_bytes: 8 };
        let mut workspace = CudaWorkspace::new(cuda);
        self.calls(name, len, stream, &mut || {
            // SAFETY: both have `len` items of 8 bytes, and are kept and not used otherwise until
            // the stream has been waited for.
            Ok(unsafe { workspace.shuffle_raw(&f, array) }?)
        })?;
        compare(&f, &stream.clone_dtoh(&out)?, stream)
    }

    /// Many calls in a graph, whose time is the device's.
    fn graph(&self, name: &str, cuda: &Cuda, len: usize) -> Result<(), Box<dyn Error>> {
        let (stream, f) = (cuda.stream(), Standard::from_seed(len as u64, 1));
        let source = stream.clone_htod(&(0..len as u64).collect::<Vec<_>>())?;
        let mut out = stream.alloc_zeros::<u64>(len)?;
        let mut workspace = CudaWorkspace::new(cuda);
        workspace.reserve::<u64>(&f, len)?;
        stream.synchronize()?;
        stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)?;
        for _ in 0..SUBMITTED {
            workspace.shuffle_into(&f, &source, &mut out)?;
        }
        let flags = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags)?.ok_or("nothing was captured")?;
        graph.launch()?;
        let times: Result<Vec<f64>, _> =
            (0..self.repeats).map(|_| gpu_time::by_events(stream, 1, || graph.launch())).collect();
        self.print(name, len, "in a graph", median(times?) / SUBMITTED as f64)?;
        drop(graph);
        compare(&f, &stream.clone_dtoh(&out)?, stream)
    }

    fn calls(
        &self,
        name: &str,
        len: usize,
        stream: &CudaStream,
        call: &mut Call<'_>,
    ) -> Result<(), Box<dyn Error>> {
        call()?;
        self.print(name, len, "submitted", submitted(stream, &mut *call)?)?;
        let in_a_row: Result<Vec<f64>, _> =
            (0..self.repeats).map(|_| gpu_time::by_events(stream, 1000, &mut *call)).collect();
        self.print(name, len, "in a row", median(in_a_row?) / 1000.0)?;
        let mut alone = Vec::new();
        for _ in 0..SAMPLES * 10 {
            let start = Instant::now();
            call()?;
            stream.synchronize()?;
            alone.push(start.elapsed().as_secs_f64());
        }
        self.print(name, len, "alone", median(alone))?;
        Ok(())
    }

    /// Prints a row.
    fn print(
        &self,
        name: &str,
        len: usize,
        what: &str,
        seconds: f64,
    ) -> Result<(), Box<dyn Error>> {
        let cells = [name, "8", &len.to_string(), what, &format!("{seconds:e}")];
        self.sheet.row(&cells)
    }
}

/// The median time until a call returns, if the device is idle when the first of them is made.
fn submitted(
    stream: &CudaStream,
    mut call: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> gpu_time::Seconds {
    let mut times = Vec::new();
    for _ in 0..SAMPLES {
        stream.synchronize()?;
        let start = Instant::now();
        for _ in 0..SUBMITTED {
            call()?;
        }
        times.push(start.elapsed().as_secs_f64() / SUBMITTED as f64);
    }
    stream.synchronize()?;
    Ok(median(times))
}

/// Compares what was shuffled with the host's order.
fn compare(f: &Standard, got: &[u64], stream: &CudaStream) -> Result<(), Box<dyn Error>> {
    stream.synchronize()?;
    let p = Permutation::from_bijection(got.len() as u64, f)?;
    if p.iter().eq(got.iter().copied()) {
        return Ok(());
    }
    Err(format!("{} items are in the wrong order", got.len()).into())
}
