//! An experiment: lengths at which the engine's single pass waits for the look-back, 2^17 + 1 to
//! 2^20 + 1, by kernels that add up all counts at once. What came of it is in
//! docs/results/gpu.md.

use std::error::Error;

use bijective_shuffle::cudarc::driver::{
    CudaFunction, CudaSlice, DevicePtr, DevicePtrMut, DeviceRepr, LaunchConfig, PushKernelArg,
};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cuda, CudaStrategy, CudaWorkspace, DeviceSource};

use crate::arguments::{Common, GpuBetween};
use crate::contender::Choice;
use crate::gpu_rows::Given;
use crate::gpu_time;
use crate::machine::{self, Origin};
use crate::measure::median;

/// Calls between two events.
const CALLS: usize = 200;

const TEXT: &str = include_str!("gpu_between.cuh");

/// A shape of the kernel.
#[derive(Clone, Copy)]
struct Shape {
    threads: u32,
    slots: u32,
    /// Blocks that a multiprocessor holds.
    blocks: u32,
    /// Blocks of a cluster, which need compute capability 9.0; 1 for none.
    cluster: u32,
}

/// All that are tried, where the device holds their blocks.
fn shapes() -> Vec<Shape> {
    let mut all = Vec::new();
    for slots in [1, 2, 4, 8, 16] {
        for (threads, blocks) in [(256, 4), (512, 2)] {
            for cluster in [1, 8] {
                all.push(Shape { threads, slots, blocks, cluster });
            }
        }
    }
    all
}

/// The bytes of the cipher's struct: a width of three words, and four for each of ten rounds.
#[repr(C)]
#[derive(Clone, Copy)]
struct Params([u64; 43]);

// SAFETY: words without padding, which the device may have as they are.
unsafe impl DeviceRepr for Params {}

/// `Job` in gpu_between.cuh.
#[repr(C)]
#[derive(Clone, Copy)]
struct Job {
    len: u64,
    source: u64,
    out: u64,
    status: u64,
    epoch: u64,
}

// SAFETY: words without padding, which the device may have as they are.
unsafe impl DeviceRepr for Job {}

/// A call of a contender, which writes the shuffled items.
type Call<'a> = dyn FnMut(&mut CudaSlice<u64>) -> Result<(), Box<dyn Error>> + 'a;

/// One with its name.
type Contender<'a> = (String, Box<Call<'a>>);

/// Measures the lengths, and prints rows.
pub(crate) fn run(lengths: &GpuBetween, common: &Common) -> Result<(), Box<dyn Error>> {
    let cuda = Cuda::new()?;
    let origin = Origin::new(&cuda.stream().context().name()?)?;
    println!("# $ {}", machine::command());
    let repeats = common.effort().repeats;
    println!("# seconds: of one call, median of {repeats} samples of {CALLS} calls in a row");
    println!("{}", origin.head(&["name", "item_bytes", "length", "seconds"]));
    let choice = Choice { only: &lengths.only, skip: &common.skip };
    for power in (lengths.from..=lengths.to).step_by(lengths.step) {
        at_length(&cuda, &origin, (1 << power) + 1, repeats, choice)?;
    }
    Ok(())
}

fn at_length(
    cuda: &Cuda,
    origin: &Origin,
    len: usize,
    repeats: usize,
    choice: Choice<'_>,
) -> Result<(), Box<dyn Error>> {
    let stream = cuda.stream();
    let f = Standard::from_seed(len as u64, 1);
    let items: Vec<u64> = (0..len as u64).collect();
    let source = stream.clone_htod(&items)?;
    let indices = {
        let order: Vec<u32> = Permutation::new(len as u64, 1).iter().map(|i| i as u32).collect();
        stream.clone_htod(&order)?
    };
    let given = Given { address: indices.device_ptr(stream).0, last: len as u64 - 1 };
    let single = cuda.clone().with_strategy(CudaStrategy::SinglePass);
    let mut workspaces = [CudaWorkspace::new(&single), CudaWorkspace::new(&single)];
    let [pass, gather] = &mut workspaces;
    let mut contenders: Vec<Contender<'_>> = vec![
        ("gather".into(), Box::new(|out| Ok(gather.shuffle_into(&given, &source, out)?))),
        ("single pass".into(), Box::new(|out| Ok(pass.shuffle_into(&f, &source, out)?))),
    ];
    for shape in shapes() {
        if let Some(contender) = all_at_once(cuda, shape, &f, &source)? {
            contenders.push(contender);
        }
    }
    contenders.retain(|(name, _)| choice.takes(name));
    let expected = Cpu.shuffled(&f, &items)?;
    for (name, call) in &mut contenders {
        let mut out = stream.alloc_zeros::<u64>(len)?;
        if let Err(error) = call(&mut out) {
            println!("# {name}, {len} items: {error}");
            continue;
        }
        let got = stream.clone_dtoh(&out)?;
        stream.synchronize()?;
        if got != expected {
            return Err(format!("{name} is wrong at {len} items").into());
        }
        let sample = || gpu_time::by_events(stream, CALLS, || call(&mut out));
        let times: Result<Vec<f64>, _> = core::iter::repeat_with(sample)
            .take(repeats)
            .map(|time| Ok::<_, Box<dyn Error>>(time? / CALLS as f64))
            .collect();
        let seconds = format!("{:e}", median(times?));
        println!("{}", origin.row(&[name, "8", &len.to_string(), &seconds]));
    }
    Ok(())
}

