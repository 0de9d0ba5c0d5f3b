//! Rows of a batch: which kernels write them.

use super::kernels::{self, Keys, Shares};
use super::tuning;
use crate::bijection::{Bijection, FromSeed, Standard, StandardCipher};
use crate::compact::batch::Batch;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::plan::{Address, Grid, Launch, Plan};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::Movement;
use crate::cuda::shuffle::plan;
use crate::cuda::strategy::CudaStrategy;
use crate::error::{Error, GpuError};

/// Rows from `first` on, in words of 4 or 8 bytes from an address on.
pub(crate) struct RowsJob {
    pub(crate) batch: Batch,
    pub(crate) first: u64,
    pub(crate) rows: u64,
    /// The most rows of a call, where several write a batch piece by piece. It chooses the kernel, so that all take the same.
    pub(crate) at_once: u64,
    pub(crate) out: Address,
    pub(crate) word: WordType,
}

/// Which kernels write rows.
enum Way {
    /// Rows that are drawn exactly, a thread a row.
    Exact,
    /// All rows at a time, by ciphers of the width that this one has.
    Together(StandardCipher),
    /// One row after another, each by the whole device.
    OneByOne,
}

impl Way {
    fn of(job: &RowsJob, multiprocessors: u32) -> Self {
        let len = job.batch.len as u64;
        if len <= Standard::EXACT_MAX {
            return Self::Exact;
        }
        let any = StandardCipher::from_seed(len, 0);
        if tuning::one_by_one(any.last(), job.at_once, multiprocessors) {
            Self::OneByOne
        } else {
            Self::Together(any)
        }
    }
}

/// Puts the kernels that write rows in the stream.
///
/// # Safety
///
/// The job's address is of the words of its rows on the device, which the stream may write.
pub(crate) unsafe fn write(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    each_plan(executor, job, |executor, plan| {
        // SAFETY: the plan writes rows of the job, which the caller vouches for.
        unsafe { executor.execute(plan) }
    })
}

/// Gets what [`write`] will need.
pub(crate) fn reserve(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    // All rows need the same.
    let job = RowsJob { rows: job.rows.min(1), ..*job };
    each_plan(executor, &job, Executor::reserve)
}

/// Does something with the plan for all rows, or with the plan of each row in turn.
fn each_plan(
    executor: &mut Executor,
    job: &RowsJob,
    mut run: impl FnMut(&mut Executor, &Plan<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if job.rows == 0 {
        return Ok(());
    }
    let limits = executor.device.limits;
    match Way::of(job, limits.multiprocessors) {
        Way::Exact => run(executor, &exact(job)),
        Way::Together(any) => run(executor, &together(job, &any, limits.multiprocessors)?),
        Way::OneByOne => (0..job.rows).try_for_each(|row| {
            let len = job.batch.len as u64;
            let f =
                StandardCipher::from_seed(len, job.batch.seed.epoch(job.first.wrapping_add(row)));
            let out = job.out.plus(row * len * job.word.bytes() as u64);
            let row = Job::new(&f, len, Movement::Indices { out, word: job.word })?;
            run(executor, &plan::plan(&row, CudaStrategy::SinglePass, &limits)?)
        }),
    }
}

fn exact(job: &RowsJob) -> Plan<'static> {
    let &RowsJob { batch, first, rows, out, word, .. } = job;
    // Four items a word, a word of each thread after the other.
    let shared = tuning::EXACT_ROWS as usize * 4 * batch.len.div_ceil(4);
    let grid = Grid::Resident(rows.div_ceil(u64::from(tuning::EXACT_ROWS)));
    let keys = Keys::new(&batch.seed, Standard::key_domain(batch.len as u64).word());
    let shares = Shares::new(batch.len);
    let launch = Launch::new(kernels::exact_rows(word), grid, move |at| kernels::ExactRows {
        keys,
        shares,
        first,
        rows,
        out: at.at(out),
    });
    let mut plan = Plan::new();
    plan.launch(launch.with_shared(shared));
    plan
}

/// All rows at a time; `any` is a member of the family, for its width.
fn together(
    job: &RowsJob,
    any: &StandardCipher,
    multiprocessors: u32,
) -> Result<Plan<'static>, Error> {
    let &RowsJob { batch, first, rows, at_once, out, word } = job;
    let (last, len) = (any.last(), batch.len as u64);
    let most = len - 1;
    let shape = tuning::rows(last, at_once, multiprocessors);
    let source = any.device_source().ok_or(Error::Gpu(GpuError::NoSource))?;
    let grid = Grid::Resident(rows.div_ceil(u64::from(shape.at_once())));
    let keys = Keys::new(&batch.seed, StandardCipher::key_domain(len).word());
    let kernel = kernels::cipher_rows(WordType::for_indexes(last), shape, most == last, word);
    let launch = Launch::new(kernel, grid, move |at| kernels::CipherRows {
        keys,
        last,
        most,
        first,
        rows,
        out: at.at(out),
    });
    let mut plan = Plan::new();
    plan.launch(launch.evaluating(source));
    Ok(plan)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
