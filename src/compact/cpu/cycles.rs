//! Moving wide items along the cycles of a permutation, within their array: each is read once and
//! written once.
//!
//! ```text
//! q = the index of the item that moves to each place
//! saved = the items at every 64th place, the leaders
//! for each leader, on all threads, 16 at a time:
//!     k = leader
//!     while q[k] is no leader:
//!         item[k] = item[q[k]]; k = q[k]        prefetched since the step before
//!     item[k] = saved[q[k]]
//! one thread: the same for the cycles without a leader
//! ```
//!
//! One thread could follow a cycle with a single item set aside. But a random permutation has most
//! items on one cycle, and each step on it waits for memory. Leaders cut the cycles into *chains*,
//! which have no place in common. So threads follow different chains, and each thread several:
//! while it moves an item of one, those of the others are on their way from memory. On cycles
//! without a leader a random permutation has about 64 places altogether.
//!
//! The working memory is `q`, four bytes an item, and a 64th of the items. It is all there before
//! the first item moves, and the bijection is not called any more. So nothing can fail from then
//! on, and several columns can be moved together.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::checked_permutation::{CheckedPermutation, fits_u32};
use super::direct::MoveRun;
use super::places::RowRange;
use super::tuning;
use crate::Error;
use crate::compact::Direction;
use crate::compact::columns::{Column, item_bytes};
use crate::engine::abort::AbortOnUnwind;
use crate::engine::memory::{Buffer, SharedPtr, assume_init_mut};
use crate::engine::parallel;
use crate::engine::stream::{LINE, prefetch_lines};
use crate::engine::word::Index;

/// The distance of leaders.
const GAP: usize = 64;

/// The buffers that are needed.
#[derive(Debug, Default)]
pub(super) struct CycleBuffers {
    /// The list `q`.
    sources: Buffer,
    /// The leaders' items.
    saved: Buffer,
}

impl CycleBuffers {
    pub(super) const fn new() -> Self {
        Self { sources: Buffer::new(), saved: Buffer::new() }
    }

    pub(super) fn bytes(&self) -> usize {
        self.sources.bytes() + self.saved.bytes()
    }
}

/// Moves the items of columns, all of the permutation's length. Returns `false`, with nothing
/// moved, if most places are on cycles without a leader, which only one thread would follow.
///
/// # Errors
///
/// [`Error::OutOfMemory`], before anything is moved.
///
/// # Safety
///
/// Nobody else uses the columns, each of which has as many items as the permutation has indexes.
/// There are at most 2^32.
#[inline]
pub(super) unsafe fn reorder(
    p: &CheckedPermutation,
    direction: Direction,
    columns: &[Column],
    tiles: &mut Buffer,
    buffers: &mut CycleBuffers,
) -> Result<bool, Error> {
    let CycleBuffers { sources, saved } = buffers;
    let sources = list_sources(p, direction, tiles, sources)?;
    if !has_leaders(sources) {
        return Ok(false);
    }
    let leaders = p.len().div_ceil(GAP);
    let bytes = item_bytes(columns);
    // The columns themselves are in memory, so the product does not overflow.
    let saved = SharedPtr::new(saved.room::<u8>(leaders * bytes)?.as_mut_ptr().cast::<u8>());
    let chains = Chains { columns, bytes, saved, sources: SharedPtr::new(sources.as_mut_ptr()) };
    let share = leaders.div_ceil(rayon::current_num_threads() * tuning::SHARES);
    let shares = leaders.div_ceil(share);
    let share = |number: usize| number * share..leaders.min((number + 1) * share);

    // Nothing below unwinds. If it did, items would exist twice or not at all, so the guard aborts.
    let guard = AbortOnUnwind;
    parallel::each(shares, &|number| {
        for leader in share(number) {
            // SAFETY: the leaders' places are below the length, and nobody writes to the columns
            // yet. Each leader has its own room.
            unsafe { chains.save(leader * GAP, leader) };
        }
    });
    // SAFETY: all leaders' items have been set aside, the list is that of a permutation, and each
    // leader is in one share.
    parallel::each(shares, &|number| unsafe { chains.follow(share(number)) });
    // SAFETY: all chains have been followed.
    unsafe { chains.follow_rest(p.len()) };
    core::mem::forget(guard);
    Ok(true)
}

