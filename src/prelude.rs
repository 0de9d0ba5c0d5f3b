//! What most programs need: `use bijective_shuffle::prelude::*;`

pub use crate::backend::Backend;
pub use crate::bijection::{
    Affine, Bijection, Compose, CycleWalk, FromSeed, GridFeistel, Inverse, Lcg, MulXorshift,
    RandomSign, Standard, Table, Trusted, TrustedBijection, VariablePhilox,
};
pub use crate::compact::{Compactor, Cpu, Serial, Workspace};
pub use crate::error::Error;
pub use crate::permutation::Permutation;
pub use crate::seed::Seed;
pub use crate::shuffle::ParBijectiveShuffle;
