// The check of a bijection that nobody vouches for: every index comes once. `bs_seen` has a bit for
// each, all zero before. Word 3 of the state is set if an index comes again; word 4 counts those
// that are too large.
@group(0) @binding(2) var<storage, read_write> bs_seen: array<atomic<u32>>;
@group(0) @binding(3) var<storage, read_write> bs_state: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> bs_indexes: array<u32>;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  let tile = number;
  if (tile >= bs_params.tiles) { return; }
  for (var k = 0u; k < bs_K; k++) {
    let at = tile * bs_TILE + k * bs_THREADS + t;
    if (at < bs_params.len) {
      let index = bs_indexes[at];
      let bit = 1u << (index % 32u);
      if (index >= bs_params.len) {
        atomicAdd(&bs_state[4], 1u);
      } else if ((atomicOr(&bs_seen[index / 32u], bit) & bit) != 0u) {
        atomicStore(&bs_state[3], 1u);
      }
    }
  }
}
