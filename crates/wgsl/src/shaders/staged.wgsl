fn bs_load(j: u32, all: u32) -> bs_Loaded {
  var x: bs_Loaded;
  if (j < all) { x = bs_fetch(bs_stage[j]); }
  return x;
}
