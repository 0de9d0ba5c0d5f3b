//! [`MemberExchange`]: the partitioned strategy over a group.
//!
//! 1. Each member reads its items in order, piece by piece, and sorts them into the buckets of all
//!    members, in its own memory. The buckets of another member lie one after the other, each with
//!    the same room, so they are copied there at once. That is the whole exchange. It is done by
//!    the devices' copy engines, and takes no part of a multiprocessor.
//! 2. Each owner sorts what it has received, as one GPU alone does, while the next piece is on its
//!    way.
//! 3. Each owner puts each of its buckets in order at its places. Nearly all of these are in its
//!    own run. A bucket across the end of the run is stored in two parts, and so are those that
//!    random fluctuation has moved there.
//!
//! If a bucket has overflowed anywhere, all members do it again by the direct strategy. The device
//! decides that, so the host never waits.

use core::ops::Range;

use super::kernels::{self, Everywhere};
use super::layout::{MemberLayout, SenderParts};
use super::movement::Sharded;
use super::phase::{ExchangePiece, MemberCopy, Phase};
use super::shards::{MemberShards, of_members};
use super::sizes::GroupSizes;
use super::{direct, tuning};
use crate::compact::Direction;
use crate::cuda::runtime::plan::{Address, DevicePlan, Grid, Launch};
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::kernels::{self as of_one, Buckets};
use crate::cuda::shuffle::tuning as of_one_tuning;
use crate::cuda::view;
use crate::{DeviceSource, Error};

/// A movement by the partitioned strategy, with the memory of all members.
pub(super) struct MemberExchange<'a> {
    pub(super) job: &'a Job,
    pub(super) source: &'a MemberShards,
    pub(super) out: &'a MemberShards,
    pub(super) direction: Direction,
    pub(super) sizes: &'a GroupSizes,
    pub(super) layouts: &'a [MemberLayout],
    /// Where each member's working memory begins.
    pub(super) memory: &'a [u64],
}

impl<'a> MemberExchange<'a> {
    /// The number of members.
    pub(super) fn members(&self) -> usize {
        self.memory.len()
    }

    /// An address in a member's working memory.
    fn at(&self, member: usize, offset: u64) -> u64 {
        self.memory[member] + offset
    }

    /// The address of a word of each member.
    fn everywhere(&self, word: impl Fn(&MemberLayout) -> u64) -> Everywhere {
        let words =
            self.layouts.iter().zip(self.memory).map(|(layout, memory)| memory + word(layout));
        Everywhere { words: of_members(words, 0) }
    }

