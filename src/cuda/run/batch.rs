//! Rows of a batch: many permutations of one length.

use super::{Job, Mode, Runner};
use crate::bijection::{Bijection, FromSeed, Standard, StandardCipher, batch};
use crate::compact::batch::Batch;
use crate::cuda::device::failed;
use crate::cuda::kernels::{self, index_type};
use crate::cuda::movement::{Movement, word_type};
use crate::cuda::tuning;
use crate::error::Error;
use crate::seed::Seed;

/// `MOST_SHARES` in gpu/draw.cuh.
const MOST_SHARES: usize = 32;

/// Rows from `first` on, in words of so many bytes from an address on.
pub(in crate::cuda) struct RowsJob {
    pub(in crate::cuda) batch: Batch,
    pub(in crate::cuda) first: u64,
    pub(in crate::cuda) rows: u64,
    /// The most rows of a call, where several write a batch piece by piece. It chooses the kernel, so that all take the same.
    pub(in crate::cuda) at_once: u64,
    pub(in crate::cuda) out: u64,
    pub(in crate::cuda) word: usize,
}

impl Runner {
    /// Puts the kernels that write rows in the stream.
    ///
    /// # Safety
    ///
    /// The address is of that many words on the device, which the stream may write.
    pub(in crate::cuda) unsafe fn rows(&mut self, job: &RowsJob) -> Result<(), Error> {
        if job.rows == 0 {
            return Ok(());
        }
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        let (len, rows) = (job.batch.len as u64, job.at_once);
        if len <= Standard::EXACT_MAX {
            return self.exact_rows(job);
        }
        let any = StandardCipher::from_seed(len, 0);
        if tuning::one_by_one(any.last(), rows, self.device.limits.multiprocessors) {
            return self.rows_one_by_one(job);
        }
        self.chain_rows(job, &any)
    }

    /// Gets what [`rows`](Self::rows) will need.
    pub(in crate::cuda) fn rehearse_rows(
        &mut self,
        job: &RowsJob,
        mode: Mode,
    ) -> Result<(), Error> {
        self.mode = mode;
        // SAFETY: nothing is launched, so no address is used.
        let done = unsafe { self.rows(job) };
        self.mode = Mode::Run;
        done
    }

    fn exact_rows(&mut self, job: &RowsJob) -> Result<(), Error> {
        let len = job.batch.len;
        // Four items a word, a word of each thread after the other.
        let shared = tuning::EXACT_ROWS as usize * 4 * len.div_ceil(4);
        let text = kernels::exact_rows(word_type(job.word));
        let ready = self.kernel(None, text, tuning::EXACT_ROWS, shared)?;
        let grid = self.resident(&ready, job.rows.div_ceil(u64::from(tuning::EXACT_ROWS)));
        let keys = keys(&job.batch.seed, Standard::key_domain(len as u64).word());
        let shares = shares(len);
        let [first, rows, out] = [job.first, job.rows, job.out].map(u64::to_le_bytes);
        let arguments = [&keys[..], &shares[..], &first, &rows, &out];
        self.launch(&ready, (grid, 1), tuning::EXACT_ROWS, shared, &arguments)
    }

    /// All rows at a time; `any` is a member of the family, for its width.
    fn chain_rows(&mut self, job: &RowsJob, any: &StandardCipher) -> Result<(), Error> {
        let (last, len) = (any.last(), job.batch.len as u64);
        let most = len - 1;
        let shape = tuning::rows(last, job.at_once, self.device.limits.multiprocessors);
        let dense = most == last;
        let text = kernels::chain_rows(index_type(last), shape, dense, word_type(job.word));
        let ready = self.kernel(any.device_source().as_ref(), text, shape.threads(), 0)?;
        let grid = self.resident(&ready, job.rows.div_ceil(u64::from(shape.at_once())));
        let keys = keys(&job.batch.seed, StandardCipher::key_domain(len).word());
        let words = [last, most, job.first, job.rows, job.out].map(u64::to_le_bytes);
        let [last, most, first, rows, out] = &words;
        let arguments = [&keys[..], last, most, first, rows, out];
        self.launch(&ready, (grid, 1), shape.threads(), 0, &arguments)
    }

    /// One row after another, each by the whole device.
    fn rows_one_by_one(&mut self, job: &RowsJob) -> Result<(), Error> {
        let len = job.batch.len as u64;
        // All rows need the same.
        let rows = if self.mode == Mode::Run { job.rows } else { 1 };
        for row in 0..rows {
            let f =
                StandardCipher::from_seed(len, job.batch.seed.epoch(job.first.wrapping_add(row)));
            let out = job.out + row * len * job.word as u64;
            let movement = Movement::Indices { out, word: job.word };
            self.single_pass(&Job::new(&f, len, movement)?)?;
        }
        Ok(())
    }
}

/// `Keys` in gpu/draw.cuh.
fn keys(seed: &Seed, domain: u32) -> [u8; 40] {
    let mut bytes = [0; 40];
    let keys = seed.keys();
    for (bytes, key) in bytes.chunks_exact_mut(8).zip(keys) {
        bytes.copy_from_slice(&key.to_le_bytes());
    }
    bytes[32..36].copy_from_slice(&(keys.len() as u32).to_le_bytes());
    bytes[36..].copy_from_slice(&domain.to_le_bytes());
    bytes
}

/// `Shares` in gpu/draw.cuh.
fn shares(len: usize) -> [u8; 8 + 12 * MOST_SHARES] {
    let mut bytes = [0; 8 + 12 * MOST_SHARES];
    let (head, rest) = bytes.split_at_mut(8);
    let (products, places) = rest.split_at_mut(8 * MOST_SHARES);
    let slots = products.chunks_exact_mut(8).zip(places.chunks_exact_mut(4));
    let (mut range, mut shares) = (len as u64, 0_u32);
    for (product_at, places_at) in slots {
        if range <= 1 {
            break;
        }
        let (count, product) = batch(range);
        product_at.copy_from_slice(&product.to_le_bytes());
        places_at.copy_from_slice(&(count as u32).to_le_bytes());
        range -= count;
        shares += 1;
    }
    debug_assert!(range <= 1, "more words than there is room for");
    head[..4].copy_from_slice(&(len as u32).to_le_bytes());
    head[4..].copy_from_slice(&shares.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests;
