//! [`MOVES_ITEMS`]: which of our rows move items in device memory.

/// The names of what moves items; the others write indexes.
pub(crate) const MOVES_ITEMS: &[&str] = &[
    "SinglePass, Philox-24",
    "SinglePass, default",
    "Partitioned, Philox-24",
    "Partitioned, default",
    "TwoPass, Philox-24",
    "TwoPass, default",
    "Unfused, Philox-24",
    "Unfused, default",
    "SinglePass, LCG",
    "Auto, Philox-24",
    "Auto, default",
    "back, SinglePass, default",
    "back, Partitioned, default",
    "in place, Philox-24",
    "in place, default",
    "back, in place, Philox-24",
    "back, in place, default",
    "copy",
    "gather (our kernel)",
];
