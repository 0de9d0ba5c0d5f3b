// Adds up the statuses before the tile `at`, bs_WINDOW of them at a time, until there is a prefix,
// and sets `at` to bs_DONE; or until the status of the tile before `at` has stayed away.
var<workgroup> bs_near: atomic<u32>;
var<workgroup> bs_gap: atomic<u32>;
var<workgroup> bs_found: atomic<u32>;
var<workgroup> bs_turn: u32;

const bs_AGAIN: u32 = 0u;
const bs_STOP: u32 = 1u;

fn bs_search(t: u32, at: ptr<function, u32>, sum: ptr<function, u32>) {
  var waits = 0u;
  loop {
    if (t == 0u) {
      atomicStore(&bs_near, bs_WINDOW);
      atomicStore(&bs_gap, bs_WINDOW);
      atomicStore(&bs_found, 0u);
    }
    workgroupBarrier();
    // Thread t looks at the status t + 1 tiles before. Before the first tile there is nothing.
    var status = vec2<u32>(bs_PREFIX, 0u);
    if (t < bs_WINDOW) {
      if (t < *at) { status = bs_status(*at - 1u - t); }
      if (status.x == bs_PREFIX) { atomicMin(&bs_near, t); }
      if (status.x == 0u) { atomicMin(&bs_gap, t); }
    }
    workgroupBarrier();
    let near = atomicLoad(&bs_near);
    let gap = atomicLoad(&bs_gap);
    let end = min(min(near + 1u, gap), bs_WINDOW);
    if (t < end) { atomicAdd(&bs_found, status.y); }
    workgroupBarrier();
    *sum += atomicLoad(&bs_found);
    *at -= end;
    waits = select(0u, waits + 1u, end == 0u);
    if (near < gap) { *at = bs_DONE; }
    if (t == 0u) { bs_turn = select(bs_AGAIN, bs_STOP, near < gap || waits > bs_PATIENCE); }
    if (workgroupUniformLoad(&bs_turn) == bs_STOP) { break; }
  }
}
