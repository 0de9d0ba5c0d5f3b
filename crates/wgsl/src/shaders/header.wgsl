// What every kernel begins with. The host puts constants in front: WORDS_OF_KEYS, bs_THREADS, the
// items of a thread bs_K and of a tile bs_TILE, and for kernels that move items UNITS and the type
// `bs_Unit`.
struct bs_Params {
  len: u32,    // the items, at least 1
  last: u32,   // the last slot of the domain
  tiles: u32,  // the workgroups that have something to do
  launch: u32, // a number that no other launch has that uses the same statuses
  windows: vec4<u32>,  // the first item and the number of items that are bound of source and target
  sizes: vec4<u32>,    // what some kernels need beside
  keys: array<vec4<u32>, WORDS_OF_KEYS>,
}

@group(0) @binding(0) var<uniform> bs_params: bs_Params;
