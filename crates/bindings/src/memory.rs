//! [`RowArray`]: an array of another language, and how its rows are moved.

use bijective_shuffle::prelude::*;
use bijective_shuffle::{Direction, Error, Rows, Seed};

use crate::order::AnyOrder;

/// An array of another language: rows of bytes, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct RowArray {
    /// Where it begins. If there are no bytes, it may lead nowhere.
    pub start: *mut u8,
    /// The bytes of all rows.
    pub bytes: usize,
    /// The bytes of a row.
    pub width: usize,
}

// SAFETY: it is an address and numbers, and each use of the address has an argument of its own. Any
// thread may write to the bytes there.
unsafe impl Send for RowArray {}
// SAFETY: what threads share is an address and numbers, which nobody changes.
unsafe impl Sync for RowArray {}

impl RowArray {
    /// Whether it is aligned for a type.
    pub fn is_aligned<T>(self) -> bool {
        self.start.cast::<T>().is_aligned()
    }

    /// The bytes as items of a type.
    ///
    /// # Safety
    ///
    /// * All of the bytes are there, and stay where they are for `'a`, and nobody else reads or
    ///   writes them.
    /// * The array is aligned for `T`, and any bytes are a `T`.
    pub unsafe fn items<'a, T>(self) -> &'a mut [T] {
        if self.bytes == 0 {
            return &mut [];
        }
        // SAFETY: the caller promises that the bytes are there and nobody else's, the alignment,
        // and what bytes are.
        unsafe { core::slice::from_raw_parts_mut(self.start.cast(), self.bytes / size_of::<T>()) }
    }

    /// The same to read.
    ///
    /// # Safety
    ///
    /// As of [`items`](Self::items), where others may read as well.
    pub unsafe fn shared_items<'a, T>(self) -> &'a [T] {
        if self.bytes == 0 {
            return &[];
        }
        // SAFETY: the caller promises that the bytes are there and nobody writes to them, the
        // alignment, and what bytes are.
        unsafe { core::slice::from_raw_parts(self.start.cast(), self.bytes / size_of::<T>()) }
    }

    /// Whether no two arrays share memory.
    pub fn are_apart(arrays: &[Self]) -> bool {
        let some = arrays.iter().filter(|array| array.bytes > 0);
        let end = |array: &Self| array.start.addr().saturating_add(array.bytes);
        let range = |array: &Self| (array.start.addr(), end(array));
        let mut ranges: Vec<_> = some.map(range).collect();
        ranges.sort_unstable();
        ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0)
    }
}

/// Runs code with the type of plain integers that has a size, if there is one and a [`RowArray`] is
/// aligned for it.
#[macro_export]
macro_rules! with_item {
    ($memory:expr, $size:expr, $Item:ident => $code:expr, else $otherwise:expr) => {
        $crate::with_item!(@ $memory, $size, $Item, $code, $otherwise, u8 u16 u32 u64 [u64; 2])
    };
    (@ $memory:expr, $size:expr, $Item:ident, $code:expr, $otherwise:expr, $($item:ty)+) => {
        match $size {
            $(size if size == size_of::<$item>() && $memory.is_aligned::<$item>() => {
                type $Item = $item;
                $code
            })+
            _ => $otherwise,
        }
    };
}

/// By what rows are moved.
#[derive(Clone, Copy, Debug)]
pub enum RowsBy<'a> {
    /// The order of a shuffle by a seed.
    Seed(Seed),
    /// Any order.
    Order(&'a AnyOrder),
}

