//! What the packages of this project share, by the paths that it has within this one.

pub mod base {
    pub use crate::base::{
        abort, check, machine, memory, parallel, philox4x32, saved, simd, stream, words,
    };
}
pub mod bijection {
    pub use crate::bijection::exact::{batch, draw_exchanges, rejected};
    pub use crate::bijection::lanes;
    pub use crate::bijection::mul_xorshift::DeviceWidth;
    pub use crate::bijection::passes::Pass;
    pub use crate::bijection::standard::StandardCipher;
}
pub mod seed {
    pub use crate::seed::{BLOCKS, Seed, words};
}
pub mod word {
    pub use crate::word::{Index, Word, bits_for};
}
