// Neighbouring threads move neighbouring units of the rows.
fn bs_move_rows(t: u32, before: u32, all: u32) {
  let units = min(all, bs_params.len - min(before, bs_params.len)) * UNITS;
  for (var j = t; j < units; j += bs_THREADS) {
    let row = j / UNITS;
    bs_copy(before + row, bs_stage[row], j % UNITS);
  }
}
