//! [`CudaGroup`]: several GPUs of one host, and arrays that are divided among them.
//!
//! ```text
//! engine     `CudaGroup`                     members      the GPUs, and what they do together
//! direct     each member moves its items     exchange     items are sent to the owners of buckets
//! shards     an array over the members       phase        what members do between two meetings
//! sizes      of the partitioned strategy     layout       of its working memory
//! movement   what one member moves           peer_access  access to each other's memory
//! kernels    the kernels and arguments       tuning       sizes and thresholds
//! given      slices and jobs of calls        room         working memory for exchanges
//! ranks      `CudaExchange`, by NCCL
//! ```

mod direct;
mod engine;
mod exchange;
mod given;
mod kernels;
mod layout;
mod members;
pub(in crate::cuda) mod movement;
mod peer_access;
mod phase;
mod ranks;
mod room;
pub(in crate::cuda) mod shards;
mod sizes;
#[cfg(test)]
mod tests;
mod tuning;

pub use engine::CudaGroup;
pub use ranks::CudaExchange;
