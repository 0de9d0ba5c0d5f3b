// The inverse of a permutation in memory.
@group(0) @binding(2) var<storage, read_write> bs_dst: array<u32>;
@group(0) @binding(4) var<storage, read> bs_indexes: array<u32>;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  let tile = number;
  if (tile >= bs_params.tiles) { return; }
  for (var k = 0u; k < bs_K; k++) {
    let at = tile * bs_TILE + k * bs_THREADS + t;
    if (at < bs_params.len) { bs_dst[bs_indexes[at]] = at; }
  }
}
