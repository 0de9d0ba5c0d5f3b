// The last resort of the partitioned strategy, where a bucket has overflowed.
@group(0) @binding(4) var<storage, read> bs_counts: array<u32>;

fn bs_is_needed() -> bool { return bs_counts[0] != 0u; }