/// A kernel of a shape; `None` if the device cannot hold all of its blocks at once, or the slots
/// are fewer than a tile or a cluster has.
fn all_at_once<'a>(
    cuda: &'a Cuda,
    shape: Shape,
    f: &Standard,
    source: &'a CudaSlice<u64>,
) -> Result<Option<Contender<'a>>, Box<dyn Error>> {
    let Shape { threads, slots, cluster, .. } = shape;
    let points = u32::try_from(f.last())? + 1;
    let (grid, rest) = (points / (threads * slots), points % (threads * slots));
    if rest != 0 || grid < cluster {
        return Ok(None);
    }
    let device = f.device_source().ok_or("the default family has a text")?;
    let Some(kernel) = compiled(cuda, shape, &device)? else { return Ok(None) };
    if grid > held(&kernel, shape, cuda)? {
        return Ok(None);
    }
    let params =
        device.params().chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_le_bytes));
    let params: Vec<u64> = params.collect();
    let params = Params(params.try_into().map_err(|_| "another struct than was expected")?);
    let stream = cuda.stream();
    let mut status = stream.alloc_zeros::<u64>(grid as usize)?;
    let mut epoch = 0;
    let len = source.len() as u64;
    let call = move |out: &mut CudaSlice<u64>| {
        epoch += 1;
        let job = Job {
            len,
            source: source.device_ptr(stream).0,
            out: out.device_ptr_mut(stream).0,
            status: status.device_ptr_mut(stream).0,
            epoch,
        };
        let mut launch = stream.launch_builder(&kernel);
        launch.arg(&params).arg(&job);
        let (grid_dim, block_dim) = ((grid, 1, 1), (threads, 1, 1));
        // SAFETY: the arguments are the kernel's. It reads `len` items, writes as many, and uses a
        // status word for each block; all three slices are as long, and are used in this stream
        // only.
        unsafe { launch.launch(LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 }) }?;
        Ok(())
    };
    let name = match cluster {
        1 => format!("counts at once, {threads} threads, {slots} slots"),
        _ => format!("counts at once, {threads} threads, {slots} slots, clusters of {cluster}"),
    };
    Ok(Some((name, Box::new(call))))
}

/// The kernel of a shape; `None` if the device has no clusters.
fn compiled(
    cuda: &Cuda,
    shape: Shape,
    device: &DeviceSource,
) -> Result<Option<CudaFunction>, Box<dyn Error>> {
    let Shape { threads, slots, blocks, cluster } = shape;
    let text = format!(
        "#define THREADS {threads}\n#define SLOTS {slots}\n#define BLOCKS {blocks}\n\
         #define CLUSTER {cluster}\n{}\nusing F = {};\n{TEXT}",
        device.text(),
        device.type_name()
    );
    match cuda.kernel(&text, "between") {
        Ok(kernel) => Ok(Some(kernel)),
        Err(error) if cluster > 1 => {
            println!("# clusters of {cluster}: {error}");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// How many blocks of a kernel with whole clusters the device holds at the same time.
fn held(kernel: &CudaFunction, shape: Shape, cuda: &Cuda) -> Result<u32, Box<dyn Error>> {
    use bijective_shuffle::cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;

    let Shape { threads, cluster, .. } = shape;
    if cluster > 1 {
        // The kernel itself says of how many blocks its clusters are.
        let (grid_dim, block_dim) = ((cluster, 1, 1), (threads, 1, 1));
        let config = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
        return Ok(cluster * kernel.occupancy_max_active_clusters(config, cuda.stream())?);
    }
    let each = kernel.occupancy_max_active_blocks_per_multiprocessor(threads, 0, None)?;
    let all = cuda.stream().context().attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    Ok(each * u32::try_from(all)?)
}
