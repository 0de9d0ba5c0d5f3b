  // A key's rank among those that occur, by a bitmap with 32 of them to a word.
  atomicStore(&bs_taken[t], 0u);
  workgroupBarrier();
%K  if (t + $ku * bs_THREADS < count) { atomicOr(&bs_taken[key$k / 32u], 1u << (key$k % 32u)); }
  workgroupBarrier();
  bs_ranks[t] = bs_scan(t, countOneBits(atomicLoad(&bs_taken[t]))).x;
  workgroupBarrier();
  // The records of the buckets before: of the large ones, and of the small ones of the same.
  let sizes = bs_params.sizes;
  let bits = sizes.x - bs_params.windows.x;
  let large = number >> bits;
  var records = 0u;
  if (t < large) { records += bs_counts[sizes.y + t]; }
  if (t < number - (large << bits)) { records += bs_counts[bs_params.windows.z + (large << bits) + t]; }
  let base = bs_scan(t, records).y;
%K  if (t + $ku * bs_THREADS < count) { bs_items[bs_rank(key$k)] = x$k; }
