//! Segments of different lengths in device memory, each permuted within itself. The kernels are in
//! gpu/batch/segments.cuh, and what users call in src/permutation/segments_on_gpu.rs.
//!
//! The offsets are the device's, so the first plan checks them and lists the segments by classes,
//! and the host waits for that. A second plan moves all segments but the long ones, which follow
//! one after the other, as if each were an array of its own.

use std::cell::RefCell;

use cudarc::driver::DeviceRepr;

use super::kernels::{
    self, CountSegments, Keys, ListSegments, MoveCipherSegments, MoveExactSegments, Width,
};
use super::rows::behind;
use super::tuning::{self, SegmentShape};
use crate::bijection::Standard;
use crate::compact::Direction;
use crate::cuda::raw::{RawArray, RawOffsets};
use crate::cuda::runtime::array::{DeviceArray, DeviceArrayMut};
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::in_use::SlicesInUse;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue};
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::plan::{Address, DevicePlan, Grid, Ground, Launch};
use crate::cuda::runtime::reader::StreamReader;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::{Movement, Moves, Visit};
use crate::cuda::shuffle::strategy::{self, CudaStrategy};
use crate::cuda::workspace::CudaWorkspace;
use crate::engine::bijection::StandardCipher;
use crate::engine::check::{check_word, try_with_capacity};
use crate::error::{GpuError, ViewError};
use crate::{Bijection, Error, FromSeed, Seed, Word};

/// `CLASSES` in gpu/batch/segments.cuh.
const CLASSES: usize = 65;

/// The classes that are drawn exactly: up to [`tuning::FEW_EXACT_BITS`], and more.
const EXACT_CLASSES: usize = Standard::EXACT_MAX.ilog2() as usize + 1;
const FEW_CLASSES: usize = tuning::FEW_EXACT_BITS + 1;

/// The words of `SegmentCounts` in gpu/batch/segments.cuh.
const COUNT_WORDS: usize = 2 * CLASSES + 1;

/// Where the counts are, and the list after them.
const COUNTS: Address = Address::Scratch(0);
const LIST: Address = Address::Scratch((COUNT_WORDS as u64 * 4).next_multiple_of(256));

/// Where those of the list from `start` on are.
fn listed(start: u32) -> Address {
    LIST.plus(u64::from(start) * 4)
}

/// Segments to be moved, or whose indexes are to be written.
pub(super) struct SegmentsJob {
    seed: Seed,
    offsets: Address,
    /// The word of an offset.
    word: WordType,
    segments: u32,
    items: u64,
    movement: Movement,
}

/// A segment that is moved by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LongSegment {
    number: u32,
    start: u64,
    len: u64,
}

/// What the first plan has found.
#[derive(Default)]
struct Listing {
    plan: DevicePlan<'static>,
    long: Vec<LongSegment>,
}

impl CudaWorkspace {
    /// Writes the permutations of segments to all of `out`.
    pub(crate) fn write_indexes_of<O: Word + DeviceRepr, N: Word + DeviceRepr>(
        &mut self,
        offsets: &impl DeviceArray<O>,
        seed: Seed,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        self.check_device(offsets.stream())?;
        self.check_device(out.stream())?;
        check_word::<N>(out.len())?;
        self.enter()?;
        let (stream, items) = (self.stream.clone(), out.len() as u64);
        let mut guards = SlicesInUse::default();
        let given = raw::<O>(guards.read(offsets, &stream), offsets.len());
        let out = Address::Given(guards.write(out, &stream));
        self.executor.check_slices()?;
        let movement = Movement::Indices { out, word: WordType::of_index::<N>() };
        // SAFETY: both slices belong to the context and have as many words as the job says. The
        // offsets are borrowed and the other mutably, so they do not overlap, and the guards, each
        // an `InUse`, ensure that neither is freed or otherwise used before the stream has
        // finished.
        unsafe { execute(&mut self.executor, given, seed, items, movement) }
    }

