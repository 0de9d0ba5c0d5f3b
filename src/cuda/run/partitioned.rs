//! The partitioned strategy.

use super::{Job, Mode, Runner, blocks};
use crate::cuda::kernels::{self, index_type};
use crate::cuda::movement::{Array, word_type};
use crate::cuda::partition::{Layout, Level, Partition};
use crate::cuda::tuning;
use crate::error::Error;

impl Runner {
    /// The sizes of the partitioned strategy, if it serves.
    pub(super) fn partition(&self, job: &Job) -> Option<(Array, Partition)> {
        let (array, item) = job.movement.word()?;
        let last = u64::from(u32::try_from(job.last).ok()?);
        // With so many holes the buckets would be nearly empty.
        if job.len <= last / 8 {
            return None;
        }
        let last = if job.movement.scatters() { job.len - 1 } else { job.last };
        Some((array, Partition::new(&self.device.limits, item, job.len, last)?))
    }

    pub(super) fn partitioned(
        &mut self,
        job: &Job,
        array: Array,
        partition: &Partition,
    ) -> Result<(), Error> {
        if self.mode == Mode::Run {
            // Everything is got before anything is launched, so that another strategy can take over.
            self.mode = Mode::Reserve;
            let got = self.partitioned(job, array, partition);
            self.mode = Mode::Run;
            got?;
        }
        let word = word_type(array.item);
        let layout = partition.layout();
        let shared = partition.place_shared();
        let text = kernels::place(word, partition.bucket_bits, partition.dense);
        let threads = tuning::place(partition.dense).threads;
        let place = self.kernel(None, text, threads, shared)?;
        let at = self.scratch(layout.bytes)?;
        self.clear(at, layout.cleared_bytes)?;
        let first = buckets(at, &layout, &partition.first, 0);
        self.first_pass(job, array, partition, &first)?;
        let mut placed = first;
        if let Some(level) = &partition.second {
            placed = buckets(at, &layout, level, 1);
            self.second_pass(word, partition, level, &first, &placed)?;
        }
        let level = partition.last_level();
        let bases = (at + layout.bases).to_le_bytes();
        if !partition.dense {
            let scan = self.kernel(None, kernels::scan(), 1024, 0)?;
            let counts = &placed[16..24];
            let arguments = [counts, &blocks(level.buckets)?.to_le_bytes(), &bases];
            self.launch(&scan, (1, 1), 1024, 0, &arguments)?;
        }
        let arguments = [&placed[..], &bases, &array.out.to_le_bytes()];
        let grid = (blocks(level.buckets)?, 1);
        self.launch(&place, grid, threads, shared, &arguments)?;
        if partition.dense {
            // There is room for every key, so no bucket can overflow.
            return Ok(());
        }
        let overflow = at + layout.overflow;
        let index = index_type(job.last);
        self.survivors(&job.source, job.last, job.len, index, &job.movement, overflow)
    }

    fn first_pass(
        &mut self,
        job: &Job,
        array: Array,
        partition: &Partition,
        to: &[u8; 40],
    ) -> Result<(), Error> {
        let word = word_type(array.item);
        let Level { pass, shift, .. } = partition.first;
        let shared = partition.pass_shared(pass);
        let scatters = job.movement.scatters();
        let by_survivors = scatters && !job.is_dense();
        let text = if by_survivors {
            kernels::distribute_survivors(pass, word)
        } else {
            kernels::distribute_source(pass, word, scatters)
        };
        let ready = self.kernel(Some(&job.source), text, tuning::PASS_THREADS, shared)?;
        let tile = u64::from(tuning::PASS_THREADS * pass.records);
        let [last, len, source] = [job.last, job.len, array.source].map(u64::to_le_bytes);
        let shift = shift.to_le_bytes();
        let params = job.source.params();
        if by_survivors {
            let tiles = job.last / tile + 1;
            let chain = self.chain(tiles)?.to_le_bytes();
            let arguments = [params, &last, &len, &chain, &source, &shift, to];
            self.launch(&ready, (blocks(tiles)?, 1), tuning::PASS_THREADS, shared, &arguments)
        } else {
            let grid = (blocks(job.len.div_ceil(tile))?, 1);
            let arguments = [params, &source, &len, &shift, to];
            self.launch(&ready, grid, tuning::PASS_THREADS, shared, &arguments)
        }
    }

    fn second_pass(
        &mut self,
        word: &str,
        partition: &Partition,
        level: &Level,
        from: &[u8; 40],
        to: &[u8; 40],
    ) -> Result<(), Error> {
        let shared = partition.pass_shared(level.pass);
        let text = kernels::distribute_bucket(level.pass, word);
        let ready = self.kernel(None, text, tuning::PASS_THREADS, shared)?;
        let tile = u64::from(tuning::PASS_THREADS * level.pass.records);
        let grid =
            (blocks(partition.first.capacity.div_ceil(tile))?, blocks(partition.first.buckets)?);
        let arguments = [&from[..], &level.shift.to_le_bytes(), to];
        self.launch(&ready, grid, tuning::PASS_THREADS, shared, &arguments)
    }
}

/// `Buckets` in gpu/partitioned.cuh.
fn buckets(at: u64, layout: &Layout, level: &Level, number: usize) -> [u8; 40] {
    let counts = [layout.counts, layout.second_counts][number];
    let words = [
        at + layout.items[number],
        at + layout.keys[number],
        at + counts,
        level.capacity,
        at + layout.overflow,
    ];
    let mut bytes = [0; 40];
    for (bytes, word) in bytes.chunks_exact_mut(8).zip(words) {
        bytes.copy_from_slice(&word.to_le_bytes());
    }
    bytes
}
