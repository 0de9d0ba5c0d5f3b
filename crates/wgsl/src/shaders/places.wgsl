// The inverse of the permutation: where each item goes.
@group(0) @binding(2) var<storage, read_write> bs_dst: array<u32>;

alias bs_Loaded = u32;
fn bs_fetch(index: u32) -> u32 { return index; }
fn bs_put(place: u32, index: u32) { bs_dst[index] = place; }
