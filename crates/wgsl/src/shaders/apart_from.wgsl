// Records as an array of keys and one of items.
@group(0) @binding(7) var<storage, read> bs_from_keys: array<u32>;
@group(0) @binding(8) var<storage, read> bs_from_items: array<bs_Unit>;

fn bs_read_record(at: u32) -> bs_Record { return bs_Record(bs_from_keys[at], bs_from_items[at]); }
