  // The thread has the records `key$k` and `x$k`, as far as there are `count` in the tile.
  atomicStore(&bs_bins[t], 0u);
  workgroupBarrier();
  let shift = bs_params.windows.x;
%K  var place$k = 0u;
%K  if (t + $ku * bs_THREADS < count) { place$k = atomicAdd(&bs_bins[key$k >> shift], 1u); }
  workgroupBarrier();
  let records = atomicLoad(&bs_bins[t]);
  let start = bs_scan(t, records).x;
  bs_starts[t] = start;
  bs_places[t] = bs_take_room(bucket + t, records, start);
  workgroupBarrier();
%K  if (t + $ku * bs_THREADS < count) { bs_sort(place$k, key$k, x$k); }
  workgroupBarrier();
%K  bs_put_record(t + $ku * bs_THREADS, count);
  $end
}
