//! Arrays whose items are moved: one or several, by a seed or by a permutation.

use std::ffi::c_void;

use library::{Rows, Seed};

use crate::memory::{self, bytes, check};
use crate::order::{Order, Way, reorder_by_seed, reorder_rows_by_seed};
use crate::permutation::Permutation;
use crate::seed::of_word;
use crate::status::{Failure, Status, done};
use crate::threads;

/// An array whose items are moved together with those of others.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// The first item. Items are moved as bytes, so they need no alignment; those of 1, 2, 4, 8 and
    /// 16 bytes are moved faster if they have that of an integer of their size.
    pub items: *mut c_void,
    /// The bytes of an item: at least 1.
    pub item_size: usize,
}

// SAFETY: it is an address and a number, and each use of the address has an argument of its own.
unsafe impl Send for Array {}
// SAFETY: what threads share is an address and a number, which nobody changes.
unsafe impl Sync for Array {}

impl Array {
    fn start(self) -> *mut u8 {
        self.items.cast()
    }

    /// The bytes of all items, as items of a type.
    ///
    /// # Safety
    ///
    /// The array was checked, its items have the size of `T`, it is aligned for `T`, any bytes are
    /// a `T`, and nobody else uses the array for `'a`.
    unsafe fn all<'a, T>(self, count: usize) -> &'a mut [T] {
        // SAFETY: it is not null, and its size is one that an array may have; the caller promises
        // the rest.
        unsafe { core::slice::from_raw_parts_mut(self.items.cast(), count) }
    }
}

/// By what items are moved.
#[derive(Clone, Copy)]
enum By<'a> {
    Seed(Seed),
    Order(&'a Order),
}

impl By<'_> {
    fn reorder<T: Send>(self, items: &mut [T], way: Way) -> Result<(), Failure> {
        match self {
            By::Seed(seed) => reorder_by_seed(items, seed, way),
            By::Order(order) => order.reorder(items, way),
        }
    }

    fn reorder_rows(self, rows: Vec<Rows<'_, u8>>, way: Way) -> Result<(), Failure> {
        match self {
            By::Seed(seed) => reorder_rows_by_seed(rows, seed, way),
            By::Order(order) => order.reorder_rows(rows, way),
        }
    }
}

/// Moves the items of arrays, each of `count` items.
///
/// # Safety
///
/// The pointers are null or lead to arrays of so many items, which nobody else uses meanwhile.
unsafe fn reorder(arrays: &[Array], count: usize, by: By<'_>, way: Way) -> Result<(), Failure> {
    let mut item_size = 0_usize;
    for array in arrays {
        if array.item_size == 0 {
            return Err(Failure::argument("items of 0 bytes were given: an item has at least 1"));
        }
        if count > 0 {
            check(array.start(), "the items")?;
        }
        bytes(count, array.item_size, "an array")?;
        item_size = item_size.saturating_add(array.item_size);
    }
    check_apart(arrays, count)?;
    if count == 0 || arrays.is_empty() {
        return Ok(());
    }
    let points = match by {
        By::Seed(_) => count as u64,
        By::Order(order) => order.points(),
    };
    // The arrays share no memory, so the product is within the address space.
    threads::on_points(points, (count * item_size) as u64, move || {
        // SAFETY: as the caller promises; the arrays have been checked.
        unsafe { reorder_checked(arrays, count, by, way) }
    })?
}

/// Checks that no two arrays share memory.
fn check_apart(arrays: &[Array], count: usize) -> Result<(), Failure> {
    let range = |array: &Array| {
        let start = array.items.addr();
        (start, start.saturating_add(count * array.item_size))
    };
    let mut ranges: Vec<_> = arrays.iter().map(range).collect();
    ranges.sort_unstable();
    if count > 0 && ranges.windows(2).any(|pair| pair[1].0 < pair[0].1) {
        return Err(Failure::argument("two of the arrays share memory"));
    }
    Ok(())
}

/// Runs code with the type of plain integers that has the size of an array's items, if there is one
/// and the array is aligned for it.
macro_rules! with_item {
    ($array:expr, $Item:ident => $code:expr) => {
        with_item!(@ $array, $Item, $code, u8 u16 u32 u64 [u64; 2])
    };
    (@ $array:expr, $Item:ident, $code:expr, $($item:ty)+) => {
        match $array.item_size {
            $(size if size == size_of::<$item>()
                && $array.items.cast::<$item>().is_aligned() => {
                type $Item = $item;
                return $code;
            })+
            _ => {}
        }
    };
}

