//! The partitioned strategy, for arrays that do not fit the cache.
//!
//! Items are sorted by the high bits of the places that they go to, in one or two passes of
//! sequential traffic, and then put in order in a workgroup's memory. For a shuffle the inverse is
//! evaluated, once for each item. Where not every slot survives, a bucket may have more records
//! than it has room for, if only once in 10^15: the last kernel is then the usual one, which does
//! nothing unless that has happened, so that the host need not ask.

use wgpu::{BufferBinding, BufferUsages, CommandEncoder};

use crate::context::{Context, Params};
use crate::error::WgpuError;
use crate::shader::{self, Layout, Move, Records, Shape, Tile, Units};
use crate::workspace::{Job, WgpuWorkspace, grown};

/// The most workgroups of the last kernel, which hardly ever has something to do.
const MOST_RESORTS: u32 = 1024;

/// The words before the counts of buckets.
const COUNTS: u32 = 8;

/// The sizes of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partitioning {
    what: Move,
    units: Units,
    /// Whether every key occurs, so that there are no gaps.
    is_dense: bool,
    layout: Layout,
    /// The records of a pass.
    pass: Tile,
    /// The bins of a pass, a multiple of the threads.
    bins: u32,
    /// The records of a bucket that is put in order.
    room: Tile,
    first: Level,
    /// The second pass, if one is not enough.
    second: Option<Level>,
}

/// The buckets that a pass writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    /// The bits of a key below the bucket.
    shift: u32,
    buckets: u32,
    /// The records that a bucket has room for.
    capacity: u32,
}

impl Level {
    fn records(self) -> u64 {
        u64::from(self.buckets) * u64::from(self.capacity)
    }
}

impl Partitioning {
    /// The sizes for a job; `None` if another strategy is faster, or this one does not apply.
    pub(crate) fn new(context: &Context, job: Job<'_>, what: Move, units: Units) -> Option<Self> {
        let (source, tuning) = (job.source(), &context.tuning);
        let bytes = u64::from(job.len()) * u64::from(4 * units.words);
        // With fewer than one item for every eight points most of the evaluations would be in vain.
        let is_sparse = job.len() <= source.last() / 8;
        if units.count != 1 || bytes < tuning.partitioned || is_sparse || !source.has_inverse() {
            return None;
        }
        let plan =
            Self::with(&tuning.partition, &context.limits, what, units, job.len(), source.last())?;
        let limits = &context.limits;
        let most = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
        let fits = |words: u32| {
            [Some(plan.first), plan.second].into_iter().flatten().all(|level| {
                let records = level.records();
                records <= u32::MAX.into() && records * u64::from(4 * words) <= most
            })
        };
        let layout = match units {
            Units::WORD if fits(2) => Layout::Pairs,
            Units::WORD => Layout::Halves,
            _ => Layout::Apart,
        };
        fits(units.words).then_some(Self { layout, ..plan })
    }

