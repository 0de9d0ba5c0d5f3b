  // A key's rank among those that occur, by a bitmap with 32 of them to a word.
  atomicStore(&bs_taken[t], 0u);
  let base = bs_scan(t, records).y;
%K  atomicOr(&bs_taken[key$k / 32u], 1u << (key$k % 32u));
  workgroupBarrier();
  bs_ranks[t] = bs_scan(t, countOneBits(atomicLoad(&bs_taken[t]))).x;
  workgroupBarrier();
%K  let rank$k = bs_rank(key$k);
%K  bs_items[rank$k] = x$k;