impl RowsBy<'_> {
    /// Moves the rows of arrays with equal numbers of rows.
    ///
    /// # Errors
    ///
    /// Those of [`Permutation::apply_in_place`]. The rows are then unchanged.
    ///
    /// # Safety
    ///
    /// All of the arrays' bytes are there, and stay where they are, and nobody else reads or writes
    /// them. The arrays are [apart](RowArray::are_apart).
    pub unsafe fn reorder(self, arrays: &[RowArray], direction: Direction) -> Result<(), Error> {
        if let &[array] = arrays {
            with_item!(array, array.width, Item => {
                // SAFETY: the caller promises that the array's bytes are there and that nobody else
                // uses them; the alignment was checked, and any bytes are an item.
                return self.reorder_items(unsafe { array.items::<Item>() }, direction);
            }, else {});
        }
        let rows = arrays.iter().map(|array| {
            // SAFETY: the caller promises that the bytes are there, that nobody else uses them, and
            // that the arrays are apart. Bytes need no alignment.
            Rows::new(unsafe { array.items::<u8>() }, array.width)
        });
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        match (self, direction) {
            (Self::Seed(seed), Direction::Shuffle) => rows.try_par_bijective_shuffle_together(seed),
            (Self::Seed(seed), Direction::Unshuffle) => {
                rows.try_par_bijective_unshuffle_together(seed)
            }
            (Self::Order(order), _) => order.reorder_rows(rows, direction),
        }
    }

    fn reorder_items<T: Send>(self, items: &mut [T], direction: Direction) -> Result<(), Error> {
        match (self, direction) {
            (Self::Seed(seed), Direction::Shuffle) => items.try_par_bijective_shuffle(seed),
            (Self::Seed(seed), Direction::Unshuffle) => items.try_par_bijective_unshuffle(seed),
            (Self::Order(order), _) => order.reorder(items, direction),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OrderKind;

    fn memory<T>(items: &mut [T], width: usize) -> RowArray {
        RowArray { start: items.as_mut_ptr().cast(), bytes: size_of_val(items), width }
    }

    #[test]
    fn rows_of_any_width_and_alignment_are_moved_and_put_back() {
        const LEN: usize = 300;
        let order = AnyOrder::new(OrderKind::Compacted, LEN as u64, Seed::new(7)).unwrap();
        let indexes: Vec<u64> = order.indexes().collect();
        for by in [RowsBy::Seed(Seed::new(7)), RowsBy::Order(&order)] {
            for width in [1, 2, 3, 4, 8, 16, 24] {
                for offset in [0, 1] {
                    let item = |k: usize| (0..width).map(move |byte| (7 * k + byte) as u8);
                    let source: Vec<u8> = (0..LEN).flat_map(item).collect();
                    let expected = indexes.iter().flat_map(|&index| item(index as usize));
                    let mut room = vec![0_u64; LEN * width / 8 + 2];
                    let whole = memory(&mut room, width);
                    // SAFETY: the vector has `LEN * width` bytes, and more than `offset` after
                    // them.
                    let start = unsafe { whole.start.add(offset) };
                    let array = RowArray { start, bytes: LEN * width, width };
                    let mut numbers: Vec<u32> = (0..LEN as u32).collect();
                    let both = [array, memory(&mut numbers, 4)];
                    assert!(RowArray::are_apart(&both) && !RowArray::are_apart(&[array, array]));
                    // SAFETY: nobody else uses the array.
                    unsafe { array.items::<u8>() }.copy_from_slice(&source);
                    for arrays in [&both[..1], &both] {
                        // SAFETY: the arrays are apart, and nobody else uses them.
                        unsafe { by.reorder(arrays, Direction::Shuffle) }.unwrap();
                        // SAFETY: nobody else uses the array.
                        let moved = unsafe { array.shared_items::<u8>() }.iter().copied();
                        assert!(moved.eq(expected.clone()), "rows of {width} bytes");
                        // SAFETY: the arrays are apart, and nobody else uses them.
                        unsafe { by.reorder(arrays, Direction::Unshuffle) }.unwrap();
                        // SAFETY: nobody else uses the array.
                        assert_eq!(unsafe { array.shared_items::<u8>() }, source);
                    }
                }
            }
        }
    }
}
