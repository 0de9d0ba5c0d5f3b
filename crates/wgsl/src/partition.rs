//! The partitioned strategy, for arrays that do not fit the cache.
//!
//! Items are sorted by the high bits of the places that they go to, in one or two passes of
//! sequential traffic, and then put in order in a workgroup's memory. For a shuffle the inverse is
//! evaluated, once for each item. Where not every slot survives, a bucket may have more records
//! than it has room for, if only once in 10^15: the last kernel is then the usual one, which does
//! nothing unless that has happened, so that the host need not ask.

use crate::launch::{BoundBytes, KernelLaunch, KernelMemory, Params, ShuffleCall, bytes_of};
use crate::limits::{Excess, Limits};
use crate::shader::{
    self, Move, PartitionShape, RecordLayout, RecordSource, Tuning, Units, WorkgroupTile,
};

/// The most workgroups of the last kernel, which hardly ever has something to do.
const MOST_RESORTS: u32 = 1024;

/// The words before the counts of buckets.
const COUNTS: u32 = 8;

/// The sizes of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SortSizes {
    what: Move,
    units: Units,
    /// Whether every key occurs, so that there are no gaps.
    is_dense: bool,
    layout: RecordLayout,
    /// The records of a pass.
    pass: WorkgroupTile,
    /// The records of a bucket that is put in order.
    room: WorkgroupTile,
    first: WrittenBuckets,
    /// The second pass, if one is not enough.
    second: Option<WrittenBuckets>,
}

/// The buckets that a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct WrittenBuckets {
    /// The bits of a key below the bucket.
    shift: u32,
    buckets: u32,
    /// The bins by which a pass sorts, a multiple of the threads.
    bins: u32,
    /// The records that a bucket has room for.
    capacity: u32,
}

impl WrittenBuckets {
    fn records(self) -> u64 {
        u64::from(self.buckets) * u64::from(self.capacity)
    }
}

impl SortSizes {
    /// The sizes for a job; `None` if another strategy is faster, or this one does not apply.
    pub(crate) fn new(
        job: ShuffleCall<'_>,
        what: Move,
        units: Units,
        limits: &Limits,
        tuning: &Tuning,
    ) -> Option<Self> {
        let (source, last) = (job.source(), job.source().last);
        let bytes = u64::from(job.len()) * u64::from(4 * units.words);
        // With fewer than one item for every eight points most of the evaluations would be in vain.
        let is_sparse = job.len() <= last / 8;
        // A gather of larger items is faster than to sort them: 2^22 items of 16 bytes take 96 us
        // where they take 223, and 2^25 of 8 take 864 and 998. A scatter of 2^25 + 1 of 8 takes
        // 2067 where it takes 1301 (crates/wgpu/results/h200-phases.csv).
        let is_scatter = what == Move::Scatter && !job.is_whole();
        let is_sorted = units == Units::WORD || units.count == 1 && is_scatter;
        if !is_sorted || bytes < tuning.partitioned || is_sparse || !source.has_inverse() {
            return None;
        }
        let plan = Self::with(&tuning.partition, limits, what, units, job.len(), last)?;
        let most = limits.binding.min(limits.buffer);
        let fits = |words: u32| {
            [Some(plan.first), plan.second].into_iter().flatten().all(|level| {
                let records = level.records();
                records <= u32::MAX.into() && records * u64::from(4 * words) <= most
            })
        };
        let layout = match units {
            Units::WORD if fits(2) => RecordLayout::Pairs,
            Units::WORD => RecordLayout::Halves,
            _ => RecordLayout::Apart,
        };
        fits(units.words).then_some(Self { layout, ..plan })
    }

    /// The sizes for `len` items of a domain that ends at `last`.
    fn with(
        shape: &PartitionShape,
        limits: &Limits,
        what: Move,
        units: Units,
        len: u32,
        last: u32,
    ) -> Option<Self> {
        let plans = shape.rooms.iter();
        let plans =
            plans.filter_map(|room| Self::in_room(shape, *room, limits, what, units, len, last));
        let (_, plan) = plans.min_by_key(|&(bits, _)| bits.max(PartitionShape::FEW_BITS))?;
        Some(plan)
    }

