// Records as pairs of words.
@group(0) @binding(7) var<storage, read> bs_from: array<vec2<u32>>;

fn bs_read_record(at: u32) -> bs_Record {
  let pair = bs_from[at];
  return bs_Record(pair.x, pair.y);
}