    /// Moves the items of segments to another slice, each within its segment.
    pub(crate) fn move_segments<O: Word + DeviceRepr, T: DeviceRepr>(
        &mut self,
        offsets: &impl DeviceArray<O>,
        seed: Seed,
        source: &impl DeviceArray<T>,
        out: &mut impl DeviceArrayMut<T>,
        direction: Direction,
    ) -> Result<(), Error> {
        let (len, item_bytes) = (source.len(), size_of::<T>());
        if out.len() != len {
            let (expected, actual) = (len as u64, out.len() as u64);
            return Err(Error::LengthMismatch { expected, actual });
        }
        self.check_device(offsets.stream())?;
        self.check_device(source.stream())?;
        self.check_device(out.stream())?;
        self.enter()?;
        let stream = self.stream.clone();
        let mut guards = SlicesInUse::default();
        let given = raw::<O>(guards.read(offsets, &stream), offsets.len());
        let (source, out) = (guards.read(source, &stream), guards.write(out, &stream));
        self.executor.check_slices()?;
        let array = RawArray { source, out, len, item_bytes };
        let movement = Movement::items(vec![array.array()], direction)?;
        // SAFETY: all slices belong to the context and have as many words and items as the job
        // says. The sources are borrowed and the other mutably, so it overlaps neither, and the
        // guards, each an `InUse`, ensure that none is freed or otherwise used before the stream
        // has finished with it.
        unsafe { execute(&mut self.executor, given, seed, len as u64, movement) }
    }

    /// [`move_segments`](Self::move_segments), for offsets and items at raw addresses.
    ///
    /// # Safety
    ///
    /// As [`shuffle_raw`](Self::shuffle_raw), also for the offsets, which do not overlap the
    /// output.
    pub(crate) unsafe fn move_segments_raw(
        &mut self,
        offsets: RawOffsets,
        seed: Seed,
        array: RawArray,
        direction: Direction,
    ) -> Result<(), Error> {
        array.check_apart()?;
        self.enter()?;
        let movement = Movement::items(vec![array.array()], direction)?;
        // SAFETY: the caller vouches for the offsets and the array, whose two parts were found
        // apart.
        unsafe { execute(&mut self.executor, offsets, seed, array.len as u64, movement) }
    }
}

fn raw<O: Word>(address: u64, len: usize) -> RawOffsets {
    RawOffsets { address, len, are_wide: O::BITS == 64 }
}

/// Checks the offsets, and then moves what the segments have.
///
/// # Safety
///
/// The offsets are in memory that the device may read. At the addresses of the movement there are
/// `items` words or items, in memory that it may read or write as the movement does. What is
/// written overlaps nothing else, and nobody else uses any of it until the stream has finished.
unsafe fn execute(
    executor: &mut Executor,
    offsets: RawOffsets,
    seed: Seed,
    items: u64,
    movement: Movement,
) -> Result<(), Error> {
    let job = SegmentsJob::new(offsets, seed, items, movement)?;
    executor.check_not_captured()?;
    let (limits, found) = (executor.device.limits, RefCell::new(Listing::default()));
    let mut first = job.listed();
    first.check(|reader, at| {
        // SAFETY: the plan's working memory has the counts and the list there, and the caller
        // promises the offsets.
        *found.borrow_mut() = unsafe { job.found(reader, at, &limits) }?;
        Ok(())
    });
    // SAFETY: the plan reads the offsets, which the caller promises, and writes working memory.
    unsafe { executor.execute(&first) }?;
    drop(first);
    let Listing { plan, long } = found.into_inner();
    // SAFETY: the plan moves the segments that are listed, which are within the items, as the
    // offsets have been checked. The caller promises that memory. The list is where the first plan
    // has left it, as this one takes the same working memory.
    unsafe { executor.execute(&plan) }?;
    job.one_by_one(&long, &limits, |plan| {
        // SAFETY: the plan moves one segment, which is within the items, and uses nothing else that
        // the caller has given.
        unsafe { executor.execute(plan) }
    })
}

impl SegmentsJob {
    fn new(offsets: RawOffsets, seed: Seed, items: u64, movement: Movement) -> Result<Self, Error> {
        let RawOffsets { address, len, are_wide } = offsets;
        let Some(segments) = len.checked_sub(1) else {
            return Err(Error::View(ViewError::Offsets { number: 0 }));
        };
        // The device numbers them in 32 bits, and takes all ones for none.
        let segments = u32::try_from(segments).ok().filter(|&segments| segments < u32::MAX);
        let segments = segments.ok_or(Error::Gpu(GpuError::DomainTooWide))?;
        let word = if are_wide { WordType::U64 } else { WordType::U32 };
        Ok(Self { seed, offsets: Address::Given(address), word, segments, items, movement })
    }

    /// The size of a word that is moved; 0 if indexes are written, or items that are not words.
    fn word_bytes(&self) -> u64 {
        self.movement.word().map_or(0, |(_, word)| word.bytes() as u64)
    }

