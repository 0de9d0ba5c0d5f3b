//! What most programs need: `use bijective_shuffle::prelude::*;`

pub use crate::Error;
pub use crate::FromSeed;
pub use crate::Seed;
#[cfg(feature = "affine")]
pub use crate::affine::Affine;
pub use crate::backend::Backend;
pub use crate::bijection::{
    BlockShuffle, Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, Standard,
    SwapOrNot, Table, VariablePhilox,
};
pub use crate::compact::{Columns, Compactor, Cpu, Rows, Serial, Workspace};
pub use crate::permutation::{Permutation, Permutations};
pub use crate::sampler::{Sampler, Tail};
pub use crate::slice::{ParBijectiveShuffle, ParBijectiveShuffleTogether};
pub use crate::{Bijection, Trusted, TrustedBijection};