    /// The sizes for `len` items of a domain that ends at `last`.
    fn with(
        shape: &Shape,
        limits: &wgpu::Limits,
        what: Move,
        units: Units,
        len: u32,
        last: u32,
    ) -> Option<Self> {
        let threads = shape.threads.min(limits.max_compute_invocations_per_workgroup);
        // A power of two consists of whole rows and subgroups, over which kernels add up.
        let threads = 1 << threads.min(limits.max_compute_workgroup_size_x).checked_ilog2()?;
        // Words of the workgroup's memory, without those of a sum over the workgroup.
        let words = (limits.max_compute_workgroup_storage_size / 4).saturating_sub(2 * threads);
        let each = |fixed: u32, record: u32| words.saturating_sub(fixed) / threads / record;
        // Where there are gaps, each thread that puts a bucket in order has two words of a bitmap.
        let room = shape.room.min(each(2 * threads, units.words));
        let is_back = what == Move::Scatter;
        let slots = last;
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
        let most = if is_dense { 31 } else { (32 * threads).ilog2() };
        let fits = |bits: &u32| capacity(*bits) <= u64::from(threads * room);
        let bucket_bits = (5..=most).rev().find(fits)?;
        let key_bits = (32 - last.leading_zeros()).max(bucket_bits + 1);
        let above = key_bits - bucket_bits;
        let level = |shift: u32| Level {
            shift,
            buckets: (last >> shift) + 1,
            capacity: u32::try_from(capacity(shift)).unwrap_or(u32::MAX),
        };
        let (first, second) = match above {
            _ if above <= shape.bits => (level(bucket_bits), None),
            _ if above <= 2 * shape.bits => {
                (level(bucket_bits + above / 2), Some(level(bucket_bits)))
            }
            _ => return None,
        };
        // A record of a pass is a key and an item, and a bin has a word. Bins are a multiple of the
        // threads, and one more.
        let passes = 1 + u32::from(second.is_some());
        let bins = threads.max(1 << above.div_ceil(passes));
        let records = shape.records.min(each(bins + 1, 1 + units.words));
        let pass = Tile { threads, each: records };
        // Where not every slot survives, the first pass of an un-shuffle goes through the slots.
        // It counts them in words, the last tile's missing ones too.
        let counted = if is_back && slots != len - 1 { u64::from(slots) + 1 } else { len.into() };
        if records == 0 || counted.next_multiple_of(pass.len().into()) > 1 << 32 {
            return None;
        }
        // As many records for each thread as the fullest bucket has.
        let room = if is_dense { (1_u32 << bucket_bits).div_ceil(threads) } else { room };
        let room = Tile { threads, each: room };
        let layout = Layout::Apart;
        Some(Self { what, units, is_dense, layout, pass, bins, room, first, second })
    }

    fn last_level(&self) -> Level {
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
}

/// The working memory that a workspace keeps for this strategy.
#[derive(Debug, Default)]
pub(crate) struct Buckets {
    counts: Option<wgpu::Buffer>,
    levels: [[Option<wgpu::Buffer>; 2]; 2],
}

/// What there is for one call: the counts, and the records of each pass, in pairs or the keys and
/// the items apart.
pub(crate) struct Memory {
    counts: wgpu::Buffer,
    levels: Vec<Vec<wgpu::Buffer>>,
}

impl Memory {
    /// The records of a pass, as bindings from this number on.
    fn records(&self, level: usize, first: u32) -> impl Iterator<Item = (u32, BufferBinding<'_>)> {
        (first..).zip(self.levels[level].iter().map(|buffer| buffer.as_entire_buffer_binding()))
    }
}

impl Buckets {
    /// The memory for a call; `None` if the GPU has too little, so that another strategy does.
    pub(crate) fn memory(
        &mut self,
        context: &Context,
        plan: &Partitioning,
    ) -> Result<Option<Memory>, WgpuError> {
        match self.grow(context, plan) {
            Err(WgpuError::OutOfMemory { .. } | WgpuError::Limit { .. }) => {
                *self = Self::default();
                Ok(None)
            }
            memory => memory.map(Some),
        }
    }

    fn grow(&mut self, context: &Context, plan: &Partitioning) -> Result<Memory, WgpuError> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_DST;
        let counts = grown(context, &mut self.counts, "counts", 4 * plan.words(), usage)?;
        let levels = [Some(plan.first), plan.second];
        let levels = self.levels.iter_mut().zip(levels).filter_map(|(places, level)| {
            let [keys, items] = places;
            let records = level?.records();
            let parts = match plan.layout {
                Layout::Apart => vec![(keys, 1), (items, plan.units.words)],
                Layout::Pairs => vec![(items, 2)],
                // Half as many, of two words.
                Layout::Halves => vec![(keys, 1), (items, 1)],
            };
            let parts = parts.into_iter().map(|(place, words)| {
                let bytes = records * u64::from(4 * words);
                grown(context, place, "the records of buckets", bytes, BufferUsages::STORAGE)
            });
            Some(parts.collect())
        });
        Ok(Memory { counts, levels: levels.collect::<Result<_, _>>()? })
    }
}

