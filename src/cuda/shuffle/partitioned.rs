//! The partitioned strategy.
//!
//! It serves one array of items of 1, 2, 4, 8 or 16 bytes and domains of up to 2^32 points, because
//! it keeps slots in 32 bits and loads and stores an item whole. Larger items waste less of a
//! gather's memory traffic; they, several arrays and larger domains take the single pass, which has
//! no such limits.
//!
//! The device handles the overflow of a bucket. If it reported an overflow to the host, the host
//! would have to wait for every shuffle. Instead, the last launch is a single pass that does
//! nothing unless a bucket has overflowed. So a trusted shuffle never waits for the GPU, and can be
//! captured in a CUDA graph.

use super::job::{Job, Slots};
use super::kernels::{self, Buckets};
use super::movement::MovedArray;
use super::sizes::{Level, PartitionSizes, PartitionedLayout, SurvivorTiles};
use super::{direct, tuning};
use crate::Error;
use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::{Address, DevicePlan, Grid, Ground, Launch};
use crate::cuda::runtime::word_type::WordType;

/// The one array that is sorted, the word of its items, and the sizes.
pub(super) struct Partitioning {
    pub(super) array: MovedArray,
    word: WordType,
    partition: PartitionSizes,
    /// The tiles of the first pass, if it undoes a shuffle in which not every slot survives.
    survivors: Option<SurvivorTiles>,
    layout: PartitionedLayout,
}

impl Partitioning {
    /// The sizes of the partitioned strategy for a job; `None` if it does not apply.
    pub(super) fn new(job: &Job, limits: &GpuLimits) -> Option<Self> {
        let (array, word) = job.movement.word()?;
        let last = u64::from(u32::try_from(job.last).ok()?);
        // With fewer than one item for every eight points, the buckets would be nearly empty.
        if job.len <= last / 8 {
            return None;
        }
        let last = match job.movement.direction() {
            Direction::Shuffle => job.last,
            Direction::Unshuffle => job.len - 1,
        };
        let partition = PartitionSizes::new(limits, word, job.len, last)?;
        let is_back = job.movement.direction() == Direction::Unshuffle;
        let (partition, survivors) = if is_back && !job.is_dense() {
            let density = job.len as f64 / (job.last as f64 + 1.0);
            let (partition, tiles) = partition.through_slots(limits, density)?;
            (partition, Some(tiles))
        } else {
            (partition, None)
        };
        let layout = partition.layout();
        Some(Self { array, word, partition, survivors, layout })
    }

    /// Plans one or two passes that sort the items into buckets, and a kernel that puts each bucket
    /// in order.
    pub(super) fn plan<'a>(&self, job: &'a Job) -> Result<DevicePlan<'a>, Error> {
        let Self { array, word, partition, survivors, layout } = *self;
        let mut plan = DevicePlan::new();
        plan.take_scratch(layout.bytes);
        plan.clear(Address::Scratch(0), layout.cleared_bytes);
        self.first_pass(&mut plan, job)?;
        if let Some(level) = partition.second {
            plan.launch(self.second_pass(level)?);
        }
        let level = *partition.last_level();
        let number = usize::from(partition.second.is_some());
        let bases = Address::Scratch(layout.bases);
        let grid = Grid::blocks(level.buckets)?;
        if !partition.dense {
            let (counts, len) = (layout.counts[number], level.buckets as u32);
            plan.launch(Launch::new(kernels::scan_counts(), Grid::Blocks(1, 1), move |at| {
                let counts = at.at(Address::Scratch(counts));
                kernels::ScanCounts { counts, len, bases: at.at(bases) }
            }));
        }
        let kernel = kernels::place(word, partition.bucket_bits, partition.dense);
        let place = Launch::new(kernel, grid, move |at| kernels::PlaceBucket {
            from: buckets(&layout, &level, number, at),
            bases: at.at(bases),
            out: at.at(array.out),
        });
        plan.launch(place.with_shared(partition.place_shared()));
        // Where every key occurs a bucket has room for all of its keys, and cannot overflow.
        if !partition.dense || survivors.is_some_and(|tiles| tiles.slots > tiles.records) {
            let overflow = Some(Address::Scratch(layout.overflow));
            let slots =
                Slots { last: job.last, len: job.len, index: WordType::for_indexes(job.last) };
            let f = (&job.source).into();
            direct::survivors(&mut plan, f, slots, &job.movement, overflow)?;
        }
        Ok(plan)
    }

    fn first_pass<'a>(&self, plan: &mut DevicePlan<'a>, job: &'a Job) -> Result<(), Error> {
        let Self { array, word, partition, survivors, layout } = *self;
        let level = partition.first;
        let Level { pass, shift, .. } = level;
        let mut shared = partition.pass_shared(pass);
        let (last, len) = (job.last, job.len);
        let launch = if let Some(SurvivorTiles { slots, shared: collecting, .. }) = survivors {
            shared = shared.max(collecting);
            let tiles = last / u64::from(tuning::PASS_THREADS * slots) + 1;
            plan.take_tile_states(tiles)?;
            let kernel = kernels::distribute(pass, word);
            Launch::new(kernel, Grid::blocks(tiles)?, move |at| kernels::DistributeSurvivors {
                last,
                len,
                states: at.tile_states,
                source: at.at(array.source),
                shift: shift as i32,
                slots,
                to: buckets(&layout, &level, 0, at),
            })
        } else {
            let kernel = kernels::distribute_source(pass, word, job.movement.direction());
            let tile = u64::from(tuning::PASS_THREADS * pass.records);
            let grid = Grid::blocks(len.div_ceil(tile))?;
            Launch::new(kernel, grid, move |at| kernels::DistributeSource {
                source: at.at(array.source),
                len,
                shift: shift as i32,
                to: buckets(&layout, &level, 0, at),
            })
        };
        plan.launch(launch.evaluating(&job.source).with_shared(shared));
        Ok(())
    }

    fn second_pass(&self, level: Level) -> Result<Launch<'static>, Error> {
        let Self { word, partition, layout, .. } = *self;
        let (first, Level { pass, shift, .. }) = (partition.first, level);
        let tile = u64::from(tuning::PASS_THREADS * pass.records);
        let grid = Grid::rows(first.capacity.div_ceil(tile), first.buckets)?;
        let kernel = kernels::distribute(pass, word);
        let launch = Launch::new(kernel, grid, move |at| kernels::DistributeBucket {
            from: buckets(&layout, &first, 0, at),
            shift: shift as i32,
            to: buckets(&layout, &level, 1, at),
        });
        Ok(launch.with_shared(partition.pass_shared(pass)))
    }
}

/// The buckets of the first or the second level.
fn buckets(layout: &PartitionedLayout, level: &Level, number: usize, at: &Ground) -> Buckets {
    let scratch = |offset| at.at(Address::Scratch(offset));
    Buckets {
        items: scratch(layout.items[number]),
        keys: scratch(layout.keys[number]),
        counts: scratch(layout.counts[number]),
        capacity: level.capacity,
        overflow: scratch(layout.overflow),
    }
}
