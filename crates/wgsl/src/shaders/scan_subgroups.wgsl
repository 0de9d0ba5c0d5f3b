// The sum of the numbers of the threads before this one, and of all. All threads call this, and
// between two calls there is a barrier. Threads are numbered by subgroups, so that nothing is
// assumed of which threads these have.
var<private> bs_lane: u32;
var<private> bs_lanes: u32;
var<workgroup> bs_sums: array<u32, bs_THREADS / 4u>;  // no subgroup is smaller

fn bs_scan(t: u32, number: u32) -> vec2<u32> {
  let upto = subgroupInclusiveAdd(number);
  let own = t / bs_lanes;
  if (bs_lane == bs_lanes - 1u) { bs_sums[own] = upto; }
  workgroupBarrier();
  var before = upto - number;
  var all = 0u;
  for (var j = 0u; j < bs_THREADS / bs_lanes; j++) {
    let sum = bs_sums[j];
    all += sum;
    before += select(0u, sum, j < own);
  }
  return vec2<u32>(before, all);
}
