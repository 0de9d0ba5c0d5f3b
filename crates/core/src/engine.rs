//! What the packages of this project share, by the paths that it has within this one.

pub use crate::{base, seed, word};

pub mod bijection {
    pub use crate::bijection::lanes;
    pub use crate::bijection::mul_xorshift::DeviceWidth;
    pub use crate::bijection::passes::Pass;
    pub use crate::bijection::standard::StandardCipher;
    pub use crate::bijection::table::{batch, draw_exchanges, rejected};
}
