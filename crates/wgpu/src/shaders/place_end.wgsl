  workgroupBarrier();
%K  if (t + $ku * bs_THREADS < count) { bs_dst[base + t + $ku * bs_THREADS] = bs_items[t + $ku * bs_THREADS]; }
}
