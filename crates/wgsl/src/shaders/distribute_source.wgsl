// The first pass: reads the source in order.
@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  if (number >= bs_params.tiles) { return; }
  let first = number * bs_TILE;
  let count = min(bs_params.len - first, bs_TILE);
  let bucket = 0u;
%K  let at$k = first + min(t + $ku * bs_THREADS, count - 1u);
%K  let x$k = bs_src[at$k];
%K  let key$k = forward(at$k);
