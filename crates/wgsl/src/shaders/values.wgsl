// The value at a slot, or a number above all indexes if there is no such slot, for which a text need
// not have a value, nor end.
fn bs_value(slot: u32) -> u32 {
  return select(0xffffffffu, forward(min(slot, bs_params.last)), slot <= bs_params.last);
}

// The survivors of a tile among a thread's slots. A loop, which compiles in less time, since this is
// seldom called.
fn bs_count(t: u32, tile: u32) -> u32 {
  var count = 0u;
  for (var k = 0u; k < bs_K; k++) {
    count += select(0u, 1u, bs_value(tile * bs_TILE + k * bs_THREADS + t) < bs_params.len);
  }
  return count;
}
