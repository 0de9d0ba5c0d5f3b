//! Choosing and running the kernels that move rows of a batch, or write their indexes.

use super::kernels::{self, Keys, MoveCipherRows, MoveExactRows, RowTiles, Shares, Width};
use super::tuning::{self, RowShape, RowWay};
use crate::bijection::Standard;
use crate::compact::Direction;
use crate::compact::batch::Batch;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::executor::Executor;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue};
use crate::cuda::runtime::plan::{DevicePlan, Grid, Ground, Launch, block_number};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::{MovedArray, Movement, Moves, Visit};
use crate::cuda::shuffle::strategy;
use crate::cuda::shuffle::strategy::CudaStrategy;
use crate::cuda::shuffle::tuning::DirectShape;
use crate::engine::bijection::StandardCipher;
use crate::error::GpuError;
use crate::{Bijection, Error, FromSeed};

/// Rows to be moved, or whose indexes are to be written: `rows` of them from row `first` on.
#[derive(Clone)]
pub(crate) struct RowsJob {
    pub(crate) batch: Batch,
    pub(crate) first: u64,
    pub(crate) rows: u64,
    /// The number of rows that decides which kernel is used: as many, except where a plan is made
    /// for one row of many.
    pub(crate) at_once: u64,
    /// What is moved, from the first of these rows on: indexes, which count within a row, or the
    /// items of one array.
    pub(crate) movement: Movement,
}

impl RowsJob {
    /// The bytes of a row's items; 0 if indexes are written.
    fn row_bytes(&self) -> u64 {
        let item = match &self.movement {
            Movement::Items { arrays, .. } => arrays.iter().map(|array| array.item).sum(),
            Movement::Indices { .. } => 0,
        };
        (self.batch.len as u64).saturating_mul(item as u64)
    }
}

/// Launches the kernels that move rows.
///
/// # Safety
///
/// At the addresses of the job's movement there are the words or items of all of its rows, in
/// memory that the device may read or write as the movement does. What is written overlaps nothing
/// else, and nobody else uses any of it until the stream has finished.
pub(crate) unsafe fn execute(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    let limits = executor.device.limits;
    each_plan(job, job.rows, &limits, |plan| {
        // SAFETY: the plan moves the job's rows, or one of them, whose addresses lie after those
        // of the rows before it, and uses nothing else that the caller has given. The caller
        // promises that memory.
        unsafe { executor.execute(plan) }
    })
}

/// Compiles the kernels and allocates the memory that [`execute`] will need.
pub(crate) fn reserve(executor: &mut Executor, job: &RowsJob) -> Result<(), Error> {
    let limits = executor.device.limits;
    // Rows that follow each other need the same kernels and memory.
    each_plan(job, job.rows.min(1), &limits, |plan| executor.reserve(plan))
}

/// Calls a function with the plan for all rows or, where each has a plan of its own, with those for
/// the first `in_turn` rows.
pub(crate) fn each_plan(
    job: &RowsJob,
    in_turn: u64,
    limits: &GpuLimits,
    mut run: impl FnMut(&DevicePlan<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    if job.rows == 0 {
        return Ok(());
    }
    let Some(plan) = for_all(job, limits)? else { return one_by_one(job, in_turn, limits, run) };
    match run(&plan) {
        // The kernels that move one row are embedded, and those that move items of many are not.
        Err(Error::BackendUnavailable { .. }) if !job.movement.writes_indexes() => {
            one_by_one(job, in_turn, limits, run)
        }
        done => done,
    }
}

/// The plan that moves all rows, by one launch; `None` if they are moved one after the other.
fn for_all(job: &RowsJob, limits: &GpuLimits) -> Result<Option<DevicePlan<'static>>, Error> {
    let len = job.batch.len as u64;
    let (at_once, row_bytes) = (job.at_once, job.row_bytes());
    let has_words = job.movement.writes_indexes() || job.movement.word().is_some();
    if len <= Standard::EXACT_MAX {
        let one_by_one = !has_words && tuning::are_few_exact(at_once, row_bytes);
        return Ok((!one_by_one).then(|| exact(job)));
    }
    let any = StandardCipher::from_seed(len, 0);
    let way = match job.movement.writes_indexes() {
        true => tuning::of_indexes(any.last(), at_once, limits),
        false if has_words => tuning::of_words(any.last(), at_once, row_bytes, limits),
        false => tuning::of_other_items(any.last(), at_once, row_bytes, limits),
    };
    match way {
        RowWay::Together(shape) => together(job, &any, shape).map(Some),
        RowWay::ByTiles => by_tiles(job, &any).map(Some),
        RowWay::OneByOne => Ok(None),
    }
}

