//! Writing rows of a batch: many permutations of one length. The kernels are in gpu/batch.

mod kernels;
pub(crate) mod rows;
pub(crate) mod tuning;
