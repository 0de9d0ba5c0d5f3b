// A status is three words, since no word has room for a kind and a count of 32 bits: the tile's own
// count plus 1, and the two halves of the prefix, each with its top bit set. Each has one value
// that it can be given, so it does not matter in which order they are seen, and a prefix of which
// one half is there is not there yet.
const bs_OWN: u32 = 1u;
const bs_PREFIX: u32 = 2u;

fn bs_status(tile: u32) -> vec2<u32> {
  let at = bs_STATUSES + 3u * tile;
  let low = atomicLoad(&bs_state[at + 1u]);
  let high = atomicLoad(&bs_state[at + 2u]);
  if ((low & high) >= 0x80000000u) {
    return vec2<u32>(bs_PREFIX, ((high & 0xffffu) << 16u) | (low & 0xffffu));
  }
  let own = atomicLoad(&bs_state[at]);
  return vec2<u32>(select(0u, bs_OWN, own != 0u), max(own, 1u) - 1u);
}
fn bs_post_own(tile: u32, count: u32) { atomicStore(&bs_state[bs_STATUSES + 3u * tile], count + 1u); }
fn bs_post_prefix(tile: u32, count: u32) {
  atomicStore(&bs_state[bs_STATUSES + 3u * tile + 1u], 0x80000000u | (count & 0xffffu));
  atomicStore(&bs_state[bs_STATUSES + 3u * tile + 2u], 0x80000000u | (count >> 16u));
}
