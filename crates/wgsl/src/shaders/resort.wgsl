// The last resort of the partitioned strategy, where a bucket has overflowed. Nearly always it ends
// at once, so there are few workgroups, each for as many tiles as it gets.
@group(0) @binding(4) var<storage, read> bs_counts: array<u32>;
