// The second pass: distributes a bucket's records to smaller ones.
var<workgroup> bs_all: u32;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  if (number >= bs_params.tiles) { return; }
  let sizes = bs_params.sizes;
  let from_bucket = number / sizes.w;
  let first = (number % sizes.w) * bs_TILE;
  if (t == 0u) { bs_all = atomicLoad(&bs_counts[sizes.z + from_bucket]); }
  let all = workgroupUniformLoad(&bs_all);
  // A bucket with more records than it has room for has overflowed.
  if (first >= all || all > sizes.y) { return; }
  let count = min(all - first, bs_TILE);
  let bucket = from_bucket << (sizes.x - bs_params.windows.x);
  let origin = from_bucket * sizes.y + first;
%K  let at$k = origin + min(t + $ku * bs_THREADS, count - 1u);
%K  let record$k = bs_read_record(at$k);
%K  let key$k = record$k.key;
%K  let x$k = record$k.item;
