// The tiles of an affine map, as crates/affine/src/tiles.rs and src/cuda/affine have them, for a
// program without Rust.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "../../../../gpu/prelude.cuh"

namespace bijective_shuffle {
struct alignas(16) Item16 {
    uint64_t low, high;
};
}  // namespace bijective_shuffle

#include "../../../../gpu/affine.cuh"

namespace affine {

using Vectors = std::vector<uint64_t>;
using SlotVectors = std::vector<uint32_t>;
using bijective_shuffle::low_mask;

struct Matrix {
    Vectors columns;

    int bits() const { return int(columns.size()); }

    uint64_t apply(uint64_t x) const {
        uint64_t y = 0;
        for (int j = 0; j < bits(); ++j) y ^= x >> j & 1 ? columns[j] : 0;
        return y;
    }
};

// The inverse; of a singular matrix one without columns.
inline Matrix inverse(Matrix a) {
    const int n = a.bits();
    Matrix b{Vectors(n)};
    for (int j = 0; j < n; ++j) b.columns[j] = uint64_t(1) << j;
    for (int i = 0; i < n; ++i) {
        int pivot = i;
        while (pivot < n && !(a.columns[pivot] >> i & 1)) ++pivot;
        if (pivot == n) return {};
        std::swap(a.columns[i], a.columns[pivot]);
        std::swap(b.columns[i], b.columns[pivot]);
        for (int j = 0; j < n; ++j) {
            if (j == i || !(a.columns[j] >> i & 1)) continue;
            a.columns[j] ^= a.columns[i];
            b.columns[j] ^= b.columns[i];
        }
    }
    return b;
}

inline int top_bit(uint64_t vector) { return 63 - __builtin_clzll(vector); }

// A subspace by a reduced basis.
struct Echelon {
    Vectors basis;

    uint64_t reduce(uint64_t vector) const {
        for (uint64_t other : basis) vector ^= vector >> top_bit(other) & 1 ? other : 0;
        return vector;
    }

    bool insert(uint64_t vector) {
        vector = reduce(vector);
        if (vector == 0) return false;
        for (uint64_t& other : basis) other ^= other >> top_bit(vector) & 1 ? vector : 0;
        basis.push_back(vector);
        return true;
    }
};

// Coordinates of vectors by a basis.
struct Coordinates {
    std::vector<std::pair<uint64_t, uint32_t>> rows;

    explicit Coordinates(const Vectors& basis) {
        for (size_t j = 0; j < basis.size(); ++j) rows.push_back({basis[j], 1u << j});
        for (size_t pivot = 0; pivot < rows.size(); ++pivot) {
            for (size_t k = 0; k < rows.size(); ++k) {
                if (k == pivot || !(rows[k].first >> top_bit(rows[pivot].first) & 1)) continue;
                rows[k].first ^= rows[pivot].first;
                rows[k].second ^= rows[pivot].second;
            }
        }
    }

    uint32_t of(uint64_t vector) const {
        uint32_t sum = 0;
        for (const auto& row : rows) sum ^= vector >> top_bit(row.first) & 1 ? row.second : 0;
        return sum;
    }
};

// The map of words; an item has 2^more of them.
inline Matrix widened(const Matrix& a, int more) {
    Matrix words;
    for (int j = 0; j < more; ++j) words.columns.push_back(uint64_t(1) << j);
    for (uint64_t column : a.columns) words.columns.push_back(column << more);
    return words;
}

struct Step {
    uint64_t source, target;
    uint32_t shift;
};

struct Tiling {
    Vectors source, target;
    SlotVectors source_slots, target_slots;
    Step start;
    std::vector<Step> steps;

    Tiling(const Matrix& a, uint64_t offset, int run, int tile_bits, bool both) {
        const Matrix undo = inverse(a);
        const uint64_t low = low_mask(run);
        Echelon span;
        const auto add = [&](uint64_t vector) {
            if (span.insert(vector)) source.push_back(int(source.size()) < run ? vector : vector & ~low);
        };
        const auto step = [&](uint64_t vector) {
            if (!span.insert(vector)) return;
            const uint64_t image = a.apply(vector & ~low);
            steps.push_back({vector & ~low, image & ~low, uint32_t(image & low)});
        };
        for (int j = 0; j < run; ++j) add(uint64_t(1) << j);
        for (int j = 0; j < run; ++j) add(undo.apply(uint64_t(1) << j));
        for (int j = run; j < a.bits(); ++j) {
            for (uint64_t vector : {uint64_t(1) << j, undo.apply(uint64_t(1) << j)}) {
                if (int(source.size()) < tile_bits) {
                    add(vector);
                } else if (both) {
                    step(vector);
                }
            }
        }
        for (int j = run; j < a.bits(); ++j) step(uint64_t(1) << j);
        Echelon image;
        const auto add_image = [&](uint64_t vector) {
            if (image.insert(vector)) target.push_back(vector);
        };
        for (int j = 0; j < run; ++j) add_image(uint64_t(1) << j);
        for (uint64_t vector : source) add_image(a.apply(vector) & ~low);
        const Coordinates coordinates(target);
        for (uint64_t vector : source) source_slots.push_back(coordinates.of(a.apply(vector)));
        for (size_t j = 0; j < target.size(); ++j) target_slots.push_back(1u << j);
        start = {0, offset & ~low, uint32_t(offset & low)};
    }

