//! Every size and threshold of the GPU engine, with the measurement that chose it.
//!
//! Measured on an NVIDIA H200 with CUDA 13.0, items of 8 bytes and `VariablePhilox` with 24 rounds unless said
//! otherwise; docs/results/gpu.md has the tables.

/// Threads of a block in the direct kernels.
///
/// At `m = 2^29 + 1`, relative to a gather with a given index: 128 threads 1.013, 256 1.015, 512 1.014.
pub(super) const THREADS: u32 = 256;

/// Blocks of the direct kernels that a multiprocessor should hold, which limits their registers: at 64 registers 4
/// blocks fit (1.015 of a gather), and 5 with 48 registers spill (0.906).
pub(super) const BLOCKS: u32 = 4;

/// Slots that a thread evaluates in a tile, for domains of at least so many slots: large tiles pay where there are
/// enough of them to keep every multiprocessor busy, and with few slots each thread should have few.
pub(super) const PER_THREAD: &[(u64, u32)] = &[(1 << 19, 8), (1 << 17, 4), (1 << 16, 2), (0, 1)];

/// Threads of a block in the partitioned strategy's passes. With 16 records a thread and two blocks a multiprocessor
/// the two passes took 5.0 and 3.8 ms at `m = 2^29 + 1`; 256 threads 5.7 and 4.9 ms (shorter runs for each bucket),
/// 1024 threads with 8 records 5.2 and 4.0 ms.
pub(super) const PASS_THREADS: u32 = 512;

/// Records of a thread in those passes, if shared memory allows for two such blocks.
pub(super) const PASS_RECORDS: u32 = 16;

/// Threads of a block that places a bucket: 1024 took 3.26 ms at `m = 2^29 + 1`, 512 3.56 ms, 256 6.3 ms.
pub(super) const PLACE_THREADS: u32 = 1024;

/// Bytes of a bucket's items that are placed in shared memory, at most, in the mean: with three blocks of 70 KB on a
/// multiprocessor it took 3.3 ms, with one of 140 KB 4.9 ms.
pub(super) const PLACE_BYTES: u64 = 70 << 10;

/// Bits by which a pass of the partitioned strategy sorts, at most, and what the second of two passes has. A pass by 8
/// bits takes 3.9 ms at `m = 2^29 + 1`, by 9 bits 5.1, by 10 bits 7.5: the runs of records for each bucket become short.
pub(super) const PASS_BITS: u32 = 9;

/// Bits of the second of two passes, if the first then has at most [`PASS_BITS`].
pub(super) const SECOND_PASS_BITS: u32 = 8;

/// Standard deviations above the mean that there is room for in a bucket. A random permutation exceeds them once in
/// 10^15 buckets.
pub(super) const DEVIATIONS: f64 = 8.0;

/// `Auto` partitions from so many times the second-level cache on.
pub(super) const PARTITION_CACHES: u64 = 8;
