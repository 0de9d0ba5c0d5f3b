//! [`Rectangle`]: some columns of some rows of an ensemble's numbers.

use core::marker::PhantomData;

/// A rectangle of numbers: some columns of some rows.
#[derive(Debug)]
pub struct Rectangle<'a, N> {
    first: *mut N,
    stride: usize,
    columns: usize,
    rows: usize,
    numbers: PhantomData<&'a mut [N]>,
}

// SAFETY: it is a mutable borrow of its numbers and nothing else.
unsafe impl<N: Send> Send for Rectangle<'_, N> {}

impl<'a, N> Rectangle<'a, N> {
    /// All columns of whole rows.
    pub(super) fn new(numbers: &'a mut [N], columns: usize) -> Self {
        let rows = numbers.len().checked_div(columns).unwrap_or(0);
        Self { first: numbers.as_mut_ptr(), stride: columns, columns, rows, numbers: PhantomData }
    }

    /// How many columns there are.
    #[inline(always)]
    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// How many rows there are.
    #[inline(always)]
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The columns of one row.
    #[inline(always)]
    pub(super) fn row(&mut self, row: usize) -> &mut [N] {
        assert!(row < self.rows);
        // SAFETY: the row is one of those that were borrowed, so its first number is in bounds.
        let first = unsafe { self.first.add(row * self.stride) };
        // SAFETY: `columns` numbers from there on are this rectangle's alone, borrowed for as long as `self` is.
        unsafe { core::slice::from_raw_parts_mut(first, self.columns) }
    }

    /// The same rectangle for a while.
    pub(super) fn reborrow(&mut self) -> Rectangle<'_, N> {
        Rectangle { numbers: PhantomData, ..*self }
    }

    /// The first rows, and the others.
    pub(super) fn split_rows(self, rows: usize) -> (Self, Self) {
        assert!(rows <= self.rows);
        // Wrapping, as it may be past the end.
        let second = self.first.wrapping_add(rows * self.stride);
        (Self { rows, ..self }, Self { first: second, rows: self.rows - rows, ..self })
    }

    /// The first columns, and the others.
    pub(super) fn split(self, columns: usize) -> (Self, Self) {
        assert!(columns <= self.columns);
        // Wrapping, as it may be past the end where there are no rows.
        let second = self.first.wrapping_add(columns);
        let rest = self.columns - columns;
        (Self { columns, ..self }, Self { first: second, columns: rest, ..self })
    }
}
