//! [`SurvivorIndex`]: rank and select among the slots of a compacted permutation.
//!
//! Where the length does not fill the domain, place `k` is that of the `k`-th survivor, and only
//! counting can tell which slot that is. The index holds two levels of counts of survivors: those
//! before every superblock of 2^15 slots, and, relative to its superblock, those before every block
//! of a few hundred slots. A query evaluates one block.
//!
//! `try_get` and `try_position` are select and rank in the bits "slot i survives". The counts are
//! the two levels of the rank directories of succinct bit vectors (Jacobson, *Space-efficient
//! static trees and graphs*, FOCS 1989; Vigna, *Broadword implementation of rank/select queries*,
//! WEA 2008). The bit vector itself is not stored, because the bijection computes it: a block of
//! 512 slots in a sixth of a microsecond. Where there are more than 64 points for each item, a list
//! of the slots takes less memory than counts.
//!
//! The index is built at first use. Lookups and methods that begin in the middle of a range return
//! an error if that fails; an iterator that has begun panics, unless `build_index` has reported the
//! failure beforehand.

use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use super::tuning;
use crate::compact::{SlotRange, Values, is_parallel, room_for};
use crate::engine::IndexError;
use crate::engine::check::{try_with_capacity, try_with_capacity_u64};
use crate::engine::parallel;
use crate::error::{Defect, ViewError};
use crate::{Bijection, Error};

/// The index by which `Permutation::get` and `position` find places and slots where the
/// length does not fill the bijection's domain. `Permutation::build_index` says what it takes;
/// benches/notes/views.md has the times.
#[derive(Clone)]
pub(super) struct SurvivorIndex(IndexForm);

#[derive(Clone)]
enum IndexForm {
    Counts(SurvivorCounts),
    /// The slots of the survivors, in order.
    Slots(Vec<u64>),
}

/// Counts of survivors.
#[derive(Clone)]
struct SurvivorCounts {
    /// The last slot of the domain, as it was when the survivors were counted.
    last: u64,
    /// A block has `2^bits` slots.
    bits: u32,
    /// The number of survivors before each superblock.
    superblocks: Vec<u64>,
    /// The number of survivors before each block, within its superblock.
    blocks: Vec<u16>,
}

/// A superblock has `2^15` slots, so that a count within it fits 16 bits.
const SUPERBLOCK_BITS: u32 = 15;

use tuning::SCAN_RUN as RUN;

/// Room for the survivors of a run of slots.
type SurvivorRoom = [MaybeUninit<u64>; room_for(RUN)];

pub(super) const fn room() -> SurvivorRoom {
    [MaybeUninit::uninit(); room_for(RUN)]
}

/// A slot from which to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Landmark {
    /// A slot.
    pub(super) slot: u64,
    /// The number of survivors before it.
    pub(super) place: u64,
}

impl SurvivorIndex {
    /// Checks a number of slots for a block.
    ///
    /// # Errors
    ///
    /// [`ViewError::BlockSizeOutOfRange`](crate::error::ViewError::BlockSizeOutOfRange) if it is
    /// not a power of two from 64 to 32768.
    pub(super) fn check_block(slots: u64) -> Result<(), Error> {
        if slots.is_power_of_two() && (64..=1 << SUPERBLOCK_BITS).contains(&slots) {
            Ok(())
        } else {
            Err(Error::View(ViewError::BlockSizeOutOfRange { slots }))
        }
    }

