//! [`Summary`]: what a shuffle of a file has done.

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// The number of items that were written.
    pub items: u64,
    /// The number of bytes that were written.
    pub bytes: u64,
    /// The number of buckets after pass 1.
    pub buckets: u64,
    /// The number of buckets that had to be split.
    pub splits: u64,
    /// The number of bytes that were appended to the store.
    pub temporary_bytes: u64,
}
