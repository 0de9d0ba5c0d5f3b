//! The strategy in place, for an array that is shuffled within its own memory.
//!
//! It does what the partitioned strategy does, without a second copy of the array. Working memory
//! takes at most [`tuning::IN_PLACE_PERCENT`] of the array's, which is too little for a key beside
//! each item. So of an item that has moved only its *order* is known: the items of a bucket keep
//! the order of their sources, and the sources of a bucket can be found again, by evaluating its
//! keys. A key is a slot, or an index where a shuffle is undone.
//!
//! 1. *Collect.* The array is divided into *stripes*. A block of threads reads one, tile by tile,
//!    and collects the items of each bucket in an open block. A full one is written at the front
//!    of the stripe, where items have been read before. What fills no block at the end, the
//!    *rests*, goes to working memory. Ranks in a tile are stable, so the order of the sources is
//!    kept. Where there is room, *planes* of bits record the bucket of each source.
//! 2. *Exchange.* All counts are known now, so each block's target is: the blocks of a bucket
//!    after those of the buckets before it, stripe by stripe. They are moved along the cycles of
//!    that map by many groups of lanes, each of which claims a block before it reads it
//!    (`exchange_blocks` argues that nobody waits for long).
//! 3. Then a *group* of buckets at a time, the last first. Its sources are found, in order: source
//!    `j` of some neighbouring stripes is that of item `j`. So the items are *spread* over the
//!    parts of the bucket in working memory, each with the rest of its key, and each part is
//!    *placed* in the array, in order.
//!
//! There are two ways to find a bucket's sources. The planes have them in order, and each is
//! evaluated once more; that takes a plane for each bit of a bucket's number, so items have at
//! least 8 bytes and buckets are few, since each reads all planes. Otherwise the bucket's keys are
//! evaluated and their sources *listed* by the stripes that they are in, and each list is put in
//! order.
//!
//! A group's items are out of the array before any is placed. Its places begin at or after its
//! blocks, since a bucket's blocks begin where the blocks of earlier buckets end, and its places
//! where all items of earlier buckets end; and the blocks of earlier buckets are before both. So
//! no item is overwritten before it has been read.
//!
//! All sizes are exact counts, so nothing overflows, whatever the bijection is like. Where not
//! every key has an item, those of each part are counted first. A list that is longer than a tile
//! is put in order piece by piece, and a part that is larger than its shared memory is placed item
//! by item; both are only slower.
//!
//! To undo a shuffle in which not every slot survives, the source of an item is the rank of its
//! slot. The survivors are counted first, so that a stripe knows its first slot, and the lists
//! have slots in place of ranks, whose order is the same.

mod kernels;
mod sizes;
#[cfg(test)]
mod tests;

use kernels::{Parts, Striped};
use sizes::{InPlaceLayout, InPlaceSizes};

use super::job::Job;
use super::kernels as shared_kernels;
use super::movement::{MovedArray, Movement};
use super::strategy::{self, CudaStrategy};
use super::tuning;
use crate::compact::{Direction, passes};
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::{
    Address, DevicePlan, Grid, Ground, Launch, MOST_POINTS, block_number,
};
use crate::cuda::runtime::word_type::WordType;
use crate::error::GpuError;
use crate::{Bijection, Error};

/// The jobs of moving the items at an address within their own memory: one or, for a composition of
/// permutations, one for each pass. Each copies the items to the beginning of what is kept; the
/// strategy in place does without that.
///
/// # Errors
///
/// As [`Job::new`], and [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge).
pub(in crate::cuda) fn jobs(
    f: &dyn Bijection,
    len: usize,
    (address, item): (u64, usize),
    direction: Direction,
) -> Result<Vec<Job>, Error> {
    let job = |f: &dyn Bijection, direction| {
        let array = MovedArray { source: Address::Given(address), out: Address::Kept(0), item };
        Job::new(f, len as u64, Movement::items(vec![array], direction)?)
    };
    let Some(passes) = passes::passes(f, len) else { return Ok(vec![job(f, direction)?]) };
    let passes = match direction {
        Direction::Shuffle => passes,
        Direction::Unshuffle => passes.inverted(),
    };
    passes::in_order(&passes).map(|(f, direction)| job(f, direction)).collect()
}

/// Plans jobs, in place where that strategy serves. Otherwise, or if there is no compiler for its
/// kernels, the items are copied to working memory in their new order, and back.
///
/// # Errors
///
/// As [`strategy::plan`].
pub(in crate::cuda) fn plan<'a>(
    jobs: &'a [Job],
    by: CudaStrategy,
    limits: &GpuLimits,
) -> Result<DevicePlan<'a>, Error> {
    // The single pass takes the least memory.
    let least = CudaStrategy::SinglePass;
    let is_short = jobs.iter().all(sizes::is_short);
    let chosen = if by == CudaStrategy::Auto && is_short { least } else { by };
    let copied = copying(jobs, chosen, limits)?.or(copying(jobs, least, limits)?);
    let serves = |job: &Job| if job.trusted { InPlaceSizes::new(job, limits) } else { None };
    let Some(sizes) = jobs.iter().map(serves).collect::<Option<Vec<_>>>() else {
        return Ok(copied);
    };
    let in_place = jobs.iter().zip(sizes).try_fold(DevicePlan::new(), |all, (job, sizes)| {
        Ok::<_, Error>(all.then(Striping::new(job, sizes).plan()?))
    })?;
    Ok(in_place.or(copied))
}

