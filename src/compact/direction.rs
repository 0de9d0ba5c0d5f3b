//! [`Direction`]: whether items are shuffled or put back.

/// The direction in which a permutation `p` moves the items of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// A gather: the item at index `p[k]` moves to place `k`.
    Shuffle,
    /// A scatter: the item at place `k` moves to index `p[k]`.
    Unshuffle,
}

impl Direction {
    /// The direction that undoes this one.
    pub(crate) const fn flip(self) -> Self {
        match self {
            Self::Shuffle => Self::Unshuffle,
            Self::Unshuffle => Self::Shuffle,
        }
    }
}
