//! The strategies that evaluate every slot.

use super::{Job, Runner, WIDEST_KEPT, blocks};
use crate::bijection::DeviceSource;
use crate::cuda::kernels::{self, Places, index_type};
use crate::cuda::movement::{Movement, word_type};
use crate::cuda::tuning;
use crate::error::Error;

impl Runner {
    pub(super) fn single_pass(&mut self, job: &Job) -> Result<(), Error> {
        if job.is_dense() {
            self.dense(&job.source, job.len, index_type(job.last), &job.movement)
        } else {
            let index = index_type(job.last);
            self.survivors(&job.source, job.last, job.len, index, &job.movement, 0)
        }
    }

    /// Moves items that all survive.
    pub(super) fn dense(
        &mut self,
        f: &DeviceSource,
        len: u64,
        index: &str,
        movement: &Movement,
    ) -> Result<(), Error> {
        let shape = tuning::dense(len - 1, movement.writes_indexes());
        let text = kernels::dense(index, shape, &movement.type_name());
        let ready = self.kernel(Some(f), text, shape.threads, 0)?;
        let grid = blocks(len.div_ceil(shape.tile()))?;
        let arguments = [f.params(), &len.to_le_bytes(), &movement.argument()];
        self.launch(&ready, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Moves survivors with places by look-back; if the address is not 0, only if there is something other than 0.
    pub(super) fn survivors(
        &mut self,
        f: &DeviceSource,
        last: u64,
        len: u64,
        index: &str,
        movement: &Movement,
        only_if: u64,
    ) -> Result<(), Error> {
        // Slots are as wide as the kernel takes them, even where the domain is small.
        let wide = index == "uint64_t";
        let shape = tuning::survivors(last, movement.writes_indexes(), wide);
        let tiles = last / shape.tile() + 1;
        let text = kernels::survivors(index, shape, Places::Chained, &movement.type_name());
        let ready = self.kernel(Some(f), text, shape.threads, 0)?;
        let chain = self.chain(tiles)?;
        let grid = self.resident(&ready, tiles);
        let [last, len, chain, only_if] = [last, len, chain, only_if].map(u64::to_le_bytes);
        let arguments = [f.params(), &last, &len, &chain, &movement.argument(), &only_if];
        self.launch(&ready, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Counts, sums and moves in three kernels, evaluating twice.
    pub(super) fn two_pass(&mut self, job: &Job) -> Result<(), Error> {
        if job.is_dense() {
            return self.single_pass(job);
        }
        let index = index_type(job.last);
        let wide = index == "uint64_t";
        let shape = tuning::survivors(job.last, job.movement.writes_indexes(), wide);
        let tiles = job.last / shape.tile() + 1;
        let grid = blocks(tiles)?;
        let f = Some(&job.source);
        let count = self.kernel(f, kernels::count(index, shape), shape.threads, 0)?;
        let scan = self.kernel(None, kernels::scan(), 1024, 0)?;
        let name = job.movement.type_name();
        let text = kernels::survivors(index, shape, Places::Given, &name);
        let place = self.kernel(f, text, shape.threads, 0)?;
        let bases_at = (tiles * 4).next_multiple_of(256);
        let counts = self.scratch(bases_at + tiles * 8)?;
        let [last, len, none] = [job.last, job.len, 0].map(u64::to_le_bytes);
        let [counts, bases] = [counts, counts + bases_at].map(u64::to_le_bytes);
        let arguments = [job.source.params(), &last, &len, &counts];
        self.launch(&count, (grid, 1), shape.threads, 0, &arguments)?;
        self.launch(&scan, (1, 1), 1024, 0, &[&counts, &grid.to_le_bytes(), &bases])?;
        let arguments = [job.source.params(), &last, &len, &bases, &job.movement.argument(), &none];
        let grid = self.resident(&place, tiles);
        self.launch(&place, (grid, 1), shape.threads, 0, &arguments)
    }

    /// Every step by itself: values, survivors, movement.
    pub(super) fn unfused(&mut self, job: &Job) -> Result<(), Error> {
        let index = index_type(job.last);
        let word = if index == "uint32_t" { 4 } else { 8 };
        if job.last >= WIDEST_KEPT {
            return Err(Error::DeviceMemory);
        }
        let points = job.last + 1;
        let indices_at = (points * word as u64).next_multiple_of(256);
        let values = self.scratch(indices_at + job.len * word as u64)?;
        let indices = values + indices_at;
        self.dense(&job.source, points, index, &Movement::Indices { out: values, word })?;
        let values = lookup(values, word);
        if job.is_dense() {
            return self.dense(&values, job.len, index, &job.movement);
        }
        if matches!(job.movement, Movement::Indices { .. }) {
            return self.survivors(&values, job.last, job.len, index, &job.movement, 0);
        }
        let to_indices = Movement::Indices { out: indices, word };
        self.survivors(&values, job.last, job.len, index, &to_indices, 0)?;
        self.dense(&lookup(indices, word), job.len, index, &job.movement)
    }
}

/// A bijection's stand-in: values that are written in words of so many bytes.
pub(super) fn lookup(address: u64, word: usize) -> DeviceSource {
    // Unlike a user's text, which must take any argument, this reads where its argument says. The
    // kernels that it is given to ask for slots up to `last` only, each of which has a value: they
    // are launched with the number of values.
    DeviceSource::own(format!("Lookup<{}>", word_type(word)), "", [address])
}