/// Calls a function with a plan for each of the first rows.
fn one_by_one(
    job: &RowsJob,
    rows: u64,
    limits: &GpuLimits,
    mut run: impl FnMut(&DevicePlan<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let len = job.batch.len as u64;
    let strategy = match job.movement.writes_indexes() {
        true => CudaStrategy::SinglePass,
        false => CudaStrategy::Auto,
    };
    (0..rows).try_for_each(|row| {
        let f = Standard::from_seed(len, job.batch.seed.with_epoch(job.first.wrapping_add(row)));
        let row = Job::new(&f, len, behind(&job.movement, row * len))?;
        run(&strategy::plan(&row, strategy, limits)?)
    })
}

/// The movement of what follows the first `items` items.
pub(super) fn behind(movement: &Movement, items: u64) -> Movement {
    match movement {
        &Movement::Indices { out, word } => {
            Movement::Indices { out: out.plus(items * word.bytes() as u64), word }
        }
        Movement::Items { arrays, direction } => {
            let behind = |&MovedArray { source, out, item }: &MovedArray| {
                let bytes = items * item as u64;
                MovedArray { source: source.plus(bytes), out: out.plus(bytes), item }
            };
            Movement::Items { arrays: arrays.iter().map(behind).collect(), direction: *direction }
        }
    }
}

fn exact(job: &RowsJob) -> DevicePlan<'static> {
    let len = job.batch.len;
    // A word holds four items. The words of all threads are interleaved.
    let shared = tuning::EXACT_ROWS as usize * 4 * len.div_ceil(4);
    let grid = Grid::Resident(job.rows.div_ceil(u64::from(tuning::EXACT_ROWS)));
    let keys = Keys::new(&job.batch.seed, Standard::key_domain(len as u64).word());
    let movement = job.movement.device_type();
    let inverse = job.movement.direction() == Direction::Unshuffle
        && job.movement.word().is_some()
        && job.row_bytes() > tuning::EXACT_SCATTERED;
    let rows = ExactDraw { keys, len, first: job.first, rows: job.rows, grid, inverse, movement };
    let mut plan = DevicePlan::new();
    plan.launch(job.movement.visit(rows).with_shared(shared));
    plan
}

struct ExactDraw {
    keys: Keys,
    len: usize,
    first: u64,
    rows: u64,
    grid: Grid,
    inverse: bool,
    movement: TemplateValue,
}

impl Visit for ExactDraw {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Self { keys, first, rows, .. } = self;
        let shares = Shares::new(self.len);
        let kernel = kernels::exact_rows(self.inverse, self.movement);
        Launch::new(kernel, self.grid, move |at| MoveExactRows {
            keys,
            shares,
            first,
            rows,
            movement: movement(at),
        })
    }
}

/// All rows at a time. `any` is some member of the family, which gives the width.
fn together(
    job: &RowsJob,
    any: &StandardCipher,
    shape: RowShape,
) -> Result<DevicePlan<'static>, Error> {
    let grid = Grid::Resident(job.rows.div_ceil(u64::from(shape.at_once())));
    let rows = Together { rows: CipherJob::new(job, any), grid, shape };
    let source = any.device_source().ok_or(Error::Gpu(GpuError::NoSource))?;
    let shared = shape.shared(job.row_bytes()) as usize;
    let mut plan = DevicePlan::new();
    plan.launch(job.movement.visit(rows).evaluating(source).with_shared(shared));
    Ok(plan)
}

/// All tiles of all rows, in turn.
fn by_tiles(job: &RowsJob, any: &StandardCipher) -> Result<DevicePlan<'static>, Error> {
    let (rows, shape) = (CipherJob::new(job, any), tuning::tile_shape(any.last()));
    let tiles = job.rows.saturating_mul(any.last() / shape.tile() + 1);
    let mut plan = DevicePlan::new();
    // Tickets number all tiles, and only where there are gaps has each a word.
    block_number(tiles)?;
    plan.take_tile_states(if rows.is_dense() { 1 } else { tiles })?;
    let source = any.device_source().ok_or(Error::Gpu(GpuError::NoSource))?;
    plan.launch(job.movement.visit(ByTiles { rows, shape, tiles }).evaluating(source));
    Ok(plan)
}

/// Rows that ciphers compact to.
struct CipherJob {
    keys: Keys,
    width: Width,
    last: u64,
    most: u64,
    first: u64,
    rows: u64,
    movement: TemplateValue,
}

impl CipherJob {
    fn new(job: &RowsJob, any: &StandardCipher) -> Self {
        let len = job.batch.len as u64;
        Self {
            keys: Keys::new(&job.batch.seed, StandardCipher::key_domain(len).word()),
            width: Width::new(any.bits()),
            last: any.last(),
            most: len - 1,
            first: job.first,
            rows: job.rows,
            movement: job.movement.device_type(),
        }
    }

    fn is_dense(&self) -> bool {
        self.most == self.last
    }
}

struct Together {
    rows: CipherJob,
    grid: Grid,
    shape: RowShape,
}

impl Visit for Together {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let of = self.rows;
        let index = WordType::for_indexes(of.last);
        let kernel = kernels::cipher_rows(index, self.shape, of.is_dense(), of.movement);
        let CipherJob { keys, width, last, most, first, rows, .. } = of;
        Launch::new(kernel, self.grid, move |at| MoveCipherRows {
            keys,
            width,
            last,
            most,
            first,
            rows,
            movement: movement(at),
        })
    }
}

struct ByTiles {
    rows: CipherJob,
    shape: DirectShape,
    tiles: u64,
}

impl Visit for ByTiles {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let of = self.rows;
        let kernel = kernels::row_tiles(self.shape, of.is_dense(), of.movement);
        let CipherJob { keys, width, last, most, first, rows, .. } = of;
        Launch::new(kernel, Grid::Resident(self.tiles), move |at| RowTiles {
            keys,
            width,
            last,
            most,
            first,
            rows,
            states: at.tile_states,
            movement: movement(at),
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