    /// Counts, or lists, the survivors below a length of at least 1, as long as `go_on` says so:
    /// `None` if it has said no. The number of slots to a block must have been
    /// [checked](Self::check_block).
    ///
    /// # Errors
    ///
    /// [`IndexError::OutOfMemory`], and [`IndexError::NotABijection`] if the number of survivors is
    /// not the length.
    pub(super) fn build<B: Bijection>(
        bijection: &B,
        len: u64,
        slots_per_block: u64,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>, IndexError> {
        // A permutation inside this one then builds its own index now, and not on many threads at
        // once.
        bijection.forward(0);
        let form = if bijection.last() / len >= tuning::SPARSE {
            list_slots(bijection, len, go_on)?.map(IndexForm::Slots)
        } else {
            let bits = slots_per_block.trailing_zeros();
            SurvivorCounts::build(bijection, len, bits, go_on)?.map(IndexForm::Counts)
        };
        Ok(form.map(Self))
    }

    /// The index of a domain whose blocks' survivors somebody else counts: `count` writes the
    /// numbers of the blocks from one on.
    ///
    /// # Errors
    ///
    /// As [`build`](Self::build), and those of `count`.
    #[cfg(all(
        feature = "cuda",
        target_pointer_width = "64",
        any(target_os = "linux", target_os = "windows")
    ))]
    pub(super) fn from_counts(
        last: u64,
        len: u64,
        slots_per_block: u64,
        count: impl FnMut(u64, &mut [u32]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let bits = slots_per_block.trailing_zeros();
        let together = tuning::SUPERBLOCKS_TOGETHER;
        Ok(Self(IndexForm::Counts(SurvivorCounts::from_blocks(last, len, bits, together, count)?)))
    }

    /// The slots of the survivors in order, if they are listed.
    pub(super) fn slots(&self) -> Option<&[u64]> {
        match &self.0 {
            IndexForm::Slots(slots) => Some(slots),
            IndexForm::Counts(_) => None,
        }
    }

    /// The size of the index in bytes.
    pub(super) fn bytes(&self) -> usize {
        match &self.0 {
            IndexForm::Counts(counts) => {
                size_of_val(&*counts.superblocks) + size_of_val(&*counts.blocks)
            }
            IndexForm::Slots(slots) => size_of_val(&**slots),
        }
    }

    /// The value at the slot that survives at a place; `None` only if the bijection breaks its
    /// requirements.
    pub(super) fn select<B: Bijection>(&self, bijection: &B, len: u64, place: u64) -> Option<u64> {
        match &self.0 {
            IndexForm::Slots(slots) => {
                let slot = *slots.get(usize::try_from(place).ok()?)?;
                Some(bijection.forward(slot)).filter(|&index| index < len)
            }
            IndexForm::Counts(counts) => counts.select(&Values::unchecked(bijection, len), place),
        }
    }

    /// The number of survivors before a slot.
    pub(super) fn rank<B: Bijection>(&self, bijection: &B, len: u64, slot: u64) -> u64 {
        match &self.0 {
            IndexForm::Slots(slots) => slots.partition_point(|&other| other < slot) as u64,
            IndexForm::Counts(counts) => counts.rank(&Values::unchecked(bijection, len), slot),
        }
    }

    /// A slot not after the one that survives at a place, with the number of survivors before it.
    /// `None` if the slots are listed.
    pub(super) fn before(&self, place: u64) -> Option<Landmark> {
        match &self.0 {
            IndexForm::Slots(_) => None,
            IndexForm::Counts(counts) => Some(counts.before(place)),
        }
    }

    /// A slot after the one that survives at a place, with the number of survivors before it.
    /// `None` if that would be after all slots, or if the slots are listed.
    pub(super) fn after(&self, place: u64) -> Option<Landmark> {
        match &self.0 {
            IndexForm::Slots(_) => None,
            IndexForm::Counts(counts) => counts.after(place),
        }
    }
}

