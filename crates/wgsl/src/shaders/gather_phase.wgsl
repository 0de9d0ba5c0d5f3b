// A gather in phases: a phase has all tiles, and moves the items that come from one part of the
// source, which `windows` has the length of.
@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;

struct bs_Loaded { is_of_phase: bool, item: bs_Unit }

var<private> bs_first: u32;  // of the phase's part

fn bs_fetch(index: u32) -> bs_Loaded {
  var x: bs_Loaded;
  x.is_of_phase = index - bs_first < bs_params.windows.y;
  if (x.is_of_phase) { x.item = bs_src[index]; }
  return x;
}
fn bs_put(place: u32, x: bs_Loaded) { if (x.is_of_phase) { bs_dst[place] = x.item; } }
