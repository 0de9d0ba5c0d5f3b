//! What most programs need: `use bijective_shuffle::prelude::*;`

pub use crate::affine::Affine;
pub use crate::backend::Backend;
pub use crate::bijection::from_seed::FromSeed;
pub use crate::bijection::traits::{Bijection, Trusted, TrustedBijection};
pub use crate::bijection::{
    BlockShuffle, Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, Standard,
    SwapOrNot, Table, VariablePhilox,
};
pub use crate::compact::{Columns, Compactor, Cpu, Rows, Serial, Workspace};
pub use crate::error::Error;
pub use crate::permutation::{Permutation, Permutations};
pub use crate::sampler::{Sampler, Tail};
pub use crate::seed::Seed;
pub use crate::slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};
