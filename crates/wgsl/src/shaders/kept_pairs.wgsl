// A tile's records in the order of their buckets, each as one access to memory.
var<workgroup> bs_records: array<vec2<u32>, bs_TILE>;

fn bs_keep(at: u32, key: u32, item: bs_Unit) { bs_records[at] = vec2<u32>(key, item); }
fn bs_kept(at: u32) -> bs_Record {
  let pair = bs_records[at];
  return bs_Record(pair.x, pair.y);
}
