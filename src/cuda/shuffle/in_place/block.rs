//! Short arrays in place, which one block of threads moves in a single launch.

use crate::compact::Direction;
use crate::cuda::runtime::kernel::{Kernel, TemplateValue, arguments};
use crate::cuda::runtime::plan::{DevicePlan, Grid, Launch};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::tuning;

arguments! {
    /// Moves the items of an array within its own memory.
    struct MoveInBlock
        => InBlock, Value, "move_in_block<Index, THREADS, SLOTS, DIRECTION>" {
        last: u64 => "uint64_t",
        len: u64 => "uint64_t",
        items: u64 => "Word*",
    }
}

/// Plans a job for one block, if the block has a slot for each point and the items are words.
///
/// The number of survivors is not checked, so the bijection has to be trusted.
pub(super) fn plan(job: &Job) -> Option<DevicePlan<'_>> {
    let shape = tuning::IN_PLACE_SHORT;
    let (array, word) = job.movement.word()?;
    if !job.trusted || job.len == 0 || job.last >= shape.tile() {
        return None;
    }
    let (items, last, len) = (array.source, job.last, job.len);
    let kernel = kernel(word, job.movement.direction());
    let moving = Launch::new(kernel, Grid::Blocks(1, 1), move |at| MoveInBlock {
        last,
        len,
        items: at.at(items),
    });
    let mut plan = DevicePlan::new();
    plan.launch(moving.evaluating(&job.source));
    Some(plan)
}

fn kernel(word: WordType, direction: Direction) -> Kernel<MoveInBlock> {
    let shape = tuning::IN_PLACE_SHORT;
    let template = [
        ("Index", TemplateValue::Word(WordType::U32)),
        ("THREADS", TemplateValue::Number(shape.threads)),
        ("SLOTS", TemplateValue::Number(shape.slots)),
        ("DIRECTION", TemplateValue::Way(direction)),
        ("Word", TemplateValue::Word(word)),
    ];
    Kernel::new(template, shape.threads, shape.blocks)
}
