//! [`Phase`]: what the members of a group do between two points at which all wait for each other.

use crate::cuda::runtime::plan::Plan;

/// What all members do, until they wait for each other again.
pub(super) enum Phase<'a> {
    /// Each member has a plan. In it no member uses what another writes.
    Plans(Vec<Plan<'a>>),
    /// Each member sends its items in pieces. While one is on its way, the next is prepared and the
    /// one before is sorted.
    Pieces(Vec<Piece<'a>>),
}

/// A piece of the members' items, and what each member does with it.
///
/// The memory that a piece fills, and that which receives it, are used again by the piece after the
/// next. A member fills it when its copies of the earlier piece have arrived, and receives in it
/// when it has sorted that.
pub(super) struct Piece<'a> {
    /// Fills the member's outbox.
    pub(super) fill: Vec<Plan<'a>>,
    /// Copies from the member's outbox to the others' inboxes.
    pub(super) deliveries: Vec<Vec<Delivery>>,
    /// Sorts what the member has kept in its outbox.
    pub(super) kept: Vec<Plan<'a>>,
    /// Sorts what it has received.
    pub(super) received: Vec<Plan<'a>>,
}

/// A copy of bytes from one member's memory to another's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delivery {
    /// The other member.
    pub(super) receiver: usize,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) bytes: u64,
}

impl<'a> Phase<'a> {
    /// Each member's plans, in the order in which it executes them.
    pub(super) fn plans(&self) -> Box<dyn Iterator<Item = (usize, &Plan<'a>)> + '_> {
        match self {
            Self::Plans(plans) => Box::new(plans.iter().enumerate()),
            Self::Pieces(pieces) => Box::new(pieces.iter().flat_map(|piece| {
                let Piece { fill, kept, received, .. } = piece;
                [fill, kept, received].into_iter().flat_map(|plans| plans.iter().enumerate())
            })),
        }
    }
}
