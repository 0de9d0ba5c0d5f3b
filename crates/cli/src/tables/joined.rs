//! [`Joined`]: several tables, one after the other.

use std::fmt;
use std::io::Write;
use std::ops::Range;

use arrow_array::ArrayRef;

use super::error::{TableError, checked_sum};
use super::table::{About, RowBatches, TableFile, TableWriter};

/// Tables with the same columns, joined to one, which is written in the form of the first.
pub struct Joined {
    tables: Vec<Box<dyn TableFile>>,
    about: About,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Joined").field("about", &self.about).finish_non_exhaustive()
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
        let mut all = tables.iter().map(|table| table.about());
        let Some(mut about) = all.next().cloned() else {
            return Err(TableError::Unsupported("an empty list of tables".to_owned()));
        };
        let found = |about: &About| -> Vec<(usize, ArrayRef)> {
            let columns = about.dictionaries.iter().cloned().enumerate();
            columns.filter_map(|(column, values)| Some((column, values?))).collect()
        };
        for (number, other) in all.clone().enumerate() {
            if other.schema.fields() != about.schema.fields() {
                return Err(TableError::OtherColumns { table: number + 1 });
            }
        }
        for other in all {
            if found(other) != found(&about) {
                let what = "tables whose dictionaries differ, together,";
                return Err(TableError::Unsupported(what.to_owned()));
            }
            about.groups.extend(&other.groups);
            about.cuts.extend(&other.cuts);
            about.rewritten.extend(other.rewritten.iter().cloned());
            about.bytes = about.bytes.saturating_add(other.bytes);
            // Each has what it read when it was opened, and they are read one after the other.
            about.held = about.held.max(other.held);
        }
        checked_sum(about.groups.iter().copied())?;
        about.cuts.sort_unstable();
        about.cuts.dedup();
        Ok(Self { tables, about })
    }
}

impl TableFile for Joined {
    fn about(&self) -> &About {
        &self.about
    }

    fn read(
        &self,
        group: usize,
        columns: Range<usize>,
        bytes: u64,
    ) -> Result<RowBatches<'_>, TableError> {
        let (mut table, mut own) = (0, group);
        while own >= self.tables[table].about().groups.len() {
            own -= self.tables[table].about().groups.len();
            table += 1;
        }
        self.tables[table].read(own, columns, bytes)
    }

    fn writer<'w>(
        &self,
        output: Box<dyn Write + Send + 'w>,
        group_bytes: usize,
    ) -> Result<Box<dyn TableWriter + 'w>, TableError> {
        self.tables[0].writer(output, group_bytes)
    }
}