impl SurvivorCounts {
    fn build<B: Bijection>(
        bijection: &B,
        len: u64,
        bits: u32,
        go_on: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Self>, IndexError> {
        let last = bijection.last();
        let superblocks = (last >> SUPERBLOCK_BITS) + 1;
        let blocks = (last >> bits) + 1;
        let mut counts = Self {
            last,
            bits,
            superblocks: vec_of_zeros(superblocks)?,
            blocks: vec_of_zeros(blocks)?,
        };
        let values = Values::unchecked(bijection, len);
        let per_superblock = 1 << (SUPERBLOCK_BITS - bits);
        let is_stopped = AtomicBool::new(false);
        let count = |number: usize, total: &mut u64, blocks: &mut [u16]| {
            if goes_on(&is_stopped, go_on) {
                *total = count_blocks(&values, (number as u64) << SUPERBLOCK_BITS, bits, blocks);
            }
        };
        let Self { superblocks, blocks, .. } = &mut counts;
        let totals = superblocks.iter_mut().zip(blocks.chunks_mut(per_superblock)).enumerate();
        if is_parallel(last) {
            let mut work = try_with_capacity(totals.len())?;
            work.extend(totals);
            parallel::each_of(work, |(number, (total, blocks))| count(number, total, blocks));
        } else {
            totals.for_each(|(number, (total, blocks))| count(number, total, blocks));
        }
        if is_stopped.into_inner() { Ok(None) } else { counts.sum(len).map(Some) }
    }

    /// Sums the counts of superblocks, each of which is that of its own survivors until now.
    fn sum(mut self, len: u64) -> Result<Self, IndexError> {
        let mut before = 0;
        for superblock in &mut self.superblocks {
            let count = core::mem::replace(superblock, before);
            before += count;
        }
        if before != len {
            let actual = before.min(len.saturating_add(1));
            return Err(IndexError::NotABijection(Defect::Survivors { expected: len, actual }));
        }
        Ok(self)
    }

    /// Builds the index from counts that `count` gets from another device, some superblocks at a
    /// time. While that counts some, the host adds up those that came before.
    #[cfg(all(
        feature = "cuda",
        target_pointer_width = "64",
        any(target_os = "linux", target_os = "windows")
    ))]
    fn from_blocks(
        last: u64,
        len: u64,
        bits: u32,
        superblocks_together: u64,
        mut count: impl FnMut(u64, &mut [u32]) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let all_blocks = (last >> bits) + 1;
        let superblocks = try_with_capacity_u64((last >> SUPERBLOCK_BITS) + 1);
        let superblocks = superblocks.map_err(IndexError::from)?;
        let blocks = try_with_capacity_u64(all_blocks).map_err(IndexError::from)?;
        let mut all = Self { last, bits, superblocks, blocks };
        let together = superblocks_together << (SUPERBLOCK_BITS - bits);
        let (mut counting, mut counted) = (Vec::new(), Vec::new());
        for first in (0..all_blocks).step_by(together as usize) {
            counting.resize(together.min(all_blocks - first) as usize, 0);
            rayon::in_place_scope(|scope| {
                if !counted.is_empty() {
                    let (all, counted) = (&mut all, &counted);
                    scope.spawn(move |_| all.append(counted));
                }
                count(first, &mut counting)
            })?;
            core::mem::swap(&mut counting, &mut counted);
        }
        all.append(&counted);
        Ok(all.sum(len)?)
    }

    /// Appends the counts of the blocks of some superblocks. Only the last superblock may be
    /// shorter.
    #[cfg(all(
        feature = "cuda",
        target_pointer_width = "64",
        any(target_os = "linux", target_os = "windows")
    ))]
    fn append(&mut self, counted: &[u32]) {
        for superblock in counted.chunks(1 << (SUPERBLOCK_BITS - self.bits)) {
            let mut before = 0;
            self.blocks.extend(superblock.iter().map(|survivors| {
                // Less than 2^15, so 16 bits are enough: this block is not counted yet.
                let block = before as u16;
                before += survivors;
                block
            }));
            self.superblocks.push(u64::from(before));
        }
    }

    /// The blocks of a superblock, and the number of the first.
    fn blocks_of(&self, superblock: usize) -> (usize, &[u16]) {
        let shift = SUPERBLOCK_BITS - self.bits;
        let first = superblock << shift;
        let end = ((superblock + 1) << shift).min(self.blocks.len());
        (first, &self.blocks[first..end])
    }

    /// The last block with at most `place` survivors before it.
    fn block_of(&self, place: u64) -> usize {
        let superblock = self.superblocks.partition_point(|&before| before <= place) - 1;
        let (first, blocks) = self.blocks_of(superblock);
        let within = place - self.superblocks[superblock];
        first + blocks.partition_point(|&before| u64::from(before) <= within) - 1
    }

    /// The first slot of a block, and the number of survivors before it.
    fn landmark(&self, block: usize) -> Landmark {
        let slot = (block as u64) << self.bits;
        let place =
            self.superblocks[(slot >> SUPERBLOCK_BITS) as usize] + u64::from(self.blocks[block]);
        Landmark { slot, place }
    }

    fn before(&self, place: u64) -> Landmark {
        self.landmark(self.block_of(place))
    }

    fn after(&self, place: u64) -> Option<Landmark> {
        let next = self.block_of(place) + 1;
        (next < self.blocks.len()).then(|| self.landmark(next))
    }

    fn select(&self, values: &Values, place: u64) -> Option<u64> {
        let start = self.before(place);
        let mut left = (place - start.place) as usize;
        let mut room = room();
        let mut found = None;
        for_each_run(start.slot, self.last, 1 << self.bits, |slots| {
            let survivors = values.survivors(slots, &mut room);
            found = survivors.get(left).copied();
            left = left.wrapping_sub(survivors.len());
            found.is_none()
        });
        found
    }

    fn rank(&self, values: &Values, slot: u64) -> u64 {
        // A wrong bijection may return another domain by now.
        let slot = slot.min(self.last);
        let mut start = self.landmark((slot >> self.bits) as usize);
        let mut room = room();
        if let Some(last) = slot.checked_sub(1).filter(|&last| last >= start.slot) {
            for_each_run(start.slot, last, 1 << self.bits, |slots| {
                start.place += values.survivors::<u64>(slots, &mut room).len() as u64;
                true
            });
        }
        start.place
    }
}

