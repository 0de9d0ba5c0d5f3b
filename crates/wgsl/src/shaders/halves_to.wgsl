// Records as pairs of words, the second half of them in another array.
@group(0) @binding(5) var<storage, read_write> bs_to: array<vec2<u32>>;
@group(0) @binding(6) var<storage, read_write> bs_to_rest: array<vec2<u32>>;

fn bs_write_record(at: u32, key: u32, item: bs_Unit) {
  let half = arrayLength(&bs_to);
  if (at < half) { bs_to[at] = vec2<u32>(key, item); } else { bs_to_rest[at - half] = vec2<u32>(key, item); }
}
