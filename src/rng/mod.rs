//! Counter-based generators.
//!
//! [`Philox4x32`] turns a counter and a key into four words; the crate draws its keys with it (see
//! [`Seed`](crate::Seed)).

pub(crate) mod lanes;
mod philox4x32;

pub use philox4x32::Philox4x32;
