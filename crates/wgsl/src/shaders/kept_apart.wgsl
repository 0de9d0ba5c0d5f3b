// A tile's records in the order of their buckets.
var<workgroup> bs_keys: array<u32, bs_TILE>;
var<workgroup> bs_items: array<bs_Unit, bs_TILE>;

fn bs_keep(at: u32, key: u32, item: bs_Unit) {
  bs_keys[at] = key;
  bs_items[at] = item;
}
fn bs_kept(at: u32) -> bs_Record { return bs_Record(bs_keys[at], bs_items[at]); }
