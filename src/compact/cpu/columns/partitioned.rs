//! The partitioned strategy for several columns: their items travel as records.

use core::mem::MaybeUninit;
use core::ptr;

use super::record::{Record, RecordColumns, with_record};
use crate::Error;
use crate::compact::Direction;
use crate::compact::columns::{Column, ColumnSet, StaticRow, item_bytes};
use crate::compact::cpu::checked_permutation::CheckedPermutation;
use crate::compact::cpu::partitioned::{PartitionedBuffers, Sorting, place};
use crate::compact::cpu::places::{DivisiblePlaces, ItemSource, ItemTarget};
use crate::compact::cpu::tuning;
use crate::compact::cpu::workspace::Workspace;
use crate::engine::check::{try_reserve, try_with_capacity};

/// Moves the items by the partitioned strategy, if it is chosen. Returns `false`, with nothing
/// written, if it is not, or if a bucket overflows.
///
/// # Errors
///
/// [`Error::OutOfMemory`], before anything was written.
pub(super) fn reorder<R: StaticRow>(
    p: &CheckedPermutation,
    direction: Direction,
    set: &mut ColumnSet<R>,
    workspace: &mut Workspace,
) -> Result<bool, Error> {
    assert_eq!(set.len(), Some(p.len()));
    let columns = set.columns();
    let bytes = item_bytes(columns);
    if bytes > tuning::LARGEST_ITEM {
        // A row that is larger than a record uses most of the cache lines that the direct strategy
        // fetches.
        if columns.iter().any(|column| column.bytes > tuning::LARGEST_ITEM)
            || sorting::<Record<{ tuning::LARGEST_ITEM }>>(p, direction, bytes, workspace).is_none()
        {
            return Ok(false);
        }
        let mut buffers = core::mem::take(&mut workspace.more);
        let sorted = sort_groups(p, direction, columns, workspace, &mut buffers);
        if matches!(sorted, Ok(true)) {
            workspace.more = buffers;
        } else {
            drop(buffers);
        }
        workspace.settle(sorted)
    } else if R::IS_KNOWN {
        let source = StaticRecords(set.starts());
        sort::<R::Record>(p, direction, columns, &source, workspace)
    } else {
        sort_packed(p, direction, columns, workspace)
    }
}

/// The sorting of records of type R, if items of `bytes` in all columns are to be moved that way.
fn sorting<'p, R>(
    p: &'p CheckedPermutation,
    direction: Direction,
    bytes: usize,
    workspace: &Workspace,
) -> Option<Sorting<'p>> {
    let far = tuning::is_far_together(p.len(), bytes);
    workspace.strategy.sorting::<R>(p, direction, far)
}

/// Moves the items of more columns than one record holds, in several records. All of them are
/// sorted before the first is placed, even though all their buckets then take memory at once. So
/// nothing has been written if one of them fails.
#[inline]
fn sort_groups(
    p: &CheckedPermutation,
    direction: Direction,
    columns: &[Column],
    workspace: &Workspace,
    buffers: &mut Vec<PartitionedBuffers>,
) -> Result<bool, Error> {
    let bytes = item_bytes(columns);
    let groups = groups(columns)?;
    let more = groups.len().saturating_sub(buffers.len());
    try_reserve(buffers, more)?;
    buffers.resize_with(groups.len(), PartitionedBuffers::new);
    let mut sorted = try_with_capacity(groups.len())?;
    for (columns, buffers) in groups.into_iter().zip(buffers) {
        let group = with_record!(
            item_bytes(columns),
            BYTES => {
                let Some(sorting) = sorting::<Record<BYTES>>(p, direction, bytes, workspace) else {
                    return Ok(false);
                };
                let layout = RecordColumns::new(columns, BYTES);
                let places = RecordRange { layout, first: 0, len: p.len() };
                let source = PackedRecords::<BYTES>(layout);
                // SAFETY: all columns of a set have the length of `p`, which `reorder` has checked.
                // The set borrows them mutably, and nobody else uses it meanwhile.
                unsafe { sorting.sort::<Record<BYTES>>(&source, places, buffers) }?
            },
            else return Ok(false)
        );
        match group {
            Some(group) => sorted.push(group),
            None => return Ok(false),
        }
    }
    sorted.into_iter().for_each(|write| write());
    Ok(true)
}

