//! [`CudaStrategy`]: how the GPU engine moves items.

/// How the GPU engine moves items. All strategies give the same result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CudaStrategy {
    /// The strategy that is expected to be fastest.
    #[default]
    Auto,
    /// Evaluates, compacts and moves in separate kernels: `Bijective0` of Mitchell et al. (2022),
    /// section 5.
    Unfused,
    /// Counts the survivors, sums the counts, and evaluates everything again to move the items:
    /// `Bijective1`.
    TwoPass,
    /// Does everything in one kernel, whose tiles get their places by decoupled look-back (Merrill
    /// and Garland, 2016): `Bijective2`.
    ///
    /// It takes one launch for any length.
    SinglePass,
    /// Sorts the items into buckets in one or two passes, and then each bucket in shared memory:
    /// sequential access to memory only, and one evaluation for each item.
    ///
    /// It serves one array of items of 1, 2, 4, 8 or 16 bytes, and domains of at most 2^32 points,
    /// less than eight times as many as items. Elsewhere the single pass is used instead.
    Partitioned,
}
