// A status is one word: the kind in 2 bits, and a count of up to 2^30 - 1.
const bs_OWN: u32 = 1u;
const bs_PREFIX: u32 = 2u;

fn bs_status(tile: u32) -> vec2<u32> {
  let word = atomicLoad(&bs_state[bs_STATUSES + tile]);
  return vec2<u32>(word >> 30u, word & 0x3fffffffu);
}
fn bs_post_own(tile: u32, count: u32) { atomicMax(&bs_state[bs_STATUSES + tile], (bs_OWN << 30u) | count); }
fn bs_post_prefix(tile: u32, count: u32) { atomicMax(&bs_state[bs_STATUSES + tile], (bs_PREFIX << 30u) | count); }
