//! [`Defect`]: the evidence that a map is not a bijection.

use core::fmt;

/// The evidence that a map is not a bijection: its text says which method gave what, and where.
///
/// A map that has several defects may be refused for any of them, so the kinds are hidden: they may
/// change in any version, and programs should not match on them.
///
/// [`verify`](crate::bijection::verify()) looks for every defect. The engines look only for those
/// that would lose an item, so they may accept a map that `verify` rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Two slots have the same value.
    #[doc(hidden)]
    Repeats {
        /// The repeated value.
        index: u64,
        /// The first two slots that have it, in order. `None` if a second search did not find them,
        /// because the map then answered differently, or if a GPU evaluated the map.
        slots: Option<[u64; 2]>,
    },
    /// `forward` of a slot, or `inverse` of an index, is not below the length, or not in the
    /// domain.
    #[doc(hidden)]
    OutOfRange {
        /// The method, `forward` or `inverse`.
        method: &'static str,
        /// The slot or the index.
        point: u64,
        /// What the method returned.
        value: u64,
        /// The largest value allowed.
        last: u64,
    },
    /// The number of slots with a value below the length is not the length, so some values repeat
    /// or lie outside the domain. [`verify`](crate::bijection::verify()) finds the slots.
    #[doc(hidden)]
    Survivors {
        /// The permutation's length.
        expected: u64,
        /// How many slots survived. If there are too many, this is the length plus one.
        actual: u64,
    },
    /// Two methods do not agree: `inverse(forward(slot))` is not the slot,
    /// `forward(inverse(index))` not the index, or a method for many points returned another value
    /// than `forward` or `inverse` at one of them.
    #[doc(hidden)]
    Disagrees {
        /// The method that was called last, such as `inverse` or `forward_run`.
        method: &'static str,
        /// The slot or the index that it was called with.
        point: u64,
        /// What it should have returned by what the other method did.
        expected: u64,
        /// What it returned.
        actual: u64,
    },
    /// Two calls of `last` returned different values.
    #[doc(hidden)]
    DomainChanges {
        /// The first value.
        before: u64,
        /// The other value.
        after: u64,
    },
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repeats { index, slots: Some([first, second]) } => {
                write!(f, "the slots {first} and {second} both have the value {index}")
            }
            Self::Repeats { index, slots: None } => write!(f, "two slots have the value {index}"),
            Self::OutOfRange { method, point, value, last } => write!(
                f,
                "`{method}` gives {value} at point {point}, but the largest value allowed is {last}"
            ),
            Self::Survivors { expected, actual } => write!(
                f,
                "{actual} {more}slots have values below the length {expected}, and the numbers must be \
                 equal: `bijection::verify` finds the wrong slots",
                more = if actual > expected { "or more " } else { "" }
            ),
            Self::Disagrees { method, point, expected, actual } => {
                write!(f, "`{method}` gives {actual} at point {point} and not {expected}")
            }
            Self::DomainChanges { before, after } => {
                write!(f, "the last point of the domain was {before} and then {after}")
            }
        }
    }
}
