  // Every key occurs.
  let base = number << bs_params.windows.x;
%K  if (t + $ku * bs_THREADS < count) { bs_items[key$k] = x$k; }
