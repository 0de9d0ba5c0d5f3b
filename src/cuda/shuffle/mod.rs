//! Items or indexes in the order of a bijection: which strategy does it, and by which kernels.
//!
//! A [`Job`](job::Job) is what is to be done, [`plan`](plan::plan) decides how, and an
//! [`Executor`](super::runtime::executor::Executor) does it. The kernels are in gpu/shuffle.
//!
//! ```text
//! plan       which strategy does it
//! job        a permutation to be applied   movement     what is moved, and which way
//! direct     every slot is evaluated       partitioned  items are sorted roughly first
//! checked    nobody vouches for it         partition    the sizes of the partitioned strategy
//! kernels    the kernels, typed            tuning       shapes and thresholds, as measured
//! ```

mod checked;
mod direct;
pub(crate) mod job;
pub(crate) mod kernels;
pub(crate) mod movement;
pub(crate) mod partition;
mod partitioned;
pub(crate) mod plan;
pub(crate) mod tuning;
