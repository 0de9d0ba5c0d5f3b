// Compaction in two kernels, for few tiles: the first counts the survivors of every tile, and the
// second adds up the counts of the tiles before its own. No workgroup waits for another, and nothing
// has to be cleared.

// [2] survivors in all, [8..] the tiles' counts
@group(0) @binding(3) var<storage, read_write> bs_state: array<u32>;

const bs_STATUSES: u32 = 8u;

fn bs_take(t: u32, number: u32) -> u32 { return number; }
fn bs_post(t: u32, tile: u32, all: u32) {}
fn bs_finish(tile: u32, survivors: u32) { if (tile == bs_params.tiles - 1u) { bs_state[2] = survivors; } }

fn bs_before(t: u32, tile: u32, all: u32) -> u32 {
  var sum = 0u;
  for (var j = t; j < tile; j += bs_THREADS) { sum += bs_state[bs_STATUSES + j]; }
  return bs_scan(t, sum).y;
}