    /// An empty plan with the memory of the list.
    fn plan(&self) -> DevicePlan<'static> {
        let mut plan = DevicePlan::new();
        let Address::Scratch(list) = LIST else { unreachable!("it is in the working memory") };
        plan.take_scratch(list + u64::from(self.segments) * 4);
        plan
    }

    /// The plan that checks the offsets and lists the segments.
    fn listed<'a>(&self) -> DevicePlan<'a> {
        let (mut plan, offsets, segments) = (self.plan(), self.offsets, self.segments.into());
        let items = self.items;
        plan.clear(COUNTS, COUNT_WORDS as u64 * 4);
        let blocks =
            |each: u32| Grid::Resident((u64::from(self.segments) + 1).div_ceil(each.into()));
        let kernel = kernels::count_segments(self.word);
        plan.launch(Launch::new(kernel, blocks(THREADS), move |at| CountSegments {
            offsets: at.at(offsets),
            segments,
            items,
            counts: at.at(COUNTS),
        }));
        let kernel = kernels::list_segments(self.word);
        let tile = THREADS * tuning::LISTED_EACH;
        plan.launch(Launch::new(kernel, blocks(tile), move |at| ListSegments {
            offsets: at.at(offsets),
            segments,
            counts: at.at(COUNTS),
            list: at.at(LIST),
        }));
        plan
    }

    /// What the device has found: an error, or how the segments are to be moved.
    ///
    /// # Safety
    ///
    /// At the addresses of the counts, the list and the offsets there are as many as the job says,
    /// which the stream may read.
    unsafe fn found(
        &self,
        reader: &StreamReader<'_>,
        at: &Ground,
        limits: &GpuLimits,
    ) -> Result<Listing, Error> {
        let mut words = [0_u32; COUNT_WORDS];
        // SAFETY: the caller promises the counts, which are as many words.
        unsafe { reader.read(at.at(COUNTS), &mut words) }?;
        let (counts, wrong) = (&words[..CLASSES], words[COUNT_WORDS - 1]);
        if wrong > 0 {
            return Err(Error::View(ViewError::Offsets { number: u64::from(!wrong) }));
        }
        if self.movement.moves_nothing() {
            return Ok(Listing::default());
        }
        let (plan, listed_long) = self.moved(counts, limits)?;
        let mut long = Vec::new();
        for (start, count) in listed_long {
            let mut numbers = try_with_capacity(count as usize)?;
            numbers.resize(count as usize, 0_u32);
            // SAFETY: the caller promises the list, in which those of the class are.
            unsafe { reader.read(at.at(listed(start)), &mut numbers) }?;
            long.try_reserve(numbers.len()).map_err(|_| Error::OutOfMemory {
                bytes: u64::from(count) * size_of::<LongSegment>() as u64,
            })?;
            for number in numbers {
                // SAFETY: the caller promises the offsets, of which a listed segment has two.
                let [start, end] = unsafe { self.ends(reader, at, number) }?;
                long.push(LongSegment { number, start, len: end - start });
            }
        }
        Ok(Listing { plan, long })
    }

    /// Where a segment begins and ends.
    ///
    /// # Safety
    ///
    /// The device may read the offsets, and there is such a segment.
    unsafe fn ends(
        &self,
        reader: &StreamReader<'_>,
        at: &Ground,
        number: u32,
    ) -> Result<[u64; 2], Error> {
        let address = at.at(self.offsets.plus(u64::from(number) * self.word.bytes() as u64));
        if self.word == WordType::U64 {
            let mut ends = [0_u64; 2];
            // SAFETY: the caller promises the two offsets, which are words of 64 bits.
            unsafe { reader.read(address, &mut ends) }?;
            return Ok(ends);
        }
        let mut ends = [0_u32; 2];
        // SAFETY: the caller promises the two offsets, which are words of 32 bits.
        unsafe { reader.read(address, &mut ends) }?;
        Ok(ends.map(u64::from))
    }

    /// The plan that moves the segments of most classes, and where those of the others are in the
    /// list, with their number.
    fn moved(
        &self,
        counts: &[u32],
        limits: &GpuLimits,
    ) -> Result<(DevicePlan<'static>, Vec<(u32, u32)>), Error> {
        let (mut plan, mut long) = (self.plan(), Vec::new());
        let mut start = 0;
        for classes in [0..FEW_CLASSES, FEW_CLASSES..EXACT_CLASSES] {
            let bits = classes.end - 1;
            let count = counts[classes].iter().sum();
            if count > 0 {
                plan.launch(self.exact(bits, start, count));
            }
            start += count;
        }
        for (bits, &count) in (0..).zip(counts).skip(EXACT_CLASSES).filter(|(_, count)| **count > 0)
        {
            let shape = tuning::of_segments(bits, count.into(), self.word_bytes(), limits);
            match shape {
                Some(shape) => plan.launch(self.ciphers(bits, start, count, shape)?),
                None => long.push((start, count)),
            }
            start += count;
        }
        Ok((plan, long))
    }

    /// Moves `count` segments that are in the list from `start` on, and are drawn exactly. Their
    /// indexes have at most that many bits.
    fn exact(&self, bits: usize, start: u32, count: u32) -> Launch<'static> {
        let threads = tuning::EXACT_ROWS;
        let inverse = self.movement.direction() == Direction::Unshuffle && self.word_bytes() > 0;
        let kernel = (inverse, self.word, self.movement.device_type());
        let grid = Grid::Resident(count.div_ceil(threads).into());
        let keys = Keys::new(&self.seed, Standard::key_domain(0).word());
        let (offsets, list) = (self.offsets, listed(start));
        let exact = ExactSegments { kernel, grid, keys, offsets, list, count };
        self.movement.visit(exact).with_shared((threads as usize) << bits)
    }

    /// Moves `count` segments of a class that are in the list from `start` on.
    fn ciphers(
        &self,
        bits: u32,
        start: u32,
        count: u32,
        shape: SegmentShape,
    ) -> Result<Launch<'static>, Error> {
        let any = StandardCipher::from_seed(1 << bits, 0);
        let source = any.device_source().ok_or(Error::Gpu(GpuError::NoSource))?;
        let SegmentShape { shape: row, is_staged } = shape;
        let room = if is_staged { self.word_bytes() << bits } else { 0 };
        let ciphers = CipherSegments {
            kernel: (shape, self.word, self.movement.device_type()),
            keys: Keys::new(&self.seed, bits),
            width: Width::new(bits),
            last: any.last() as u32,
            offsets: self.offsets,
            list: listed(start),
            count: count.into(),
            grid: Grid::Resident(u64::from(count).div_ceil(row.at_once().into())),
        };
        let launch = self.movement.visit(ciphers).evaluating(source);
        Ok(launch.with_shared(row.shared(room) as usize))
    }

    /// Calls a function with a plan for each of some segments.
    fn one_by_one(
        &self,
        long: &[LongSegment],
        limits: &GpuLimits,
        mut run: impl FnMut(&DevicePlan<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let strategy = match self.movement.writes_indexes() {
            true => CudaStrategy::SinglePass,
            false => CudaStrategy::Auto,
        };
        long.iter().try_for_each(|&LongSegment { number, start, len }| {
            let f = Standard::from_seed(len, self.seed.with_epoch(number.into()));
            let segment = Job::new(&f, len, behind(&self.movement, start))?;
            run(&strategy::plan(&segment, strategy, limits)?)
        })
    }
}

