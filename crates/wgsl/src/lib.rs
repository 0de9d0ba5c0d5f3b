#![doc = include_str!("../README.md")]

mod error;
mod families;
#[doc(hidden)]
pub mod launch;
#[doc(hidden)]
pub mod limits;
mod partition;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod shader;
mod source;
mod walk;

pub use error::WgslError;
pub use source::{AsWgsl, WgslSource};
pub use walk::WgslWalk;
