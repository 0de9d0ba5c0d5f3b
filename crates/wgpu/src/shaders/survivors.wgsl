// Finds a tile's survivors, puts their indexes in order, and finds out how many there are before
// it. What comes behind this text moves their items.
@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  $repeat
  let tile = bs_take(t, number);
  if (tile >= bs_params.tiles) { return; }

  let first = tile * bs_TILE + t * bs_K;
  var own = 0u;
%K  let v$k = bs_value(first + $ku);
%K  own += select(0u, 1u, v$k < bs_params.len);
  let ranks = bs_scan(t, own);
  var rank = ranks.x;
  let all = ranks.y;
  bs_post(t, tile, all);
%K  if (v$k < bs_params.len) { bs_stage[rank] = v$k; rank++; }
  workgroupBarrier();
