// Where the length is the whole domain every slot survives, and a slot is its own rank.
@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  var tile = number;
  $repeat
  if (tile >= bs_params.tiles) { return; }
  let before = tile * bs_TILE;
  let all = min(bs_params.len - before, bs_TILE);
%I  let x$k = bs_fetch(forward(min(before + t + $ku * bs_THREADS, bs_params.last)));
%I  bs_store(t + $ku * bs_THREADS, before, all, x$k);
%R  for (var k = 0u; k < bs_K; k++) {
%R    let j = t + k * bs_THREADS;
%R    bs_stage[j] = forward(min(before + j, bs_params.last));
%R  }
%R  workgroupBarrier();
%R  bs_move_rows(t, before, all);
}
