// A Feistel network on a grid of rows * 2^COLUMN_BITS points, with a hash on words of WIDTH bits;
// see crates/core/src/bijection/grid_feistel.
#ifndef BIJECTIVE_SHUFFLE_GRID_FEISTEL
#define BIJECTIVE_SHUFFLE_GRID_FEISTEL

namespace bijective_shuffle {

template <int COLUMN_BITS, int WIDTH, int HALF_ROUNDS>
struct alignas(8) GridFeistel {
    static constexpr uint32_t WORD_MASK = uint32_t(low_mask(WIDTH));
    static constexpr uint64_t COLUMN_MASK = low_mask(COLUMN_BITS);

    struct HalfRound {
        uint32_t multiplier, increment, finish, columns, undo, unused;

        __device__ __forceinline__ uint64_t hash(uint64_t x) const {
            const uint32_t y = (uint32_t(x) * multiplier + increment) & WORD_MASK;
            return ((y ^ (y >> (WIDTH / 2))) * finish) & WORD_MASK;
        }
    };

    uint64_t rows;
    HalfRound keys[HALF_ROUNDS == 0 ? 1 : HALF_ROUNDS];

    __device__ __forceinline__ uint64_t row_offset(const HalfRound& key, uint64_t column) const {
        return (key.hash(column) * rows) >> WIDTH;
    }

    static __device__ __forceinline__ uint64_t column_offset(const HalfRound& key, uint64_t row) {
        return key.hash(row) >> (WIDTH - COLUMN_BITS);
    }

    __device__ __forceinline__ uint64_t forward(uint64_t slot) const {
        uint64_t row = slot >> COLUMN_BITS, column = slot & COLUMN_MASK;
        for (int round = 0; round < HALF_ROUNDS; ++round) {
            const HalfRound& key = keys[round];
            if (round % 2 == 0) {
                const uint64_t offset = row_offset(key, column);
                row = row >= offset ? row - offset : row + rows - offset;
            } else {
                column = (column * key.columns + column_offset(key, row)) & COLUMN_MASK;
            }
        }
        return row << COLUMN_BITS | column;
    }

    __device__ __forceinline__ uint64_t inverse(uint64_t index) const {
        uint64_t row = index >> COLUMN_BITS, column = index & COLUMN_MASK;
        for (int round = HALF_ROUNDS - 1; round >= 0; --round) {
            const HalfRound& key = keys[round];
            if (round % 2 == 0) {
                row += row_offset(key, column);
                row = row >= rows ? row - rows : row;
            } else {
                column = ((column - column_offset(key, row)) * key.undo) & COLUMN_MASK;
            }
        }
        return row << COLUMN_BITS | column;
    }
};

}  // namespace bijective_shuffle

#endif
