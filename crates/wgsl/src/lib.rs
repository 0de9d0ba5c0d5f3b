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

pub use error::WgslError;
pub use source::{AsWgsl, WgslSource};
