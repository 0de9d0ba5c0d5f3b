  // Where there are no more, the last comes again, and is put where it is. So no record is in a
  // branch, where each would wait for the memory's answer to the one before.
%K  let at$k = start + min(t + $ku * bs_THREADS, count - 1u);
%K  let record$k = bs_read_record(at$k);
%K  let key$k = record$k.key;
%K  let x$k = record$k.item;