/// Lists for each place the index of the item that moves there.
///
/// # Errors
///
/// [`Error::OutOfMemory`].
#[inline]
fn list_sources<'a>(
    p: &CheckedPermutation,
    direction: Direction,
    tiles: &mut Buffer,
    sources: &'a mut Buffer,
) -> Result<&'a mut [u32], Error> {
    assert!(fits_u32(p.len()));
    let sources = sources.room::<u32>(p.len())?;
    match direction {
        Direction::Shuffle => p.for_each_run(&mut *sources, tiles, &WriteIndexes)?,
        Direction::Unshuffle => {
            let places = RowRange { first: 0, len: p.len(), bytes: size_of::<u32>() };
            p.for_each_run(places, tiles, &WritePlaces(SharedPtr::new(sources.as_mut_ptr())))?;
        }
    }
    // SAFETY: each place was in exactly one run, and so was each index. So every item of the list
    // has been written, in one direction by its place and in the other one by its index.
    Ok(unsafe { assume_init_mut(sources) })
}

/// Whether most of some places have a leader on their cycle, and not far away.
#[inline]
fn has_leaders(sources: &[u32]) -> bool {
    let places = (0..SAMPLES).map(|sample| (sample * sources.len() / SAMPLES) | 1);
    let has_leader = |start: &usize| {
        let mut k = *start;
        (0..FAR).any(|_| {
            k = sources[k] as usize;
            k.is_multiple_of(GAP)
        })
    };
    let places = places.filter(|&place| place < sources.len());
    places.filter(has_leader).count() * 4 > SAMPLES * 3
}

/// The number of places that [`has_leaders`] looks at.
const SAMPLES: usize = 16;

/// The number of steps in which nearly every place of a random permutation comes to a leader: in
/// all but one of ten million cases.
const FAR: usize = 16 * GAP;

/// Writes each index to its place.
struct WriteIndexes;

impl<N: Index> MoveRun<&mut [MaybeUninit<u32>], N> for WriteIndexes {
    fn move_run(&self, places: &mut [MaybeUninit<u32>], indices: &[N]) {
        for (place, &index) in places.iter_mut().zip(indices) {
            // The caller has at most 2^32 items.
            place.write(index.extend() as u32);
        }
    }
}

/// Writes each place to its index in a list, which has room for as many as the permutation has.
struct WritePlaces(SharedPtr<MaybeUninit<u32>>);

impl<N: Index> MoveRun<RowRange, N> for WritePlaces {
    fn move_run(&self, places: RowRange, indices: &[N]) {
        assert_eq!(places.len, indices.len());
        for (place, &index) in (places.first..).zip(indices) {
            // SAFETY: the indexes of a checked permutation are below its length, which is that of
            // the list.
            let source = unsafe { self.0.at(index.extend() as usize) };
            // SAFETY: each index is in one run only, so no other thread writes there.
            unsafe { source.write(MaybeUninit::new(place as u32)) };
        }
    }
}

/// What all threads see.
struct Chains<'a> {
    columns: &'a [Column],
    /// The bytes of one item of every column together.
    bytes: usize,
    /// Where the item for each place comes from; a place itself when its item has come.
    sources: SharedPtr<u32>,
    /// Room for the items of all leaders.
    saved: SharedPtr<u8>,
}

/// The next step of a chain.
#[derive(Clone, Copy, Default)]
struct ChainStep {
    place: usize,
    /// The index of the item that moves there.
    source: usize,
}

