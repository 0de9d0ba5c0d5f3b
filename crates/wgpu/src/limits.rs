//! The limits of a device that plans depend on.

/// A size that exceeds a limit of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Excess {
    pub(crate) what: &'static str,
    pub(crate) asked: u64,
    pub(crate) most: u64,
}

impl Excess {
    /// Whether a size is within a limit.
    pub(crate) fn check(what: &'static str, asked: u64, most: u64) -> Result<(), Self> {
        if asked <= most { Ok(()) } else { Err(Self { what, asked, most }) }
    }
}

/// The limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The bytes of a binding.
    pub(crate) binding: u64,
    /// The arrays of a kernel.
    pub(crate) arrays: u32,
    /// The bytes of a buffer.
    pub(crate) buffer: u64,
    /// What the offset of a binding is a multiple of, in bytes.
    pub(crate) alignment: u64,
    /// The threads of a workgroup.
    pub(crate) threads: u32,
    /// The bytes of a workgroup's memory.
    pub(crate) storage: u32,
}
