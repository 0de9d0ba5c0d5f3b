//! [`ColumnList`]: columns of any types, as bytes.

use core::marker::PhantomData;

use super::static_row::ColumnStart;
use crate::error::Error;

/// A column: as many bytes for each item, one item after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) start: *mut u8,
    /// The size of an item, or of a row of them: not 0.
    pub(crate) bytes: usize,
}

// SAFETY: a column is the address of items that may change threads, as `ColumnList::add` demands;
// code that follows the address answers for what it does there.
unsafe impl Send for Column {}
// SAFETY: a shared column gives nothing but copies of its address. That is followed only to copy
// the items' bits, which moves items, so that the `T: Send` of `ColumnList::add` is enough.
unsafe impl Sync for Column {}

/// The size of an item of each column together.
pub(crate) fn item_bytes(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.bytes).sum()
}

/// Columns that are borrowed for `'a`.
#[derive(Debug, Default)]
pub struct ColumnList<'a> {
    /// Those that are not empty, nor of items of no size.
    columns: Vec<Column>,
    /// That of the first column.
    len: Option<usize>,
    /// The first that differs.
    other_len: Option<usize>,
    /// How many bytes could not be had for the list.
    refused: Option<u64>,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> ColumnList<'a> {
    /// Adds a column of rows of `width` items, which the slice consists of.
    pub(super) fn add<T: Send>(&mut self, items: &'a mut [T], width: usize) -> ColumnStart<T> {
        let len = items.len() / width;
        if *self.len.get_or_insert(len) != len {
            self.other_len.get_or_insert(len);
        }
        let start = items.as_mut_ptr();
        if size_of_val(items) > 0 {
            if self.columns.try_reserve(1).is_err() {
                let bytes =
                    self.columns.len().saturating_add(1).saturating_mul(size_of::<Column>());
                self.refused.get_or_insert(bytes as u64);
                return ColumnStart(start);
            }
            self.columns.push(Column { start: start.cast(), bytes: size_of::<T>() * width });
        }
        ColumnStart(start)
    }

    /// Checks that all columns could be listed, and that they are of one length.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] and [`Error::LengthMismatch`].
    pub(super) fn check(&self) -> Result<(), Error> {
        if let Some(bytes) = self.refused {
            return Err(Error::OutOfMemory { bytes });
        }
        match (self.len, self.other_len) {
            (Some(len), Some(other)) => {
                Err(Error::LengthMismatch { expected: len as u64, actual: other as u64 })
            }
            _ => Ok(()),
        }
    }

    /// How many items each column has, once [checked](Self::check); `None` if there are no columns.
    pub(super) fn len(&self) -> Option<usize> {
        self.len
    }

    /// The columns that are not empty, nor of items of no size.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }
}
