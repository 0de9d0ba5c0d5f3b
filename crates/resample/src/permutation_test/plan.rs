//! [`DrawPlan`]: which arrangements a test looks at, and how threads share them.

use bijective_shuffle::Seed;
use bijective_shuffle_engine::check::try_with_capacity;
use rayon::prelude::*;

use super::statistic::ArrangementBatch;
use crate::{Design, Error};

/// A thread draws and looks at as many arrangements at a time as have so many items, though at
/// least 64, which is what statistics of pairs have lanes for.
const BATCH_ITEMS: usize = 1 << 14;

/// The arrangements of a test, numbered from 0 on.
#[derive(Clone, Copy, Debug)]
pub(super) struct DrawPlan<'a> {
    pub(super) design: &'a Design,
    pub(super) seed: Seed,
    /// Whether these are all arrangements, the identity among them.
    pub(super) is_exact: bool,
    pub(super) count: u64,
    /// Whether the rows of a group are in order.
    pub(super) sorts_groups: bool,
    /// How many arrangements a thread looks at together.
    pub(super) batch: usize,
}

impl<'a> DrawPlan<'a> {
    /// All arrangements, if there are no more than `most`, or else as many of a seed.
    pub(super) fn new(design: &'a Design, seed: Seed, most: u64) -> Self {
        let all = design.count_u64().filter(|&count| count <= most && design.has_identity());
        let (is_exact, count) = (all.is_some(), all.unwrap_or(most));
        let batch = (BATCH_ITEMS / design.len().min(1 << 32) as usize / 64 * 64).max(64);
        Self { design, seed, is_exact, count, sorts_groups: true, batch }
    }

    /// The number of rows, as orders in 32-bit words need it.
    fn len(&self) -> Result<usize, Error> {
        let len = u32::try_from(self.design.len()).map_err(|_| Error::TooManyRows)?;
        usize::try_from(len).map_err(|_| Error::TooManyRows)
    }

    /// The identity, whether the design has it or not.
    pub(super) fn identity<R>(
        &self,
        look: impl FnOnce(ArrangementBatch<'_>) -> Result<R, Error>,
    ) -> Result<R, Error> {
        let len = self.len()?;
        let mut order = try_with_capacity(len)?;
        order.extend(0..len as u32);
        let sign_len = if self.design.is_signed() { len } else { 0 };
        let mut signs = try_with_capacity(sign_len)?;
        signs.resize(sign_len, 1);
        look(ArrangementBatch { len, orders: &order, signs: &signs })
    }

    /// Writes a number for each arrangement from `first` on, on all threads, by a function that
    /// does so for a batch.
    pub(super) fn write(
        &self,
        first: u64,
        values: &mut [f64],
        look: impl Fn(ArrangementBatch<'_>, &mut [f64]) -> Result<(), Error> + Sync,
    ) -> Result<(), Error> {
        values.par_chunks_mut(self.batch).enumerate().try_for_each_init(
            || (Vec::new(), Vec::new()),
            |room, (number, values)| {
                let first = first + (number * self.batch) as u64;
                self.show_in(room, first, values.len(), |batch| look(batch, values))
            },
        )
    }

    /// Shows some arrangements from `first` on.
    pub(super) fn show(
        &self,
        first: u64,
        rows: usize,
        look: impl FnOnce(ArrangementBatch<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.show_in(&mut (Vec::new(), Vec::new()), first, rows, look)
    }

    /// Shows some arrangements, in memory that is used again.
    fn show_in(
        &self,
        (orders, signs): &mut (Vec<u32>, Vec<i8>),
        first: u64,
        rows: usize,
        look: impl FnOnce(ArrangementBatch<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let len = self.len()?;
        resize(orders, rows.saturating_mul(len))?;
        resize(signs, if self.design.is_signed() { orders.len() } else { 0 })?;
        self.draw(first, orders, signs)?;
        look(ArrangementBatch { len, orders, signs })
    }

    fn draw(&self, first: u64, orders: &mut [u32], signs: &mut [i8]) -> Result<(), Error> {
        if !self.is_exact {
            return self.design.draw_rows(first, self.seed, orders, signs, self.sorts_groups);
        }
        let len = self.len()?;
        for (order, rank) in orders.chunks_exact_mut(len).zip(first..) {
            let arrangement = self.design.at_rank(rank)?;
            for (place, &row) in order.iter_mut().zip(arrangement.order()) {
                *place = row as u32;
            }
            if let Some(own) = arrangement.signs() {
                signs[(rank - first) as usize * len..][..len].copy_from_slice(own);
            }
        }
        Ok(())
    }
}

/// Makes a buffer of a length.
pub(super) fn resize<T: Copy + Default>(buffer: &mut Vec<T>, len: usize) -> Result<(), Error> {
    if buffer.capacity() < len {
        *buffer = try_with_capacity(len)?;
    }
    buffer.resize(len, T::default());
    Ok(())
}
