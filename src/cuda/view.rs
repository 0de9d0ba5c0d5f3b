//! Parts of a permutation in device memory: the indexes of some slots, values at given points, and
//! counts of survivors for an index.
//!
//! They are plans of the direct kernels, for bijections that begin at another slot or look a slot
//! up. Those are in gpu/view.cuh.

use core::cell::{Cell, RefCell};
use core::ops::Range;

use cudarc::driver::{DeviceRepr, result};

use super::group::movement::{OwnMovement, Sharded};
use super::group::shards::MemberShards;
use super::runtime::array::{DeviceArray, DeviceArrayMut};
use super::runtime::in_use::{reading, writing};
use super::runtime::plan::{Address, DevicePlan, Evaluated, Grid, Launch};
use super::runtime::stream::{check_device, check_slices, enter, failed, finish};
use super::runtime::word_type::WordType;
use super::shuffle::job::{Slots, check_params};
use super::shuffle::movement::Movement;
use super::shuffle::tuning::DirectShape;
use super::shuffle::{direct, kernels};
use super::workspace::CudaWorkspace;
use crate::{DeviceSource, Error, Word};

/// The text of the bijections for parts of others.
const TEXT: &str = include_str!("../../gpu/view.cuh");

/// The threads that count the survivors of a block of slots.
const COUNT_THREADS: u32 = 64;

/// The bijection that begins at a slot of another.
pub(crate) fn from_slot(source: &DeviceSource, first: u64) -> DeviceSource {
    // SAFETY: the text calls the part, with any number, and reads nothing but its one member.
    unsafe { DeviceSource::family("FromSlot", TEXT) }.part(source.clone()).field("first", &[first])
}

/// Survivors of a compacted permutation, among some of its slots.
#[derive(Clone, Debug)]
pub(crate) struct SlotPart {
    /// The bijection on the device.
    pub(crate) source: DeviceSource,
    /// The last slot of its domain.
    pub(crate) last: u64,
    /// The permutation's length.
    pub(crate) len: u64,
    /// The first slot that is evaluated, and the last.
    pub(crate) slots: [u64; 2],
}

impl SlotPart {
    /// The bijection that begins at the part's first slot, and the slots that are evaluated.
    fn evaluated(&self) -> (DeviceSource, Slots) {
        let [first, last] = self.slots;
        let source = from_slot(&self.source, first);
        let index = WordType::for_indexes(self.last);
        (source, Slots { last: last - first, len: self.len, index })
    }

    /// The number of blocks of `2^bits` slots.
    fn blocks(&self, bits: u32) -> u64 {
        let [first, last] = self.slots;
        ((last - first) >> bits) + 1
    }

    /// The plan that writes the survivors of a range, counted from the part's first survivor, to
    /// memory with room for as many words.
    fn survivors(
        &self,
        places: &Range<u64>,
        word: WordType,
        out: u64,
    ) -> Result<DevicePlan<'_>, Error> {
        check_params(&self.source)?;
        let (source, slots) = self.evaluated();
        // What comes before has another owner, who does not write it.
        let runs = [(0, places.start as usize), (out, (places.end - places.start) as usize)];
        let out = MemberShards::new(runs, word.bytes());
        let movement = OwnMovement::new(Sharded::Indices { out: &out, word }, 1);
        let mut plan = DevicePlan::new();
        direct::survivors(&mut plan, source.into(), slots, &movement, None)?;
        Ok(plan)
    }

    /// The plan that counts the survivors of each block of `2^bits` slots, at least 64.
    fn counts(&self, bits: u32, out: Address) -> Result<DevicePlan<'_>, Error> {
        check_params(&self.source)?;
        let (source, Slots { last, len, index }) = self.evaluated();
        let shape =
            DirectShape { threads: COUNT_THREADS, slots: (1 << bits) / COUNT_THREADS, blocks: 1 };
        let grid = Grid::blocks(self.blocks(bits))?;
        let mut plan = DevicePlan::new();
        let launch = Launch::new(kernels::count_survivors(index, shape), grid, move |at| {
            kernels::CountSurvivors { last, len, counts: at.at(out) }
        });
        plan.launch(launch.evaluating(Evaluated::from(source)));
        Ok(plan)
    }
}

