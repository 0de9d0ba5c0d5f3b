  workgroupBarrier();
%K  let out$k = bs_items[t + $ku * bs_THREADS];
%K  if (t + $ku * bs_THREADS < count) { bs_dst[base + t + $ku * bs_THREADS] = out$k; }
}