impl Chains<'_> {
    /// Follows the chains from some leaders on.
    ///
    /// # Safety
    ///
    /// The sources are a permutation, the items of all leaders have been set aside, and no other
    /// thread follows the chains of the same leaders.
    #[inline]
    unsafe fn follow(&self, leaders: Range<usize>) {
        let mut steps = [ChainStep::default(); tuning::CHAINS];
        let (mut live, mut waiting) = (0, leaders);
        loop {
            while live < steps.len()
                && let Some(leader) = waiting.next()
            {
                // SAFETY: a leader is a place, and its chain has not been followed.
                steps[live] = unsafe { self.fetch(leader * GAP) };
                live += 1;
            }
            if live == 0 {
                return;
            }
            let mut number = 0;
            while number < live {
                let ChainStep { place, source } = steps[number];
                if source.is_multiple_of(GAP) {
                    // SAFETY: the leader's item was set aside, and the place is one of this chain.
                    // Its own item has moved on, or was set aside.
                    unsafe { self.restore(source / GAP, place) };
                    live -= 1;
                    steps[number] = steps[live];
                } else {
                    // SAFETY: both places are of this chain, which no other thread follows, and
                    // they differ, since a source that is its own place has no chain leading to
                    // it. The item at the place has moved on, or was set aside.
                    unsafe { self.copy(source, place) };
                    // SAFETY: the source is the next place of the chain.
                    steps[number] = unsafe { self.fetch(source) };
                    number += 1;
                }
            }
        }
    }

    /// The step that brings a place its item, which is prefetched.
    ///
    /// # Safety
    ///
    /// The place has not been fetched, and no other thread follows its chain.
    #[inline]
    unsafe fn fetch(&self, place: usize) -> ChainStep {
        // SAFETY: a place is below the length, which is that of the list.
        let at = unsafe { self.sources.at(place) };
        // SAFETY: only the thread that follows the place's chain reads or writes its source.
        let source = unsafe { at.replace(place as u32) } as usize;
        prefetch_lines(self.sources.wrapping_at(source).cast(), 1);
        if !source.is_multiple_of(GAP) {
            for column in self.columns {
                let lines = column.bytes.min(tuning::AHEAD_BYTES).div_ceil(LINE);
                prefetch_lines(column.start.wrapping_add(source * column.bytes), lines);
            }
        }
        ChainStep { place, source }
    }

    /// Moves the items of the places that are not on chains.
    ///
    /// # Safety
    ///
    /// All chains have been followed, to the end of the lists, whose length this is. No other
    /// thread uses them.
    #[inline]
    unsafe fn follow_rest(&self, len: usize) {
        for first in 0..len {
            // SAFETY: `first` is below the length, which is that of the list.
            let source = unsafe { self.sources.at(first) };
            // SAFETY: no other thread uses the list.
            if unsafe { source.read() } as usize == first {
                continue;
            }
            // SAFETY: its item has not come, so it has not been fetched.
            let mut step = unsafe { self.fetch(first) };
            // SAFETY: `first` is a place, and the room for the first leader is not used any more.
            unsafe { self.save(first, 0) };
            while step.source != first {
                // SAFETY: the two are neighbours on a cycle of more than one place, and the item at
                // the place has moved on, or was set aside.
                unsafe { self.copy(step.source, step.place) };
                // SAFETY: the source is the next place of the cycle.
                step = unsafe { self.fetch(step.source) };
            }
            // SAFETY: the first place's item was set aside, and that at the last has moved on.
            unsafe { self.restore(0, step.place) };
        }
    }

    /// Copies the items at an index to a place.
    ///
    /// # Safety
    ///
    /// They are different places of the columns, and no other thread uses them meanwhile.
    #[inline]
    unsafe fn copy(&self, source: usize, place: usize) {
        for &Column { start, bytes } in self.columns {
            // SAFETY: the caller promises that the column has an item at the index.
            let from = unsafe { start.add(source * bytes) };
            // SAFETY: and one at the place.
            let to = unsafe { start.add(place * bytes) };
            // SAFETY: they are two items, so they do not overlap, and nobody else uses them.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }

    /// Sets the items at a place aside, in the room for a leader.
    ///
    /// # Safety
    ///
    /// It is a place of the columns, there is such a leader, and no other thread writes to the
    /// place, or uses the room.
    unsafe fn save(&self, place: usize, leader: usize) {
        // SAFETY: there is room for the items of all leaders.
        let mut to = unsafe { self.saved.at(leader * self.bytes) };
        for &Column { start, bytes } in self.columns {
            // SAFETY: the caller promises that the column has an item at the place.
            let from = unsafe { start.add(place * bytes) };
            // SAFETY: a leader's room has as many bytes as the items of all columns together, and
            // is not in a column.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
            to = to.wrapping_add(bytes);
        }
    }

    /// Copies the items in the room of a leader to a place.
    ///
    /// # Safety
    ///
    /// Items were set aside in the room, it is a place of the columns, and no other thread uses the
    /// place, or writes to the room.
    unsafe fn restore(&self, leader: usize, place: usize) {
        // SAFETY: there is room for the items of all leaders.
        let mut from = unsafe { self.saved.at(leader * self.bytes) }.cast_const();
        for &Column { start, bytes } in self.columns {
            // SAFETY: the caller promises that the column has an item at the place.
            let to = unsafe { start.add(place * bytes) };
            // SAFETY: `save` has written as many bytes there, outside the columns.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
            from = from.wrapping_add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::bijection::{Lcg, MulXorshift};
    use crate::compact::columns::{ColumnSet, Rows};
    use crate::compact::plain::Plain;
    use crate::compact::{Compactor, Serial};
    use crate::{Bijection, FromSeed};

    /// Moves rows of a width, and a column of numbers with them, there and back. Returns whether
    /// they were moved.
    fn check(f: &dyn Bijection, len: usize, width: usize) -> bool {
        let mut p = vec![0_u32; len];
        Serial.write_indexes(f, &mut p).unwrap();
        let row = |k: u32| (0..width).map(move |byte| (k as usize * 31 + byte * 7) as u8);
        let source: Vec<u8> = (0..len as u32).flat_map(row).collect();
        let numbers: Vec<String> = (0..len).map(|k| k.to_string()).collect();
        let (mut rows, mut texts) = (source.clone(), numbers.clone());
        let mut buffers = CycleBuffers::new();
        let mut move_all = |direction, rows: &mut [u8], texts: &mut [String]| {
            let columns = (Rows::new(rows, width).unwrap(), texts);
            let columns = ColumnSet::new(columns).unwrap();
            let checked = CheckedPermutation::new(f, len).unwrap();
            let tiles = &mut Buffer::new();
            // SAFETY: the set borrows both columns, which are of one length.
            unsafe { reorder(&checked, direction, columns.columns(), tiles, &mut buffers) }.unwrap()
        };
        let is_moved = move_all(Direction::Shuffle, &mut rows, &mut texts);
        if is_moved {
            assert!(p.iter().flat_map(|&k| row(k)).eq(rows.iter().copied()), "{len} rows");
            assert!(p.iter().map(|&k| &numbers[k as usize]).eq(&texts), "{len} texts");
            assert!(move_all(Direction::Unshuffle, &mut rows, &mut texts));
        }
        assert!(rows == source && texts == numbers, "{len} rows of {width} bytes, back");
        is_moved
    }

    #[test]
    fn rows_of_any_number_and_width_are_moved() {
        for threads in [1, 2, 7] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for len in [1, 2, 3, 63, 64, 65, 1000, 4097, 30_000] {
                let f = MulXorshift::<10>::from_seed(len as u64, 3);
                let is_moved = pool.install(|| check(&f, len, 200));
                // On few places chance decides whether there are leaders on most cycles.
                assert!(is_moved || len < 4096, "{len}");
            }
            let f = MulXorshift::<10>::from_seed(3000, 1);
            for width in [1, 7, 64, 401, 5000] {
                assert!(pool.install(|| check(&f, 3000, width)), "{width}");
            }
        }
    }

    /// So few rows that Miri can watch them, on one cycle.
    #[test]
    fn short_form_rows_move_along_cycles() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        assert!(pool.install(|| check(&Lcg::new(9, 5, 3).unwrap(), 512, 20)));
    }

    #[test]
    fn other_permutations_are_followed_or_left_to_another_strategy() {
        // One cycle, on which every 64th place is a leader.
        assert!(check(&Lcg::new(12, 5, 3).unwrap(), 4096, 200));
        // Not trusted, and so listed and checked before.
        assert!(check(&Plain(MulXorshift::<10>::from_seed(3000, 5)), 3000, 200));
        // Nothing moves, and pairs are exchanged: there are no leaders on nearly all cycles.
        assert!(!check(&Lcg::new(12, 1, 0).unwrap(), 4096, 200));
        assert!(!check(&Lcg::new(12, 1, 2048).unwrap(), 4096, 200));
    }
}
