//! The direct strategy over a group: every member evaluates every slot, and moves the items of the
//! places that it holds itself.
//!
//! It serves all lengths, items and domains. Items come one by one from wherever they are, so on
//! long arrays the links between the GPUs are its limit.

use super::movement::{OwnMovement, Sharded};
use crate::cuda::runtime::plan::{Address, Evaluated, Plan};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::direct::{self, Slots};
use crate::cuda::shuffle::job::Job;
use crate::error::Error;

/// The plan of a member.
pub(super) fn plan<'a>(job: &'a Job, of: Sharded<'_>, member: usize) -> Result<Plan<'a>, Error> {
    let mut plan = Plan::new();
    if job.is_dense() {
        let index = WordType::for_indexes(job.last);
        let movement = OwnMovement::new(of, member);
        plan.launch(direct::dense((&job.source).into(), job.len, index, &movement)?);
    } else {
        survivors(&mut plan, job, of, member, None)?;
    }
    Ok(plan)
}

/// Adds the kernel that moves a member's survivors. With `only_if`, it does nothing if the word at
/// that address is 0.
pub(super) fn survivors<'a>(
    plan: &mut Plan<'a>,
    job: &'a Job,
    of: Sharded<'_>,
    member: usize,
    only_if: Option<Address>,
) -> Result<(), Error> {
    let slots = Slots { last: job.last, len: job.len, index: WordType::for_indexes(job.last) };
    let movement = OwnMovement::new(of, member);
    direct::survivors(plan, (&job.source).into(), slots, &movement, only_if)
}

/// The plan of a member where the permutation's `len` indexes are at an address, in 64 bits.
pub(super) fn by_table<'a>(
    indexes: u64,
    len: u64,
    of: Sharded<'_>,
    member: usize,
) -> Result<Plan<'a>, Error> {
    let mut plan = Plan::new();
    let lookup = Evaluated::Lookup(WordType::U64, Address::Given(indexes));
    plan.launch(direct::dense(lookup, len, WordType::U64, &OwnMovement::new(of, member))?);
    Ok(plan)
}
