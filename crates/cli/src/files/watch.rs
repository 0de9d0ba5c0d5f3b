//! [`Watch`]: how far a shuffle is.

/// What a shuffle is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pass {
    /// Lines are counted.
    Count,
    /// Items are read and brought to their buckets.
    Distribute,
    /// Buckets are read, put in order, and written.
    Place,
}

/// Something that is told how far a shuffle is. `()` ignores it.
pub trait Watch: Sync {
    /// A pass begins, over this number of bytes if it is known.
    fn begin(&self, pass: Pass, bytes: Option<u64>);

    /// This many more bytes of the pass are done.
    fn advance(&self, bytes: u64);
}

impl Watch for () {
    fn begin(&self, _: Pass, _: Option<u64>) {}

    fn advance(&self, _: u64) {}
}
