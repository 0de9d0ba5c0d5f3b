//! Shuffling what is spread over ranks: processes, machines, or devices, each of which holds a run
//! of one array's places.
//!
//! A key tells each rank alone where its items go and what comes to it. So a shuffle is one
//! exchange of all with all, whose counts both sides know beforehand, and the result is the
//! permutation that one machine would make. Nothing is sampled, no keys are sorted, and nobody
//! coordinates.
//!
//! An [`Exchange`] is the plan of one rank. It moves no data; the program sends it over the
//! transport it already has, such as MPI. For every rank:
//!
//! 1. [`pack`](Exchange::pack) puts its items in the order in which they are sent: those for rank 0
//!    first, then those for rank 1, and so on.
//! 2. The program sends [`send_counts`](Exchange::send_counts) items to each rank, and receives
//!    [`receive_counts`](Exchange::receive_counts) from each. In MPI that is `MPI_Alltoallv`.
//! 3. [`place`](Exchange::place) puts what has been received, from rank 0 first, where it belongs.
//!
//! Items travel without their places. For a shuffle, each rank sends its items in the order of the
//! slots that they move to. The receiver evaluates its own slots in order, so it knows from which
//! rank each place's item comes, and takes the next one that came from there. Undoing a shuffle
//! runs the same steps in reverse.
//!
//! Packing takes as much memory again as the items. With an exchange in
//! [rounds](ExchangeBuilder::in_rounds_of) it takes as much as those of one round.
//!
//! A rank is a `usize` here, since it is an index into what a program holds for each rank, such as
//! [`send_counts`](Exchange::send_counts). For a [`Sampler`](crate::Sampler) or a
//! [shard](crate::Permutation::shard) it is a `u64`, as places are: these only compute with it, for
//! any number of ranks.
//!
//! Where ranks share memory, bytes cost less than evaluations. There the package
//! `bijective-shuffle-mpi` sends each item with two bytes that say where it goes.
//!
//! # Examples
//!
//! Three ranks in one process, which talk by copying:
//!
//! ```
//! use bijective_shuffle::exchange::{Census, Division, Exchange};
//! use bijective_shuffle::prelude::*;
//!
//! let p = Permutation::new(10, 42);
//! let census = Census::new(&p)?;
//! let (from, to) = (Division::from_counts(&[5, 2, 3])?, Division::even(10, 3));
//! let items: Vec<char> = ('a'..='j').collect();
//!
//! let mut workspace = Workspace::new();
//! let mut wire = vec![Vec::new(); 3]; // what each rank receives, from rank 0 first
//! let mut plans = Vec::new();
//! for rank in 0..3 {
//!     let plan = Exchange::builder(&p, &census, &from, rank).to(&to).shuffle()?;
//!     let shard = &items[plan.source_places().start as usize..plan.source_places().end as usize];
//!     let mut packed = vec![' '; shard.len()];
//!     plan.pack(&mut workspace, shard, &mut packed)?;
//!     let mut rest = packed.as_slice();
//!     for (receiver, &count) in plan.send_counts()?.iter().enumerate() {
//!         let sent;
//!         (sent, rest) = rest.split_at(count as usize);
//!         wire[receiver].extend_from_slice(sent);
//!     }
//!     plans.push(plan);
//! }
//! let mut shuffled = Vec::new();
//! for (plan, received) in plans.iter().zip(&wire) {
//!     let mut shard = vec![' '; received.len()];
//!     plan.place(&mut workspace, received, &mut shard)?;
//!     shuffled.extend(shard);
//! }
//! assert_eq!(shuffled, p.apply(&items)?);
//! # Ok::<(), bijective_shuffle::Error>(())
//! ```

mod builder;
mod census;
mod delivery;
mod division;
mod lanes;
mod plan;
mod rounds;
mod shifted;
mod tagged;
#[cfg(test)]
mod tests;
mod tiles;

pub use builder::ExchangeBuilder;
pub use census::Census;
// Items that travel with tags are for `bijective-shuffle-mpi` alone, in exactly this version: how
// buckets lie in memory may change.
#[doc(hidden)]
pub use delivery::{Arrived, Blocks, BucketShape, Delivery, Message, Sorted};
pub use division::Division;
pub use plan::Exchange;
pub use rounds::items_of_round;
#[doc(hidden)]
pub use tagged::TaggedExchange;