/// The plan that writes a bijection's values from a slot on. All slots and values are at most
/// `last`.
fn values<'a>(
    source: DeviceSource,
    last: u64,
    first: u64,
    count: u64,
    word: WordType,
    out: u64,
) -> Result<DevicePlan<'a>, Error> {
    check_params(&source)?;
    let index = WordType::for_indexes(last);
    let source = from_slot(&source, first);
    let movement = Movement::Indices { out: Address::Given(out), word };
    let mut plan = DevicePlan::new();
    plan.launch(direct::dense(source.into(), count, index, &movement)?);
    Ok(plan)
}

/// The plan that writes a bijection's values at points, which must be below a length.
fn at_points<'a>(
    source: DeviceSource,
    len: u64,
    points: u64,
    count: u64,
    out: u64,
) -> Result<DevicePlan<'a>, Error> {
    check_params(&source)?;
    // SAFETY: the text reads `count` words at the address `points`. Nothing runs before the plan is
    // executed, which is unsafe, and the argument there covers the address.
    let family = unsafe { DeviceSource::family("AtPoints", TEXT) };
    let source = family.part(source).field("points", &[points]);
    let source = source.field("count", &[count]).field("len", &[len]);
    let movement = Movement::Indices { out: Address::Given(out), word: WordType::U64 };
    let mut plan = DevicePlan::new();
    plan.launch(direct::dense(source.into(), count, WordType::U64, &movement)?);
    Ok(plan)
}

impl CudaWorkspace {
    /// Writes the values of a bijection from slot `first` on. It has as many slots, and its slots
    /// and values are at most `last`.
    pub(crate) fn write_values<N: Word + DeviceRepr>(
        &mut self,
        source: DeviceSource,
        last: u64,
        first: u64,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_device(&self.stream, out.stream())?;
        let len = out.len() as u64;
        self.enter()?;
        let (address, _guard) = writing(out, &self.stream);
        self.executor.check_slices()?;
        if len == 0 {
            return Ok(());
        }
        let plan = values(source, last, first, len, WordType::of_index::<N>(), address)?;
        // SAFETY: the slice belongs to the context and has room for as many words. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }
    }