    /// The most bits by which a pass sorts, and the sizes.
    fn in_room(
        shape: &PartitionShape,
        room: WorkgroupTile,
        limits: &Limits,
        what: Move,
        units: Units,
        len: u32,
        last: u32,
    ) -> Option<(u32, Self)> {
        // A tile as far as the limits allow. A power of two consists of whole rows and subgroups,
        // over which kernels add up. The workgroup's memory has room for a sum over it, too.
        let threads_of = |threads: u32| Some(1 << threads.min(limits.threads).checked_ilog2()?);
        let tile = |threads: u32, each: u32, fixed: u32, record: u32| {
            let words = (limits.storage / 4).saturating_sub(2 * threads + fixed);
            WorkgroupTile { threads, each: each.min(words / threads / record) }
        };
        let threads: u32 = threads_of(shape.threads)?;
        // Where there are gaps, each thread that puts a bucket in order has two words of a bitmap.
        let room_threads = threads_of(room.threads)?;
        let room = tile(room_threads, room.each, 2 * room_threads, units.words);
        let is_back = what == Move::Scatter;
        // The keys are slots or, on the way back, indexes.
        let last = if is_back { len - 1 } else { last };
        let points = u64::from(last) + 1;
        let is_dense = u64::from(len) == points;
        let capacity = |bits: u32| {
            let points_of = 1_u64 << bits;
            let mean = f64::from(len) / points as f64 * points_of as f64;
            let records = (mean + shape.deviations * mean.sqrt()).ceil().max(1.0) as u64 + 32;
            if is_dense { points_of } else { records.min(points_of).next_multiple_of(64) }
        };
        // A word of the bitmap for each thread.
        let most = if is_dense { 31 } else { (32 * room.threads).ilog2() };
        let fits = |bits: &u32| capacity(*bits) <= u64::from(room.len());
        let bucket_bits = (5..=most).rev().find(fits)?;
        let key_bits = (32 - last.leading_zeros()).max(bucket_bits + 1);
        let above = key_bits - bucket_bits;
        // Buckets within those of the pass before. A bucket of that pass has `bits` bits.
        let level = |shift: u32, bits: u32| {
            let buckets = (last >> shift) + 1;
            let bins = buckets.next_power_of_two().min(1 << (bits - shift)).max(threads);
            let capacity = u32::try_from(capacity(shift)).unwrap_or(u32::MAX);
            WrittenBuckets { shift, buckets, bins, capacity }
        };
        let (bits, first, second) = match above {
            _ if above <= shape.bits => (above, level(bucket_bits, key_bits), None),
            _ if above <= 2 * shape.bits => {
                let first = bucket_bits + above / 2;
                let second = Some(level(bucket_bits, first));
                (key_bits - first, level(first, key_bits), second)
            }
            _ => return None,
        };
        // A record of a pass is a key and an item, and a bin has a word. There is one bin more.
        let bins = first.bins.max(second.map_or(0, |second| second.bins));
        let each = shape.records.iter().find(|&&(from, _)| bits >= from).map_or(1, |row| row.1);
        let pass = tile(threads, each, bins + 1, 1 + units.words);
        if pass.each == 0 || u64::from(len).next_multiple_of(pass.len().into()) > 1 << 32 {
            return None;
        }
        // As many records for each thread as the fullest bucket has.
        let room = match is_dense {
            true => WorkgroupTile { each: (1_u32 << bucket_bits).div_ceil(room.threads), ..room },
            false => room,
        };
        let layout = RecordLayout::Apart;
        Some((bits, Self { what, units, is_dense, layout, pass, room, first, second }))
    }

    fn last_level(&self) -> WrittenBuckets {
        self.second.unwrap_or(self.first)
    }

    /// Where the counts of the last level's buckets begin.
    fn last_counts(&self) -> u32 {
        COUNTS + self.second.map_or(0, |_| self.first.buckets)
    }

    /// The words of all counts.
    fn words(&self) -> u64 {
        u64::from(self.last_counts()) + u64::from(self.last_level().buckets)
    }

