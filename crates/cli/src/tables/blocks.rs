//! [`Windows`]: row groups in random order, and rows in random order among those of a window.

use std::ops::Range;

use arrow_array::RecordBatch;
use bijective_shuffle::bijection::{BlockShuffle, BlockWindow};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::{Error, ParBijectiveShuffle, Seed};

use super::batches::{Picked, RowPlace, bytes_at_once, cost, rows_of};
use super::error::{TableError, checked_sum};
use super::place::{Produced, hand_on};
use super::table::{TableFile, read, slices};
use crate::files::FilesError;

/// The windows of a table, and which places of their order are wanted.
pub(super) struct Windows<'t> {
    memory: u64,
    table: &'t dyn TableFile,
    /// `None` if there are no rows.
    shuffle: Option<BlockShuffle>,
    places: Range<u64>,
}

impl<'t> Windows<'t> {
    pub(super) fn new(
        memory: u64,
        table: &'t dyn TableFile,
        window: u64,
        seed: Seed,
        places: Range<u64>,
    ) -> Result<Self, TableError> {
        let groups = &table.about().groups;
        let len = checked_sum(groups.iter().copied())?;
        let Range { start, end } = places;
        if start > end || end > len {
            let (start, end) = (start.into(), end.into());
            return Err(Error::View(ViewError::OutOfRange { start, end, len }).into());
        }
        let expected = groups.first().copied().unwrap_or(0);
        let is_other = |(number, &rows): (usize, &u64)| {
            if number + 1 < groups.len() { rows != expected } else { rows > expected }
        };
        if let Some(group) = groups.iter().enumerate().position(is_other) {
            return Err(TableError::UnequalGroups { group, rows: groups[group], expected });
        }
        let shuffle = (len > 0).then(|| BlockShuffle::new(len, expected, window, seed));
        let shuffle = shuffle.transpose().map_err(Error::from)?;
        Ok(Self { memory, table, shuffle, places })
    }

    /// Reads window after window, and hands on the rows that are wanted.
    pub(super) fn read(&self, take: &mut dyn FnMut(RecordBatch) -> Produced) -> Produced {
        for window in self.shuffle.iter().flat_map(BlockShuffle::windows) {
            let slots = window.slots();
            let (start, end) = (slots.start.max(self.places.start), slots.end.min(self.places.end));
            if start < end {
                self.read_window(&window, start - slots.start..end - slots.start, take)?;
            }
        }
        Ok(())
    }

    /// Hands on the rows at some places of a window.
    fn read_window(
        &self,
        window: &BlockWindow<'_>,
        wanted: Range<u64>,
        take: &mut dyn FnMut(RecordBatch) -> Produced,
    ) -> Produced {
        let slots = window.slots();
        // A group may be empty, after the last row.
        let groups: Vec<usize> = window.blocks().map(|block| block as usize).collect();
        let bytes = bytes_at_once(self.memory);
        let (mut slices_read, mut held) = (Vec::<(Vec<RecordBatch>, Vec<RowPlace>)>::new(), 0);
        let most = self.memory / 4 * 3;
        for columns in slices(self.table.about(), usize::MAX) {
            let (mut batches, mut places) = (Vec::new(), Vec::new());
            for batch in read(self.table, groups.clone(), columns, bytes) {
                let batch = batch?;
                held += cost(&batch);
                if held > most {
                    return Err(Some(TableError::WindowTooLarge { most }));
                }
                places.extend((0..batch.num_rows()).map(|row| (batches.len(), row)));
                batches.push(batch);
            }
            if places.len() as u64 != slots.end - slots.start {
                return Err(Some(FilesError::Changed.into()));
            }
            places.try_par_bijective_shuffle(&window.order()).map_err(TableError::from)?;
            slices_read.push((batches, places));
        }
        let wanted = wanted.start as usize..wanted.end as usize;
        let picked = slices_read.iter();
        let picked =
            picked.map(|(batches, places)| Picked { batches, places: &places[wanted.clone()] });
        let picked: Vec<Picked<'_>> = picked.collect();
        let rows = rows_of(bytes, held, slots.end - slots.start);
        hand_on(&picked, &self.table.about().schema, rows, take)
    }
}
