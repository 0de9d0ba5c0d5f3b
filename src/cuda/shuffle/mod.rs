//! Moving items, or writing indexes, in the order of a bijection.
//!
//! A [`Job`](job::Job) says what to do, [`plan`](strategy::plan) decides how, and an
//! [`Executor`](super::runtime::executor::Executor) does it. The kernels are in gpu/shuffle.
//!
//! ```text
//! strategy   which strategy does a job
//! job        a permutation to apply        movement     what is moved, in which direction
//! direct     every slot is evaluated       at_once      the same, where there are few tiles
//! partition  the sizes of the next         partitioned  items are sorted into buckets first
//! kernels    the kernels and arguments     tuning       shapes and thresholds, as measured
//! checked    untrusted bijections      passes       several jobs, one after the other
//! in_place   as partitioned, in the array's own memory
//! ```

mod at_once;
pub(in crate::cuda) mod checked;
pub(in crate::cuda) mod direct;
pub(in crate::cuda) mod in_place;
pub(crate) mod job;
pub(crate) mod kernels;
pub(crate) mod movement;
mod partitioned;
pub(in crate::cuda) mod passes;
pub(crate) mod sizes;
pub(crate) mod strategy;
pub(crate) mod tuning;
