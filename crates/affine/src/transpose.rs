//! [`transpose`]: for arrays whose sides need not be powers of two, so that no affine map does it.

use crate::MatrixError;
use core::mem::MaybeUninit;
use core::ptr;

use super::shares::TileShares;
use super::tuning;
use bijective_shuffle_engine::memory::{Buffer, SharedPtr};
use bijective_shuffle_engine::stream;

/// Transposes an array of `rows` rows and `columns` columns, stored row by row, into another:
/// `out[column * rows + row] = source[row * columns + column]`.
///
/// The sides may have any length. If both are powers of two, this is [`permute`](super::permute())
/// by [`BitMatrix::array_transpose`](super::BitMatrix::array_transpose).
///
/// # Errors
///
/// [`MatrixError::LengthMismatch`] if the slices do not have `rows * columns` items, and
/// [`MatrixError::OutOfMemory`]. `out` is then unchanged.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::transpose;
///
/// let mut out = [0; 6];
/// transpose(2, 3, &[1, 2, 3, 4, 5, 6], &mut out)?;
/// assert_eq!(out, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub fn transpose<T: Copy + Send + Sync>(
    rows: usize,
    columns: usize,
    source: &[T],
    out: &mut [T],
) -> Result<(), MatrixError> {
    for actual in [source.len(), out.len()] {
        if rows.checked_mul(columns) != Some(actual) {
            let (expected, actual) = ((rows as u64).saturating_mul(columns as u64), actual as u64);
            return Err(MatrixError::LengthMismatch { expected, actual });
        }
    }
    if size_of_val(source) == 0 {
        return Ok(());
    }
    let side = 1 << tuning::run_bits::<T>();
    let (down, across) = (rows.div_ceil(side), columns.div_ceil(side));
    let room = side * side;
    let shares = TileShares::new::<T>((down * across) as u64, room, room);
    let mut memory = Buffer::default();
    let memory = memory.room(shares.room())?;
    let array = SquareArray { source, rows, columns, side, out: SharedPtr::new(out.as_mut_ptr()) };
    // Down the columns, so that each thread writes consecutive memory.
    shares.run(memory, |blocks, buffer| {
        for k in blocks.start as usize..blocks.end as usize {
            // SAFETY: `out` has as many places as the source has items, `k` is the number of a
            // block of the array, and no other thread has this block.
            unsafe { array.copy(k % down, k / down, &mut buffer[..room]) };
        }
    });
    Ok(())
}

/// An array to be transposed in square blocks.
struct SquareArray<'a, T> {
    source: &'a [T],
    rows: usize,
    columns: usize,
    /// The side of a block, in items. Blocks at the edges may be smaller.
    side: usize,
    /// One place for each of the source's items.
    out: SharedPtr<T>,
}

