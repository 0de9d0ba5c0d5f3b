// Records as pairs of words.
@group(0) @binding(5) var<storage, read_write> bs_to: array<vec2<u32>>;

fn bs_write_record(at: u32, key: u32, item: bs_Unit) { bs_to[at] = vec2<u32>(key, item); }
