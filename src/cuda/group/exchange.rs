//! [`Exchange`]: the partitioned strategy over a group.
//!
//! 1. Each member reads its items in order and stores them in their buckets, in the memory of the
//!    members that own these. That is the whole exchange.
//! 2. Each owner sorts what it has received, as one GPU alone does, and puts each bucket in order
//!    at its places. Nearly all of these are in its own run. A bucket across the end of the run is
//!    stored in two pieces, and so are those that random fluctuation has moved there.
//!
//! If a bucket has overflowed anywhere, all members do it again by the direct strategy. The device
//! decides that, so the host never waits.

use super::direct;
use super::kernels::{self, Everywhere, Outbox};
use super::movement::Sharded;
use super::shards::{Shards, of_members};
use super::sizes::{Layout, Records, Sizes};
use crate::bijection::DeviceSource;
use crate::compact::Direction;
use crate::cuda::runtime::plan::{Address, Grid, Launch, Plan};
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::kernels::{self as of_one, Buckets};
use crate::cuda::shuffle::tuning::{self as of_one_tuning, Shape};
use crate::cuda::view;
use crate::error::Error;

/// A movement by the partitioned strategy, with the memory of all members.
pub(super) struct Exchange<'a> {
    pub(super) job: &'a Job,
    pub(super) source: &'a Shards,
    pub(super) out: &'a Shards,
    pub(super) direction: Direction,
    pub(super) sizes: &'a Sizes,
    pub(super) layouts: &'a [Layout],
    /// Where each member's working memory begins.
    pub(super) memory: &'a [u64],
}

impl<'a> Exchange<'a> {
    fn members(&self) -> usize {
        self.memory.len()
    }

    /// An address in a member's working memory.
    fn at(&self, member: usize, offset: u64) -> u64 {
        self.memory[member] + offset
    }

    /// The address of a word of each member.
    fn everywhere(&self, word: impl Fn(&Layout) -> u64) -> Everywhere {
        let words =
            self.layouts.iter().zip(self.memory).map(|(layout, memory)| memory + word(layout));
        Everywhere { words: of_members(words, 0) }
    }

