//! [`CudaExchange`]: an array that is divided among the GPUs of several processes, which may be on
//! several hosts, by NCCL.
//!
//! Each rank does what a member of a [`CudaGroup`](super::CudaGroup) does, by the same plans. What
//! members read or write in each other's memory, ranks send: pieces of items that are sorted by
//! their bucket, and at the end what belongs to a neighbour's places. How many items these are
//! nobody knows beforehand, if not every slot survives. So the ranks tell each other, when all
//! pieces have been sorted, also whether a bucket has overflowed; and, to undo a shuffle, when they
//! have counted their survivors. The host waits for both.
//!
//! Processes on one host send pieces and ends, and tell each other numbers, without NCCL, if they
//! can.
//!
//! ```text
//! engine     `CudaExchange`                      call     what the ranks move together
//! ballot     what they tell each other before    words    numbers that all get of all
//! in_pieces  items are sent sorted by buckets    pieces   how one is sent while others are sorted
//! runs       places that one uses, another has   whole    what is not sent in pieces
//! near       ranks that map each other's memory  board    what all of a host see, with numbers
//! turns      by which these wait for each other  handle   how one maps another's memory
//! mapped     the memory of a board
//! ```

mod ballot;
mod board;
mod call;
mod engine;
mod handle;
mod in_pieces;
mod mapped;
mod near;
mod pieces;
mod runs;
#[cfg(test)]
mod tests;
mod turns;
mod whole;
mod words;

pub use engine::CudaExchange;