/// # Safety
///
/// The arrays have been checked, and nobody else uses them meanwhile.
unsafe fn reorder_checked(
    arrays: &[Array],
    count: usize,
    by: By<'_>,
    way: Way,
) -> Result<(), Failure> {
    if let &[array] = arrays {
        with_item!(array, Item => {
            // SAFETY: as the caller promises; size and alignment are those of the type, and any
            // bytes are such an integer.
            by.reorder(unsafe { array.all::<Item>(count) }, way)
        });
    }
    let rows = arrays.iter().map(|array| {
        // SAFETY: as the caller promises; bytes need no alignment, and there are so many, of which
        // any are bytes.
        let bytes = unsafe { array.all::<u8>(count * array.item_size) };
        Rows::new(bytes, array.item_size)
    });
    by.reorder_rows(rows.collect::<Result<_, _>>()?, way)
}

/// Shuffles an array of `count` items of `item_size` bytes: the item that was at index
/// `order[place]` is then at `place`, in the order of bs_permutation_new for the same length, seed
/// and epoch.
///
/// The array is shuffled in place, with little memory beside it. If that memory is missing, the
/// function returns BS_ERROR_MEMORY and the items are where they were.
///
/// # Safety
///
/// `items` leads to an array of so many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_shuffle(
    items: *mut c_void,
    count: usize,
    item_size: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = By::Seed(of_word(seed, epoch));
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder(&[Array { items, item_size }], count, by, Way::Apply) })
}

/// Undoes bs_shuffle with the same arguments.
///
/// # Safety
///
/// `items` leads to an array of so many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_unshuffle(
    items: *mut c_void,
    count: usize,
    item_size: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = By::Seed(of_word(seed, epoch));
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder(&[Array { items, item_size }], count, by, Way::Undo) })
}

/// Shuffles several arrays, each of `count` items, in the order that bs_shuffle would give each
/// alone: what was together at one index stays together. Arrays that share memory are refused.
///
/// # Safety
///
/// `arrays` leads to so many of them, and each leads to so many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_shuffle_together(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = By::Seed(of_word(seed, epoch));
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder_given(arrays, array_count, count, by, Way::Apply) })
}

/// Undoes bs_shuffle_together with the same arguments.
///
/// # Safety
///
/// `arrays` leads to so many of them, and each leads to so many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_unshuffle_together(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    seed: u64,
    epoch: u64,
) -> Status {
    let by = By::Seed(of_word(seed, epoch));
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder_given(arrays, array_count, count, by, Way::Undo) })
}

/// Shuffles one or several arrays by a permutation. Each has as many items as the permutation,
/// whose length `count` repeats, so that a mistake is refused by BS_ERROR_LENGTH.
///
/// # Safety
///
/// `permutation` was made by this library and not freed. `arrays` leads to so many arrays, and each
/// leads to so many items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_permutation_apply(
    permutation: *const Permutation,
    arrays: *const Array,
    array_count: usize,
    count: usize,
) -> Status {
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder_by(permutation, arrays, array_count, count, Way::Apply) })
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
    // SAFETY: as the caller promises.
    done(|| unsafe { reorder_by(permutation, arrays, array_count, count, Way::Undo) })
}

/// # Safety
///
/// As for [`reorder`], and `arrays` is null or leads to so many arrays.
unsafe fn reorder_given(
    arrays: *const Array,
    array_count: usize,
    count: usize,
    by: By<'_>,
    way: Way,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let arrays = unsafe { memory::items(arrays, array_count, "the arrays") }?;
    // SAFETY: as the caller promises.
    unsafe { reorder(arrays, count, by, way) }
}

/// # Safety
///
/// As for [`reorder_given`], and `permutation` is null or one that was not freed.
unsafe fn reorder_by(
    permutation: *const Permutation,
    arrays: *const Array,
    array_count: usize,
    count: usize,
    way: Way,
) -> Result<(), Failure> {
    // SAFETY: as the caller promises.
    let order = unsafe { crate::permutation::order(permutation) }?;
    let (expected, actual) = (order.len(), count as u64);
    if expected != actual {
        return Err(library::Error::LengthMismatch { expected, actual }.into());
    }
    // SAFETY: as the caller promises.
    unsafe { reorder_given(arrays, array_count, count, By::Order(order), way) }
}
