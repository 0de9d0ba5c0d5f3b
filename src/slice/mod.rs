//! The methods that slices get: [`ParBijectiveShuffle`] for one, [`ParBijectiveShuffleTogether`]
//! for several at once.

mod shuffle;
mod together;

pub use shuffle::ParBijectiveShuffle;
pub use together::ParBijectiveShuffleTogether;
