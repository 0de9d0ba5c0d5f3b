// One part of arrays that are larger than a binding: only items that are in both windows move.
@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;

alias bs_Loaded = u32;
fn bs_fetch(index: u32) -> u32 { return index; }
fn bs_put(place: u32, index: u32) { bs_copy(place, index, 0u); }
fn bs_copy(place: u32, index: u32, unit: u32) {
  let windows = bs_params.windows;
  let start = bs_start(place, index) - windows.x;
  let end = bs_end(place, index) - windows.z;
  if (start < windows.y && end < windows.w) { bs_dst[end * UNITS + unit] = bs_src[start * UNITS + unit]; }
}
