//! [`Defect`]: how a map was seen not to be a bijection.

use core::fmt;

/// How a map was seen not to be a bijection.
///
/// [`verify`](crate::bijection::verify()) looks for all of them, and so tells more than the engines,
/// which only look for what would lose an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// Two slots have the same value.
    Repeats {
        /// The value that came again.
        index: u64,
        /// The first two slots that have it, in order. `None` if they were not found again, because
        /// the map answered otherwise when it was asked once more, or because a GPU evaluated it.
        slots: Option<[u64; 2]>,
    },
    /// A value is not below the length, or not in the domain.
    OutOfRange {
        /// The slot that has it.
        slot: u64,
        /// The value.
        index: u64,
        /// The last value that there may be.
        last: u64,
    },
    /// The number of slots with a value below the length is not the length: some values repeat, or lie
    /// outside of the domain. [`verify`](crate::bijection::verify()) finds the slots.
    Survivors {
        /// The permutation's length.
        expected: u64,
        /// How many slots survived; the length and one more if there are too many.
        actual: u64,
    },
    /// The inverse of an index is no slot of the domain.
    SlotOutOfRange {
        /// The index.
        index: u64,
        /// What `inverse` gave for it.
        slot: u64,
        /// The last slot of the domain.
        last: u64,
    },
    /// `inverse(forward(slot))` is another slot, which has another value.
    WrongInverse {
        /// The slot.
        slot: u64,
        /// Its value, `forward(slot)`.
        index: u64,
        /// What `inverse(index)` gave instead of the slot.
        inverse: u64,
    },
    /// `forward(inverse(index))` is another index.
    WrongSlot {
        /// The index.
        index: u64,
        /// Its slot, `inverse(index)`.
        slot: u64,
        /// What `forward(slot)` gave instead of the index.
        value: u64,
    },
    /// A method gives another value than `forward` or `inverse` does at the same point.
    Disagrees {
        /// The method, such as `forward_run`.
        method: &'static str,
        /// The slot or the index.
        point: u64,
        /// What `forward` or `inverse` gave.
        expected: u64,
        /// What the method gave.
        actual: u64,
    },
    /// `last` gave two answers.
    DomainChanges {
        /// The first.
        before: u64,
        /// The other.
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
                write!(f, "the slot {slot} has the value {index}, and the last one is {last}")
            }
            Self::Survivors { expected, actual } => write!(
                f,
                "{actual} {more}slots have values below the length {expected}, which must be as many: \
                 `bijection::verify` finds out which are wrong",
                more = if actual > expected { "or more " } else { "" }
            ),
            Self::SlotOutOfRange { index, slot, last } => write!(
                f,
                "the inverse of the index {index} is given as {slot}, and the last slot is {last}"
            ),
            Self::WrongInverse { slot, index, inverse } => write!(
                f,
                "the slot {slot} has the value {index}, whose inverse is given as {inverse}"
            ),
            Self::WrongSlot { index, slot, value } => write!(
                f,
                "the inverse of the index {index} is given as the slot {slot}, which has the value {value}"
            ),
            Self::Disagrees { method, point, expected, actual } => write!(
                f,
                "`{method}` gives {actual} at point {point}, which alone has given {expected}"
            ),
            Self::DomainChanges { before, after } => {
                write!(f, "the last point of the domain was {before} and then {after}")
            }
        }
    }
}