    // A bank for every thread of a phase, on both sides: see `Tiling::avoid_conflicts` in Rust.
    void avoid_conflicts(int first, int lanes, int word) {
        const Vectors p(source_slots.begin() + first, source_slots.begin() + first + lanes);
        const Vectors q(target_slots.begin() + first, target_slots.begin() + first + lanes);
        Echelon q_span, both, all;
        for (uint64_t vector : q) q_span.insert(vector);
        std::vector<std::pair<uint64_t, uint64_t>> rests;
        Vectors p_only, complement;
        for (uint64_t vector : p) {
            uint64_t rest = q_span.reduce(vector), sum = vector;
            for (const auto& other : rests) {
                if (!(rest >> top_bit(other.first) & 1)) continue;
                rest ^= other.first;
                sum ^= other.second;
            }
            if (rest == 0) {
                both.insert(sum);
            } else {
                rests.push_back({rest, sum});
                p_only.push_back(vector);
            }
        }
        for (uint64_t vector : q) {
            if (both.insert(vector)) complement.push_back(vector ^ p_only[complement.size()]);
        }
        for (uint64_t vector : p) all.insert(vector);
        for (uint64_t vector : complement) all.insert(vector);
        for (size_t j = 0; j < source.size(); ++j) {
            if (all.insert(uint64_t(1) << j)) complement.push_back(uint64_t(1) << j);
        }
        Vectors basis(complement.begin(), complement.begin() + word);
        basis.insert(basis.end(), p.begin(), p.end());
        basis.insert(basis.end(), complement.begin() + word, complement.end());
        const Coordinates coordinates(basis);
        for (uint32_t& slot : source_slots) slot = coordinates.of(slot);
        for (uint32_t& slot : target_slots) slot = coordinates.of(slot);
        start.shift = coordinates.of(start.shift);
        for (Step& step : steps) step.shift = coordinates.of(step.shift);
    }
};

template <class V>
V combination(const std::vector<V>& vectors, int first, uint64_t bits) {
    V sum = 0;
    for (int j = 0; bits >> j != 0; ++j) sum ^= bits >> j & 1 ? vectors[first + j] : V(0);
    return sum;
}

// Threads that use shared memory at the same time, as a logarithm: those of a warp, or of a half or
// a quarter.
template <class Item>
constexpr int LANES = sizeof(Item) <= 4 ? 5 : sizeof(Item) == 8 ? 4 : 3;

// The kernel's argument. `block_bits` becomes less if there are fewer tiles; `step_bits` is how
// many tiles there are.
template <class Item, int I, int T, int R>
bijective_shuffle::Tiles tiles(const Matrix& a, uint64_t offset, int& block_bits, int& step_bits) {
    // Tiles follow each other by the next bits of both sides in turn, or of the source alone.
    const bool both = sizeof(Item) != 2 && sizeof(Item) != 4;
    Tiling tiling(a, offset, (I + T + R) / 2, I + T + R, both);
    tiling.avoid_conflicts(I, LANES<Item>, sizeof(Item) == 1 ? 2 : sizeof(Item) == 2 ? 1 : 0);
    step_bits = int(tiling.steps.size());
    block_bits = block_bits < step_bits ? block_bits : step_bits;
    bijective_shuffle::Tiles all;
    std::memset(&all, 0, sizeof all);
    const auto fill = [](auto& side, const Vectors& basis, const SlotVectors& slots) {
        for (int j = 0; j < T; ++j) side.thread[j] = basis[I + j], side.thread_slot[j] = slots[I + j];
        for (int round = 0; round < 1 << R; ++round) {
            side.round[round] = combination(basis, I + T, round);
            side.round_slot[round] = combination(slots, I + T, round);
        }
        for (int k = 0; k < 1 << I; ++k) side.item_slot[k] = combination(slots, 0, k);
    };
    fill(all.source, tiling.source, tiling.source_slots);
    fill(all.target, tiling.target, tiling.target_slots);
    all.block_bits = block_bits;
    all.start = {tiling.start.source, tiling.start.target, tiling.start.shift};
    for (int k = 0; k < step_bits; ++k) {
        all.steps[k] = {tiling.steps[k].source, tiling.steps[k].target, tiling.steps[k].shift};
    }
    return all;
}

}  // namespace affine
