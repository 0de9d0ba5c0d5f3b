//! [`ColumnSet`]: borrowed columns, checked to be of one length.

use super::Columns;
use super::list::{Column, ColumnList};
use super::static_row::StaticRow;
use crate::Error;
use crate::engine::check::check_length;

/// Borrowed columns, checked to be of one length.
#[derive(Debug)]
pub(crate) struct ColumnSet<'a, R> {
    list: ColumnList<'a>,
    starts: R,
}

impl<'a> ColumnSet<'a, ()> {
    /// Lists the columns and checks their lengths.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the columns are not of one length, and [`Error::OutOfMemory`]
    /// if the list of them cannot be allocated.
    pub(crate) fn new<C: Columns + 'a>(columns: C) -> Result<ColumnSet<'a, C::Starts>, Error> {
        let mut list = ColumnList::default();
        let starts = columns.list(&mut list);
        list.check()?;
        Ok(ColumnSet { list, starts })
    }
}

impl<R: StaticRow> ColumnSet<'_, R> {
    /// The number of items in each column; `None` if there are no columns.
    pub(crate) fn len(&self) -> Option<usize> {
        self.list.len()
    }

    /// Whether there is nothing to move.
    pub(crate) fn is_nothing(&self) -> bool {
        self.columns().is_empty()
    }

    /// The columns that are not empty and whose items have a size.
    pub(crate) fn columns(&self) -> &[Column] {
        self.list.columns()
    }

    /// The addresses of all columns.
    pub(crate) fn starts(&self) -> R {
        self.starts
    }

    /// Checks that a column has no more items than the domain has points.
    pub(crate) fn check_domain(&self, last: u64) -> Result<(), Error> {
        Ok(check_length(self.len().unwrap_or(0) as u64, last)?)
    }
}
