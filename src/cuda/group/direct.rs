//! The direct strategy over a group: every member moves the items of the places that it holds
//! itself. It evaluates their slots or, where some slots do not survive, all slots, to find them.
//!
//! It serves all lengths, items and domains. Items come one by one from wherever they are, so on
//! long arrays the links between the GPUs are its limit.

use core::ops::Range;

use super::movement::{OwnMovement, Sharded};
use crate::Error;
use crate::cuda::runtime::plan::{Address, DevicePlan, Evaluated};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::direct;
use crate::cuda::shuffle::job::{Job, Slots};
use crate::cuda::view;

/// The plan of a member.
pub(super) fn plan<'a>(
    job: &'a Job,
    of: Sharded<'_>,
    member: usize,
) -> Result<DevicePlan<'a>, Error> {
    let mut plan = DevicePlan::new();
    if job.is_dense() {
        let index = WordType::for_indexes(job.last);
        let movement = OwnMovement::from_own(of, member);
        let Range { start, end } = movement.places();
        if start < end {
            let source = view::from_slot(&job.source, start);
            plan.launch(direct::dense(source.into(), end - start, index, &movement)?);
        }
    } else {
        survivors(&mut plan, job, of, member, None)?;
    }
    Ok(plan)
}

/// Adds the kernel that moves a member's survivors. With `only_if`, it does nothing if the word at
/// that address is 0.
pub(super) fn survivors<'a>(
    plan: &mut DevicePlan<'a>,
    job: &'a Job,
    of: Sharded<'_>,
    member: usize,
    only_if: Option<Address>,
) -> Result<(), Error> {
    let slots = Slots { last: job.last, len: job.len, index: WordType::for_indexes(job.last) };
    let movement = OwnMovement::new(of, member);
    direct::survivors(plan, (&job.source).into(), slots, &movement, only_if)
}

/// The plan of a member where the permutation's indexes are at an address, in 64 bits.
pub(super) fn by_table<'a>(
    indexes: u64,
    of: Sharded<'_>,
    member: usize,
) -> Result<DevicePlan<'a>, Error> {
    let mut plan = DevicePlan::new();
    let movement = OwnMovement::from_own(of, member);
    let Range { start, end } = movement.places();
    if start < end {
        let lookup = Evaluated::Lookup(WordType::U64, Address::Given(indexes + 8 * start));
        plan.launch(direct::dense(lookup, end - start, WordType::U64, &movement)?);
    }
    Ok(plan)
}
