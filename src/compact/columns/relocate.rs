//! Moving the items of several columns by a plan.
//!
//! By the partitioned strategy the items at one place travel together, as a [record](super::record): it is put together
//! while the columns are read, in order, and taken apart while the columns are written, in order. Evaluations, sorting
//! and placing are those of one array of records; of several, if the items are more than a record holds.
//!
//! By the direct strategy each run of survivors serves all columns, one after the other.

use core::mem::MaybeUninit;
use core::ptr;

use super::direct::Copies;
use super::fixed::Fixed;
use super::frame::{Column, Frame, item_bytes};
use super::record::{Layout, Record, with_record};
use crate::base::check::try_with_capacity;
use crate::compact::cpu::partitioned::{Buffers, Direction};
use crate::compact::cpu::places::{Places, Source, Target};
use crate::compact::cpu::{Memory, tuning};
use crate::compact::relocate::Plan;
use crate::error::Error;

/// Moves the items of all columns by a plan, for their length.
///
/// # Errors
///
/// [`Error::OutOfMemory`] and [`Error::NotABijection`]; every item is then where it was, as it is after a panic.
pub(crate) fn relocate_together<F: Fixed>(
    plan: &Plan,
    direction: Direction,
    frame: &mut Frame<F>,
    memory: &mut Memory,
) -> Result<(), Error> {
    assert_eq!(frame.len(), Some(plan.len()));
    plan.run(item_bytes(frame.columns()), || {
        if sort_records(plan, direction, frame, memory)? {
            return Ok(());
        }
        let copies = Copies::new(frame.columns(), plan.len(), &mut memory.scratch)?;
        copies.run(plan, direction, &mut memory.partition.tiles)
    })
}

/// Moves the items by the partitioned strategy, if they are to be; `false`, and nothing is written, if not, or if they
/// turn out not to be fit for it.
fn sort_records<F: Fixed>(
    plan: &Plan,
    direction: Direction,
    frame: &Frame<F>,
    memory: &mut Memory,
) -> Result<bool, Error> {
    let columns = frame.columns();
    let bytes = item_bytes(columns);
    if bytes > tuning::LARGEST_ITEM {
        // A row that is larger than a record wastes little of the lines that the direct strategy fetches.
        let fit = columns.iter().all(|column| column.bytes <= tuning::LARGEST_ITEM);
        let far = tuning::is_far_together(plan.len(), bytes);
        if !fit
            || plan.sorting::<Record<{ tuning::LARGEST_ITEM }>>(direction, far, memory).is_none()
        {
            return Ok(false);
        }
        let mut buffers = core::mem::take(&mut memory.more);
        let sorted = sort_groups(plan, direction, columns, memory, &mut buffers);
        if matches!(sorted, Ok(true)) {
            memory.more = buffers;
        } else {
            drop(buffers);
        }
        memory.settle(sorted)
    } else if F::IS_KNOWN {
        let source = Loads(frame.starts());
        sort::<F::Record>(plan, direction, columns, &source, memory)
    } else {
        sort_packed(plan, direction, columns, memory)
    }
}

/// Does it for more columns than a record holds: in several records, all of which are sorted before the first is placed,
/// so that nothing has been written if one of them fails.
fn sort_groups(
    plan: &Plan,
    direction: Direction,
    columns: &[Column],
    memory: &Memory,
    buffers: &mut Vec<Buffers>,
) -> Result<bool, Error> {
    let far = tuning::is_far_together(plan.len(), item_bytes(columns));
    let groups = groups(columns)?;
    let more = groups.len().saturating_sub(buffers.len());
    buffers.try_reserve(more).map_err(|_| Error::OutOfMemory {
        bytes: (more as u64).saturating_mul(size_of::<Buffers>() as u64),
    })?;
    buffers.resize_with(groups.len(), Buffers::new);
    let mut sorted = try_with_capacity(groups.len())?;
    for (columns, buffers) in groups.into_iter().zip(buffers) {
        let group = with_record!(
            item_bytes(columns),
            BYTES => {
                let Some(sorting) = plan.sorting::<Record<BYTES>>(direction, far, memory) else {
                    return Ok(false);
                };
                let layout = Layout::new(columns, BYTES);
                let places = Stretch { layout, first: 0, len: plan.len() };
                let source = Packing::<BYTES>(layout);
                // SAFETY: the columns have as many items as the plan, and the caller has borrowed them.
                unsafe { sorting.sort_first::<Record<BYTES>>(&source, places, buffers) }?
            },
            else return Ok(false)
        );
        match group {
            Some(group) => sorted.push(group),
            None => return Ok(false),
        }
    }
    for group in sorted {
        group.place();
    }
    Ok(true)
}

