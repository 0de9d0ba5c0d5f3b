// A bijection that is wrong may have more survivors than there is room for.
fn bs_store(j: u32, before: u32, all: u32, x: bs_Loaded) {
  if (j < all && before + j < bs_params.len) { bs_put(before + j, x); }
}
