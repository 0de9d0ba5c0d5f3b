  // Every key occurs.
  let base = number << bs_params.windows.x;
%K  bs_items[key$k] = x$k;
