//! Times groups of GPUs, and ranks, beside one GPU alone and a bare exchange of as many bytes, and
//! prints rows.

mod ranks;

use std::error::Error;
use std::sync::Arc;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::cuda::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, LaunchConfig, PushKernelArg,
    ValidAsZeroBits, result,
};
use bijective_shuffle::cuda::{Cuda, CudaGroup, CudaStrategy, CudaWorkspace};
use bijective_shuffle::prelude::*;

use crate::arguments::{Common, GpuGroups, GroupItem};
use crate::contender::Choice;
use crate::gpu_time;
use crate::sheet::Sheet;

pub(crate) use ranks::run_rank;

/// How long the calls of a sample take, at least.
const SAMPLE_SECONDS: f64 = 0.05;
/// The most calls of a sample.
const MOST_CALLS: usize = 1000;
/// How many items are compared with the CPU's, in several places of each GPU.
const COMPARED: usize = 20_000;

/// The columns after the origin.
const COLUMNS: [&str; 6] = ["name", "members", "devices", "item_bytes", "length", "seconds"];

/// Measures lengths of `2^w` and `2^w + 1` items for each member, and prints a row for each
/// contender.
pub(crate) fn run(of: &GpuGroups, common: &Common) -> Result<(), Box<dyn Error>> {
    let devices = Cuda::device_count()?;
    let repeats = common.effort().repeats;
    let number = format!("seconds: of one call, median of {repeats}, by the clock");
    let sheet = Sheet::of_gpu(&Cuda::new()?, &number, &COLUMNS)?;
    let choice = of.lengths.choice(common);
    for &members in &of.members {
        let devices = if of.logical { 1 } else { devices };
        if members > devices && !of.logical {
            sheet.comment(&format!("{members} members: there are {devices} devices"))?;
            continue;
        }
        for power in of.lengths.powers() {
            for each in [1_usize << power, (1 << power) + 1] {
                let ordinals: Vec<usize> = (0..members).map(|member| member % devices).collect();
                let bench = Bench { sheet: Some(&sheet), ordinals, each, repeats, choice };
                for item in &of.items {
                    match item {
                        GroupItem::U32 => bench.run::<u32>()?,
                        GroupItem::U64 => bench.run::<u64>()?,
                    }
                }
            }
        }
    }
    Ok(())
}

/// What is measured at a length.
struct Bench<'a> {
    /// None in a process that is one rank.
    sheet: Option<&'a Sheet>,
    /// The device of each member.
    ordinals: Vec<usize>,
    /// Items of each member.
    each: usize,
    repeats: usize,
    choice: Choice<'a>,
}

type Shards<T> = Vec<CudaSlice<T>>;

/// A type of items that are their indexes.
trait Number: DeviceRepr + ValidAsZeroBits + Copy + PartialEq + Into<u64> {
    /// Its name in C.
    const NAME: &'static str;

    /// The item of an index that the type has.
    fn new(index: u64) -> Self;
}

impl Number for u32 {
    const NAME: &'static str = "uint32_t";

    fn new(index: u64) -> Self {
        index as Self
    }
}

impl Number for u64 {
    const NAME: &'static str = "uint64_t";

    fn new(index: u64) -> Self {
        index
    }
}

/// A kernel that writes items; `ITEM` is their type.
const NUMBERS: &str = r#"
extern "C" __global__ void numbers(ITEM* out, uint64_t first, uint64_t count) {
    const uint64_t all = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t k = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; k < count; k += all) {
        out[k] = ITEM(first + k);
    }
}
"#;

/// A member's items, from that index on. They are written on its GPU: the host would take longer
/// for them than for all that is measured.
fn numbers<T: Number>(
    stream: &Arc<CudaStream>,
    first: u64,
    each: usize,
) -> Result<CudaSlice<T>, Box<dyn Error>> {
    let text = NUMBERS.replace("ITEM", T::NAME);
    let kernel = Cuda::on_stream(stream.clone())?.kernel(&text, "numbers")?;
    let mut items = stream.alloc_zeros::<T>(each)?;
    let count = each as u64;
    let mut launch = stream.launch_builder(&kernel);
    launch.arg(&mut items).arg(&first).arg(&count);
    let shape =
        LaunchConfig { grid_dim: (1024, 1, 1), block_dim: (256, 1, 1), shared_mem_bytes: 0 };
    // SAFETY: the kernel writes `count` items of this type, as many as the slice has, which belongs
    // to this stream.
    unsafe { launch.launch(shape) }?;
    // The kernel is unloaded when this returns.
    stream.synchronize()?;
    Ok(items)
}

