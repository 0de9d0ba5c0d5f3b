//! The details of each kind of [`Error`]: a type and a file for each subject.

pub(crate) mod any;
mod bijection;
mod defect;
#[cfg(feature = "engine")]
mod exchange;
#[cfg(feature = "engine")]
mod generator;
#[cfg(feature = "engine")]
mod gpu;
#[cfg(feature = "engine")]
mod matrix;
mod saved;
#[cfg(feature = "engine")]
mod unavailable;
#[cfg(feature = "engine")]
mod view;

pub(crate) use any::Error;
pub use bijection::BijectionError;
pub use defect::Defect;
#[cfg(feature = "engine")]
pub use exchange::ExchangeError;
#[cfg(feature = "engine")]
pub use generator::GeneratorError;
#[cfg(feature = "engine")]
pub use gpu::GpuError;
#[cfg(feature = "engine")]
pub use matrix::MatrixError;
pub use saved::SavedError;
#[cfg(feature = "engine")]
pub use unavailable::Unavailable;
#[cfg(feature = "engine")]
pub use view::ViewError;
