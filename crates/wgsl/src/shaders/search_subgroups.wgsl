// Adds up the statuses before the tile `at`, one for each lane of the first subgroup at a time,
// until there is a prefix, and sets `at` to bs_DONE; or until the status of the tile before `at`
// has stayed away. The other subgroups wait at the next barrier.
fn bs_search(t: u32, at: ptr<function, u32>, sum: ptr<function, u32>) {
  if (t >= bs_lanes) { return; }
  var waits = 0u;
  loop {
    // Lane t looks at the status t + 1 tiles before. Before the first tile there is nothing.
    var status = vec2<u32>(bs_PREFIX, 0u);
    if (t < *at) { status = bs_status(*at - 1u - t); }
    let near = subgroupMin(select(bs_lanes, t, status.x == bs_PREFIX));
    let gap = subgroupMin(select(bs_lanes, t, status.x == 0u));
    let end = min(min(near + 1u, gap), bs_lanes);
    *sum += subgroupAdd(select(0u, status.y, t < end));
    *at -= end;
    if (near < gap) {
      *at = bs_DONE;
      break;
    }
    waits = select(0u, waits + 1u, end == 0u);
    if (waits > bs_PATIENCE) { break; }
  }
}
