// One part of an array of indexes or places that is larger than a binding.
@group(0) @binding(2) var<storage, read_write> bs_dst: array<u32>;

alias bs_Loaded = u32;
fn bs_fetch(index: u32) -> u32 { return index; }
fn bs_put(place: u32, index: u32) {
  let end = bs_end(place, index) - bs_params.windows.z;
  if (end < bs_params.windows.w) { bs_dst[end] = bs_start(place, index); }
}
