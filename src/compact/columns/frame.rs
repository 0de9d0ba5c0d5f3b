//! [`Frame`]: columns of any types, as bytes.

use core::marker::PhantomData;

use crate::compact::check_length;
use crate::error::Error;

/// A column: so many bytes for each item, one item after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) start: *mut u8,
    /// The size of an item, or of a row of them: not 0.
    pub(crate) bytes: usize,
}

// SAFETY: a column is the address of items that may change threads, as `Frame::add` demands; whoever follows it answers
// for that.
unsafe impl Send for Column {}
// SAFETY: as above; it is never followed but to copy bits, which moves items.
unsafe impl Sync for Column {}

/// Columns that are borrowed for `'a`, and how many items each of them has.
#[derive(Debug, Default)]
pub struct Frame<'a> {
    /// Those whose items have a size.
    columns: Vec<Column>,
    /// That of the first column.
    len: Option<usize>,
    /// The first that differs.
    other_len: Option<usize>,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> Frame<'a> {
    /// The columns' frame.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if they are not of one length.
    pub(crate) fn new<C: super::Columns + 'a>(columns: C) -> Result<Self, Error> {
        let mut frame = Self::default();
        columns.list(&mut frame);
        match (frame.len, frame.other_len) {
            (Some(len), Some(other)) => {
                Err(Error::LengthMismatch { expected: len as u64, actual: other as u64 })
            }
            _ => Ok(frame),
        }
    }

    /// Adds a column of rows of `width` items, which the slice consists of.
    pub(super) fn add<T: Send>(&mut self, items: &'a mut [T], width: usize) {
        let len = items.len() / width;
        if *self.len.get_or_insert(len) != len {
            self.other_len.get_or_insert(len);
        }
        let bytes = size_of::<T>().saturating_mul(width);
        if size_of_val(items) > 0 {
            self.columns.push(Column { start: items.as_mut_ptr().cast(), bytes });
        }
    }

    /// How many items each column has; `None` if there are no columns.
    pub(crate) fn len(&self) -> Option<usize> {
        self.len
    }

    /// Whether there is nothing to move.
    pub(crate) fn is_nothing(&self) -> bool {
        self.columns.is_empty()
    }

    /// The columns that are not of items of no size, nor empty.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The size of all items of all columns.
    pub(crate) fn bytes(&self) -> u64 {
        let item: usize = self.columns.iter().map(|column| column.bytes).sum();
        item as u64 * self.len.unwrap_or(0) as u64
    }

    /// Checks that the items are no more than the domain has points.
    pub(crate) fn check_domain(&self, last: u64) -> Result<(), Error> {
        check_length(self.len.unwrap_or(0) as u64, last)
    }
}