fn copying<'a>(
    jobs: &'a [Job],
    by: CudaStrategy,
    limits: &GpuLimits,
) -> Result<DevicePlan<'a>, Error> {
    jobs.iter().try_fold(DevicePlan::new(), |all, job| {
        if job.len > MOST_POINTS {
            return Err(Error::Gpu(GpuError::OutOfMemory));
        }
        let mut plan = strategy::plan(job, by, limits)?;
        if let Movement::Items { arrays, .. } = &job.movement {
            for array in arrays {
                let bytes = job.len * array.item as u64;
                plan.take_kept(bytes);
                plan.copy(array.out, array.source, bytes);
            }
        }
        Ok(all.then(plan))
    })
}

/// A job with its sizes.
struct Striping<'a> {
    job: &'a Job,
    sizes: InPlaceSizes,
    layout: InPlaceLayout,
    array: Address,
    slots: u64,
}

impl<'a> Striping<'a> {
    fn new(job: &'a Job, sizes: InPlaceSizes) -> Self {
        let array = job.movement.word().expect("the sizes are those of words").0.source;
        Self { job, sizes, layout: sizes.layout(), array, slots: job.last + 1 }
    }

    fn plan(&self) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        plan.take_scratch(self.layout.bytes);
        if self.sizes.has_gaps() {
            self.count(&mut plan)?;
        }
        self.exchange(&mut plan)?;
        plan.clear(Address::Scratch(self.layout.part_counts), self.sizes.parts() * 4);
        let mut end = self.sizes.buckets();
        while end > 0 {
            let first = end.saturating_sub(self.sizes.group);
            self.put_in_order(&mut plan, first as u32, end - first)?;
            end = first;
        }
        Ok(plan)
    }

    /// Counts the survivors before each tile of slots.
    fn count(&self, plan: &mut DevicePlan<'a>) -> Result<(), Error> {
        let (last, len, layout) = (self.sizes.last, self.sizes.len, self.layout);
        let (shape, tiles) = (self.sizes.counted_shape(), self.sizes.counted_tiles());
        let kernel = shared_kernels::count_survivors(self.sizes.index, shape);
        let count = Launch::new(kernel, Grid::blocks(tiles)?, move |at| {
            let counts = at.at(Address::Scratch(layout.tile_counts));
            shared_kernels::CountSurvivors { last, len, counts }
        });
        plan.launch(count.evaluating(&self.job.source));
        sum(plan, layout.tile_counts, tiles, layout.tile_bases)
    }

    /// Sorts the stripes into blocks, and moves the blocks to their buckets.
    fn exchange(&self, plan: &mut DevicePlan<'a>) -> Result<(), Error> {
        let InPlaceSizes { word, last, len, block, stripe_bits, .. } = self.sizes;
        let (stripes, buckets) = (self.sizes.stripes(), self.sizes.buckets());
        let striped = self.striped();
        let kernel = kernels::collect_blocks(&self.sizes);
        let collect = Launch::new(kernel, Grid::blocks(stripes)?, move |at| {
            kernels::CollectBlocks { to: striped(at), last }
        });
        let collect = collect.evaluating(&self.job.source);
        plan.launch(collect.with_shared(self.sizes.collect_shared()));

        let striped = self.striped();
        let rows = Launch::new(kernels::sum(word), Grid::blocks(buckets)?, move |at| {
            kernels::SumRows { to: striped(at) }
        });
        plan.launch(rows);
        let striped = self.striped();
        let kernel = kernels::sum(word);
        plan.launch(Launch::new(kernel, Grid::Blocks(1, 1), move |at| kernels::SumAllBuckets {
            to: striped(at),
        }));

        let striped = self.striped();
        let of_stripe = (1_u64 << stripe_bits) / u64::from(block);
        let threads = u64::from(crate::cuda::runtime::kernels::THREADS);
        let grid = Grid::rows(of_stripe.div_ceil(threads), stripes)?;
        plan.launch(Launch::new(kernels::find_targets(&self.sizes), grid, move |at| {
            kernels::FindTargets { to: striped(at) }
        }));

        let (items, table) = (self.array, Address::Scratch(self.layout.table));
        let unit = WordType::dividing(items.alignment_bits() | 16);
        // `InPlaceSizes` has checked that the number of blocks fits.
        let blocks = (len / u64::from(block)) as u32;
        let groups = u64::from(blocks) * u64::from(tuning::IN_PLACE_LANES);
        let kernel = kernels::exchange_blocks(unit, tuning::IN_PLACE_BLOCK_BYTES);
        let grid = Grid::Resident(groups.div_ceil(threads));
        plan.launch(Launch::new(kernel, grid, move |at| kernels::ExchangeBlocks {
            items: at.at(items),
            table: at.at(table),
            blocks,
            mask: blocks.next_power_of_two() - 1,
        }));
        Ok(())
    }

    /// Puts the items of some buckets in order, `number` of them from `first` on.
    fn put_in_order(
        &self,
        plan: &mut DevicePlan<'a>,
        first: u32,
        number: u64,
    ) -> Result<(), Error> {
        let (sizes, layout, slots) = (self.sizes, self.layout, self.slots);
        let parts = number << (sizes.shift - sizes.part_bits);
        let scratch = Address::Scratch;
        let parts_at = move |at: &Ground| Parts {
            items: at.at(scratch(layout.items)),
            keys: at.at(scratch(layout.keys)),
            counts: at.at(scratch(layout.part_counts)),
            bases: if sizes.keys_with_gaps() { at.at(scratch(layout.tile_bases)) } else { 0 },
            first: u64::from(first) << (sizes.shift - sizes.part_bits),
            part_bits: sizes.part_bits,
            tile_bits: sizes.part_bits - sizes.counted_bits(),
        };
        let grid = Grid::rows(sizes.lists(), number)?;
        let striped = self.striped();
        if sizes.planes {
            let kernel = kernels::spread_by_planes(&sizes);
            let spread = Launch::new(kernel, grid, move |at| kernels::SpreadByPlanes {
                from: striped(at),
                first_bucket: first,
                to: parts_at(at),
            });
            plan.launch(spread.evaluating(&self.job.source).with_shared(sizes.spread_shared()));
        } else {
            self.list(plan, first, number)?;
            let spread =
                Launch::new(kernels::spread_items(&sizes), grid, move |at| kernels::SpreadItems {
                    from: striped(at),
                    first_bucket: first,
                    slots,
                    list: at.at(scratch(layout.list)),
                    keys: at.at(scratch(layout.list_keys)),
                    to: parts_at(at),
                });
            plan.launch(spread.with_shared(sizes.spread_shared()));
        }
        let (array, capacity) = (self.array, sizes.part_capacity() as u32);
        let place = Launch::new(kernels::place_part(&sizes), Grid::blocks(parts)?, move |at| {
            kernels::PlacePart { from: parts_at(at), capacity, out: at.at(array) }
        });
        plan.launch(place.with_shared(sizes.place_shared()));
        Ok(())
    }

    /// Lists the sources of some buckets' items.
    fn list(&self, plan: &mut DevicePlan<'a>, first: u32, number: u64) -> Result<(), Error> {
        let (sizes, layout, slots) = (self.sizes, self.layout, self.slots);
        let tiles = (1_u64 << sizes.shift).div_ceil(u64::from(sizes.list.tile()));
        let striped = self.striped();
        let kernel = kernels::list_sources(&sizes);
        let list =
            Launch::new(kernel, Grid::rows(tiles, number)?, move |at| kernels::ListSources {
                to: striped(at),
                first_bucket: first,
                last: sizes.keys(),
                slots,
                list: at.at(Address::Scratch(layout.list)),
                keys: at.at(Address::Scratch(layout.list_keys)),
            });
        plan.launch(list.evaluating(&self.job.source).with_shared(sizes.list_shared()));
        Ok(())
    }

    /// The array and its working memory, once the addresses are known.
    fn striped(&self) -> impl Fn(&Ground) -> Striped + use<> {
        let (sizes, layout, array) = (self.sizes, self.layout, self.array);
        move |at| {
            let scratch = |offset| at.at(Address::Scratch(offset));
            Striped {
                items: at.at(array),
                len: sizes.len,
                stripes: sizes.stripes() as u32,
                buckets: sizes.buckets() as u32,
                stripe_bits: sizes.stripe_bits,
                shift: sizes.shift,
                together_bits: sizes.together_bits,
                counted: 1 << sizes.counted_bits(),
                tile_bases: scratch(layout.tile_bases),
                first_slots: scratch(layout.first_slots),
                planes: if sizes.planes { scratch(layout.planes) } else { 0 },
                rests: scratch(layout.rests),
                table: scratch(layout.table),
                block_rows: scratch(layout.block_rows),
                item_rows: scratch(layout.item_rows),
                block_counts: scratch(layout.block_counts),
                item_counts: scratch(layout.item_counts),
                block_bases: scratch(layout.block_bases),
                item_bases: scratch(layout.item_bases),
            }
        }
    }
}

/// Sums counts in working memory.
fn sum(plan: &mut DevicePlan<'_>, counts: u64, len: u64, bases: u64) -> Result<(), Error> {
    let len = block_number(len)?;
    plan.launch(Launch::new(shared_kernels::scan_counts(), Grid::Blocks(1, 1), move |at| {
        let [counts, bases] = [counts, bases].map(|offset| at.at(Address::Scratch(offset)));
        shared_kernels::ScanCounts { counts, len, bases }
    }));
    Ok(())
}
