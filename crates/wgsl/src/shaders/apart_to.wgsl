// Records as an array of keys and one of items.
@group(0) @binding(5) var<storage, read_write> bs_to_keys: array<u32>;
@group(0) @binding(6) var<storage, read_write> bs_to_items: array<bs_Unit>;

fn bs_write_record(at: u32, key: u32, item: bs_Unit) {
  bs_to_keys[at] = key;
  bs_to_items[at] = item;
}
