//! [`Rectangle`]: some columns of some rows of an ensemble's numbers.

use core::marker::PhantomData;

/// A rectangle of numbers: a range of columns of a range of rows.
#[derive(Debug)]
pub struct Rectangle<'a, N> {
    first: *mut N,
    stride: usize,
    columns: usize,
    rows: usize,
    numbers: PhantomData<&'a mut [N]>,
}

// SAFETY: a rectangle is an exclusive borrow of its numbers, like `&mut [N]`, and has no other
// state; a mutable slice of `Send` numbers is `Send`.
unsafe impl<N: Send> Send for Rectangle<'_, N> {}

impl<'a, N> Rectangle<'a, N> {
    /// All columns of whole rows.
    pub(super) fn new(numbers: &'a mut [N], columns: usize) -> Self {
        let rows = numbers.len().checked_div(columns).unwrap_or(0);
        Self { first: numbers.as_mut_ptr(), stride: columns, columns, rows, numbers: PhantomData }
    }

    /// The number of columns.
    #[inline(always)]
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// The number of rows.
    #[inline(always)]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The numbers of one row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> &mut [N] {
        assert!(row < self.rows);
        // SAFETY: `row` is below the number of rows, and all rows are within the slice that was
        // borrowed, so the row's first number is in bounds.
        let first = unsafe { self.first.add(row * self.stride) };
        // SAFETY: the row has `columns` numbers from `first` on, which belong to this rectangle
        // alone: splits share no numbers. The result borrows `self`, so there is one such slice at
        // a time.
        unsafe { core::slice::from_raw_parts_mut(first, self.columns) }
    }

    /// Borrows the same rectangle for a shorter time.
    pub(super) fn reborrow(&mut self) -> Rectangle<'_, N> {
        Rectangle { numbers: PhantomData, ..*self }
    }

    /// Splits off the first rows.
    pub(super) fn split_rows(self, rows: usize) -> (Self, Self) {
        assert!(rows <= self.rows);
        // The addition wraps, since the second part may start past the end.
        let second = self.first.wrapping_add(rows * self.stride);
        (Self { rows, ..self }, Self { first: second, rows: self.rows - rows, ..self })
    }

    /// Splits off the first columns.
    pub(super) fn split(self, columns: usize) -> (Self, Self) {
        assert!(columns <= self.columns);
        // The addition wraps, since without rows the second part may start past the end.
        let second = self.first.wrapping_add(columns);
        let rest = self.columns - columns;
        (Self { columns, ..self }, Self { first: second, columns: rest, ..self })
    }
}