impl<T: Copy> SquareArray<'_, T> {
    /// Transposes one block to its place.
    ///
    /// # Safety
    ///
    /// `out` has as many places as the source has items, which is the product of the sides, and
    /// does not overlap the source. Nobody else uses the places of this block while this runs.
    ///
    /// # Panics
    ///
    /// If there is no such block, or the buffer is smaller than a block.
    unsafe fn copy(&self, down: usize, across: usize, buffer: &mut [MaybeUninit<T>]) {
        let rows = down * self.side..self.rows.min((down + 1) * self.side);
        let columns = across * self.side..self.columns.min((across + 1) * self.side);
        let height = rows.len();
        assert!(!rows.is_empty() && !columns.is_empty(), "there is no block {down}, {across}");
        for (k, row) in rows.clone().enumerate() {
            let next =
                self.source.as_ptr().wrapping_add((row + self.side).wrapping_mul(self.columns));
            let lines = (columns.len() * size_of::<T>()).div_ceil(stream::LINE);
            stream::prefetch_lines(next.wrapping_add(columns.start).cast(), lines);
            let items = &self.source[row * self.columns..][columns.clone()];
            for (slot, item) in buffer[k..].iter_mut().step_by(height).zip(items) {
                slot.write(*item);
            }
        }
        for (run, column) in buffer.chunks_exact(height).zip(columns) {
            // SAFETY: `column` is below the number of columns and `rows.start` below the number of
            // rows, so the index is below the product of the sides.
            let to = unsafe { self.out.at(column * self.rows + rows.start) };
            // SAFETY: a column of the source is a row of the target, so `height` consecutive places
            // starting here are those of this block's rows. Nobody else uses them.
            let to = unsafe { core::slice::from_raw_parts_mut(to.cast(), height) };
            if size_of_val(to) >= stream::LINE {
                stream::stream(run, to);
            } else {
                // SAFETY: `run` and `to` both have `height` items, and the buffer is separate
                // memory.
                unsafe { ptr::copy_nonoverlapping(run.as_ptr(), to.as_mut_ptr(), height) };
            }
        }
        stream::publish();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Affine, BitMatrix, permuted};

    fn check<T: Copy + Send + Sync + PartialEq>(
        rows: usize,
        columns: usize,
        item: impl Fn(usize) -> T,
    ) {
        let source: Vec<T> = (0..rows * columns).map(&item).collect();
        let mut out = vec![item(0); rows * columns];
        transpose(rows, columns, &source, &mut out).unwrap();
        let expected = (0..columns).flat_map(|c| (0..rows).map(move |r| r * columns + c));
        assert!(out.iter().zip(expected).all(|(a, k)| *a == item(k)), "{rows} by {columns}");
    }

    #[test]
    fn arrays_of_all_shapes() {
        for rows in [0, 1, 2, 7, 63, 64, 65, 130] {
            for columns in [0, 1, 3, 31, 64, 100, 257] {
                check(rows, columns, |k| k as u8);
                check(rows, columns, |k| k as u64);
                check(rows, columns, |k| [k as u32; 3]);
            }
        }
        check(3, 5, |k| [k; 200]);
        check(3, 5, |_| ());
    }

    #[test]
    fn threads_share_a_transpose() {
        for threads in [1, 3, 16] {
            let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                // Several shares in each direction, the last of which is smaller than the others.
                check(2051, 1201, |k| k as u64);
                check(3, 1_000_001, |k| k as u8);
                check(1_000_003, 3, |k| k as u16);
            });
        }
    }

    #[test]
    fn powers_of_two_are_affine() {
        let source: Vec<u32> = (0..1 << 12).collect();
        let mut out = vec![0; 1 << 12];
        transpose(1 << 5, 1 << 7, &source, &mut out).unwrap();
        let map = Affine::new(&BitMatrix::array_transpose(5, 7).unwrap(), 0).unwrap();
        assert_eq!(out, permuted(&map, &source).unwrap());
    }

    #[test]
    fn transposing_refuses_other_lengths() {
        let error = Err(MatrixError::LengthMismatch { expected: 6, actual: 5 });
        assert_eq!(transpose(2, 3, &[0; 6], &mut [0; 5]), error);
        assert_eq!(transpose(2, 3, &[0; 5], &mut [0; 6]), error);
        let many = usize::MAX as u64;
        let error = |rows, actual| {
            Err(MatrixError::LengthMismatch { expected: many.saturating_mul(rows), actual })
        };
        assert_eq!(transpose(usize::MAX, usize::MAX, &[0; 0], &mut []), error(many, 0));
        // Fails even for items of size zero, though a slice can hold any number of them: 2^64 - 1
        // is not the product of these sides.
        let (items, mut out) = (vec![(); usize::MAX], vec![(); usize::MAX]);
        assert_eq!(transpose(usize::MAX, 2, &items, &mut out), error(2, many));
        assert_eq!(transpose(usize::MAX, 1, &items, &mut out), Ok(()));
    }
}
