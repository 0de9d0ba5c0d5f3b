//! What only the packages of this project use of this one, by way of `bijective-shuffle-engine`. It
//! promises nothing to others.

pub use crate::base::{check, philox4x32, simd, words};

pub mod bijection {
    pub use crate::bijection::copies::ItemCopies;
    pub use crate::bijection::exact::{batch, draw_exchanges, rejected};
    pub use crate::bijection::lanes;
    pub use crate::bijection::mul_xorshift::DeviceWidth;
    pub use crate::bijection::passes::Pass;
    pub use crate::bijection::standard::StandardCipher;
}
pub mod seed {
    pub use crate::seed::{BLOCKS, words, words_of};
}
pub mod word {
    pub use crate::word::{Index, bits_for};
}
