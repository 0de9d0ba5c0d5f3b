// The sum of the numbers of the threads before this one, and of all. All threads call this, and
// between two calls there is a barrier.
var<workgroup> bs_numbers: array<u32, bs_THREADS + bs_THREADS / 16u>;  // groups of 16, each with a gap behind it
var<workgroup> bs_groups: array<u32, bs_THREADS / 16u>;

fn bs_scan(t: u32, number: u32) -> vec2<u32> {
  let row = t / 16u;
  let column = t % 16u;
  bs_numbers[row * 17u + column] = number;
  workgroupBarrier();
  if (t < bs_THREADS / 16u) {
    var sum = 0u;
    for (var j = 0u; j < 16u; j++) { sum += bs_numbers[t * 17u + j]; }
    bs_groups[t] = sum;
  }
  workgroupBarrier();
  var before = 0u;
  var all = 0u;
  for (var j = 0u; j < bs_THREADS / 16u; j++) {
    let sum = bs_groups[j];
    all += sum;
    before += select(0u, sum, j < row);
  }
  for (var j = 0u; j < 16u; j++) { before += select(0u, bs_numbers[row * 17u + j], j < column); }
  return vec2<u32>(before, all);
}
