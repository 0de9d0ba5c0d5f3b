//! [`IndexError`]: what keeps a permutation within a bijection from having its index.

use super::{Defect, OutOfMemory};

/// Why a permutation has no index of its survivors, which its values need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexError {
    /// It would take long, and was not asked for.
    NotBuilt {
        /// The last point of the domain.
        last: u64,
    },
    /// It could not be allocated.
    OutOfMemory(OutOfMemory),
    /// The number of survivors is not the length.
    NotABijection(Defect),
}

impl From<OutOfMemory> for IndexError {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}
