//! [`Call`]: what the compiler knows of a call, so that a program has no code for what it never
//! does.

use crate::compact::Direction;

/// In which direction items are moved, and by which strategies.
pub(crate) trait Call: Copy + Sync {
    /// Whether the items may be sorted.
    const SORTS: bool;

    fn direction(self) -> Direction;
}

/// Any call.
impl Call for Direction {
    const SORTS: bool = true;

    #[inline(always)]
    fn direction(self) -> Direction {
        self
    }
}

/// A call without a [`Workspace`](crate::Workspace) that moves one slice by a seed: a shuffle, or
/// with `BACK` its undoing. The strategy in place serves all of these that sorting would serve, up
/// to 2^35 items.
#[derive(Clone, Copy)]
pub(crate) struct PlainCall<const BACK: bool>;

impl<const BACK: bool> Call for PlainCall<BACK> {
    const SORTS: bool = false;

    #[inline(always)]
    fn direction(self) -> Direction {
        if BACK { Direction::Unshuffle } else { Direction::Shuffle }
    }
}
