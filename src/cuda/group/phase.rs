//! [`Phase`]: what the members of a group do between two points at which all wait for each other.

use crate::cuda::runtime::plan::DevicePlan;

/// What all members do, until they wait for each other again.
pub(super) enum Phase<'a> {
    /// Each member has a plan. In it no member uses what another writes.
    Plans(Vec<DevicePlan<'a>>),
    /// Each member sends its items in pieces. While one is on its way, the next is prepared and the
    /// one before is sorted.
    Pieces(Vec<ExchangePiece<'a>>),
}

/// A piece of the members' items, and what each member does with it.
///
/// The memory that a piece fills, and that which receives it, are used again by the piece after the
/// next. A member fills it when its copies of the earlier piece have arrived, and receives in it
/// when it has sorted that.
pub(super) struct ExchangePiece<'a> {
    /// Fills the member's outbox.
    pub(super) fill: Vec<DevicePlan<'a>>,
    /// Copies from the member's outbox to the others' inboxes.
    pub(super) deliveries: Vec<Vec<MemberCopy>>,
    /// Sorts what the member has kept in its outbox.
    pub(super) kept: Vec<DevicePlan<'a>>,
    /// Sorts what it has received.
    pub(super) received: Vec<DevicePlan<'a>>,
}

/// A copy of bytes from one member's memory to another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MemberCopy {
    /// The other member.
    pub(super) receiver: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) bytes: u64,
}

impl<'a> Phase<'a> {
    /// Each member's plans, in the order in which it executes them.
    pub(super) fn plans(&self) -> Box<dyn Iterator<Item = (usize, &DevicePlan<'a>)> + '_> {
        match self {
            Self::Plans(plans) => Box::new(plans.iter().enumerate()),
            Self::Pieces(pieces) => Box::new(pieces.iter().flat_map(|piece| {
                let ExchangePiece { fill, kept, received, .. } = piece;
                [fill, kept, received].into_iter().flat_map(|plans| plans.iter().enumerate())
            })),
        }
    }
}
