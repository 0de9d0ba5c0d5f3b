//! [`WgslError`]: why a bijection has no WGSL version.

use core::fmt;

/// Why a bijection has no WGSL version.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgslError {
    /// The bijection has no text in WGSL.
    NoSource {
        /// The family of the library that has none, if it is one.
        family: Option<String>,
    },
    /// The domain of the bijection, or of one of its parts, has more than `2^32` points.
    DomainTooWide {
        /// The last point of the domain that is too wide.
        last: u64,
    },
    /// The order of so few items is a table, which a `WgslWalk` does not contain.
    IsTable {
        /// The number of items, at most 256.
        len: u64,
    },
}

impl fmt::Display for WgslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSource { family: Some(name) } => write!(
                f,
                "{name} has no text in WGSL: give a `WgslSource`, choose another family, or use the \
                 CPU"
            ),
            Self::NoSource { family: None } => f.write_str(
                "the bijection has no text in WGSL: give a `WgslSource`, choose a family of the \
                 library (a `Table` of at most 256 points has a text), or use the CPU",
            ),
            Self::DomainTooWide { last } => write!(
                f,
                "a domain of {} points is too wide for words of 32 bits: use a narrower bijection",
                u128::from(*last) + 1
            ),
            Self::IsTable { len } => write!(
                f,
                "the order of {len} items is a table: give the shader a buffer with the items of \
                 `Permutation::walk({len}, seed)`"
            ),
        }
    }
}

impl std::error::Error for WgslError {}
