//! Code shared by the Python, C and JavaScript packages: a permutation of any kind and the
//! questions about it ([`AnyOrder`]), the places that a view consists of ([`PlaceRun`]), arrays
//! whose rows are moved ([`RowArray`]), what kind of failure an error is ([`Fault`]), the names of
//! a sampler's tails ([`TAILS`]), and threads that survive a `fork` ([`threads`]).
//!
//! A language has of its own what its objects, numbers and errors are. It promises nothing to
//! others.

mod fault;
mod memory;
mod order;
mod run;
pub mod threads;

use bijective_shuffle::Tail;

pub use bijective_shuffle::Direction;
pub use fault::{Fault, LanguageNames};
pub use memory::{RowArray, RowsBy};
pub use order::{AnyOrder, Lookup, OrderKind};
pub use run::PlaceRun;

/// What happens in the last step of a sampler's epoch, by name. C and JavaScript have the numbers
/// of these, counted from 0.
pub const TAILS: [(&str, Tail); 4] =
    [("pad", Tail::Pad), ("short", Tail::Short), ("fill", Tail::Fill), ("drop", Tail::Drop)];
