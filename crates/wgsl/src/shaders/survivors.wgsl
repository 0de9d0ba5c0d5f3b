// Finds a tile's survivors, puts their indexes in order, finds out how many there are before it, and
// moves their items.
@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  // Workgroups may begin in any order, though the fewest tiles are counted again in this one.
  var tile = number;
  $repeat
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
  // The loads of a gather do not depend on the tile's place, so they are on their way meanwhile.
%I  let x$k = bs_load(t + $ku * bs_THREADS, all);
  let before = bs_before(t, tile, all);
  if (t == 0u) { bs_finish(tile, before, all); }
%I  bs_store(t + $ku * bs_THREADS, before, all, x$k);
%R  bs_move_rows(t, before, all);
  $end
}