    /// What is done, phase by phase.
    pub(super) fn phases(&self) -> Result<Vec<Phase<'a>>, Error> {
        let mut phases = Vec::new();
        if self.sizes.is_counted() {
            phases.push(Phase::Plans(self.each(|member| self.count(member))?));
        }
        let pieces = (0..self.sizes.pieces).map(|piece| self.piece(piece));
        phases.push(Phase::Pieces(pieces.collect::<Result<_, _>>()?));
        phases.push(Phase::Plans(self.each(|member| {
            let before = self.add_up(member, self.layouts[member].before, |other| {
                self.layouts[other].bases + 8 * self.sizes.small_buckets(other)
            });
            let place = self.place(member)?;
            Ok(if self.sizes.dense { place } else { before.then(place) })
        })?));
        phases.push(Phase::Plans(self.each(|member| self.otherwise(member))?));
        Ok(phases)
    }

    /// The plans of all members.
    fn each(
        &self,
        plan: impl Fn(usize) -> Result<DevicePlan<'a>, Error>,
    ) -> Result<Vec<DevicePlan<'a>>, Error> {
        (0..self.members()).map(plan).collect()
    }

    fn piece(&self, piece: u64) -> Result<ExchangePiece<'a>, Error> {
        let fill = self.each(|member| {
            let fill = self.fill(member, piece)?;
            if piece > 0 || !self.sizes.is_counted() {
                return Ok(fill);
            }
            let rank = self.add_up(member, self.layouts[member].rank, |other| {
                self.layouts[other].tile_bases + 8 * self.sizes.counts(other)
            });
            Ok(rank.then(fill))
        });
        Ok(ExchangePiece {
            fill: fill?,
            deliveries: (0..self.members()).map(|sender| self.deliveries(sender, piece)).collect(),
            kept: self.each(|member| self.sort_kept(member, piece))?,
            received: self.each(|member| self.sort_received(member, piece))?,
        })
    }

    /// The bijection that begins at the first slot of some of a member's tiles, and the last slot
    /// of these from there.
    fn slots(&self, member: usize, tiles: &Range<u64>) -> (DeviceSource, u64) {
        let (slots, tile) = (self.sizes.slots(member), self.sizes.tile());
        let first = slots.start + tiles.start * tile;
        let end = slots.end.min(slots.start + tiles.end * tile);
        (view::from_slot(&self.job.source, first), end - first - 1)
    }

    /// The plan that counts the survivors of a member's slots.
    pub(super) fn count(&self, member: usize) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        let (runs, layout) = (self.sizes.counts(member), &self.layouts[member]);
        let counts = self.at(member, layout.tile_counts);
        // The sum of all is what comes before one more run.
        plan.clear(Address::Given(counts + 4 * runs), 4);
        if runs > 0 {
            let tiles = 0..self.sizes.tiles(member);
            let ((source, last), len) = (self.slots(member, &tiles), self.job.len);
            let kernel = of_one::count_survivors(self.sizes.slot, tuning::COUNTING);
            let count = Launch::new(kernel, Grid::blocks(runs)?, move |_| of_one::CountSurvivors {
                last,
                len,
                counts,
            });
            plan.launch(count.evaluating(source));
        }
        let bases = self.at(member, layout.tile_bases);
        plan.launch(Launch::new(of_one::scan_counts(), Grid::Blocks(1, 1), move |_| {
            // `Grid::blocks` has checked that the number of runs fits an `i32`.
            of_one::ScanCounts { counts, len: runs as u32 + 1, bases }
        }));
        Ok(plan)
    }

    /// The plan that sorts a piece of a member's items into its outbox.
    pub(super) fn fill(&self, member: usize, piece: u64) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        let layout = &self.layouts[member];
        if piece == 0 {
            let MemberLayout { counts, overflow, .. } = *layout;
            plan.clear(Address::Given(self.at(member, counts)), overflow + 4 - counts);
        }
        let tiles = self.sizes.piece(member, piece);
        if tiles.is_empty() {
            return Ok(plan);
        }
        let counts = self.at(member, layout.outboxes[self.turn(piece)].counts);
        plan.clear(Address::Given(counts), 4 * self.sizes.buckets());
        plan.launch(if self.sizes.is_counted() {
            self.send_survivors(member, piece, tiles)?
        } else {
            self.send_items(member, piece, tiles)?
        });
        Ok(plan)
    }

    /// Which of the two outboxes and inboxes a piece has.
    fn turn(&self, piece: u64) -> usize {
        (piece % 2) as usize
    }

    /// The plan that writes the sum of a number of all members before one.
    fn add_up(&self, member: usize, sum: u64, number: impl Fn(usize) -> u64) -> DevicePlan<'a> {
        let words = (0..self.members()).map(|other| self.at(other, number(other)));
        let of = Everywhere { words: of_members(words, 0) };
        let sum = self.at(member, sum);
        let mut plan = DevicePlan::new();
        plan.launch(Launch::new(kernels::add_up(), Grid::Blocks(1, 1), move |_| {
            // A group has at most 16 members.
            kernels::AddUp { of, member: member as u32, sum }
        }));
        plan
    }

    /// The launch that goes through some tiles of a member's items.
    fn send_items(
        &self,
        member: usize,
        piece: u64,
        tiles: Range<u64>,
    ) -> Result<Launch<'a>, Error> {
        let (places, tile) = (self.source.places(member), self.sizes.tile());
        let start = places.start + tiles.start * tile;
        let len = places.end.min(places.start + tiles.end * tile) - start;
        let (first, to) = (self.sizes.first, self.outbox(member, piece));
        let source = self.source.origin(member).wrapping_add(start * self.source.item() as u64);
        let kernel = kernels::send_items(self.sizes, self.direction);
        let grid = Grid::blocks(tiles.end - tiles.start)?;
        let launch = Launch::new(kernel, grid, move |_| kernels::SendItems {
            source,
            start,
            len,
            shift: first.shift as i32,
            to,
        });
        Ok(launch.evaluating(&self.job.source).with_shared(first.shared))
    }

    /// The launch that goes through some tiles of a member's slots.
    fn send_survivors(
        &self,
        member: usize,
        piece: u64,
        tiles: Range<u64>,
    ) -> Result<Launch<'a>, Error> {
        let layout = &self.layouts[member];
        let (slots, counted) = (self.sizes.slots, tuning::COUNTED_SLOTS);
        let first_run = tiles.start * u64::from(slots / counted);
        let bases = self.at(member, layout.tile_bases + 8 * first_run);
        let before = self.at(member, layout.rank);
        let ((f, last), len) = (self.slots(member, &tiles), self.job.len);
        let (first, source) = (self.sizes.first, self.source);
        let (shift, to) = (first.shift as i32, self.outbox(member, piece));
        let kernel = kernels::send_survivors(self.sizes);
        let grid = Grid::blocks(tiles.end - tiles.start)?;
        let launch = Launch::new(kernel, grid, move |_| kernels::SendSurvivors {
            last,
            len,
            bases,
            slots,
            counted,
            before,
            source: source.argument(),
            shift,
            to,
        });
        Ok(launch.evaluating(f).with_shared(first.shared))
    }

    /// The buckets of a piece that a sender has sorted, in a member's memory.
    fn parts(&self, member: usize, sender: usize, piece: u64, parts: SenderParts) -> Buckets {
        Buckets {
            items: self.at(member, parts.items),
            keys: self.at(member, parts.keys),
            counts: self.at(member, parts.counts),
            capacity: self.sizes.part(sender, piece),
            overflow: self.at(member, self.layouts[member].overflow),
        }
    }

    /// Where a member sorts a piece to.
    fn outbox(&self, member: usize, piece: u64) -> Buckets {
        self.parts(member, member, piece, self.layouts[member].outboxes[self.turn(piece)])
    }

    /// The part of a sender's outbox that is for an owner.
    fn parts_for(&self, sender: usize, owner: usize, piece: u64) -> SenderParts {
        let outbox = self.layouts[sender].outboxes[self.turn(piece)];
        let first = self.sizes.owned(owner).start;
        outbox.from(first, self.sizes.part(sender, piece), self.sizes.word.bytes() as u64)
    }

    /// What a member sends of a piece: to the member after it first, so that not all send to the
    /// same.
    pub(super) fn deliveries(&self, sender: usize, piece: u64) -> Vec<MemberCopy> {
        let owners = (1..self.members()).map(|step| (sender + step) % self.members());
        owners
            .flat_map(|owner| self.deliveries_to(owner, sender, piece).into_iter().flatten())
            .collect()
    }

    /// What a member sends of a piece to another, if it has anything.
    pub(super) fn deliveries_to(
        &self,
        owner: usize,
        sender: usize,
        piece: u64,
    ) -> Option<[MemberCopy; 3]> {
        let owned = self.sizes.owned(owner);
        if self.sizes.piece(sender, piece).is_empty() || owned.is_empty() {
            return None;
        }
        let inbox = self.layouts[owner].inboxes[self.turn(piece)][sender]?;
        let outbox = self.parts_for(sender, owner, piece);
        let buckets = owned.end - owned.start;
        let records = buckets * self.sizes.part(sender, piece);
        let item = self.sizes.word.bytes() as u64;
        let parts = [
            (outbox.counts, inbox.counts, 4 * buckets),
            (outbox.items, inbox.items, item * records),
            (outbox.keys, inbox.keys, 4 * records),
        ];
        Some(parts.map(|(from, to, bytes)| MemberCopy {
            receiver: owner,
            from: self.at(sender, from),
            to: self.at(owner, to),
            bytes,
        }))
    }

    /// The plan that sorts what a member has kept of a piece.
    pub(super) fn sort_kept(&self, member: usize, piece: u64) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        self.sort(&mut plan, member, member, piece, self.parts_for(member, member, piece))?;
        Ok(plan)
    }

    /// The plan that sorts what a member has received of a piece and, after the last one, adds up
    /// what it has.
    pub(super) fn sort_received(&self, member: usize, piece: u64) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        let (sizes, layout) = (self.sizes, &self.layouts[member]);
        for (sender, inbox) in layout.inboxes[self.turn(piece)].iter().enumerate() {
            if let Some(inbox) = inbox {
                self.sort(&mut plan, member, sender, piece, *inbox)?;
            }
        }
        if piece + 1 == sizes.pieces && !sizes.dense {
            let counts = self.at(member, layout.counts);
            let bases = self.at(member, layout.bases);
            // There are at most 2^23 small buckets, and the sum of all is what comes before one
            // more.
            let len = sizes.small_buckets(member) as u32 + 1;
            plan.launch(Launch::new(of_one::scan_counts(), Grid::Blocks(1, 1), move |_| {
                of_one::ScanCounts { counts, len, bases }
            }));
        }
        Ok(plan)
    }

    /// The plan that puts what a member has at its places.
    pub(super) fn place(&self, member: usize) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
        let (sizes, layout) = (self.sizes, &self.layouts[member]);
        let (first, small) = (sizes.owned(member).start, sizes.small_buckets(member));
        if small == 0 {
            return Ok(plan);
        }
        let (bases, before) = (self.at(member, layout.bases), self.at(member, layout.before));
        let kernel = of_one::place(sizes.word, sizes.bucket_bits, sizes.dense);
        let (from, out) = (self.small(member), self.out);
        let first = first << sizes.second.bits;
        let place = Launch::new(kernel, Grid::blocks(small)?, move |_| kernels::PlaceInShards {
            from,
            bases,
            before,
            first,
            out: out.argument(),
        });
        plan.launch(place.with_shared(sizes.place_shared()));
        Ok(plan)
    }

    /// Adds the kernel that sorts a sender's piece, if there is one, into a member's small buckets.
    fn sort(
        &self,
        plan: &mut DevicePlan<'a>,
        member: usize,
        sender: usize,
        piece: u64,
        parts: SenderParts,
    ) -> Result<(), Error> {
        let sizes = self.sizes;
        let owned = sizes.owned(member);
        if owned.is_empty() || sizes.piece(sender, piece).is_empty() {
            return Ok(());
        }
        let (from, to) = (self.parts(member, sender, piece, parts), self.small(member));
        let tile = u64::from(of_one_tuning::PASS_THREADS * sizes.second.records);
        let grid = Grid::rows(from.capacity.div_ceil(tile), owned.end - owned.start)?;
        let shift = sizes.bucket_bits as i32;
        let kernel = of_one::distribute(sizes.second, sizes.word);
        let launch =
            Launch::new(kernel, grid, move |_| of_one::DistributeBucket { from, shift, to });
        plan.launch(launch.with_shared(sizes.second_shared()));
        Ok(())
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
    fn otherwise(&self, member: usize) -> Result<DevicePlan<'a>, Error> {
        let mut plan = DevicePlan::new();
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
