  // The records of the buckets before: of the large ones, and of the small ones of the same. They are
  // on their way along with the bucket's own.
  let sizes = bs_params.sizes;
  let bits = sizes.x - bs_params.windows.x;
  let large = number >> bits;
  let small = bs_params.windows.z + (large << bits);
  var records = 0u;
  for (var j = t; j < large; j += bs_THREADS) { records += bs_counts[sizes.y + j]; }
  for (var j = t; j < number - (large << bits); j += bs_THREADS) { records += bs_counts[small + j]; }
