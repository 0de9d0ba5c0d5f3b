//! The direct strategy for few tiles, each of which adds up the counts of all tiles before it.

use super::job::{Job, Slots};
use super::kernels::{self, MoveAtOnce};
use super::movement::{Moves, Visit};
use super::tuning::DirectShape;
use crate::Error;
use crate::cuda::runtime::kernel::{DeviceType, TemplateValue};
use crate::cuda::runtime::plan::{DevicePlan, Grid, Ground, Launch};

/// Adds the kernel that moves survivors, whose places come from the counts of all tiles at once.
pub(super) fn plan<'a>(
    plan: &mut DevicePlan<'a>,
    job: &'a Job,
    slots: Slots,
    shape: DirectShape,
) -> Result<(), Error> {
    let tiles = slots.last / shape.tile() + 1;
    plan.take_tile_states(tiles)?;
    let (movement, grid) = (job.movement.device_type(), Grid::blocks(tiles)?);
    let kernel = AtOnce { slots, shape, movement, grid };
    plan.launch(job.movement.visit(kernel).evaluating(&job.source));
    Ok(())
}

struct AtOnce {
    slots: Slots,
    shape: DirectShape,
    movement: TemplateValue,
    grid: Grid,
}

impl Visit for AtOnce {
    type Output = Launch<'static>;

    fn visit<M: DeviceType + 'static>(
        self,
        movement: impl Fn(&Ground) -> M + 'static,
    ) -> Self::Output {
        let Slots { last, len, index } = self.slots;
        let kernel = kernels::of_slots(index, self.shape, self.movement);
        Launch::new(kernel, self.grid, move |at| MoveAtOnce {
            last,
            len,
            states: at.tile_states,
            movement: movement(at),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bijection::{GridFeistel, Standard};
    use crate::compact::Direction;
    use crate::cuda::runtime::plan::Address;
    use crate::cuda::runtime::word_type::WordType;
    use crate::cuda::shuffle::movement::{MovedArray, Movement};
    use crate::cuda::shuffle::tuning;
    use crate::cuda::tests::emulation::Emulation;
    use crate::{Bijection, FromSeed};

    /// Memory for the counts and the items; and for what is written, a MiB for each launch.
    const MEMORY: u64 = 0x4000_0000_0000;
    const SOURCE: u64 = MEMORY + (1 << 20);
    const fn out(number: u64) -> u64 {
        MEMORY + ((2 + number) << 20)
    }

    /// The indexes of `len` survivors, and a movement of each kind with what it writes.
    fn movements(order: Vec<u64>, out: u64) -> Vec<(Movement, Vec<u64>)> {
        let mut undone = vec![0; order.len()];
        (0..).zip(&order).for_each(|(rank, &index)| undone[index as usize] = rank);
        let items = |direction| {
            Movement::items(vec![MovedArray::given(SOURCE, out, 8)], direction).unwrap()
        };
        let indices = Movement::Indices { out: Address::Given(out), word: WordType::U64 };
        vec![
            (indices, order.clone()),
            (items(Direction::Shuffle), order),
            (items(Direction::Unshuffle), undone),
        ]
    }

    /// Where blocks run backwards no count is there when it is asked for, so each tile evaluates
    /// all tiles before it.
    #[test]
    fn tiles_have_their_places_in_any_order_of_blocks() {
        let families: [&dyn Bijection; 2] =
            [&Standard::from_seed(1500, 7), &GridFeistel::<24>::from_seed(1500, 7)];
        let (mut jobs, mut expected) = (Vec::new(), Vec::new());
        for f in families {
            let len = (f.last() - 70).min(1500);
            let order: Vec<u64> =
                (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len).collect();
            for kind in 0..3 {
                let mut all = movements(order.clone(), out(jobs.len() as u64));
                let (movement, words) = all.swap_remove(kind);
                jobs.push(Job::new(f, len, movement).unwrap());
                expected.push(words);
            }
        }
        let plans: Vec<DevicePlan<'_>> = jobs.iter().map(plan_of).collect();
        let Some(mut emulation) = Emulation::new() else { return };
        emulation.map(MEMORY, out(jobs.len() as u64) - MEMORY);
        emulation.make_tile_states(MEMORY);
        emulation.fill(SOURCE, 0, 1500, "k");
        for backwards in [false, true] {
            if backwards {
                emulation.run_blocks_backwards();
            }
            for ((number, plan), job) in (0..).zip(&plans).zip(&jobs) {
                // The second launch finds what the first one left.
                emulation.execute(plan, MEMORY);
                emulation.execute(plan, MEMORY);
                emulation.print("uint64_t", out(number), job.len);
                emulation.print("uint64_t", MEMORY + 16, 1);
                emulation.fill(out(number), 0, job.len, "0");
            }
        }
        let lines = emulation.run(&jobs[0].source);
        for (line, expected) in lines.chunks(2).zip(expected.iter().cycle()) {
            assert_eq!(line[0], *expected);
            assert_eq!(line[1], [expected.len() as u64], "the number of survivors");
        }
        assert_eq!(lines.len(), 4 * jobs.len());
    }

    fn plan_of(job: &Job) -> DevicePlan<'_> {
        let mut plan = DevicePlan::new();
        let slots = Slots { last: job.last, len: job.len, index: WordType::U32 };
        super::plan(&mut plan, job, slots, tuning::shape_at_once(job.last)).unwrap();
        plan
    }
}
