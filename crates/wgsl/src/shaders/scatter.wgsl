@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;

alias bs_Loaded = u32;
fn bs_fetch(index: u32) -> u32 { return index; }
fn bs_put(place: u32, index: u32) { bs_dst[index] = bs_src[place]; }
fn bs_copy(place: u32, index: u32, unit: u32) { bs_dst[index * UNITS + unit] = bs_src[place * UNITS + unit]; }
