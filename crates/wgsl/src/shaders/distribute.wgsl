// The partitioned strategy, for arrays that do not fit the cache: items are sorted by the high bits
// of the places that they go to, in one or two passes of sequential traffic, and then put in order
// in a workgroup's memory. A record is an item and the remaining low bits of its place.
//
// Of `windows` here: the bits of a key below the bucket, the records that a bucket has room for, and
// where the counts of the buckets begin. Of `sizes`: the same for the buckets that records come
// from, and the tiles of each of them.

// [0] whether a bucket has overflowed; [8..] the records of the buckets of both passes
@group(0) @binding(4) var<storage, read_write> bs_counts: array<atomic<u32>>;

// For each bin first the tile's records, then where they begin in it, and then from where on they lie
// in memory.
var<workgroup> bs_bins: array<atomic<u32>, bs_BINS + 1u>;

// Takes room in a bucket for records that begin at `start` in the tile. Where there is none what is
// written does not matter, since nobody reads it.
fn bs_take_room(bucket: u32, records: u32, start: u32) -> u32 {
  let capacity = bs_params.windows.y;
  var taken = 0u;
  if (records > 0u) { taken = atomicAdd(&bs_counts[bs_params.windows.z + bucket], records); }
  if (taken + records > capacity) { atomicStore(&bs_counts[0], 1u); }
  return bucket * capacity + min(taken, capacity - min(records, capacity)) - start;
}
