// The same for items of any number of BYTES. A thread builds whole words, since WGSL has no other
// way to write a byte. `len` counts words and `last` is the number of bytes; those behind the last
// item in its word stay as they are.
@group(0) @binding(1) var<storage, read> bs_src: array<u32>;
@group(0) @binding(2) var<storage, read_write> bs_dst: array<u32>;
@group(0) @binding(4) var<storage, read> bs_indexes: array<u32>;

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  let tile = number;
  if (tile >= bs_params.tiles) { return; }
  for (var k = 0u; k < bs_K; k++) {
    let at = tile * bs_TILE + k * bs_THREADS + t;
    if (at < bs_params.len) {
      var word = 0u;
      for (var b = 0u; b < 4u; b++) {
        let byte = 4u * at + b;
        if (byte < bs_params.last) {
          let origin = bs_indexes[byte / BYTES] * BYTES + byte % BYTES;
          word |= ((bs_src[origin / 4u] >> (8u * (origin % 4u))) & 0xffu) << (8u * b);
        } else {
          word |= bs_dst[at] & (0xffu << (8u * b));
        }
      }
      bs_dst[at] = word;
    }
  }
}
