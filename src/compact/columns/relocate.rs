//! Moving the items of several columns by a plan.
//!
//! The items at one place travel together, as a [record](super::record). By the partitioned strategy, records are put
//! together while the columns are read, in order, and taken apart while the columns are written, in order: evaluations,
//! sorting and placing are those of one array of records. By the direct strategy the records of all items are written
//! to working memory first, and then gathered from there, straight to the columns: one random access to a record in
//! place of one to each of its items, and as many passes over memory as a single array takes.
//!
//! More bytes than a record has are cut in several records, and those of one item, if it is larger, are copied by
//! themselves; all this by the direct strategy, which wastes little of the lines that it fetches then.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::frame::Frame;
use super::record::{Group, Record, with_record};
use crate::compact::cpu::memory::{Base, Buffer};
use crate::compact::cpu::partitioned::Direction;
use crate::compact::cpu::places::{Places, Source, Target};
use crate::compact::cpu::stream::stream;
use crate::compact::cpu::{Memory, tuning};
use crate::compact::relocate::{Plan, Put};
use crate::error::Error;
use crate::word::Word;

/// Moves the items of all columns by a plan, for their length.
///
/// # Errors
///
/// [`Error::OutOfMemory`] and [`Error::NotABijection`]; every item is then where it was, as it is after a panic.
pub(in crate::compact) fn relocate_together(
    plan: &Plan,
    direction: Direction,
    frame: &mut Frame,
    memory: &mut Memory,
) -> Result<(), Error> {
    assert_eq!(frame.len(), Some(plan.len()));
    let groups = Group::all(frame.columns());
    let bytes = groups.iter().map(|group| group.bytes).sum();
    plan.run(bytes, || {
        let moved = match &groups[..] {
            [] => true,
            [group] => with_record!(
                group.bytes,
                BYTES => sort::<BYTES>(plan, direction, group, memory)?,
                else false
            ),
            _ => false,
        };
        if moved { Ok(()) } else { Records::new(&groups, plan.len(), memory)?.run(plan, direction) }
    })
}

/// Moves the items by the partitioned strategy, if they are to be; `false`, and nothing is written, if not, or if they
/// turn out not to be fit for it.
fn sort<const BYTES: usize>(
    plan: &Plan,
    direction: Direction,
    group: &Group,
    memory: &mut Memory,
) -> Result<bool, Error> {
    let Some(sorting) = plan.sorting::<Record<BYTES>>(direction, memory) else {
        return Ok(false);
    };
    let groups = core::slice::from_ref(group);
    let places = Stretch { groups, first: 0, len: plan.len() };
    let places = Recorded::<BYTES>(places);
    // SAFETY: the columns have as many items as the plan, and the frame is borrowed.
    let moved = unsafe { sorting.run(&Packing::<BYTES>(group), places, &mut memory.partition) };
    memory.settle(moved)
}

/// The items of a group, read as records.
struct Packing<'a, const BYTES: usize>(&'a Group);

impl<const BYTES: usize> Source<Record<BYTES>> for Packing<'_, BYTES> {
    type Room = [MaybeUninit<Record<BYTES>>; tuning::RECORDS];

    const RUN: usize = tuning::RECORDS;

    #[inline(always)]
    fn room() -> Self::Room {
        [MaybeUninit::uninit(); tuning::RECORDS]
    }

    #[inline(always)]
    unsafe fn read(
        &self,
        first: usize,
        count: usize,
        room: &mut Self::Room,
    ) -> *const Record<BYTES> {
        debug_assert!(count <= room.len());
        // SAFETY: the caller's promise, and the room is for so many records.
        unsafe { self.0.pack(first, count, room.as_mut_ptr().cast()) };
        room.as_ptr().cast()
    }
}

/// Places of all the columns, from the first on.
struct Stretch<'a> {
    groups: &'a [Group],
    first: usize,
    len: usize,
}

impl Places for Stretch<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn item_bytes(&self) -> usize {
        self.groups.iter().map(|group| group.bytes).sum()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count <= self.len);
        let rest = Self { first: self.first + count, len: self.len - count, ..self };
        (Self { len: count, ..self }, rest)
    }
}

/// Places of a single group, for records.
struct Recorded<'a, const BYTES: usize>(Stretch<'a>);

impl<const BYTES: usize> Places for Recorded<'_, BYTES> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn item_bytes(&self) -> usize {
        self.0.item_bytes()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        let (places, rest) = self.0.cut(count);
        (Self(places), Self(rest))
    }
}

