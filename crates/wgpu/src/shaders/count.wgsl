// The survivors of each tile, for the kernel that comes after this one.
@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  if (number >= bs_params.tiles) { return; }
  let all = bs_scan(t, bs_count(t, number)).y;
  if (t == 0u) { bs_state[bs_STATUSES + number] = all; }
}
