//! [`Joined`]: several tables, one after the other.

use std::collections::BTreeSet;
use std::fmt;
use std::io::Write;
use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;

use super::error::{TableError, checked_sum};
use super::table::{RowBatches, TableFile, TableWriter};

/// Tables of the same columns as one, which is written as the first of them.
pub struct Joined {
    tables: Vec<Box<dyn TableFile>>,
    schema: SchemaRef,
    groups: Vec<u64>,
    cuts: Vec<usize>,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("schema", &self.schema).finish_non_exhaustive()
    }
}

impl Joined {
    /// Joins at least one table. Tables of one format should [agree](TableFile::agree) before.
    ///
    /// # Errors
    ///
    /// [`TableError::OtherColumns`], [`TableError::TooManyRows`], and [`TableError::Unsupported`]
    /// if there is no table, or if their dictionaries differ, which have other numbers for the same
    /// values.
    pub fn new(tables: Vec<Box<dyn TableFile>>) -> Result<Self, TableError> {
        let Some(first) = tables.first() else {
            return Err(TableError::Unsupported("an empty list of tables".to_owned()));
        };
        let schema = first.schema();
        if let Some(table) =
            tables.iter().position(|table| table.schema().fields() != schema.fields())
        {
            return Err(TableError::OtherColumns { table });
        }
        let found = |table: &dyn TableFile| -> Vec<(usize, ArrayRef)> {
            let columns = table.dictionaries().iter().cloned().enumerate();
            columns.filter_map(|(column, values)| Some((column, values?))).collect()
        };
        let of_first = found(&**first);
        if tables.iter().any(|table| found(&**table) != of_first) {
            let what = "tables whose dictionaries differ, together,";
            return Err(TableError::Unsupported(what.to_owned()));
        }
        let groups: Vec<u64> =
            tables.iter().flat_map(|table| table.groups().iter().copied()).collect();
        checked_sum(groups.iter().copied())?;
        let mut cuts: Vec<usize> =
            tables.iter().flat_map(|table| table.cuts().iter().copied()).collect();
        cuts.sort_unstable();
        cuts.dedup();
        Ok(Self { tables, schema, groups, cuts })
    }
}

impl TableFile for Joined {
    fn rewritten(&self) -> BTreeSet<(String, String)> {
        self.tables.iter().flat_map(|table| table.rewritten()).collect()
    }

    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn groups(&self) -> &[u64] {
        &self.groups
    }

    fn dictionaries(&self) -> &[Option<ArrayRef>] {
        self.tables[0].dictionaries()
    }

    fn bytes(&self) -> u64 {
        self.tables.iter().fold(0, |sum, table| sum.saturating_add(table.bytes()))
    }

    fn held(&self) -> u64 {
        // Each has what it read when it was opened, and they are read one after the other.
        self.tables.iter().map(|table| table.held()).max().unwrap_or(0)
    }

    fn cuts(&self) -> &[usize] {
        &self.cuts
    }

    fn read(
        &self,
        groups: &[usize],
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<RowBatches<'_>, TableError> {
        // Neighbours of one table are read together.
        let mut runs: Vec<(usize, Vec<usize>)> = Vec::new();
        for &group in groups {
            let (mut table, mut own) = (0, group);
            while own >= self.tables[table].groups().len() {
                own -= self.tables[table].groups().len();
                table += 1;
            }
            match runs.last_mut() {
                Some((last, run)) if *last == table => run.push(own),
                _ => runs.push((table, vec![own])),
            }
        }
        Ok(Box::new(runs.into_iter().flat_map(move |(table, run)| match self.tables[table].read(
            &run,
            columns.clone(),
            bytes,
        ) {
            Ok(batches) => batches,
            Err(error) => Box::new([Err(error)].into_iter()) as RowBatches<'_>,
        })))
    }

    fn writer<'w>(
        &self,
        output: Box<dyn Write + Send + 'w>,
        group_bytes: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
        self.tables[0].writer(output, group_bytes)
    }
}