impl<const BYTES: usize> Target<Record<BYTES>> for Recorded<'_, BYTES> {
    fn stream(self, records: &[MaybeUninit<Record<BYTES>>]) {
        let Stretch { groups, first, len } = self.0;
        assert_eq!(records.len(), len);
        let mut room = [MaybeUninit::<u8>::uninit(); tuning::STREAMED_BYTES];
        for group in groups {
            for field in 0..group.fields() {
                let (_, bytes) = group.place(field, 0);
                let run = tuning::STREAMED_BYTES / bytes;
                for (first, records) in (first..).step_by(run).zip(records.chunks(run)) {
                    let items = &mut room[..records.len() * bytes];
                    let from = records.as_ptr().cast();
                    // SAFETY: so many records are there, and so much room.
                    unsafe {
                        group.unpack_to(field, records.len(), from, items.as_mut_ptr().cast())
                    };
                    let (to, _) = group.place(field, first);
                    // SAFETY: the places are below the columns' length, and this stretch alone has them.
                    let to = unsafe { core::slice::from_raw_parts_mut(to.cast(), items.len()) };
                    stream(items, to);
                }
            }
        }
    }
}

/// The records of all items, for the direct strategy.
struct Records<'a> {
    groups: &'a [Group],
    len: usize,
    /// Of each group, room for the records of all items.
    rooms: Vec<Base<u8>>,
    tiles: &'a mut Buffer,
}

impl<'a> Records<'a> {
    /// Gets the memory.
    fn new(groups: &'a [Group], len: usize, memory: &'a mut Memory) -> Result<Self, Error> {
        let bytes = groups.iter().map(|group| group.bytes).sum();
        // All of it is less than the columns and some, which are in memory.
        let room = memory.scratch.room::<u8>(len.saturating_mul(bytes))?;
        let mut start = room.as_mut_ptr().cast::<u8>();
        let rooms = groups.iter().map(|group| {
            let room = start;
            start = start.wrapping_add(len * group.bytes);
            Base::new(room)
        });
        let rooms = rooms.collect();
        Ok(Self { groups, len, rooms, tiles: &mut memory.partition.tiles })
    }

    /// Moves the items by a plan.
    fn run(self, plan: &Plan, direction: Direction) -> Result<(), Error> {
        let Self { groups, len, ref rooms, tiles } = self;
        assert_eq!(plan.len(), len);
        // A pool that cannot be started makes rayon panic, so it is asked for before anything is written.
        rayon::current_num_threads();
        let places = Stretch { groups, first: 0, len };
        let records = Copies { groups, rooms, len };
        match direction {
            Direction::Shuffle => {
                records.pack();
                let restored = Restore(&records);
                plan.hand_out(places, tiles, &Gather(&records))?;
                core::mem::forget(restored);
            }
            Direction::Unshuffle => {
                plan.hand_out(places, tiles, &Scatter(&records))?;
                records.unpack();
            }
        }
        Ok(())
    }
}

/// Records in working memory, by their columns' places.
struct Copies<'a> {
    groups: &'a [Group],
    rooms: &'a [Base<u8>],
    len: usize,
}

impl Copies<'_> {
    /// The address of a record.
    #[inline(always)]
    fn record(&self, group: usize, index: usize) -> *mut u8 {
        debug_assert!(index < self.len);
        // SAFETY: every caller's index is below the length, and the room is for so many records.
        unsafe { self.rooms[group].at(index * self.groups[group].bytes) }
    }

    /// Makes the records of all items.
    fn pack(&self) {
        self.for_each_run(|first, count| {
            for (number, group) in self.groups.iter().enumerate() {
                // SAFETY: of each place once, below the length; the columns are borrowed.
                unsafe { group.pack(first, count, self.record(number, first)) };
            }
        });
    }

    /// Puts the items in the records, which are all there, over the columns.
    fn unpack(&self) {
        self.for_each_run(|first, count| self.unpack_run(first, count));
    }

    fn unpack_run(&self, first: usize, count: usize) {
        for (number, group) in self.groups.iter().enumerate() {
            // SAFETY: of each place once, below the length; the columns are borrowed.
            unsafe { group.unpack(first, count, self.record(number, first)) };
        }
    }

    /// Goes through all places, several runs at a time.
    fn for_each_run(&self, f: impl Fn(usize, usize) + Sync) {
        let run = tuning::RECORDS;
        let at = |first: usize| f(first, (self.len - first).min(run));
        let bytes = self.groups.iter().map(|group| group.bytes).sum();
        if tuning::is_sequential(self.len, bytes) {
            (0..self.len).step_by(run).for_each(at);
        } else {
            let runs = (0..self.len.div_ceil(run)).into_par_iter();
            runs.with_min_len(tuning::MOVE_CHUNK / run).for_each(|number| at(number * run));
        }
    }
}

