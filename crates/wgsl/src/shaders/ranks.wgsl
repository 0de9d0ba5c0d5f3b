var<workgroup> bs_taken: array<atomic<u32>, bs_THREADS>;
var<workgroup> bs_ranks: array<u32, bs_THREADS>;

fn bs_rank(key: u32) -> u32 {
  let below = atomicLoad(&bs_taken[key / 32u]) & ((1u << (key % 32u)) - 1u);
  return bs_ranks[key / 32u] + countOneBits(below);
}
