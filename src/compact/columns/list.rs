//! [`ColumnList`]: columns of any types, as bytes.

use core::marker::PhantomData;

use super::static_row::ColumnStart;
use crate::Error;

/// A column as bytes: items of `bytes` bytes each, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) start: *mut u8,
    /// The size of an item, or of a row of them: not 0.
    pub(crate) bytes: usize,
}

// SAFETY: a column is the address of items that are `Send`, as `ColumnList::add` demands, so they
// may move to another thread. Code that dereferences the address has its own argument.
unsafe impl Send for Column {}
// SAFETY: a shared column gives out only copies of its address. The address is dereferenced only to
// copy the items' bits, which moves items and shares none, so the `T: Send` of `ColumnList::add` is
// enough.
unsafe impl Sync for Column {}

/// The bytes of one item of every column together.
pub(crate) fn item_bytes(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.bytes).sum()
}

/// Columns that are borrowed for `'a`.
#[derive(Debug, Default)]
pub struct ColumnList<'a> {
    /// The columns that are not empty and whose items have a size.
    columns: Vec<Column>,
    /// The length of the first column.
    len: Option<usize>,
    /// The first length that differs from it.
    other_len: Option<usize>,
    /// The bytes that could not be allocated for the list, if that failed.
    refused: Option<u64>,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> ColumnList<'a> {
    /// Adds a column whose items are rows of `width` items. The slice consists of whole rows.
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

    /// Checks that the list could be allocated and that all columns have one length.
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

    /// The number of items in each column, once [checked](Self::check); `None` if there are no
    /// columns.
    pub(super) fn len(&self) -> Option<usize> {
        self.len
    }

    /// The columns that are not empty and whose items have a size.
    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }
}