impl Bench<'_> {
    fn run<T: Number>(&self) -> Result<(), Box<dyn Error>> {
        if T::new(self.len() - 1).into() != self.len() - 1 {
            let (len, bytes) = (self.len(), size_of::<T>());
            return self.comment(&format!("{len} items are more than {bytes} bytes tell apart"));
        }
        let mut group = CudaGroup::on_devices(&self.ordinals)?;
        let streams: Vec<_> = group.streams().cloned().collect();
        let (mut source, mut out): (Shards<T>, Shards<T>) = (Vec::new(), Vec::new());
        for (stream, first) in streams.iter().zip((0_u64..).step_by(self.each)) {
            source.push(numbers(stream, first, self.each)?);
            out.push(stream.alloc_zeros(self.each)?);
        }
        self.alone(&streams[0], &source[0], &mut out[0])?;
        self.bare_exchange(&streams, &source, &mut out)?;
        let f = Standard::from_seed(self.len(), 1);
        let name = "group, default";
        let all = || streams.iter().try_for_each(|stream| stream.synchronize());
        if self.choice.takes(name) {
            // What another contender has written must not pass as this one's.
            for (stream, run) in streams.iter().zip(&mut out) {
                stream.memset_zeros(run)?;
            }
            let call = || group.shuffle_into(&f, &source, &mut out);
            if self.measure::<T, _>(name, self.len(), all, call)? {
                self.compare(&f, &streams, &out, 0, name)?;
            }
        }
        let name = "back, group, default";
        if self.choice.takes(name) {
            group.shuffle_into(&f, &source, &mut out)?;
            // Back to where it came from: a third array would leave less for the group.
            for (stream, run) in streams.iter().zip(&mut source) {
                stream.memset_zeros(run)?;
            }
            let call = || group.unshuffle_into(&f, &out, &mut source);
            if self.measure::<T, _>(name, self.len(), all, call)? {
                self.compare_in_order(&streams, &source, name)?;
            }
        }
        drop(group);
        drop((source, out));
        self.in_processes::<T>()
    }

    /// The items of all members.
    fn len(&self) -> u64 {
        (self.each * self.ordinals.len()) as u64
    }

    /// One GPU with the items of one member.
    fn alone<T: Number>(
        &self,
        stream: &Arc<CudaStream>,
        source: &CudaSlice<T>,
        out: &mut CudaSlice<T>,
    ) -> Result<(), Box<dyn Error>> {
        let name = "one GPU, Partitioned, default";
        if !self.choice.takes(name) {
            return Ok(());
        }
        let f = Standard::from_seed(self.each as u64, 1);
        let cuda = Cuda::on_stream(stream.clone())?.with_strategy(CudaStrategy::Partitioned);
        let mut workspace = CudaWorkspace::new(&cuda);
        let wait = || stream.synchronize();
        let each = self.each as u64;
        self.measure::<T, _>(name, each, wait, || workspace.shuffle_into(&f, source, out))?;
        self.measure::<T, _>(&format!("back, {name}"), each, wait, || {
            workspace.unshuffle_into(&f, source, out)
        })?;
        Ok(())
    }

    /// Copies from each device to each, of as many bytes as a shuffle exchanges, those of a device
    /// one after the other.
    fn bare_exchange<T: Number>(
        &self,
        streams: &[Arc<CudaStream>],
        source: &Shards<T>,
        out: &mut Shards<T>,
    ) -> Result<(), Box<dyn Error>> {
        let name = "bare exchange by copies";
        if !self.choice.takes(name) {
            return Ok(());
        }
        let part = self.each / streams.len();
        // From each member to each, its part, where it lies and where it goes. A member sends to
        // the one behind it first, so that no two send to the same, and keeps its own meanwhile.
        let mut copies = Vec::new();
        for (from, stream) in streams.iter().enumerate() {
            let sends = stream.context().new_stream()?;
            for step in 0..streams.len() {
                let to = (from + step) % streams.len();
                let target = &streams[to];
                let read = source[from].slice(to * part..(to + 1) * part).device_ptr(stream).0;
                let mut place = out[to].slice_mut(from * part..(from + 1) * part);
                let written = place.device_ptr_mut(target).0;
                let by = if step == 0 { stream.context().new_stream()? } else { sends.clone() };
                copies.push((by, target.context(), read, written));
            }
        }
        let all = || streams.iter().try_for_each(|stream| stream.synchronize());
        all()?;
        let wait = || copies.iter().try_for_each(|(stream, ..)| stream.synchronize());
        self.measure::<T, _>(name, self.len(), wait, || {
            for (stream, target, read, written) in &copies {
                let fits = "a copy between devices";
                stream.context().bind_to_thread().expect(fits);
                // SAFETY: `part` items begin at both addresses, in slices of these contexts that
                // outlive the wait for the stream, which no other copy writes.
                unsafe {
                    result::memcpy_peer_async(
                        target.cu_ctx(),
                        *written,
                        stream.context().cu_ctx(),
                        *read,
                        part * size_of::<T>(),
                        stream.cu_stream(),
                    )
                }
                .expect(fits);
            }
            Ok(())
        })?;
        Ok(())
    }

    fn comment(&self, text: &str) -> Result<(), Box<dyn Error>> {
        self.sheet.map_or(Ok(()), |sheet| sheet.comment(text))
    }

    /// Prints the median time of a call. Returns whether it runs; if it does not, the reason is
    /// printed.
    fn measure<T, E: Error + 'static>(
        &self,
        name: &str,
        len: u64,
        wait: impl Fn() -> Result<(), E>,
        mut call: impl FnMut() -> Result<(), bijective_shuffle::Error>,
    ) -> Result<bool, Box<dyn Error>> {
        if let Err(error) = call() {
            self.comment(&format!("{name}, {len} items: {error}"))?;
            return Ok(false);
        }
        let seconds = gpu_time::of_calls(self.repeats, (SAMPLE_SECONDS, MOST_CALLS), |calls| {
            gpu_time::by_clock(calls, &wait, &mut call)
        })?;
        self.print::<T>(name, len, seconds)?;
        Ok(true)
    }

    fn print<T>(&self, name: &str, len: u64, seconds: f64) -> Result<(), Box<dyn Error>> {
        let (members, mut devices) = (self.ordinals.len(), self.ordinals.clone());
        devices.dedup();
        let cells = [members, devices.len(), size_of::<T>()].map(|number| number.to_string());
        let [members, devices, bytes] = &cells;
        let (length, seconds) = (len.to_string(), format!("{seconds:e}"));
        let cells = [name, members, devices, bytes, &length, &seconds];
        self.sheet.map_or(Ok(()), |sheet| sheet.row(&cells))
    }

    /// The places where comparisons of a few items begin.
    fn windows(&self, few: usize) -> Vec<usize> {
        let mut all = vec![0, (self.each - few) / 2, self.each - few];
        all.dedup();
        all
    }

    /// Compares what is at the beginning, in the middle and at the end of each run with the order
    /// of the survivors. The runs are those of this member and of the ones behind it.
    fn compare<T: Number>(
        &self,
        f: &Standard,
        streams: &[Arc<CudaStream>],
        out: &[CudaSlice<T>],
        from: usize,
        name: &str,
    ) -> Result<(), Box<dyn Error>> {
        let few = self.each.min(COMPARED);
        // The slot behind the last that was seen, where the next run begins.
        let mut next = 0;
        for (member, (stream, run)) in (from..).zip(streams.iter().zip(out)) {
            for first in self.windows(few) {
                let got = stream.clone_dtoh(&run.slice(first..first + few))?;
                stream.synchronize()?;
                let is_next = first == 0 && (member == 0 || member > from);
                let slot = if is_next { next } else { f.inverse(got[0].into()) };
                let mut slots = slot..=f.last();
                let mut survivors = slots.by_ref().map(|slot| f.forward(slot));
                for (place, &item) in (first..).zip(&got) {
                    let expected = survivors.by_ref().find(|&index| index < self.len());
                    if expected != Some(item.into()) {
                        let (item, len): (u64, _) = (item.into(), self.len());
                        return Err(format!(
                            "{name} is wrong at {len} items: {item} at place {place} of member \
                             {member}, where {expected:?} belongs"
                        )
                        .into());
                    }
                }
                next = *slots.start();
            }
        }
        Ok(())
    }

    /// Compares items with their places.
    fn compare_in_order<T: Number>(
        &self,
        streams: &[Arc<CudaStream>],
        back: &Shards<T>,
        name: &str,
    ) -> Result<(), Box<dyn Error>> {
        let few = self.each.min(COMPARED);
        for ((stream, run), member) in streams.iter().zip(back).zip(0..) {
            for first in self.windows(few) {
                let got = stream.clone_dtoh(&run.slice(first..first + few))?;
                stream.synchronize()?;
                let place = (member * self.each + first) as u64;
                if !got.into_iter().map(Into::into).eq(place..place + few as u64) {
                    return Err(format!("{name} is wrong at {} items", self.len()).into());
                }
            }
        }
        Ok(())
    }
}
