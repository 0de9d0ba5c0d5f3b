  // The first pass of an un-shuffle in which not every slot survives: reads the source in order,
  // along with the survivors.
  let before = bs_before(t, tile, all);
  let count = all;
  let bucket = 0u;
%K  let at$k = min(t + $ku * bs_THREADS, max(count, 1u) - 1u);
%K  let key$k = bs_stage[at$k];
%K  let x$k = bs_src[min(before + at$k, bs_params.len - 1u)];