/// Writes the number of survivors before each block of a superblock, and returns the number in all.
fn count_blocks(values: &Values, first: u64, bits: u32, blocks: &mut [u16]) -> u64 {
    let mut room = room();
    let mut count = 0;
    for (slot, block) in (first..).step_by(1 << bits).zip(blocks) {
        // Less than 2^15, so 16 bits are enough: this block is not counted yet.
        *block = count as u16;
        for_each_run(slot, values.last_slot(), 1 << bits, |slots| {
            count += values.survivors::<u64>(slots, &mut room).len() as u64;
            true
        });
    }
    count
}

/// Visits at most `most` slots from `first` on, up to `last`, a run at a time, until the visitor
/// returns `false`.
pub(super) fn for_each_run(
    first: u64,
    last: u64,
    most: usize,
    mut visit: impl FnMut(SlotRange) -> bool,
) {
    let mut left = most;
    let mut next = Some(SlotRange::from(first, last, left.min(RUN)));
    while let Some(slots) = next {
        left -= slots.count();
        if !visit(slots) || left == 0 {
            return;
        }
        next = slots.next(last, left.min(RUN));
    }
}

/// Whether some work on many threads goes on: not if it was stopped, or is told to stop now.
fn goes_on(is_stopped: &AtomicBool, go_on: &(dyn Fn() -> bool + Sync)) -> bool {
    if !is_stopped.load(Ordering::Relaxed) && go_on() {
        return true;
    }
    is_stopped.store(true, Ordering::Relaxed);
    false
}

/// The slots of all indexes, in order; `None` if `go_on` has said no.
fn list_slots<B: Bijection>(
    bijection: &B,
    len: u64,
    go_on: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<u64>>, IndexError> {
    let mut slots = vec_of_zeros(len)?;
    let is_stopped = AtomicBool::new(false);
    let evaluate = |(chunk, slots): (usize, &mut [u64])| {
        if goes_on(&is_stopped, go_on) {
            bijection.inverse_run((chunk * RUN) as u64, slots);
        }
    };
    if is_parallel(len) {
        parallel::each_chunk(&mut slots, RUN, |chunk, slots| evaluate((chunk, slots)));
    } else {
        slots.chunks_mut(RUN).enumerate().for_each(evaluate);
    }
    if is_stopped.into_inner() {
        return Ok(None);
    }
    if is_parallel(len) {
        slots.par_sort_unstable();
    } else {
        slots.sort_unstable();
    }
    // Every index must have a different slot, within the domain.
    let different = slots.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64 + 1;
    let beyond = slots.last().is_some_and(|&slot| slot > bijection.last());
    if different < len || beyond {
        let actual = different.min(len - 1);
        return Err(IndexError::NotABijection(Defect::Survivors { expected: len, actual }));
    }
    Ok(Some(slots))
}

/// A vector of `len` zeros.
///
/// # Errors
///
/// [`IndexError::OutOfMemory`].
fn vec_of_zeros<T: Copy + Default>(len: u64) -> Result<Vec<T>, IndexError> {
    let mut vec = try_with_capacity_u64(len)?;
    // The room is for as many, so this is no truncation.
    vec.resize(len as usize, T::default());
    Ok(vec)
}
