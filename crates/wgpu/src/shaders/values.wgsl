// The value at a slot, or a number above all indexes if there is no such slot, for which a text need
// not have a value, nor end.
fn bs_value(slot: u32) -> u32 {
  return select(0xffffffffu, forward(min(slot, bs_params.last)), slot <= bs_params.last);
}

// The survivors of a tile among a thread's slots.
fn bs_count(t: u32, tile: u32) -> u32 {
  var count = 0u;
%K  count += select(0u, 1u, bs_value(tile * bs_TILE + $ku * bs_THREADS + t) < bs_params.len);
  return count;
}