/// Puts every item back where it was, if the columns cannot be overwritten to the end.
struct Restore<'a>(&'a Copies<'a>);

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        // On this thread alone: whatever has failed, this does not.
        self.0.unpack_run(0, self.0.len);
    }
}

/// Copies the records at the indexes to the columns' places.
struct Gather<'a>(&'a Copies<'a>);

impl Put<Stretch<'_>> for Gather<'_> {
    fn put<N: Word>(&self, places: Stretch, indices: &[N]) {
        assert_eq!(places.len, indices.len());
        for (number, group) in self.0.groups.iter().enumerate() {
            let room = self.0.record(number, 0);
            with_record!(
                group.bytes,
                BYTES => gather::<BYTES, N>(group, room.cast(), places.first, indices),
                else gather_rows(group, room, places.first, indices)
            );
        }
    }
}

fn gather<const BYTES: usize, N: Word>(
    group: &Group,
    records: *const Record<BYTES>,
    first: usize,
    indices: &[N],
) {
    let fetch = |index: N| {
        // SAFETY: the indexes of a plan are below its length, which is that of the records.
        unsafe { *records.add(index.widen() as usize) }
    };
    let mut room = [MaybeUninit::uninit(); tuning::RECORDS];
    for (first, indices) in (first..).step_by(tuning::RECORDS).zip(indices.chunks(tuning::RECORDS))
    {
        for (place, &index) in room.iter_mut().zip(indices) {
            place.write(fetch(index));
        }
        // SAFETY: these places were handed out to the caller alone, and so many records were fetched.
        unsafe { group.unpack(first, indices.len(), room.as_ptr().cast()) };
    }
}

fn gather_rows<N: Word>(group: &Group, records: *const u8, first: usize, indices: &[N]) {
    let column = group.plain().expect("there are records for all else");
    for (place, &index) in (first..).zip(indices) {
        let from = records.wrapping_add(index.widen() as usize * column.bytes);
        let to = column.start.wrapping_add(place * column.bytes);
        // SAFETY: the indexes of a plan are below its length, which is that of the records; the places were handed
        // out to the caller alone.
        unsafe { ptr::copy_nonoverlapping(from, to, column.bytes) };
    }
}

/// Copies the items at the columns' places to the records at the indexes.
struct Scatter<'a>(&'a Copies<'a>);

impl Put<Stretch<'_>> for Scatter<'_> {
    fn put<N: Word>(&self, places: Stretch, indices: &[N]) {
        assert_eq!(places.len, indices.len());
        for (number, group) in self.0.groups.iter().enumerate() {
            let room = self.0.record(number, 0);
            with_record!(
                group.bytes,
                BYTES => scatter::<BYTES, N>(group, room.cast(), places.first, indices),
                else scatter_rows(group, room, places.first, indices)
            );
        }
    }
}

fn scatter<const BYTES: usize, N: Word>(
    group: &Group,
    records: *mut Record<BYTES>,
    first: usize,
    indices: &[N],
) {
    let mut room = [MaybeUninit::<Record<BYTES>>::uninit(); tuning::RECORDS];
    for (first, indices) in (first..).step_by(tuning::RECORDS).zip(indices.chunks(tuning::RECORDS))
    {
        // SAFETY: these places were handed out to the caller alone, and the room is for so many records.
        unsafe { group.pack(first, indices.len(), room.as_mut_ptr().cast()) };
        for (record, &index) in room.iter().zip(indices) {
            // SAFETY: the indexes of a plan are below its length, which is that of the records.
            let place = unsafe { records.add(index.widen() as usize) };
            // SAFETY: no other thread writes to the place, since a plan has each index once.
            unsafe { place.cast::<MaybeUninit<_>>().write(*record) };
        }
    }
}

fn scatter_rows<N: Word>(group: &Group, records: *mut u8, first: usize, indices: &[N]) {
    let column = group.plain().expect("there are records for all else");
    for (place, &index) in (first..).zip(indices) {
        let from = column.start.wrapping_add(place * column.bytes);
        let to = records.wrapping_add(index.widen() as usize * column.bytes);
        // SAFETY: the indexes of a plan are below its length, which is that of the records, and each is there once.
        unsafe { ptr::copy_nonoverlapping(from, to, column.bytes) };
    }
}
