//! Choosing and running the kernels that write rows of a batch.

use super::kernels::{self, Keys, Shares, Width};
use super::tuning;
use crate::bijection::Standard;
use crate::compact::batch::Batch;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::plan::{Address, Grid, Launch, Plan};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::Movement;
use crate::cuda::shuffle::strategy;
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::engine::bijection::StandardCipher;
use crate::error::GpuError;
use crate::{Bijection, Error, FromSeed};

/// Rows to be written: `rows` of them from row `first` on, to the address `out`, in words of 4 or 8
/// bytes.
pub(crate) struct RowsJob {
    pub(crate) batch: Batch,
    pub(crate) first: u64,
    pub(crate) rows: u64,
    /// The most rows of a call, where several calls write a batch piece by piece. It decides which
    /// kernel is used, so that all calls use the same.
    pub(crate) at_once: u64,
    pub(crate) out: Address,
    pub(crate) word: WordType,
}

/// How rows are written.
enum Way {
    /// Drawn exactly, one row for each thread.
    Exact,
    /// All rows at a time, by ciphers of the same width as this one.
    Together(Box<StandardCipher>),
    /// One row after the other, each by the whole device.
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
            Self::Together(Box::new(any))
        }
    }
}

/// Launches the kernels that write rows.
///
/// # Safety
///
/// At the job's address there are words for all of its rows, in device memory that the stream may
/// write, and nobody else uses them until it has.
pub(crate) unsafe fn write(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    let limits = executor.device.limits;
    each_plan(job, &limits, |plan| {
        // SAFETY: the plan writes the job's rows to the job's address, or one of its rows behind
        // those before it, and nothing else that the caller has given. The caller promises that
        // memory.
        unsafe { executor.execute(plan) }
    })
}

/// Compiles the kernels and allocates the memory that [`write`] will need.
pub(crate) fn reserve(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    // All rows need the same kernels and memory.
    let job = RowsJob { rows: job.rows.min(1), ..*job };
    let limits = executor.device.limits;
    each_plan(&job, &limits, |plan| executor.reserve(plan))
}

/// Calls a function with the plan for all rows, or with a plan for each row in turn.
pub(crate) fn each_plan(
    job: &RowsJob,
    limits: &Limits,
    mut run: impl FnMut(&Plan<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if job.rows == 0 {
        return Ok(());
    }
    match Way::of(job, limits.multiprocessors) {
        Way::Exact => run(&exact(job)),
        Way::Together(any) => run(&together(job, &any, limits.multiprocessors)?),
        Way::OneByOne => (0..job.rows).try_for_each(|row| {
            let len = job.batch.len as u64;
            let f = StandardCipher::from_seed(
                len,
                job.batch.seed.with_epoch(job.first.wrapping_add(row)),
            );
            let out = job.out.plus(row * len * job.word.bytes() as u64);
            let row = Job::new(&f, len, Movement::Indices { out, word: job.word })?;
            run(&strategy::plan(&row, CudaStrategy::SinglePass, limits)?)
        }),
    }
}

fn exact(job: &RowsJob) -> Plan<'static> {
    let &RowsJob { batch, first, rows, out, word, .. } = job;
    // A word holds four items. The words of all threads are interleaved.
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

/// All rows at a time. `any` is some member of the family, which gives the width.
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
    let width = Width::new(any.bits());
    let launch = Launch::new(kernel, grid, move |at| kernels::CipherRows {
        keys,
        width,
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
