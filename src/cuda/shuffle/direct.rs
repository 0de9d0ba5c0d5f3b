//! The strategies that evaluate every slot.

use super::at_once;
use super::job::{Job, Slots};
use super::kernels::{self, MoveCountedSurvivors, MoveDense, MoveSurvivors};
use super::movement::{Movement, Moves, Visit};
use super::tuning::{self, DirectShape};
use crate::Error;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue};
use crate::cuda::runtime::plan::{
    Address, DevicePlan, Evaluated, Grid, Ground, Launch, MOST_POINTS,
};
use crate::cuda::runtime::word_type::WordType;
use crate::error::GpuError;

/// Plans the single pass: one kernel, in which survivors get their places by look-back or, where
/// there are few tiles, from the counts of all tiles before theirs.
pub(super) fn single_pass<'a>(job: &'a Job, limits: &GpuLimits) -> Result<DevicePlan<'a>, Error> {
    let mut plan = DevicePlan::new();
    let index = WordType::for_indexes(job.last);
    if job.is_dense() {
        plan.launch(dense((&job.source).into(), job.len, index, &job.movement)?);
        return Ok(plan);
    }
    let slots = Slots { last: job.last, len: job.len, index };
    match tuning::at_once(job.last, limits) {
        Some(shape) => at_once::plan(&mut plan, job, slots, shape)?,
        None => survivors(&mut plan, (&job.source).into(), slots, &job.movement, None)?,
    }
    Ok(plan)
}

/// Plans the movement of items where every slot survives.
pub(in crate::cuda) fn dense<'a>(
    f: Evaluated<'a>,
    len: u64,
    index: WordType,
    movement: &impl Moves,
) -> Result<Launch<'a>, Error> {
    let shape = tuning::dense(len - 1, movement.writes_indexes());
    let grid = Grid::blocks(len.div_ceil(shape.tile()))?;
    let dense = Dense { index, shape, movement: movement.device_type(), grid, len };
    Ok(movement.visit(dense).evaluating(f))
}

struct Dense {
    index: WordType,
    shape: DirectShape,
    movement: TemplateValue,
    grid: Grid,
    len: u64,
}

impl Visit for Dense {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let len = self.len;
        let kernel = kernels::of_slots(self.index, self.shape, self.movement);
        Launch::new(kernel, self.grid, move |at| MoveDense { len, movement: movement(at) })
    }
}

/// Adds the kernel that moves survivors, whose places come from a look-back. With `only_if`, the
/// kernel does nothing if the word at that address is 0.
pub(in crate::cuda) fn survivors<'a>(
    plan: &mut DevicePlan<'a>,
    f: Evaluated<'a>,
    slots: Slots,
    movement: &impl Moves,
    only_if: Option<Address>,
) -> Result<(), Error> {
    // The width in which the kernel computes decides the shape, even where the domain is small.
    let wide = slots.index == WordType::U64;
    let shape = tuning::survivors(slots.last, movement.writes_indexes(), wide);
    let tiles = slots.last / shape.tile() + 1;
    plan.take_tile_states(tiles)?;
    let survivors = Survivors { slots, shape, movement: movement.device_type(), tiles, only_if };
    plan.launch(movement.visit(survivors).evaluating(f));
    Ok(())
}

struct Survivors {
    slots: Slots,
    shape: DirectShape,
    movement: TemplateValue,
    tiles: u64,
    only_if: Option<Address>,
}

impl Visit for Survivors {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Self { slots: Slots { last, len, index }, only_if, .. } = self;
        let kernel = kernels::of_slots(index, self.shape, self.movement);
        Launch::new(kernel, Grid::Resident(self.tiles), move |at| MoveSurvivors {
            last,
            len,
            states: at.tile_states,
            movement: movement(at),
            only_if: only_if.map_or(0, |address| at.at(address)),
        })
    }
}

/// Plans two passes: three kernels count the survivors, sum the counts, and move the items. The
/// bijection is evaluated twice.
pub(super) fn two_pass<'a>(job: &'a Job, limits: &GpuLimits) -> Result<DevicePlan<'a>, Error> {
    if job.is_dense() {
        return single_pass(job, limits);
    }
    let (last, len) = (job.last, job.len);
    let index = WordType::for_indexes(last);
    let wide = index == WordType::U64;
    let shape = tuning::survivors(last, job.movement.writes_indexes(), wide);
    let tiles = last / shape.tile() + 1;
    let grid = Grid::blocks(tiles)?;
    let mut plan = DevicePlan::new();
    let counts = Address::Scratch(0);
    let bases_at = (tiles * 4).next_multiple_of(256);
    let bases = Address::Scratch(bases_at);
    plan.take_scratch(bases_at + tiles * 8);
    let kernel = kernels::count_survivors(index, shape);
    let count = Launch::new(kernel, grid, move |at| kernels::CountSurvivors {
        last,
        len,
        counts: at.at(counts),
    });
    plan.launch(count.evaluating(&job.source));
    plan.launch(Launch::new(kernels::scan_counts(), Grid::Blocks(1, 1), move |at| {
        // `Grid::blocks` above has checked that the number of tiles fits an `i32`.
        kernels::ScanCounts { counts: at.at(counts), len: tiles as u32, bases: at.at(bases) }
    }));
    let movement = job.movement.device_type();
    let place = CountedSurvivors { last, len, index, shape, movement, tiles, bases };
    plan.launch(job.movement.visit(place).evaluating(&job.source));
    Ok(plan)
}

struct CountedSurvivors {
    last: u64,
    len: u64,
    index: WordType,
    shape: DirectShape,
    movement: TemplateValue,
    tiles: u64,
    bases: Address,
}

impl Visit for CountedSurvivors {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Self { last, len, bases, .. } = self;
        let kernel = kernels::of_slots(self.index, self.shape, self.movement);
        Launch::new(kernel, Grid::Resident(self.tiles), move |at| MoveCountedSurvivors {
            last,
            len,
            bases: at.at(bases),
            movement: movement(at),
        })
    }
}

/// Plans every step as a kernel of its own: values, survivors, movement.
pub(super) fn unfused<'a>(job: &'a Job) -> Result<DevicePlan<'a>, Error> {
    let index = WordType::for_indexes(job.last);
    if job.last >= MOST_POINTS {
        return Err(Error::Gpu(GpuError::OutOfMemory));
    }
    let (points, word) = (job.last + 1, index.bytes() as u64);
    let mut plan = DevicePlan::new();
    let values = Address::Scratch(0);
    let indices_at = (points * word).next_multiple_of(256);
    let indices = Address::Scratch(indices_at);
    plan.take_scratch(indices_at + job.len * word);
    let all = Movement::Indices { out: values, word: index };
    plan.launch(dense((&job.source).into(), points, index, &all)?);
    let lookup = |address| Evaluated::Lookup(index, address);
    if job.is_dense() {
        plan.launch(dense(lookup(values), job.len, index, &job.movement)?);
        return Ok(plan);
    }
    let slots = Slots { last: job.last, len: job.len, index };
    if job.movement.writes_indexes() {
        survivors(&mut plan, lookup(values), slots, &job.movement, None)?;
        return Ok(plan);
    }
    let surviving = Movement::Indices { out: indices, word: index };
    survivors(&mut plan, lookup(values), slots, &surviving, None)?;
    plan.launch(dense(lookup(indices), job.len, index, &job.movement)?);
    Ok(plan)
}
