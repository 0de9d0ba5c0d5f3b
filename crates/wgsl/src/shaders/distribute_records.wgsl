  // The thread has the records `key$k` and `x$k`, as far as there are `count` in the tile. The others,
  // which repeat the last, have a bin of their own behind the rest of the tile. So no record is in a
  // branch, where each would wait for the memory's answer to the one before.
%B  atomicStore(&bs_bins[$ku * bs_THREADS + t], 0u);
  if (t == 0u) { atomicStore(&bs_bins[bs_BINS], 0u); }
  workgroupBarrier();
  let shift = bs_params.windows.x;
%K  let bin$k = select(bs_BINS, key$k >> shift, t + $ku * bs_THREADS < count);
%K  let place$k = atomicAdd(&bs_bins[bin$k], 1u);
  workgroupBarrier();
  // Neighbouring bins of a thread.
  let first_bin = t * (bs_BINS / bs_THREADS);
  var several = 0u;
%B  let records$k = atomicLoad(&bs_bins[first_bin + $ku]);
%B  several += records$k;
  var start = bs_scan(t, several).x;
%B  let start$k = start; start += records$k;
%B  let room$k = bs_take_room(bucket + first_bin + $ku, records$k, start$k);
%B  atomicStore(&bs_bins[first_bin + $ku], start$k);
  if (t == 0u) { atomicStore(&bs_bins[bs_BINS], count); }
  workgroupBarrier();
%K  let sorted$k = place$k + atomicLoad(&bs_bins[bin$k]);
%K  bs_keep(sorted$k, key$k, x$k);
  workgroupBarrier();
  // What memory answers is not needed earlier.
%B  atomicStore(&bs_bins[first_bin + $ku], room$k);
  workgroupBarrier();
%K  let out$k = bs_kept(t + $ku * bs_THREADS);
%K  let to$k = atomicLoad(&bs_bins[out$k.key >> shift]) + t + $ku * bs_THREADS;
%K  if (t + $ku * bs_THREADS < count) { bs_write_record(to$k, out$k.key & ((1u << shift) - 1u), out$k.item); }
}
