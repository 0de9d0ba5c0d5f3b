// Compaction in one pass: decoupled look-back with fallback (Smith, Levien and Owens, 2025). The
// number of survivors before a tile comes from the statuses of the tiles before it. WGSL promises
// no workgroup that another one ever runs on, so none may wait for long: if a status stays away,
// the workgroup counts that tile's survivors itself, which reads nothing, and posts their number.
//
// Whoever counts a tile finds the same number. If a status is replaced by one that says less, others
// look further back.

// [1] tiles that were counted for others, [2] survivors in all, [8..] statuses
@group(0) @binding(3) var<storage, read_write> bs_state: array<atomic<u32>>;

const bs_STATUSES: u32 = 8u;
const bs_DONE: u32 = 0xffffffffu;

var<workgroup> bs_next: u32;
var<workgroup> bs_sum: u32;

fn bs_post(t: u32, tile: u32, all: u32) {
  if (t == 0u && !bs_leaves_out(tile)) {
    if (tile == 0u) { bs_post_prefix(tile, all); } else { bs_post_own(tile, all); }
  }
}

// 2^32 survivors are more than a word can hold.
fn bs_finish(tile: u32, before: u32, all: u32) {
  let survivors = select(before + all, 0xffffffffu, before + all < before);
  if (tile == bs_params.tiles - 1u) { atomicStore(&bs_state[2], survivors); }
}

// Counts a tile for everyone who waits for it. All threads call this.
fn bs_count_for_others(t: u32, tile: u32) -> u32 {
  let all = bs_scan(t, bs_count(t, tile)).y;
  if (t == 0u) {
    bs_post_own(tile, all);
    atomicAdd(&bs_state[1], 1u);
  }
  return all;
}

// The survivors before a tile that has `all` itself. All threads call this.
fn bs_look_back(t: u32, tile: u32, all: u32) -> u32 {
  var at = tile;  // the tiles from here on are in the sum
  var sum = 0u;
  loop {
    bs_search(t, &at, &sum);
    // Thread 0 knows best.
    if (t == 0u) {
      bs_next = at;
      if (at == bs_DONE) {
        bs_sum = sum;
        if (!bs_leaves_out(tile)) { bs_post_prefix(tile, sum + all); }
      }
    }
    at = workgroupUniformLoad(&bs_next);
    if (at == bs_DONE) { break; }
    at -= 1u;
    sum += bs_count_for_others(t, at);
  }
  return workgroupUniformLoad(&bs_sum);
}

fn bs_before(t: u32, tile: u32, all: u32) -> u32 {
  if (tile == 0u) { return 0u; }
  return bs_look_back(t, tile, all);
}