/// Cuts columns into groups, in order, with as many columns in each as a record holds.
fn groups(columns: &[Column]) -> Result<Vec<&[Column]>, Error> {
    // Every group has at least one column.
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

/// Moves the items of columns of any types. It is compiled once, and not for each combination.
#[inline]
fn sort_packed(
    p: &CheckedPermutation,
    direction: Direction,
    columns: &[Column],
    workspace: &mut Workspace,
) -> Result<bool, Error> {
    with_record!(
        item_bytes(columns),
        BYTES => {
            let source = PackedRecords::<BYTES>(RecordColumns::new(columns, BYTES));
            sort::<Record<BYTES>>(p, direction, columns, &source, workspace)
        },
        else Ok(false)
    )
}

/// Moves the items of all columns as records of type R.
fn sort<R: Send>(
    p: &CheckedPermutation,
    direction: Direction,
    columns: &[Column],
    source: &impl ItemSource<R>,
    workspace: &mut Workspace,
) -> Result<bool, Error> {
    let Some(sorting) = sorting::<R>(p, direction, item_bytes(columns), workspace) else {
        return Ok(false);
    };
    let layout = RecordColumns::new(columns, size_of::<R>());
    let places = RecordRange { layout, first: 0, len: p.len() };
    // SAFETY: all columns of a set have the length of `p`, which `reorder` has checked. The set
    // borrows them mutably, and nobody else uses it meanwhile. The source reads those columns.
    let sorted = unsafe { sorting.sort(source, places, &mut workspace.partition) };
    let placed = sorted.map(place);
    workspace.settle(placed)
}

/// The items of columns of known sizes, read as records.
struct StaticRecords<R>(R);

impl<R: StaticRow> ItemSource<R::Record> for StaticRecords<R> {
    type Room = ();

    #[inline(always)]
    fn room() {}

    #[inline(always)]
    unsafe fn copy(&self, first: usize, k: usize, (): &(), place: *mut u8) {
        // SAFETY: the caller promises that the item is in the run that was prepared, and so in the
        // columns, that nobody writes to them, and that there is room for a record at the place.
        unsafe { self.0.load(first + k, place) };
    }
}

/// The items of any columns, assembled into records before they are read.
struct PackedRecords<'a, const BYTES: usize>(RecordColumns<'a>);

impl<const BYTES: usize> ItemSource<Record<BYTES>> for PackedRecords<'_, BYTES> {
    type Room = [MaybeUninit<Record<BYTES>>; tuning::RECORDS];

    const RUN: usize = tuning::RECORDS;

    #[inline(always)]
    fn room() -> Self::Room {
        [MaybeUninit::uninit(); tuning::RECORDS]
    }

    #[inline(always)]
    unsafe fn prepare(&self, first: usize, count: usize, room: &mut Self::Room) {
        debug_assert!(count <= room.len());
        // SAFETY: the caller promises `count` items from `first` on, at most `RUN`, and the room
        // holds `RUN` records.
        unsafe { self.0.pack(first, count, room.as_mut_ptr().cast()) };
    }

    #[inline(always)]
    unsafe fn copy(&self, _: usize, k: usize, room: &Self::Room, place: *mut u8) {
        let record = room.as_ptr().wrapping_add(k);
        // SAFETY: the caller promises that `k` is one of the records that `prepare` has written to
        // the room, and that there is room for `BYTES` bytes at the place, which is elsewhere.
        unsafe { ptr::copy_nonoverlapping(record.cast(), place, BYTES) };
    }
}

/// Consecutive places of all columns, to which records are written.
struct RecordRange<'a> {
    layout: RecordColumns<'a>,
    first: usize,
    len: usize,
}

impl DivisiblePlaces for RecordRange<'_> {
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

impl<R> ItemTarget<R> for RecordRange<'_> {
    fn stream(self, records: &[MaybeUninit<R>]) {
        assert_eq!((records.len(), size_of::<R>()), (self.len, self.layout.record()));
        // SAFETY: the places are below the columns' length, and ranges are cut so that this one
        // alone has them. There are `len` records, each as large as the layout's, as was just
        // checked.
        unsafe { self.layout.stream(self.first, self.len, records.as_ptr().cast()) };
    }
}
