// A status is one word: the number of the launch, the kind in 2 bits, and a count of bs_BITS. What
// another launch has left there is no status. Where there is no room for such a number it is 0, and
// the words are cleared.
const bs_OWN: u32 = 1u;
const bs_PREFIX: u32 = 2u;

fn bs_status(tile: u32) -> vec2<u32> {
  let word = atomicLoad(&bs_state[bs_STATUSES + tile]);
  let kind = (word >> bs_BITS) - 4u * bs_params.launch;
  return vec2<u32>(select(0u, kind, kind <= bs_PREFIX), word & ((1u << bs_BITS) - 1u));
}
fn bs_put_status(tile: u32, kind: u32, count: u32) {
  atomicStore(&bs_state[bs_STATUSES + tile], ((4u * bs_params.launch + kind) << bs_BITS) | count);
}
fn bs_post_own(tile: u32, count: u32) { bs_put_status(tile, bs_OWN, count); }
fn bs_post_prefix(tile: u32, count: u32) { bs_put_status(tile, bs_PREFIX, count); }
