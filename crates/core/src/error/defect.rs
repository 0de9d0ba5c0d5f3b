//! [`Defect`]: the evidence that a map is not a bijection.

use core::fmt;

/// The evidence that a map is not a bijection.
///
/// [`verify`](crate::bijection::verify()) looks for every defect. The engines look only for those
/// that would lose an item, so they may accept a map that `verify` rejects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Two slots have the same value.
    Repeats {
        /// The repeated value.
        index: u64,
        /// The first two slots that have it, in order. `None` if a second search did not find them,
        /// because the map then answered differently, or if a GPU evaluated the map.
        slots: Option<[u64; 2]>,
    },
    /// A value is not below the length, or not in the domain.
    OutOfRange {
        /// The slot with this value.
        slot: u64,
        /// The value.
        index: u64,
        /// The largest value allowed.
        last: u64,
    },
    /// The number of slots with a value below the length is not the length, so some values repeat
    /// or lie outside the domain. [`verify`](crate::bijection::verify()) finds the slots.
    Survivors {
        /// The permutation's length.
        expected: u64,
        /// How many slots survived. If there are too many, this is the length plus one.
        actual: u64,
    },
    /// The inverse of an index is not a slot of the domain.
    SlotOutOfRange {
        /// The index.
        index: u64,
        /// What `inverse(index)` returned.
        slot: u64,
        /// The last slot of the domain.
        last: u64,
    },
    /// `inverse(forward(slot))` is a different slot, with a different value.
    WrongInverse {
        /// The slot.
        slot: u64,
        /// Its value, `forward(slot)`.
        index: u64,
        /// What `inverse(index)` returned instead of the slot.
        inverse: u64,
    },
    /// `forward(inverse(index))` is a different index.
    WrongSlot {
        /// The index.
        index: u64,
        /// Its slot, `inverse(index)`.
        slot: u64,
        /// What `forward(slot)` returned instead of the index.
        value: u64,
    },
    /// A method returned a different value from `forward` or `inverse` at the same point.
    Disagrees {
        /// The method, such as `forward_run`.
        method: &'static str,
        /// The slot or the index.
        point: u64,
        /// What `forward` or `inverse` returned.
        expected: u64,
        /// What the method returned.
        actual: u64,
    },
    /// Two calls of `last` returned different values.
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
            Self::OutOfRange { slot, index, last } => {
                write!(
                    f,
                    "the slot {slot} has the value {index}, but the largest value allowed is {last}"
                )
            }
            Self::Survivors { expected, actual } => write!(
                f,
                "{actual} {more}slots have values below the length {expected}, and the numbers must be \
                 equal: `bijection::verify` finds the wrong slots",
                more = if actual > expected { "or more " } else { "" }
            ),
            Self::SlotOutOfRange { index, slot, last } => write!(
                f,
                "the inverse of the index {index} is given as {slot}, but the last slot is {last}"
            ),
            Self::WrongInverse { slot, index, inverse } => write!(
                f,
                "the slot {slot} has the value {index}, whose inverse is given as {inverse}"
            ),
            Self::WrongSlot { index, slot, value } => write!(
                f,
                "the inverse of the index {index} is given as the slot {slot}, which has the value \
                 {value}"
            ),
            Self::Disagrees { method, point, expected, actual } => write!(
                f,
                "`{method}` gives {actual} at point {point}, which on its own gives {expected}"
            ),
            Self::DomainChanges { before, after } => {
                write!(f, "the last point of the domain was {before} and then {after}")
            }
        }
    }
}
