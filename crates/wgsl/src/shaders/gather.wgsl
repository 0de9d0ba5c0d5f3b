@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;

alias bs_Loaded = bs_Unit;
fn bs_fetch(index: u32) -> bs_Unit { return bs_src[index]; }
fn bs_put(place: u32, item: bs_Unit) { bs_dst[place] = item; }
fn bs_copy(place: u32, index: u32, unit: u32) { bs_dst[place * UNITS + unit] = bs_src[index * UNITS + unit]; }
