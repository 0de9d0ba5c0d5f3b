//! [`CudaStrategy`]: how the GPU moves items.

/// How the GPU moves items. All strategies give the same answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CudaStrategy {
    /// Whichever is expected to be the fastest.
    #[default]
    Auto,
    /// Values, compaction and movement in a kernel each: `Bijective0` of Mitchell et al. (2022), section 5.
    Unfused,
    /// Survivors are counted, the counts summed, and everything evaluated again where it is moved: `Bijective1`.
    TwoPass,
    /// One kernel, whose tiles learn their places by decoupled look-back (Merrill and Garland, 2016): `Bijective2`.
    ///
    /// One launch for any length.
    SinglePass,
    /// The items are sorted roughly in one or two passes, and then in shared memory: sequential access only, and an
    /// evaluation an item.
    ///
    /// It serves items of 1, 2, 4, 8 and 16 bytes, one array at a time, and domains of at most 2^32 points, less than
    /// eight times as many as items. Where it does not serve, the single pass is used.
    Partitioned,
}
