//! [`Ahead`]: what one end of an iterator has evaluated ahead of time.

use super::index::Landmark;

/// The indexes that one end has evaluated ahead of time.
#[derive(Clone, Default)]
pub(super) struct Ahead {
    /// The indexes at the next places, in the order in which they come.
    pub(super) indices: Vec<u64>,
    pub(super) taken: usize,
    /// If the permutation is compacted: the bounds of the slots of these indexes, in the order of
    /// this end.
    pub(super) begun: Option<Bound>,
    pub(super) ended: Option<Bound>,
}

/// A boundary between two slots.
#[derive(Clone, Copy, Default)]
pub(super) struct Bound {
    /// The slot after it; it may be 2^64.
    pub(super) slot: u128,
    /// The number of survivors before it.
    pub(super) place: u64,
}

impl From<Landmark> for Bound {
    fn from(Landmark { slot, place }: Landmark) -> Self {
        Self { slot: u128::from(slot), place }
    }
}

impl Ahead {
    #[inline]
    pub(super) fn next(&mut self) -> Option<u64> {
        let index = *self.indices.get(self.taken)?;
        self.taken += 1;
        Some(index)
    }

    pub(super) fn rest(&self) -> &[u64] {
        &self.indices[self.taken..]
    }

    pub(super) fn skip(&mut self, count: u64) {
        self.taken += self.rest().len().min(usize::try_from(count).unwrap_or(usize::MAX));
    }

    pub(super) fn clear(&mut self) {
        self.indices.clear();
        self.taken = 0;
    }

    /// Discards the indexes that were evaluated and not taken, as if they had not been evaluated.
    pub(super) fn rewind(&mut self) {
        if !self.rest().is_empty() {
            self.ended = self.begun;
        }
        self.clear();
    }
}
