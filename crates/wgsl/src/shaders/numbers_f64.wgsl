// The bits of numbers in [0, 1), multiples of 2^-53, of two words each, the low word first.
fn bs_unit(low_word: u32, high: u32) -> vec2<u32> {
  let low = low_word & 0xFFFFF800u;
  if ((low | high) == 0u) { return vec2(0u, 0u); }
  let is_small = high == 0u;
  let top = select(high, low, is_small);
  let rest = select(low, 0u, is_small);
  let zeros = countLeadingZeros(top);
  let first = (top << zeros) | ((rest >> 1u) >> (31u - zeros));
  let exponent = 1022u - zeros - select(0u, 32u, is_small);
  return vec2((first << 21u) | ((rest << zeros) >> 11u), (exponent << 20u) | ((first >> 11u) & 0xFFFFFu));
}

fn bs_numbers(x: vec4<u32>) -> vec4<u32> {
  return vec4(bs_unit(x.x, x.y), bs_unit(x.z, x.w));
}
