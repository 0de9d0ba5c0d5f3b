//! The limits of a device that plans depend on.

/// A size that exceeds a limit of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Excess {
    pub what: &'static str,
    pub asked: u64,
    pub most: u64,
}

impl Excess {
    /// Whether a size is within a limit.
    pub fn check(what: &'static str, asked: u64, most: u64) -> Result<(), Self> {
        if asked <= most { Ok(()) } else { Err(Self { what, asked, most }) }
    }
}

/// The limits.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The bytes of a binding.
    pub binding: u64,
    /// The arrays of a kernel.
    pub arrays: u32,
    /// The bytes of a buffer.
    pub buffer: u64,
    /// What the offset of a binding is a multiple of, in bytes.
    pub alignment: u64,
    /// The threads of a workgroup.
    pub threads: u32,
    /// The bytes of a workgroup's memory.
    pub storage: u32,
}
