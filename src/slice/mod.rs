//! Extension traits for slices: [`ParBijectiveShuffle`] for one slice,
//! [`ParBijectiveShuffleTogether`] for several at once.

mod shuffle;
mod together;

pub use shuffle::ParBijectiveShuffle;
pub use together::ParBijectiveShuffleTogether;
