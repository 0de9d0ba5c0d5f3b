// Fills with a stream of Philox4x32. `windows` has the key and the stream's number, low words first;
// `sizes` the number of the first block, and how many of its words were used before. `len` counts
// words. A thread makes four numbers, which may be words of two blocks.
@group(0) @binding(2) var<storage, read_write> bs_dst: array<u32>;

// The high word of a product, from products of halves.
fn bs_high(a: u32, b: u32) -> u32 {
  let low = (a & 0xFFFFu) * (b & 0xFFFFu);
  let left = (a >> 16u) * (b & 0xFFFFu) + (low >> 16u);
  let right = (a & 0xFFFFu) * (b >> 16u) + (left & 0xFFFFu);
  return (a >> 16u) * (b >> 16u) + (left >> 16u) + (right >> 16u);
}

fn bs_round(x: vec4<u32>, key: vec2<u32>) -> vec4<u32> {
  let left = bs_high(x.x, 0xD2511F53u);
  let right = bs_high(x.z, 0xCD9E8D57u);
  return vec4(right ^ x.y ^ key.x, x.z * 0xCD9E8D57u, left ^ x.w ^ key.y, x.x * 0xD2511F53u);
}

// The block of a number of this stream, counted from the first.
fn bs_block(k: u32) -> vec4<u32> {
  let low = bs_params.sizes.x + k;
  let high = bs_params.sizes.y + select(0u, 1u, low < k);
  var x = vec4(low, high, bs_params.windows.zw);
  var key = bs_params.windows.xy;
  $rounds
  return x;
}

fn bs_store(place: u32, word: u32) {
  if (place < bs_params.len) { bs_dst[place] = word; }
}

@compute @workgroup_size(bs_THREADS)
fn main($entry) {
  $begin
  let block = number * bs_THREADS + t;
  if (number >= bs_params.tiles || block > (bs_params.len - 1u) >> 2u) { return; }
  var x = bs_block(block);
  let used = bs_params.sizes.z;
  if (used != 0u) {
    let y = bs_block(block + 1u);
    x = select(select(vec4(x.w, y.xyz), vec4(x.zw, y.xy), used == 2u), vec4(x.yzw, y.x), used == 1u);
  }
  x = bs_numbers(x);
  bs_store(4u * block, x.x);
  bs_store(4u * block + 1u, x.y);
  bs_store(4u * block + 2u, x.z);
  bs_store(4u * block + 3u, x.w);
}