/// As many columns in each group as a record holds, in order.
fn groups(columns: &[Column]) -> Result<Vec<&[Column]>, Error> {
    // No group has less than a column.
    let mut groups = try_with_capacity(columns.len())?;
    let mut rest = columns;
    while !rest.is_empty() {
        let fits = |count: &usize| item_bytes(&rest[..*count]) <= tuning::LARGEST_ITEM;
        let count = (1..=rest.len()).take_while(fits).last().unwrap_or(1);
        let group;
        (group, rest) = rest.split_at(count);
        groups.push(group);
    }
    Ok(groups)
}

/// Does it for columns of any kinds. It is compiled once, and not for each of them.
fn sort_packed(
    plan: &Plan,
    direction: Direction,
    columns: &[Column],
    memory: &mut Memory,
) -> Result<bool, Error> {
    with_record!(
        item_bytes(columns),
        BYTES => {
            let source = Packing::<BYTES>(Layout::new(columns, BYTES));
            sort::<Record<BYTES>>(plan, direction, columns, &source, memory)
        },
        else Ok(false)
    )
}

/// Does it, with records of type R.
fn sort<R: Send>(
    plan: &Plan,
    direction: Direction,
    columns: &[Column],
    source: &impl Source<R>,
    memory: &mut Memory,
) -> Result<bool, Error> {
    let far = tuning::is_far_together(plan.len(), item_bytes(columns));
    let Some(sorting) = plan.sorting::<R>(direction, far, memory) else {
        return Ok(false);
    };
    let layout = Layout::new(columns, size_of::<R>());
    let places = Stretch { layout, first: 0, len: plan.len() };
    // SAFETY: the columns have as many items as the plan, and the caller has borrowed them.
    let moved = unsafe { sorting.run(source, places, &mut memory.partition) };
    memory.settle(moved)
}

/// The items of columns of known sizes, read as records.
struct Loads<F>(F);

impl<F: Fixed> Source<F::Record> for Loads<F> {
    type Room = ();

    const RUN: usize = tuning::RUN;

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn prepare(&self, _: usize, _: usize, (): &mut ()) {}

    #[inline(always)]
    unsafe fn copy(&self, first: usize, k: usize, (): &(), place: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.0.load(first + k, place) };
    }
}

/// The items of any columns, put together as records before they are read.
struct Packing<'a, const BYTES: usize>(Layout<'a>);

impl<const BYTES: usize> Source<Record<BYTES>> for Packing<'_, BYTES> {
    type Room = [MaybeUninit<Record<BYTES>>; tuning::RECORDS];

    const RUN: usize = tuning::RECORDS;

    #[inline(always)]
    fn room() -> Self::Room {
        [MaybeUninit::uninit(); tuning::RECORDS]
    }

    #[inline(always)]
    unsafe fn prepare(&self, first: usize, count: usize, room: &mut Self::Room) {
        debug_assert!(count <= room.len());
        // SAFETY: the caller's promise, and the room is for so many records.
        unsafe { self.0.pack(first, count, room.as_mut_ptr().cast()) };
    }

    #[inline(always)]
    unsafe fn copy(&self, _: usize, k: usize, room: &Self::Room, place: *mut u8) {
        let record = room.as_ptr().wrapping_add(k);
        // SAFETY: the caller's promise: it is one of those that were prepared.
        unsafe { ptr::copy_nonoverlapping(record.cast(), place, BYTES) };
    }
}

/// Places of all columns, from the first on, for records.
struct Stretch<'a> {
    layout: Layout<'a>,
    first: usize,
    len: usize,
}

impl Places for Stretch<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn item_bytes(&self) -> usize {
        self.layout.record()
    }

    fn cut(self, count: usize) -> (Self, Self) {
        assert!(count <= self.len);
        let rest = Self { first: self.first + count, len: self.len - count, ..self };
        (Self { len: count, ..self }, rest)
    }
}

impl<R> Target<R> for Stretch<'_> {
    fn stream(self, records: &[MaybeUninit<R>]) {
        assert_eq!((records.len(), size_of::<R>()), (self.len, self.layout.record()));
        // SAFETY: the places are below the columns' length, and this stretch alone has them.
        unsafe { self.layout.stream(self.first, self.len, records.as_ptr().cast()) };
    }
}
