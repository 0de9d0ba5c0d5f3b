//! [`Frame`]: columns of any types, as bytes.

use core::marker::PhantomData;

use super::Columns;
use super::fixed::{Fixed, Start};
use crate::base::check::check_length;
use crate::error::Error;

/// A column: so many bytes for each item, one item after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) start: *mut u8,
    /// The size of an item, or of a row of them: not 0.
    pub(crate) bytes: usize,
}

// SAFETY: a column is the address of items that may change threads, as `List::add` demands; whoever follows it answers
// for that.
unsafe impl Send for Column {}
// SAFETY: as above; it is never followed but to copy bits, which moves items.
unsafe impl Sync for Column {}

/// The size of an item of each column together.
pub(super) fn item_bytes(columns: &[Column]) -> usize {
    columns.iter().map(|column| column.bytes).sum()
}

/// Columns that are borrowed for `'a`.
#[derive(Debug, Default)]
pub struct List<'a> {
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

impl<'a> List<'a> {
    /// Adds a column of rows of `width` items, which the slice consists of.
    pub(crate) fn add<T: Send>(&mut self, items: &'a mut [T], width: usize) -> Start<T> {
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
                return Start(start);
            }
            self.columns.push(Column { start: start.cast(), bytes: size_of::<T>() * width });
        }
        Start(start)
    }
}

/// Columns of one length, that are borrowed.
#[derive(Debug)]
pub(crate) struct Frame<'a, F> {
    list: List<'a>,
    starts: F,
}

impl<'a> Frame<'a, ()> {
    /// The columns' frame.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if they are not of one length, and [`Error::OutOfMemory`] if there is none for
    /// the list of them.
    pub(crate) fn new<C: Columns + 'a>(columns: C) -> Result<Frame<'a, C::Starts>, Error> {
        let mut list = List::default();
        let starts = columns.list(&mut list);
        if let Some(bytes) = list.refused {
            return Err(Error::OutOfMemory { bytes });
        }
        match (list.len, list.other_len) {
            (Some(len), Some(other)) => {
                Err(Error::LengthMismatch { expected: len as u64, actual: other as u64 })
            }
            _ => Ok(Frame { list, starts }),
        }
    }
}

impl<F: Fixed> Frame<'_, F> {
    /// How many items each column has; `None` if there are no columns.
    pub(crate) fn len(&self) -> Option<usize> {
        self.list.len
    }

    /// Whether there is nothing to move.
    pub(crate) fn is_nothing(&self) -> bool {
        self.columns().is_empty()
    }

    /// The columns that are not empty, nor of items of no size.
    pub(crate) fn columns(&self) -> &[Column] {
        &self.list.columns
    }

    /// The addresses of all columns.
    pub(crate) fn starts(&self) -> F {
        self.starts
    }

    /// The size of all items of all columns.
    pub(crate) fn bytes(&self) -> u64 {
        item_bytes(self.columns()) as u64 * self.len().unwrap_or(0) as u64
    }

    /// Checks that the items are no more than the domain has points.
    pub(crate) fn check_domain(&self, last: u64) -> Result<(), Error> {
        check_length(self.len().unwrap_or(0) as u64, last)
    }
}
