//! Arrays whose items are moved: one or several, by a seed or by a permutation.

use std::ffi::c_void;

use bindings::{Direction, RowArray, RowsBy};
use library::Error;

use crate::memory::{self, bytes, check};
use crate::permutation::Permutation;
use crate::seed::of_word;
use crate::status::{Failure, Status, done};
use crate::threads;

/// An array whose items are moved together with those of others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// The first item. Items are moved as bytes, so they need no alignment; items of 1, 2, 4, 8 and
    /// 16 bytes are moved faster if they are aligned like an integer of their size.
    pub items: *mut c_void,
    /// The bytes of an item: at least 1.
    pub item_size: usize,
}

/// Moves the items of arrays, each of `count` items.
///
/// # Safety
///
/// The pointers are null or lead to arrays of `count` items, which nobody else uses meanwhile.
unsafe fn reorder(
    arrays: &[Array],
    count: usize,
    by: RowsBy<'_>,
    direction: Direction,
) -> Result<(), Failure> {
    let mut memories = Vec::new();
    for &Array { items, item_size } in arrays {
        if item_size == 0 {
            return Err(Failure::argument("items of 0 bytes were given: an item has at least 1"));
        }
        if count > 0 {
            check(items.cast::<u8>(), "the items")?;
        }
        let bytes = bytes(count, item_size, "an array")?;
        memories.push(RowArray { start: items.cast(), bytes, width: item_size });
    }
    if !RowArray::are_apart(&memories) {
        return Err(Failure::argument("two of the arrays share memory"));
    }
    if count == 0 || arrays.is_empty() {
        return Ok(());
    }
    let points = match by {
        RowsBy::Seed(_) => count as u64,
        RowsBy::Order(order) => order.points(),
    };
    // The arrays share no memory, so the sum is within the address space.
    let bytes = memories.iter().map(|memory| memory.bytes as u64).sum();
    // SAFETY: the caller promises that the arrays are there and nobody else's; they are apart.
    let moved =
        threads::on_points(points, bytes, move || unsafe { by.reorder(&memories, direction) })?;
    Ok(moved?)
}

/// Shuffles an array of `count` items of `item_size` bytes: the item that was at index
/// `order[place]` is then at `place`, in the order of bs_permutation_new for the same length, seed
/// and epoch.
///
/// The array is shuffled in place, with little extra memory. If that cannot be allocated, the
/// function returns BS_ERROR_MEMORY and the items are unchanged.
///
/// # Safety
///
/// `items` leads to an array of `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_shuffle(
    items: *mut c_void,
    count: usize,
    item_size: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = RowsBy::Seed(of_word(seed, epoch));
    // SAFETY: the caller promises `count` items of `item_size` bytes at `items`.
    done(|| unsafe { reorder(&[Array { items, item_size }], count, by, Direction::Shuffle) })
}

/// Undoes bs_shuffle with the same arguments.
///
/// # Safety
///
/// `items` leads to an array of `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_unshuffle(
    items: *mut c_void,
    count: usize,
    item_size: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = RowsBy::Seed(of_word(seed, epoch));
    // SAFETY: the caller promises `count` items of `item_size` bytes at `items`.
    done(|| unsafe { reorder(&[Array { items, item_size }], count, by, Direction::Unshuffle) })
}

/// Shuffles several arrays, each of `count` items, in the order that bs_shuffle would give each
/// alone: what was together at one index stays together. Arrays that share memory are refused.
///
/// # Safety
///
/// `arrays` leads to `array_count` arrays, and each to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_shuffle_together(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = RowsBy::Seed(of_word(seed, epoch));
    // SAFETY: the caller promises `array_count` arrays, each of `count` items.
    done(|| unsafe { reorder_given(arrays, array_count, count, by, Direction::Shuffle) })
}

/// Undoes bs_shuffle_together with the same arguments.
///
/// # Safety
///
/// `arrays` leads to `array_count` arrays, and each to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_unshuffle_together(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = RowsBy::Seed(of_word(seed, epoch));
    // SAFETY: the caller promises `array_count` arrays, each of `count` items.
    done(|| unsafe { reorder_given(arrays, array_count, count, by, Direction::Unshuffle) })
}

/// Shuffles one or several arrays by a permutation. Each has as many items as the permutation,
/// whose length `count` repeats, so that a mistake is refused by BS_ERROR_LENGTH.
///
/// # Safety
///
/// `permutation` was made by this library and not freed. `arrays` leads to `array_count` arrays,
/// and each to `count` items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_apply(
    permutation: *const Permutation,
    arrays: *const Array,
    array_count: usize,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live permutation, and `array_count` arrays of `count` items.
    done(|| unsafe { reorder_by(permutation, arrays, array_count, count, Direction::Shuffle) })
}

/// Undoes bs_permutation_apply with the same arguments.
///
/// # Safety
///
/// As for bs_permutation_apply.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_unapply(
    permutation: *const Permutation,
    arrays: *const Array,
    array_count: usize,
    count: usize,
) -> Status {
    // SAFETY: the caller promises a live permutation, and `array_count` arrays of `count` items.
    done(|| unsafe { reorder_by(permutation, arrays, array_count, count, Direction::Unshuffle) })
}

/// # Safety
///
/// As for [`reorder`], and `arrays` is null or leads to `array_count` arrays.
unsafe fn reorder_given(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    by: RowsBy<'_>,
    direction: Direction,
) -> Result<(), Failure> {
    // SAFETY: the caller promises `array_count` arrays at `arrays`.
    let arrays = unsafe { memory::items(arrays, array_count, "the arrays") }?;
    // SAFETY: the caller promises that each array has `count` items and is used by nobody else.
    unsafe { reorder(arrays, count, by, direction) }
}

/// # Safety
///
/// As for [`reorder_given`], and `permutation` is null or one that was not freed.
unsafe fn reorder_by(
    permutation: *const Permutation,
    arrays: *const Array,
    array_count: usize,
    count: usize,
    direction: Direction,
) -> Result<(), Failure> {
    // SAFETY: the caller promises a live permutation.
    let order = unsafe { crate::permutation::order(permutation) }?;
    let (expected, actual) = (order.len(), count as u64);
    if expected != actual {
        return Err(Error::LengthMismatch { expected, actual }.into());
    }
    // SAFETY: the caller promises `array_count` arrays of `count` items.
    unsafe { reorder_given(arrays, array_count, count, RowsBy::Order(order), direction) }
}
