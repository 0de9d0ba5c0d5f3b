//! What can go wrong with bijections and seeds.

mod bijection;
mod defect;
mod index;
mod memory;
mod seed;

pub use bijection::BijectionError;
pub use defect::Defect;
#[doc(hidden)]
pub use index::IndexError;
#[doc(hidden)]
pub use memory::OutOfMemory;
pub use seed::SeedError;
