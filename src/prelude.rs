//! What most programs need: `use bijective_shuffle::prelude::*;` The families of bijections are in
//! [`bijection`](crate::bijection), and the engines beside it.

pub use crate::backend::Backend;
pub use crate::compact::{Columns, Compactor, Workspace};
pub use crate::permutation::{Permutation, Permutations, Segments};
pub use crate::sampler::Sampler;
pub use crate::slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};
pub use crate::{Bijection, FromSeed, Seed};
