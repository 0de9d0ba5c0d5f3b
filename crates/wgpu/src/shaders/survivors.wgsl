// Compaction in one pass: decoupled look-back with fallback (Smith, Levien and Owens, 2025). The
// number of survivors before a tile comes from the statuses of the tiles before it. WGSL promises
// no workgroup that another one ever runs on, so none may wait for long: if a status stays away,
// the workgroup counts that tile's survivors itself, which reads nothing, and posts their number.
//
// A word of `bs_state` only ever takes one value of each kind, in the order nothing, own count,
// prefix, so `atomicMax` lets anybody post, and it does not matter who was first.

// [0] tickets, [1] tiles that were counted for others, [2] survivors in all, [8..] statuses
@group(0) @binding(3) var<storage, read_write> bs_state: array<atomic<u32>>;

const bs_STATUSES: u32 = 8u;
const bs_DONE: u32 = 0xffffffffu;
const bs_BLOCKED: u32 = 0x80000000u;

var<workgroup> bs_counts: array<u32, 272>;  // 16 groups of 16, each with a gap behind it
var<workgroup> bs_groups: array<u32, 16>;
var<workgroup> bs_tile: u32;
var<workgroup> bs_next: u32;
var<workgroup> bs_before: u32;
var<workgroup> bs_near: atomic<u32>;
var<workgroup> bs_gap: atomic<u32>;
var<workgroup> bs_sum: atomic<u32>;

// The value at a slot, or a number above all indexes if there is no such slot.
fn bs_value(slot: u32) -> u32 { return select(0xffffffffu, forward(slot), slot <= bs_params.last); }

// Counts a tile for whoever waits for it. All threads call this.
fn bs_count_for_others(t: u32, tile: u32) {
  var count = 0u;
  for (var k = 0u; k < bs_K; k++) {
    count += select(0u, 1u, bs_value(tile * bs_TILE + k * bs_THREADS + t) < bs_params.len);
  }
  atomicAdd(&bs_sum, count);
  workgroupBarrier();
  if (t == 0u) {
    bs_post_own(tile, atomicLoad(&bs_sum));
    atomicStore(&bs_sum, 0u);
    atomicAdd(&bs_state[1], 1u);
  }
}

// The survivors before a tile that has `all` itself. All threads call this.
fn bs_look_back(t: u32, tile: u32, all: u32) -> u32 {
  var at = tile;  // the tiles from here on are in the sum
  var sum = 0u;
  var waits = 0u;
  loop {
    // Thread t looks at the status t + 1 tiles before. Before the first tile there is nothing.
    var status = vec2<u32>(bs_PREFIX, 0u);
    if (t < bs_WINDOW) {
      if (t < at) { status = bs_status(at - 1u - t); }
      if (status.x == bs_PREFIX) { atomicMin(&bs_near, t); }
      if (status.x == 0u) { atomicMin(&bs_gap, t); }
    }
    workgroupBarrier();
    let end = min(min(atomicLoad(&bs_near) + 1u, atomicLoad(&bs_gap)), bs_WINDOW);
    if (t < end) { atomicAdd(&bs_sum, status.y); }
    workgroupBarrier();
    if (t == 0u) {
      sum += atomicLoad(&bs_sum);
      if (atomicLoad(&bs_near) < atomicLoad(&bs_gap)) {
        if (!bs_leaves_out(tile)) { bs_post_prefix(tile, sum + all); }
        bs_before = sum;
        bs_next = bs_DONE;
      } else {
        waits = select(0u, waits + 1u, end == 0u);
        bs_next = (at - end) | select(0u, bs_BLOCKED, waits > bs_PATIENCE);
      }
      atomicStore(&bs_near, bs_WINDOW);
      atomicStore(&bs_gap, bs_WINDOW);
      atomicStore(&bs_sum, 0u);
    }
    let next = workgroupUniformLoad(&bs_next);
    if (next == bs_DONE) { break; }
    at = next & ~bs_BLOCKED;
    if (next != at) { bs_count_for_others(t, at - 1u); }
  }
  return workgroupUniformLoad(&bs_before);
}

@compute @workgroup_size(256)
fn main(@builtin(local_invocation_index) t: u32) {
  if (t == 0u) {
    bs_tile = atomicAdd(&bs_state[0], 1u);
    atomicStore(&bs_near, bs_WINDOW);
    atomicStore(&bs_gap, bs_WINDOW);
    atomicStore(&bs_sum, 0u);
  }
  let tile = workgroupUniformLoad(&bs_tile);
  if (tile >= bs_params.tiles) { return; }

  let first = tile * bs_TILE + t * bs_K;
  var own = 0u;
%K  let v$k = bs_value(first + $ku);
%K  own += select(0u, 1u, v$k < bs_params.len);

  let row = t / 16u;
  let column = t % 16u;
  bs_counts[row * 17u + column] = own;
  workgroupBarrier();
  if (t < 16u) {
    var sum = 0u;
    for (var j = 0u; j < 16u; j++) { sum += bs_counts[t * 17u + j]; }
    bs_groups[t] = sum;
  }
  workgroupBarrier();
  var rank = 0u;
  var all = 0u;
  for (var j = 0u; j < 16u; j++) {
    let group = bs_groups[j];
    all += group;
    rank += select(0u, group, j < row);
    rank += select(0u, bs_counts[row * 17u + j], j < column);
  }
  if (t == 0u && !bs_leaves_out(tile)) {
    if (tile == 0u) { bs_post_prefix(tile, all); } else { bs_post_own(tile, all); }
  }

%K  if (v$k < bs_params.len) { bs_stage[rank] = v$k; rank++; }
  workgroupBarrier();
  // The loads of a gather do not depend on the tile's place, so they are on their way meanwhile.
%I  let x$k = bs_load(t + $ku * bs_THREADS, all);
  var before = 0u;
  if (tile > 0u) { before = bs_look_back(t, tile, all); }
  if (t == 0u && tile == bs_params.tiles - 1u) { atomicStore(&bs_state[2], before + all); }
%I  bs_store(t + $ku * bs_THREADS, before, all, x$k);
%R  bs_move_rows(t, before, all);
}
