// The indexes of a tile's survivors, in order.
var<workgroup> bs_stage: array<u32, bs_TILE>;

fn bs_load(j: u32, all: u32) -> bs_Loaded {
  var x: bs_Loaded;
  if (j < all) { x = bs_fetch(bs_stage[j]); }
  return x;
}