    /// Writes the survivors from number `from` of a part on, until `out` is full. With `is_counted`
    /// it waits for the device and returns the number of the part's survivors.
    pub(crate) fn write_survivors<N: Word + DeviceRepr>(
        &mut self,
        part: &SlotPart,
        from: u64,
        is_counted: bool,
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<Option<u64>, Error> {
        check_device(&self.stream, out.stream())?;
        let len = out.len() as u64;
        self.enter()?;
        let (address, _guard) = writing(out, &self.stream);
        self.executor.check_slices()?;
        if len == 0 {
            return Ok(None);
        }
        let places = from..from + len;
        let total = Cell::new(None);
        let mut plan = part.survivors(&places, WordType::of_index::<N>(), address)?;
        if is_counted {
            plan.check(|reader, at| {
                let mut survivors = [0_u64];
                // SAFETY: this plan has taken the memory of a look-back, in which the address is
                // that of a 64-bit number.
                unsafe { reader.read(at.survivors(), &mut survivors) }?;
                total.set(Some(survivors[0]));
                Ok(())
            });
        }
        // SAFETY: the slice belongs to the context and has room for the words of these places, and
        // the kernel writes no others. It is borrowed mutably, and the guard, an `InUse`, ensures
        // that it is neither freed nor otherwise used before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }?;
        Ok(total.get())
    }

    /// Counts the survivors of each block of `2^bits` slots of a part; there must be as many blocks
    /// as counts. It waits for the device.
    pub(crate) fn count_survivors(
        &mut self,
        part: &SlotPart,
        bits: u32,
        counts: &mut [u32],
    ) -> Result<(), Error> {
        let (expected, actual) = (part.blocks(bits), counts.len() as u64);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        self.enter()?;
        let bytes = size_of_val(counts) as u64;
        let counts = RefCell::new(counts);
        let mut plan = part.counts(bits, Address::Scratch(0))?;
        plan.take_scratch(bytes);
        plan.check(|reader, at| {
            // SAFETY: the plan has taken working memory for as many words as there are counts.
            unsafe { reader.read(at.at(Address::Scratch(0)), &mut counts.borrow_mut()) }
        });
        // SAFETY: the plan uses only its working memory, which has a word for each count, and there
        // are as many blocks.
        unsafe { self.executor.execute(&plan) }
    }

    /// Writes words that the host has, as many as `out` has room for, and waits for the device. It
    /// cannot be captured in a graph, which would keep the words' address and not the words.
    pub(crate) fn write_words<N: Word + DeviceRepr>(
        &mut self,
        words: &[N],
        out: &mut impl DeviceArrayMut<N>,
    ) -> Result<(), Error> {
        check_device(&self.stream, out.stream())?;
        let (expected, actual) = (out.len() as u64, words.len() as u64);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        enter(&self.stream, false)?;
        let (address, _guard) = writing(out, &self.stream);
        check_slices(&self.stream, false)?;
        // SAFETY: the slice belongs to the context and has room for as many words. It is borrowed
        // mutably, and the guard, an `InUse`, ensures that it is neither freed nor otherwise used
        // before the stream has finished with it. The words are borrowed, and this function waits
        // for the stream before it returns; if the driver refuses the copy, it never runs.
        unsafe { result::memcpy_htod_async(address, words, self.stream.cu_stream()) }
            .map_err(|error| failed(error, "copy to the device"))?;
        finish(&self.stream).map_err(|error| failed(error, "copy to the device"))
    }

    /// Writes a bijection's values at points, for its first `len` slots, and all ones elsewhere.
    pub(crate) fn write_points(
        &mut self,
        source: DeviceSource,
        len: u64,
        points: &impl DeviceArray<u64>,
        out: &mut impl DeviceArrayMut<u64>,
    ) -> Result<(), Error> {
        check_device(&self.stream, points.stream())?;
        check_device(&self.stream, out.stream())?;
        let (expected, actual) = (points.len() as u64, out.len() as u64);
        if actual != expected {
            return Err(Error::LengthMismatch { expected, actual });
        }
        self.enter()?;
        let (read, _reading) = reading(points, &self.stream);
        let (written, _writing) = writing(out, &self.stream);
        self.executor.check_slices()?;
        if expected == 0 {
            return Ok(());
        }
        let plan = at_points(source, len, read, expected, written)?;
        // SAFETY: both slices belong to the context and have as many words. One is borrowed, the
        // other mutably, so they do not overlap, and the guards, each an `InUse`, ensure that
        // neither is freed or otherwise used before the stream has finished with it.
        unsafe { self.executor.execute(&plan) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{CycleWalk, Standard};
    use crate::cuda::runtime::program::tests::compile_plans;
    use crate::cuda::tests::emulation::Emulation;
    use crate::{Bijection, FromSeed};

    /// Memory for a look-back, points, and what is written.
    const MEMORY: u64 = 0x4000_0000_0000;
    const OUT: u64 = MEMORY + (1 << 24);

    /// What a plan writes, in words of 8 bytes, and the word after it.
    fn written(
        plan: &DevicePlan<'_>,
        points: u64,
        count: usize,
        any: &DeviceSource,
    ) -> Option<Vec<u64>> {
        let mut emulation = Emulation::new()?;
        emulation.map(MEMORY, 1 << 25);
        emulation.make_tile_states(MEMORY);
        emulation.fill(OUT - 8 * points, 0, points, "k * 7");
        emulation.execute(plan, MEMORY);
        emulation.print("uint64_t", OUT, count as u64 + 1);
        emulation.run(any).pop()
    }

    const UNTOUCHED: u64 = 0xA5A5_A5A5_A5A5_A5A5;

    #[test]
    fn parts_are_those_of_the_whole() {
        let len = 20_001_u64;
        let f = Standard::from_seed(len, 3);
        let all: Vec<u64> = (0..=f.last()).map(|slot| f.forward(slot)).collect();
        let source = f.device_source().unwrap();
        for [first, last, from, count] in [[0, f.last(), 0, 20_001], [5000, 25_000, 700, 9000]] {
            let slots = [first, last];
            let part = SlotPart { source: source.clone(), last: f.last(), len, slots };
            let among = &all[first as usize..=last as usize];
            let survivors = || among.iter().copied().filter(|&index| index < len);
            let places = from..from + count;
            let plan = part.survivors(&places, WordType::U64, OUT).unwrap();
            let Some(got) = written(&plan, 0, count as usize, &source) else { return };
            let expected = survivors().skip(from as usize).take(count as usize);
            assert!(got.into_iter().eq(expected.chain([UNTOUCHED])), "{slots:?}, {places:?}");
            let blocks = among.chunks(512).map(|block| block.iter().filter(|&&x| x < len).count());
            let plan = part.counts(9, Address::Given(OUT)).unwrap();
            let words = written(&plan, 0, among.len().div_ceil(1024), &source).unwrap();
            // Two counts of 32 bits in a word.
            let got = words.iter().flat_map(|word| [word & 0xFFFF_FFFF, word >> 32]);
            assert!(got.take(blocks.len()).eq(blocks.map(|count| count as u64)), "{slots:?}");
        }
    }

    #[test]
    fn points_are_looked_up_where_there_are_any() {
        let len = 5000;
        let walk = CycleWalk::<Standard>::from_seed(len, 3);
        let source = walk.device_source().unwrap();
        let plan = values(source.clone(), len - 1, 1000, 3000, WordType::U64, OUT).unwrap();
        let Some(got) = written(&plan, 0, 3000, &source) else { return };
        let expected = (1000..4000).map(|slot| walk.forward(slot));
        assert!(got.into_iter().eq(expected.chain([UNTOUCHED])));
        // Every seventh point, also after the last.
        let plan = at_points(source.clone(), len, OUT - 8 * 1000, 1000, OUT).unwrap();
        let got = written(&plan, 1000, 1000, &source).unwrap();
        let value = |point| if point < len { walk.forward(point) } else { u64::MAX };
        assert!(got.into_iter().eq((0..1000).map(|k| value(7 * k)).chain([UNTOUCHED])));
    }

    #[test]
    fn kernels_of_parts_compile() {
        for len in [(1 << 20) + 1, (1 << 33) + 1] {
            let f = Standard::from_seed(len, 1);
            let source = f.device_source().unwrap();
            let part = SlotPart { source, last: f.last(), len, slots: [1000, f.last() - 1] };
            let walk = CycleWalk::<Standard>::from_seed(len, 1).device_source().unwrap();
            let words = [WordType::U32, WordType::U64];
            let mut plans = vec![part.counts(9, Address::Given(256)).unwrap()];
            for &word in if len >> 32 == 0 { &words[..] } else { &words[1..] } {
                plans.push(part.survivors(&(10..1000), word, 256).unwrap());
                plans.push(values(walk.clone(), len - 1, len / 2, 1 << 18, word, 256).unwrap());
            }
            plans.push(at_points(walk, len, 256, 1000, 512).unwrap());
            compile_plans(&plans);
        }
    }
}
