  // The loads of a gather do not depend on the tile's place, so they are on their way meanwhile.
%I  let x$k = bs_load(t + $ku * bs_THREADS, all);
  let before = bs_before(t, tile, all);
  if (t == 0u) { bs_finish(tile, before, all); }
%I  bs_store(t + $ku * bs_THREADS, before, all, x$k);
%R  bs_move_rows(t, before, all);
  $end
}
