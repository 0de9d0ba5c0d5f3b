// The indexes of a tile's survivors, in order.
var<workgroup> bs_stage: array<u32, bs_TILE>;
