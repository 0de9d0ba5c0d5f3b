// Records as pairs of words, the second half of them in another array.
@group(0) @binding(7) var<storage, read> bs_from: array<vec2<u32>>;
@group(0) @binding(8) var<storage, read> bs_from_rest: array<vec2<u32>>;

fn bs_read_record(at: u32) -> bs_Record {
  let half = arrayLength(&bs_from);
  var pair: vec2<u32>;
  if (at < half) { pair = bs_from[at]; } else { pair = bs_from_rest[at - half]; }
  return bs_Record(pair.x, pair.y);
}
