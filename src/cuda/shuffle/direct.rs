//! The strategies that evaluate every slot.

use super::at_once;
use super::job::{Job, Slots};
use super::kernels::{self, MoveDense, MoveSurvivors};
use super::movement::{Moves, Visit};
use super::tuning::{self, DirectShape};
use crate::Error;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue};
use crate::cuda::runtime::plan::{Address, DevicePlan, Evaluated, Grid, Ground, Launch};
use crate::cuda::runtime::word_type::WordType;

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