impl WgpuWorkspace {
    /// Records one or two passes that sort the items into buckets, and a kernel that puts each
    /// bucket in order.
    pub(crate) fn record_partitioned(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        plan: &Partitioning,
        memory: &Memory,
        from: &BufferBinding<'_>,
        into: &BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let Partitioning { units, layout, pass, first, .. } = *plan;
        let tuning = self.context.tuning;
        let counts = || memory.counts.as_entire_buffer_binding();
        encoder.clear_buffer(&memory.counts, 0, Some(4 * plan.words()));
        self.record_first_pass(encoder, job, plan, memory, from)?;
        if let Some(second) = plan.second {
            let each = first.capacity.div_ceil(pass.len());
            let params = Params {
                tiles: each * first.buckets,
                windows: [second.shift, second.capacity, plan.last_counts(), 0],
                sizes: [first.shift, first.capacity, COUNTS, each],
                ..Params::default()
            };
            let bindings: Vec<_> =
                memory.records(0, 7).chain(memory.records(1, 5)).chain([(4, counts())]).collect();
            let text = shader::distribute(Records::Bucket, units, layout, pass, plan.bins, &tuning);
            self.context.record(encoder, &text, true, params, &bindings)?;
        }
        let last = plan.last_level();
        let params = Params {
            tiles: last.buckets,
            windows: [last.shift, last.capacity, plan.last_counts(), 0],
            sizes: [first.shift, COUNTS, 0, 0],
            ..Params::default()
        };
        let records = memory.records(memory.levels.len() - 1, 7);
        let bindings: Vec<_> = records.chain([(2, into.clone()), (4, counts())]).collect();
        let text = shader::place(plan.is_dense, units, layout, plan.room, &tuning);
        self.context.record(encoder, &text, true, params, &bindings)?;
        // Where every key occurs a bucket has room for all of its keys.
        if plan.is_dense {
            return Ok(());
        }
        let bindings = [(1, from.clone()), (2, into.clone()), (4, counts())];
        let (source, tile) = (job.source(), tuning.slots(job.source().last()));
        let text = |status| {
            shader::survivors(source, plan.what, status, false, true, units, tile, &tuning)
        };
        self.record_survivors(encoder, job, tile, MOST_RESORTS, [0; 4], units, &bindings, text)
    }

