//! [`Table`] and [`TableWriter`]: rows in groups, and where they go.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::error::TableError;

/// Batches of rows, one after the other.
pub type Batches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, TableError>> + 'a>;

/// A file of rows, which are stored in groups.
pub trait Table: Sync {
    /// The columns of the batches.
    fn schema(&self) -> SchemaRef;

    /// The number of rows of each group.
    fn groups(&self) -> &[u64];

    /// Whether the rows of other tables with these columns can be appended to those of this one.
    fn can_be_joined(&self) -> bool {
        true
    }

    /// About how many bytes all rows take in memory.
    fn bytes(&self) -> u64;

    /// The rows of these groups, in the order in which they are named, in batches that take about
    /// this many bytes in memory; at least a row each. At most one value that was returned may be
    /// in use at a time.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], here and in the batches.
    fn read(&self, groups: &[usize], bytes: u64) -> Result<Batches<'_>, TableError>;
}

impl<T: Table + Send + ?Sized> Table for Arc<T> {
    fn schema(&self) -> SchemaRef {
        (**self).schema()
    }

    fn groups(&self) -> &[u64] {
        (**self).groups()
    }

    fn can_be_joined(&self) -> bool {
        (**self).can_be_joined()
    }

    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn read(&self, groups: &[usize], bytes: u64) -> Result<Batches<'_>, TableError> {
        (**self).read(groups, bytes)
    }
}

/// A file that takes the rows of a [`Table`].
pub trait TableWriter {
    /// Appends rows with the columns of the table.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    fn write(&mut self, batch: &RecordBatch) -> Result<(), TableError>;

    /// Writes what is left, and the end of the file. Without this it cannot be read.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    fn finish(self: Box<Self>) -> Result<(), TableError>;
}
