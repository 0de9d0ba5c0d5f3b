//! The views' sizes and thresholds, with the measurements that chose them; benches/notes/views.md
//! has the commands.

/// The number of slots in a block of the survivor index. `get` at 2^29 + 1 items with blocks of 64,
/// 256, 512 and 4096 slots takes 0.25, 0.21, 0.31 and 1.1 microseconds, and the index 34, 8.7, 4.5
/// and 0.79 megabytes; with `VariablePhilox` and 512 slots `get` takes 0.66 microseconds.
pub(super) const SLOTS_PER_BLOCK: u64 = 512;

/// From this many points for each item on, the index lists the items' slots instead of counting
/// survivors in blocks. Two threads list 60 to 87 million items a second, or count 4.8 G slots.
pub(super) const SPARSE: u64 = 64;

/// An index over more slots than this is built only if the caller asks for it explicitly. Two
/// threads count this many in two to nine seconds, and the counts take 34 MiB. The next power of
/// two takes 19 seconds, which is too long for a call that looks like a look-up.
pub(super) const AUTO_INDEX_SLOTS_MAX: u64 = 1 << 33;

/// The number of slots, or items, that an iterator evaluates at a time: their values, 8 KiB, stay
/// in the L1 cache.
pub(super) const RUN: usize = 1 << 10;

/// The number of slots that are evaluated at a time to answer one query.
pub(super) const SCAN_RUN: usize = 1 << 9;

/// A GPU counts the blocks of this many superblocks at a time: 2^30 slots, whose counts take 8 MiB
/// on the GPU, and twice as much on the host, which adds up those before meanwhile.
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
pub(super) const SUPERBLOCKS_TOGETHER: u64 = 1 << 15;

/// For a jump over this many slots or more, an iterator queries the index instead of evaluating the
/// slots between. A query takes about as long as 1000 evaluations, and building an index evaluates
/// all slots.
pub(super) const LONG_JUMP: u64 = 1 << 12;

/// The same where an index would be refused, so that the choice is between this many evaluations,
/// which take about a millisecond, and an error.
pub(super) const REACH: u64 = 1 << 20;

/// Without an index, a single query evaluates at most one part in this many of the slots. Building
/// an index evaluates all of them once, and then a query takes as long as 1000 evaluations. So with
/// many queries an index pays from about the second on.
pub(super) const NEAR_SHARE: u64 = 16;

/// The approximate time of a query of the index on one core, in picoseconds; see
/// [`SLOTS_PER_BLOCK`].
pub(super) const QUERY_PICOSECONDS: u32 = 300_000;

/// Fewer items than this are cloned by the calling thread alone. Waking another thread takes ten
/// microseconds or more (`compact/cpu/tuning.rs`), in which one thread clones about this many
/// numbers from random places in the L2 cache. No other number was tried.
pub(super) const SEQUENTIAL_CLONES: usize = 1 << 13;
