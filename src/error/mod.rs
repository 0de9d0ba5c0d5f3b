//! The details of each kind of [`Error`](crate::Error): a type and a file for each subject.

pub(crate) mod any;
mod exchange;
mod gpu;
mod saved;
mod unavailable;
mod view;

pub use bijective_shuffle_core::error::{BijectionError, Defect, SeedError};
pub use exchange::ExchangeError;
pub use gpu::GpuError;
pub use saved::SavedError;
pub use unavailable::Unavailable;
pub use view::ViewError;
