//! [`TableFile`], [`About`] and [`TableWriter`]: rows in groups, and where they go.

use std::collections::BTreeSet;
use std::io::Write;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};

use super::error::TableError;
use super::guard::guarded;

/// Batches of rows, one after the other.
pub type RowBatches<'a> = Box<dyn Iterator<Item = Result<RecordBatch, TableError>> + 'a>;

/// The description of a table: its columns, its groups, and what reading it takes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct About {
    /// The columns of the batches.
    pub schema: SchemaRef,
    /// The number of rows of each group.
    pub groups: Vec<u64>,
    /// The values of each column whose batches have numbers of values in place of them. There may
    /// be fewer than there are columns. Tables that are joined have the same.
    pub dictionaries: Arc<[Option<ArrayRef>]>,
    /// About how many bytes all rows take in memory.
    pub bytes: u64,
    /// The most bytes that reading holds at a time, besides the batches.
    pub held: u64,
    /// The columns that begin another slice. Slices are read one after the other, because all
    /// columns at once would take too much memory. There is one slice of all columns if there are
    /// no cuts.
    pub cuts: Vec<usize>,
    /// The columns that cannot be written in the type that they have: that type with the one that
    /// takes its place, and the path of the column.
    pub rewritten: BTreeSet<(String, String)>,
}

impl About {
    /// A table with these columns and groups, all of which can be read at once. The other fields
    /// are empty or 0.
    pub fn new(schema: SchemaRef, groups: Vec<u64>) -> Self {
        Self {
            schema,
            groups,
            dictionaries: Arc::default(),
            bytes: 0,
            held: 0,
            cuts: Vec::new(),
            rewritten: BTreeSet::new(),
        }
    }
}

/// A file of rows, which are stored in groups.
pub trait TableFile: Sync {
    /// Reads columns that tables have in different types, and that one type can hold, as that type
    /// in all of them, and has tables share a dictionary that has the values of the others and may
    /// go on. Tables that are to be joined need it.
    ///
    /// # Errors
    ///
    /// [`TableError::Timestamp`], and [`TableError::OtherDictionary`].
    fn agree(_: &mut [Self]) -> Result<(), TableError>
    where
        Self: Sized,
    {
        Ok(())
    }

    /// The description of the table.
    fn about(&self) -> &About;

    /// Reads these columns of the rows of a group, in batches that take about this many bytes in
    /// memory; at least a row each. At most one value that was returned may be in use at a time.
    ///
    /// # Errors
    ///
    /// [`TableError::Read`], here and in the batches.
    fn read(
        &self,
        group: usize,
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<RowBatches<'_>, TableError>;

    /// Begins a file of the same format, schema, metadata and compression, whose row groups take at
    /// most about this many bytes.
    ///
    /// # Errors
    ///
    /// [`TableError::Write`].
    fn writer<'w>(
        &self,
        output: Box<dyn Write + Send + 'w>,
        group_bytes: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError>;
}

/// These columns of the rows of these groups, in the order in which the groups are named. Nothing
/// follows an error.
pub(super) fn read<'t>(
    table: &'t dyn TableFile,
    groups: Vec<usize>,
    columns: Range<usize>,
    bytes: u64,
) -> impl Iterator<Item = Result<RecordBatch, TableError>> + 't {
    let batches = groups.into_iter().flat_map(move |group| {
        let batches = table.read(group, columns.clone(), bytes);
        batches.unwrap_or_else(|error| Box::new(iter::once(Err(error))))
    });
    let mut left = Some(batches);
    iter::from_fn(move || {
        let batch = guarded(|| left.as_mut().and_then(Iterator::next).transpose()).transpose();
        if !matches!(batch, Some(Ok(_))) {
            left = None;
        }
        batch
    })
}

/// The columns of each slice of a table. No slice has more than a number of them.
pub(super) fn slices(about: &About, most: usize) -> Vec<Range<usize>> {
    let (mut slices, mut start) = (Vec::new(), 0);
    for end in about.cuts.iter().copied().chain([about.schema.fields().len()]) {
        let starts = (start..end).step_by(most.max(1));
        slices.extend(starts.map(|start| start..end.min(start.saturating_add(most.max(1)))));
        start = end;
    }
    slices
}

/// Some columns of a schema.
pub(super) fn part_of(schema: &Schema, columns: Range<usize>) -> SchemaRef {
    let fields = schema.fields()[columns].to_vec();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// A file that takes the rows of a [`TableFile`].
pub trait TableWriter: Send {
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