struct ExactSegments {
    kernel: (bool, WordType, TemplateValue),
    grid: Grid,
    keys: Keys,
    offsets: Address,
    list: Address,
    count: u32,
}

impl Visit for ExactSegments {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Self { kernel: (inverse, word, moved), grid, keys, offsets, list, count } = self;
        let kernel = kernels::exact_segments(inverse, word, moved);
        Launch::new(kernel, grid, move |at| MoveExactSegments {
            keys,
            offsets: at.at(offsets),
            list: at.at(list),
            count: count.into(),
            movement: movement(at),
        })
    }
}

struct CipherSegments {
    kernel: (SegmentShape, WordType, TemplateValue),
    grid: Grid,
    keys: Keys,
    width: Width,
    last: u32,
    offsets: Address,
    list: Address,
    count: u64,
}

impl Visit for CipherSegments {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Self { kernel: (shape, word, moved), grid, keys, width, offsets, list, .. } = self;
        let (last, count) = (self.last.into(), self.count);
        let kernel = kernels::cipher_segments(shape, word, moved);
        Launch::new(kernel, grid, move |at| MoveCipherSegments {
            keys,
            width,
            last,
            offsets: at.at(offsets),
            list: at.at(list),
            count,
            movement: movement(at),
        })
    }
}

#[cfg(test)]
#[path = "segments_tests.rs"]
mod tests;
