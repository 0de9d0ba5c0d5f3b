// Moves items to where an array of indexes says: out[k] = src[indexes[k]]. `len` counts units.
@group(0) @binding(1) var<storage, read> bs_src: array<bs_Unit>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<bs_Unit>;
@group(0) @binding(4) var<storage, read> bs_indexes: array<u32>;

fn bs_taken(j: u32) -> bs_Unit {
  var x: bs_Unit;
  if (j < bs_params.len) { x = bs_src[bs_indexes[j / UNITS] * UNITS + j % UNITS]; }
  return x;
}

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  let tile = number;
  if (tile >= bs_params.tiles) { return; }
  let first = tile * bs_TILE + t;
%K  let x$k = bs_taken(first + $ku * bs_THREADS);
%K  if (first + $ku * bs_THREADS < bs_params.len) { bs_dst[first + $ku * bs_THREADS] = x$k; }
}
