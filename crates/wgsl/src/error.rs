//! [`WgslError`]: why a bijection has no text.

use core::fmt;

/// Why a bijection cannot be written in WGSL.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WgslError {
    /// The bijection has no text in WGSL.
    NoText {
        /// The family of the library that has none, if it is one.
        family: Option<String>,
    },
    /// The bijection's domain has more than `2^32` points.
    DomainTooWide {
        /// The domain's last point.
        last: u64,
    },
}

impl fmt::Display for WgslError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoText { family: Some(name) } => write!(
                f,
                "{name} has no text in WGSL: give a `WgslSource`, choose another family, or use the \
                 CPU"
            ),
            Self::NoText { family: None } => f.write_str(
                "the bijection has no text in WGSL: give a `WgslSource`, choose a family of the \
                 library, or use the CPU",
            ),
            Self::DomainTooWide { last } => write!(
                f,
                "a domain of {} points is too wide for words of 32 bits: use a narrower bijection",
                u128::from(*last) + 1
            ),
        }
    }
}

impl std::error::Error for WgslError {}