    fn record_first_pass(
        &mut self,
        encoder: &mut CommandEncoder,
        job: Job<'_>,
        plan: &Partitioning,
        memory: &Memory,
        from: &BufferBinding<'_>,
    ) -> Result<(), WgpuError> {
        let Partitioning { what, units, layout, pass, first, .. } = *plan;
        let (source, len, tuning) = (job.source(), job.len(), self.context.tuning);
        let windows = [first.shift, first.capacity, COUNTS, 0];
        let counts = memory.counts.as_entire_buffer_binding();
        let bindings: Vec<_> =
            memory.records(0, 5).chain([(1, from.clone()), (4, counts)]).collect();
        if what == Move::Scatter && !job.is_whole() {
            let text = |status| {
                shader::distribute(
                    Records::Survivors { source, status },
                    units,
                    layout,
                    pass,
                    plan.bins,
                    &tuning,
                )
            };
            return self.record_survivors(
                encoder,
                job,
                pass,
                u32::MAX,
                windows,
                units,
                &bindings,
                text,
            );
        }
        let tiles = len.div_ceil(pass.len());
        let params = Params {
            len,
            last: source.last(),
            tiles,
            windows,
            keys: &source.keys,
            ..Params::default()
        };
        let records = Records::Source { source, is_inverted: what == Move::Gather };
        let text = shader::distribute(records, units, layout, pass, plan.bins, &tuning);
        self.context.record(encoder, &text, true, params, &bindings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_fit_every_device() {
        let portable = wgpu::Limits::default();
        let narrow =
            wgpu::Limits { max_compute_invocations_per_workgroup: 1024, ..portable.clone() };
        let large = wgpu::Limits {
            max_compute_workgroup_size_x: 1024,
            max_compute_workgroup_storage_size: 48 << 10,
            ..narrow.clone()
        };
        // No power of two, and more threads than fit a row.
        let odd = wgpu::Limits { max_compute_invocations_per_workgroup: 500, ..portable.clone() };
        let devices =
            [(&portable, 1), (&odd, 1), (&narrow, 1), (&large, 1), (&large, 2), (&large, 4)];
        for (limits, words) in devices {
            for width in 10..29 {
                for len in [1_u32 << width, (1 << width) + 1, (1 << width) + (1 << (width - 1))] {
                    let last = len.next_power_of_two() - 1;
                    let shape = Shape::STANDARD;
                    let units = Units { words, count: 1 };
                    let plan = Partitioning::with(&shape, limits, Move::Gather, units, len, last);
                    let Some(plan) = plan else {
                        assert!(width > 26, "two passes are enough");
                        continue;
                    };
                    let Partitioning { pass, room, first, .. } = plan;
                    let level = plan.last_level();
                    assert!(level.capacity <= room.len(), "{plan:?}");
                    assert!(u64::from(level.buckets) << level.shift > u64::from(last), "{plan:?}");
                    assert!(first.buckets <= plan.bins && plan.bins.is_multiple_of(pass.threads));
                    assert!(
                        plan.second.is_none_or(|second| {
                            1 << (first.shift - second.shift) <= plan.bins
                        })
                    );
                    assert!(pass.threads <= limits.max_compute_invocations_per_workgroup);
                    assert!(pass.threads <= limits.max_compute_workgroup_size_x);
                    assert!(pass.threads.is_power_of_two() && room.threads == pass.threads);
                    let most = limits.max_compute_workgroup_storage_size / 4;
                    let pass_words = pass.len() * (1 + words) + plan.bins + 1;
                    assert!(pass_words + 2 * pass.threads <= most, "{plan:?}");
                    assert!(room.len() * words + 4 * room.threads <= most, "{plan:?}");
                    // Half of the points are taken at least, so that buckets fill their room.
                    assert!(level.records() < 2 * u64::from(len) + 4096, "{plan:?}");
                }
            }
        }
        let shape = Shape::STANDARD;
        let units = Units::WORD;
        let plan = Partitioning::with(&shape, &large, Move::Gather, units, 1 << 26, u32::MAX >> 6)
            .unwrap();
        assert_eq!(plan.first, Level { shift: 19, buckets: 128, capacity: 1 << 19 });
        assert_eq!(plan.second, Some(Level { shift: 12, buckets: 1 << 14, capacity: 1 << 12 }));
    }

    /// Slots are numbered in words, those of the last tile too that the domain does not have.
    #[test]
    fn slots_of_a_pass_can_be_numbered() {
        let limits = wgpu::Limits {
            max_compute_invocations_per_workgroup: 1024,
            max_compute_workgroup_size_x: 1024,
            max_compute_workgroup_storage_size: 32 << 10,
            ..Default::default()
        };
        // A tile of 2816 slots does not divide 2^32.
        let standard = Shape::STANDARD;
        let powers = Shape { records: 4, ..standard };
        for (shape, last, is_planned) in [
            (standard, u32::MAX, false),
            (standard, u32::MAX - 1279, false),
            (standard, u32::MAX - 1280, true),
            (powers, u32::MAX, true),
        ] {
            let with =
                |what| Partitioning::with(&shape, &limits, what, Units::WORD, (1 << 29) + 1, last);
            let back = with(Move::Scatter);
            assert_eq!(back.is_some(), is_planned);
            let end =
                back.map(|plan| (u64::from(last) + 1).next_multiple_of(plan.pass.len().into()));
            assert!(end.is_none_or(|end| end <= 1 << 32));
            // A shuffle goes through the items, of which there are fewer.
            assert_eq!(with(Move::Gather).map(|plan| plan.pass.len()), Some(256 * shape.records));
        }
    }
}