    /// What is done, phase by phase: a plan for each member.
    pub(super) fn phases(&self) -> Result<Vec<Vec<Plan<'a>>>, Error> {
        let of = |plan: &dyn Fn(usize) -> Result<Plan<'a>, Error>| {
            (0..self.members()).map(plan).collect::<Result<Vec<_>, Error>>()
        };
        let mut phases = Vec::new();
        if self.sizes.is_counted() {
            phases.push(of(&|member| self.count(member))?);
        }
        phases.push(of(&|member| self.send(member))?);
        phases.push(of(&|member| self.place(member))?);
        phases.push(of(&|member| self.otherwise(member))?);
        Ok(phases)
    }

    /// The bijection that begins at a member's first slot, and the last slot from there.
    fn slots(&self, member: usize) -> (DeviceSource, u64) {
        let slots = self.sizes.slots(member);
        (view::from_slot(&self.job.source, slots.start), slots.end - slots.start - 1)
    }

    /// The plan that counts the survivors of a member's slots.
    fn count(&self, member: usize) -> Result<Plan<'a>, Error> {
        let mut plan = Plan::new();
        let (tiles, layout) = (self.sizes.tiles(member), &self.layouts[member]);
        let counts = self.at(member, layout.tile_counts);
        // The sum of all is what comes before one more tile.
        plan.clear(Address::Given(counts + 4 * tiles), 4);
        if tiles > 0 {
            let ((source, last), len) = (self.slots(member), self.job.len);
            let shape = Shape {
                threads: of_one_tuning::PASS_THREADS,
                slots: self.sizes.first.records,
                blocks: 1,
            };
            let kernel = of_one::count_survivors(self.sizes.slot, shape);
            let count = Launch::new(kernel, Grid::blocks(tiles)?, move |_| {
                of_one::CountSurvivors { last, len, counts }
            });
            plan.launch(count.evaluating(source));
        }
        let bases = self.at(member, layout.tile_bases);
        plan.launch(Launch::new(of_one::scan_counts(), Grid::Blocks(1, 1), move |_| {
            // `Grid::blocks` has checked that the number of tiles fits an `i32`.
            of_one::ScanCounts { counts, len: tiles as u32 + 1, bases }
        }));
        Ok(plan)
    }

    /// Adds what sends the items of the survivors among a member's slots.
    fn send_survivors(&self, plan: &mut Plan<'a>, member: usize) -> Result<(), Error> {
        let (tiles, layout) = (self.sizes.tiles(member), &self.layouts[member]);
        if tiles == 0 {
            return Ok(());
        }
        let totals = |other: usize| {
            let all = self.layouts[other].tile_bases + 8 * self.sizes.tiles(other);
            self.at(other, all)
        };
        let of = Everywhere { words: of_members((0..self.members()).map(totals), 0) };
        let (bases, before) = (self.at(member, layout.tile_bases), self.at(member, layout.rank));
        plan.launch(Launch::new(kernels::add_up(), Grid::Blocks(1, 1), move |_| {
            // There are at most 16 members.
            kernels::AddUp { of, member: member as u32, sum: before }
        }));
        let ((f, last), len) = (self.slots(member), self.job.len);
        let (first, source, to) = (self.sizes.first, self.source.argument(), self.outbox(member));
        let shift = first.shift as i32;
        let kernel = kernels::send_survivors(self.sizes);
        let launch = Launch::new(kernel, Grid::blocks(tiles)?, move |_| kernels::SendSurvivors {
            last,
            len,
            bases,
            before,
            source,
            shift,
            to,
        });
        plan.launch(launch.evaluating(f).with_shared(first.shared));
        Ok(())
    }

    /// The plan that clears a member's counts, and sends its items.
    fn send(&self, member: usize) -> Result<Plan<'a>, Error> {
        let mut plan = Plan::new();
        let Layout { sent, overflow, .. } = self.layouts[member];
        plan.clear(Address::Given(self.at(member, sent)), overflow + 4 - sent);
        if self.sizes.is_counted() {
            self.send_survivors(&mut plan, member)?;
            return Ok(plan);
        }
        let places = self.source.places(member);
        let (start, len) = (places.start, places.end - places.start);
        if len == 0 {
            return Ok(plan);
        }
        let first = self.sizes.first;
        let tile = u64::from(of_one_tuning::PASS_THREADS * first.records);
        let (source, to) = (self.source.address(member), self.outbox(member));
        let kernel = kernels::send_items(self.sizes, self.direction);
        let launch = Launch::new(kernel, Grid::blocks(len.div_ceil(tile))?, move |_| {
            kernels::SendItems { source, start, len, shift: first.shift as i32, to }
        });
        plan.launch(launch.evaluating(&self.job.source).with_shared(first.shared));
        Ok(plan)
    }

    /// Where a member sends to.
    fn outbox(&self, sender: usize) -> Outbox {
        let layout = &self.layouts[sender];
        let capacity = self.sizes.part(sender);
        let origin = |owner: usize, part: fn(&Records) -> u64, bytes: u64| {
            let first = self.at(owner, part(&self.layouts[owner].parts[sender]));
            // Where bucket 0 would be, which may lie before all memory.
            let before = self.sizes.owned(owner).start * capacity * bytes;
            first.wrapping_sub(before)
        };
        let (owners, item) = (0..self.members(), self.sizes.word.bytes() as u64);
        let ends = owners.clone().map(|owner| self.sizes.owned(owner).end);
        Outbox {
            counts: self.at(sender, layout.sent),
            overflow: self.at(sender, layout.overflow),
            capacity,
            ends: of_members(ends.take(self.members() - 1), u64::MAX),
            items: of_members(
                owners.clone().map(|owner| origin(owner, |part| part.items, item)),
                0,
            ),
            keys: of_members(owners.map(|owner| origin(owner, |part| part.keys, 4)), 0),
        }
    }

    /// The plan that puts what a member has received at its places.
    fn place(&self, member: usize) -> Result<Plan<'a>, Error> {
        let mut plan = Plan::new();
        let (sizes, layout) = (self.sizes, &self.layouts[member]);
        let owned = sizes.owned(member);
        let (first, own) = (owned.start, owned.end - owned.start);
        if own == 0 {
            return Ok(plan);
        }
        let (sent, members) = (self.everywhere(|layout| layout.sent), self.members() as u32);
        let (received, before) = (self.at(member, layout.received), self.at(member, layout.before));
        plan.launch(Launch::new(kernels::collect_counts(), Grid::Blocks(1, 1), move |_| {
            // There are at most 2^11 buckets.
            let (first, own) = (first as u32, own as u32);
            kernels::CollectCounts { sent, members, first, own, received, before }
        }));
        for sender in 0..self.members() {
            let sends = if self.sizes.is_counted() {
                !self.sizes.slots(sender).is_empty()
            } else {
                !self.source.places(sender).is_empty()
            };
            if sends {
                plan.launch(self.second_pass(member, sender)?);
            }
        }
        let small = sizes.small_buckets(member);
        let bases = self.at(member, layout.bases);
        if !sizes.dense {
            let counts = self.at(member, layout.counts);
            plan.launch(Launch::new(of_one::scan_counts(), Grid::Blocks(1, 1), move |_| {
                // There are at most 2^20 small buckets.
                of_one::ScanCounts { counts, len: small as u32, bases }
            }));
        }
        let kernel = kernels::place_in_shards(sizes.word, sizes.bucket_bits, sizes.dense);
        let (from, out) = (self.small(member), self.out.argument());
        let first = first << sizes.second.bits;
        let place = Launch::new(kernel, Grid::blocks(small)?, move |_| kernels::PlaceInShards {
            from,
            bases,
            before,
            first,
            out,
        });
        plan.launch(place.with_shared(sizes.place_shared()));
        Ok(plan)
    }

    /// The launch that sorts what came from a sender into a member's small buckets.
    fn second_pass(&self, member: usize, sender: usize) -> Result<Launch<'a>, Error> {
        let (sizes, layout) = (self.sizes, &self.layouts[member]);
        let owned = sizes.owned(member);
        let own = owned.end - owned.start;
        let (part, to) = (layout.parts[sender], self.small(member));
        let from = Buckets {
            items: self.at(member, part.items),
            keys: self.at(member, part.keys),
            counts: self.at(member, layout.received + sender as u64 * own * 4),
            capacity: sizes.part(sender),
            overflow: self.at(member, layout.overflow),
        };
        let tile = u64::from(of_one_tuning::PASS_THREADS * sizes.second.records);
        let grid = Grid::rows(from.capacity.div_ceil(tile), own)?;
        let shift = sizes.bucket_bits as i32;
        let kernel = of_one::distribute_bucket(sizes.second, sizes.word);
        let launch =
            Launch::new(kernel, grid, move |_| of_one::DistributeBucket { from, shift, to });
        Ok(launch.with_shared(sizes.second_shared()))
    }

    /// A member's buckets of the second pass.
    fn small(&self, member: usize) -> Buckets {
        let layout = &self.layouts[member];
        Buckets {
            items: self.at(member, layout.small.items),
            keys: self.at(member, layout.small.keys),
            counts: self.at(member, layout.counts),
            capacity: self.sizes.capacity,
            overflow: self.at(member, layout.overflow),
        }
    }

    /// The plan that moves a member's items directly if a bucket of any member has overflowed.
    fn otherwise(&self, member: usize) -> Result<Plan<'a>, Error> {
        let mut plan = Plan::new();
        let (of, members) = (self.everywhere(|layout| layout.overflow), self.members() as u32);
        let any = self.at(member, self.layouts[member].any);
        plan.launch(Launch::new(kernels::any_word(), Grid::Blocks(1, 1), move |_| {
            kernels::AnyWord { of, members, any }
        }));
        let (source, out, direction) = (self.source, self.out, self.direction);
        let of = Sharded::Items { source, out, direction };
        direct::survivors(&mut plan, self.job, of, member, Some(Address::Given(any)))?;
        Ok(plan)
    }
}
