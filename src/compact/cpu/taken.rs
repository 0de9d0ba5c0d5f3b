//! [`TakenSlots`]: which slots of a bucket are taken, and how many before each.

/// 64 slots of a bucket's bitmap.
#[derive(Clone, Copy)]
pub(super) struct TakenSlots {
    pub(super) slots: u64,
    /// How many are taken before these.
    pub(super) before: u32,
}

impl TakenSlots {
    /// None are taken.
    pub(super) const NONE: Self = Self { slots: 0, before: 0 };

    /// The number of these words for `slots` slots.
    pub(super) const fn count(slots: usize) -> usize {
        slots.div_ceil(64)
    }

    /// How many slots of the bucket are taken before the given one, which is among these 64.
    #[inline(always)]
    pub(super) fn rank(self, slot: usize) -> usize {
        let below = self.slots & ((1 << (slot % 64)) - 1);
        (self.before + below.count_ones()) as usize
    }
}
