//! The details of each kind of [`Error`](crate::Error).

#[doc(inline)]
pub use bijective_shuffle_core::{
    BijectionError, Defect, ExchangeError, GeneratorError, GpuError, MatrixError, SamplerError,
    SavedError, Unavailable, ViewError,
};
