// The last pass of the partitioned strategy: puts a bucket's items in order in the workgroup's
// memory, and writes them one after the other.
//
// Of `windows`: the bits of a key, the records that a bucket has room for, and where the counts of
// the buckets begin. Of `sizes`: the bits of a key in the first pass, and where its counts begin.
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;
@group(0) @binding(4) var<storage, read> bs_counts: array<u32>;

var<workgroup> bs_items: array<bs_Unit, bs_TILE>;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  if (number >= bs_params.tiles || bs_counts[0] != 0u) { return; }
  let count = bs_counts[bs_params.windows.z + number];
  if (count == 0u) { return; }
  let start = number * bs_params.windows.y;