    /// The bytes of the counts, bound by their number.
    fn counts(&self) -> BoundBytes {
        BoundBytes::new(4, KernelMemory::Counts, 4 * self.words())
    }

    /// The records of a pass, bound by numbers from this one on.
    fn records(&self, pass: u8, first: u32) -> impl Iterator<Item = BoundBytes> {
        let level = if pass == 0 { self.first } else { self.last_level() };
        let records = level.records();
        let parts = match self.layout {
            RecordLayout::Apart => [1, self.units.words],
            RecordLayout::Pairs => [2, 0],
            // Half as many in each, of two words.
            RecordLayout::Halves => [1, 1],
        };
        let parts = (0_u8..).zip(parts).filter(|(_, words)| *words > 0);
        parts.map(move |(part, words)| {
            let bytes = records * u64::from(4 * words);
            BoundBytes::new(first + u32::from(part), KernelMemory::Records { pass, part }, bytes)
        })
    }

    /// Where the keys of the first pass lie, if they are in memory.
    fn listed(&self) -> KernelMemory {
        match self.second {
            Some(_) => KernelMemory::Records { pass: 1, part: 0 },
            None => KernelMemory::Indexes,
        }
    }

    /// One or two passes that sort the items into buckets, a kernel that puts each bucket in order,
    /// and the last resort.
    pub(crate) fn launches<'a>(
        &self,
        job: ShuffleCall<'a>,
        tuning: &Tuning,
    ) -> Result<Vec<KernelLaunch<'a>>, Excess> {
        let Self { what, units, layout, pass, first, .. } = *self;
        let bytes = bytes_of(job.len(), 4 * units.words);
        let source = BoundBytes::new(1, KernelMemory::Source, bytes);
        let target = BoundBytes::new(2, KernelMemory::Target, bytes);
        let own = |text: String, params, bindings: Vec<BoundBytes>| KernelLaunch {
            text: text.into(),
            is_own: true,
            params,
            bindings,
        };
        let mut launches = Vec::new();
        let mut bindings: Vec<_> = self.records(0, 5).collect();
        bindings.extend([source, BoundBytes { is_cleared: true, ..self.counts() }]);
        let records = if what == Move::Scatter && !job.is_whole() {
            // An un-shuffle goes to the survivors in order, which one kernel lists and the next
            // reads. They lie where the second pass will write.
            let listed = BoundBytes::new(3, self.listed(), bytes_of(job.len(), 4));
            let tile = tuning.slots(job.source().last);
            let mut list = KernelLaunch::survivors(job, tile, Units::WORD, tuning, |status| {
                let units = Units::WORD;
                let (what, source) = (Move::Indexes, job.source());
                shader::survivors(source, what, status, false, false, units, tile, tuning)
            })?;
            list.bindings.push(BoundBytes { number: 2, ..listed });
            launches.push(list);
            bindings.push(listed);
            RecordSource::Listed
        } else {
            RecordSource::Source { source: job.source(), is_inverted: what == Move::Gather }
        };
        let params = Params {
            len: job.len(),
            last: job.source().last,
            tiles: job.len().div_ceil(pass.len()),
            windows: [first.shift, first.capacity, COUNTS, 0],
            keys: if matches!(records, RecordSource::Listed) { &[] } else { &job.source().keys },
            ..Params::default()
        };
        let text = shader::distribute(records, units, layout, pass, first.bins, tuning);
        launches.push(own(text, params, bindings));
        if let Some(second) = self.second {
            let each = first.capacity.div_ceil(pass.len());
            let params = Params {
                tiles: each * first.buckets,
                windows: [second.shift, second.capacity, self.last_counts(), 0],
                sizes: [first.shift, first.capacity, COUNTS, each],
                ..Params::default()
            };
            let bindings = self.records(0, 7).chain(self.records(1, 5)).chain([self.counts()]);
            let text =
                shader::distribute(RecordSource::Bucket, units, layout, pass, second.bins, tuning);
            launches.push(own(text, params, bindings.collect()));
        }
        let last = self.last_level();
        let params = Params {
            tiles: last.buckets,
            windows: [last.shift, last.capacity, self.last_counts(), 0],
            sizes: [first.shift, COUNTS, 0, 0],
            ..Params::default()
        };
        let records = self.records(self.second.is_some().into(), 7);
        let text = shader::place(self.is_dense, units, layout, self.room, tuning);
        launches.push(own(text, params, records.chain([target, self.counts()]).collect()));
        // Where every key occurs a bucket has room for all of its keys.
        if !self.is_dense {
            // The smallest tiles, whose kernel compiles soonest: it hardly ever does anything.
            let tile = tuning.slots(0);
            let mut resort = KernelLaunch::survivors(job, tile, units, tuning, |status| {
                shader::survivors(job.source(), what, status, false, true, units, tile, tuning)
            })?;
            resort.params.groups = Some(resort.params.tiles.min(MOST_RESORTS));
            resort.bindings.extend([source, target, self.counts()]);
            launches.push(resort);
        }
        Ok(launches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What every device has.
    const PORTABLE: Limits = Limits {
        binding: 1 << 27,
        arrays: 8,
        buffer: 1 << 28,
        alignment: 256,
        threads: 256,
        storage: 16 << 10,
    };

    #[test]
    fn sizes_fit_every_device() {
        let large = Limits { threads: 1024, storage: 48 << 10, ..PORTABLE };
        // No power of two.
        let odd = Limits { threads: 500, ..PORTABLE };
        let devices = [(&PORTABLE, 1), (&odd, 1), (&large, 1), (&large, 2), (&large, 4)];
        for (limits, words) in devices {
            for width in 10..29 {
                for len in [1_u32 << width, (1 << width) + 1, (1 << width) + (1 << (width - 1))] {
                    let last = len.next_power_of_two() - 1;
                    let shape = PartitionShape::STANDARD;
                    let units = Units { words, count: 1 };
                    let plan = SortSizes::with(&shape, limits, Move::Gather, units, len, last);
                    let Some(plan) = plan else {
                        assert!(width > 26, "two passes are enough");
                        continue;
                    };
                    let SortSizes { pass, room, first, .. } = plan;
                    let level = plan.last_level();
                    assert!(level.capacity <= room.len(), "{plan:?}");
                    assert!(u64::from(level.buckets) << level.shift > u64::from(last), "{plan:?}");
                    assert!(first.buckets <= first.bins);
                    assert!(
                        plan.second.is_none_or(|second| {
                            1 << (first.shift - second.shift) <= second.bins
                        })
                    );
                    let bins = [first.bins, level.bins];
                    assert!(bins.iter().all(|bins| bins.is_multiple_of(pass.threads)));
                    let bins = bins.into_iter().max().unwrap();
                    assert!(pass.threads <= limits.threads);
                    assert!(pass.threads.is_power_of_two() && room.threads.is_power_of_two());
                    let most = limits.storage / 4;
                    let pass_words = pass.len() * (1 + words) + bins + 1;
                    assert!(pass_words + 2 * pass.threads <= most, "{plan:?}");
                    assert!(room.len() * words + 4 * room.threads <= most, "{plan:?}");
                    // Half of the points are taken at least, so that buckets fill their room.
                    assert!(level.records() < 2 * u64::from(len) + 4096, "{plan:?}");
                }
            }
        }
        let plan = |what, len: u32| {
            let (shape, last) = (PartitionShape::STANDARD, len.next_power_of_two() - 1);
            SortSizes::with(&shape, &large, what, Units::WORD, len, last).unwrap()
        };
        let short = plan(Move::Gather, 1 << 26);
        assert_eq!(
            short.first,
            WrittenBuckets { shift: 19, buckets: 128, bins: 256, capacity: 1 << 19 }
        );
        assert_eq!(
            short.second,
            Some(WrittenBuckets { shift: 12, buckets: 1 << 14, bins: 256, capacity: 1 << 12 })
        );
        assert_eq!((short.pass.each, short.room.threads), (11, 256));
        assert_eq!(plan(Move::Gather, 1 << 24).pass.each, 7);
        // Keys of 29 bits that all occur would take a pass by 9 bits.
        let long = plan(Move::Scatter, (1 << 28) + 1);
        assert_eq!((long.second.unwrap().shift, long.room.threads), (13, 512));
    }
}
