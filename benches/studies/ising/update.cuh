// The update of all tiles of a colour: a block a tile, in shared memory; see checkerboard.rs for
// the same in Rust.

// Bytes from one row to the next in shared memory: the tile, its frame, and what makes rows begin
// at words. The rows of a warp, two of them, then lie in different banks.
constexpr uint32_t STRIDE = TILE + 8;
// The first site of the tile in its row.
constexpr uint32_t FIRST = 4;
// Pairs of neighbouring sites in a row of the tile, and in the tile.
constexpr uint32_t IN_A_ROW = TILE / 2, IN_A_TILE = TILE * TILE / 2;

// The pair that the tile at a row and column belongs to.
__device__ __forceinline__ uint32_t pair_at(uint32_t row, uint32_t column, uint32_t tiles) {
    return row % tiles * (tiles / 2) + column % tiles / 2;
}

// Writes the frame of neighbours' spins around a tile. The corners are not used.
__device__ __forceinline__ void load_frame(const signed char* others, uint32_t tiles, uint32_t colour,
                                           signed char* spins) {
    const uint32_t row = blockIdx.x / (tiles / 2), column = 2 * (blockIdx.x % (tiles / 2)) + (row + colour) % 2;
    for (uint32_t n = threadIdx.x; n < 4 * TILE; n += blockDim.x) {
        const uint32_t side = n / TILE, k = n % TILE;
        uint32_t neighbour, from, to;
        if (side == 0) {
            neighbour = pair_at(row + tiles - 1, column, tiles), from = (TILE - 1) * TILE + k, to = FIRST + k;
        } else if (side == 1) {
            neighbour = pair_at(row + 1, column, tiles), from = k, to = (TILE + 1) * STRIDE + FIRST + k;
        } else if (side == 2) {
            neighbour = pair_at(row, column + tiles - 1, tiles);
            from = k * TILE + TILE - 1, to = (k + 1) * STRIDE + FIRST - 1;
        } else {
            neighbour = pair_at(row, column + 1, tiles), from = k * TILE, to = (k + 1) * STRIDE + FIRST + TILE;
        }
        spins[to] = others[neighbour * (TILE * TILE) + from];
    }
}

// A thread's pair of sites.
struct Pair {
    // The left one's place in shared memory.
    signed char* left;
    // Which of the two is of even parity: 0 for the left one.
    uint32_t even;
    // The spins of even and odd parity.
    int spins[2];

    __device__ __forceinline__ signed char* site(uint32_t parity) const { return left + (even ^ parity); }

    // Tries to flip the spin of a parity. The other one of the pair is a neighbour.
    __device__ __forceinline__ void flip(uint32_t parity, uint32_t word, uint32_t two, uint32_t four) {
        signed char* at = site(parity);
        const int outer = (even ^ parity) == 0 ? at[-1] : at[1];
        const int sum = at[-int(STRIDE)] + at[STRIDE] + outer + spins[1 - parity];
        const int alignment = spins[parity] * sum;
        if (alignment <= 0 || word < (alignment == 2 ? two : four)) {
            spins[parity] = -spins[parity];
            *at = (signed char)(spins[parity]);
        }
    }

    // The sum over bonds of the pair: to the right and below, and where the frame counts to all
    // sides.
    __device__ __forceinline__ int bonds(uint32_t row, uint32_t column, bool frame) const {
        const int l = left[0], r = left[1];
        int sum = l * r;
        if (frame || row + 1 < TILE) sum += l * left[STRIDE] + r * left[STRIDE + 1];
        if (frame || column + 2 < TILE) sum += r * left[2];
        if (frame && row == 0) sum += l * left[-int(STRIDE)] + r * left[1 - int(STRIDE)];
        if (frame && column == 0) sum += l * left[-1];
        return sum;
    }
};

// Adds up a number of each thread of the block.
__device__ __forceinline__ void add_to(int* total, int number) {
    __shared__ int sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    for (int distance = 16; distance > 0; distance /= 2) number += __shfl_down_sync(0xFFFFFFFFu, number, distance);
    if (threadIdx.x % 32 == 0) atomicAdd(&sum, number);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, sum);
}

// Updates the tiles of a colour, each a number of times. The lattice is the tiles of colour 0, then
// those of colour 1. `first_hit` counts the hits before; `energies[slot]` gets what this colour
// adds to the sum over bonds, if there is one.
extern "C" __global__ void __launch_bounds__(IN_A_TILE / WORDS::PAIRS, 2048 / (IN_A_TILE / WORDS::PAIRS))
update(signed char* lattice, uint32_t* states, uint64_t key, uint64_t first_hit, uint32_t tiles, uint32_t colour,
       uint32_t hits, uint32_t two, uint32_t four, int* energies, uint32_t slot, uint32_t measured) {
    __shared__ __align__(16) signed char spins[(TILE + 2) * STRIDE];
    __shared__ __align__(16) uint32_t ring[WORDS::SHARED_WORDS];
    constexpr uint32_t PAIRS = WORDS::PAIRS, THREADS = IN_A_TILE / PAIRS;

    WORDS source(ring, states, key, first_hit);
    const uint64_t colour_sites = uint64_t(gridDim.x) * (TILE * TILE);
    char2* own = reinterpret_cast<char2*>(lattice + colour * colour_sites) + blockIdx.x * IN_A_TILE;
    load_frame(lattice + (1 - colour) * colour_sites, tiles, colour, spins);
    Pair pairs[PAIRS];
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t k = 0; k < PAIRS; ++k) {
        const uint32_t n = k * THREADS + threadIdx.x, row = n / IN_A_ROW, column = 2 * (n % IN_A_ROW);
        const char2 two_spins = own[n];
        Pair& pair = pairs[k];
        pair.left = spins + (row + 1) * STRIDE + FIRST + column;
        pair.even = row % 2;
        pair.left[0] = two_spins.x, pair.left[1] = two_spins.y;
        pair.spins[0] = pair.even == 0 ? two_spins.x : two_spins.y;
        pair.spins[1] = pair.even == 0 ? two_spins.y : two_spins.x;
    }
    __syncthreads();

    for (uint32_t hit = 0; hit < hits; ++hit) {
        BIJECTIVE_SHUFFLE_UNROLL
        for (uint32_t parity = 0; parity < 2; ++parity) {
            uint32_t words[PAIRS];
            source.draw(parity, words);
            BIJECTIVE_SHUFFLE_UNROLL
            for (uint32_t k = 0; k < PAIRS; ++k) pairs[k].flip(parity, words[k], two, four);
            __syncthreads();
        }
    }

    source.store(states);
    int bonds = 0;
    BIJECTIVE_SHUFFLE_UNROLL
    for (uint32_t k = 0; k < PAIRS; ++k) {
        const uint32_t n = k * THREADS + threadIdx.x;
        own[n] = make_char2(pairs[k].left[0], pairs[k].left[1]);
        if (measured) bonds += pairs[k].bonds(n / IN_A_ROW, 2 * (n % IN_A_ROW), colour == 1);
    }
    if (measured) add_to(energies + slot, bonds);
}
