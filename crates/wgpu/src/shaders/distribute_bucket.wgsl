// The second pass: distributes a bucket's records to smaller ones.
@group(0) @binding(7) var<storage, read> bs_from_keys: array<u32>;
@group(0) @binding(8) var<storage, read> bs_from_items: array<bs_Unit>;

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
%K  let key$k = bs_from_keys[at$k];
%K  let x$k = bs_from_items[at$k];
