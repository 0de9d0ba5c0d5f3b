// 24 bits, and the scale is a power of two: nothing is rounded.
fn bs_numbers(x: vec4<u32>) -> vec4<u32> {
  return bitcast<vec4<u32>>(vec4<f32>(x >> vec4(8u)) * 0x1p-24f);
}
