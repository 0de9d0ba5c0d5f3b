// One index of a shuffled order at a time, in C++17, CUDA and HIP. This file is all it takes: copy
// it, or install it with the C library, which it does not need.
//
//     const bijective_shuffle::walk p(n, seed, epoch);
//     p(i)           the item at place i, for i below n
//     p.inverse(x)   the place of item x
//     for (std::uint64_t x : p)   all of them; p is a random-access range and a C++20 view
//
// The values are those of `Permutation::walk(n, seed)` in Rust and of `bs_permutation_walk` in C:
// chapters 1 to 5 and 7 of docs/specification.md, version 1. For up to 256 items, and where n is a
// power of two, they are also the order in which that library shuffles an array of n items.
//
// An object is trivially copyable and needs no memory of its own, so kernels and lambdas take it by
// value. Everything here is constexpr, and callable on a device.
//
// | type | lengths | bytes | arithmetic |
// | --- | --- | --- | --- |
// | `walk` | 0 to 2^64 - 1 | 272 | 32 bits up to 2^32 items, 64 bits above |
// | `walk32` | 257 to 2^32 | 128 | 32 bits |
//
// A value takes 10 rounds of one multiplication each. If it is n or more, 10 further rounds map it
// again; it takes 2^b / n evaluations on average, fewer than two, where 2^b is the next power of
// two. A permutation of up to 256 items is a table, in which `p(i)` reads one word and `inverse`
// searches up to 32.
//
// The order is for sampling, not for secrets: a few known places are enough to find the others.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) 2026 The bijective-shuffle authors

#ifndef BIJECTIVE_WALK_HPP
#define BIJECTIVE_WALK_HPP

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "bijective_walk.hpp needs C++17: compile with -std=c++17"
#endif

// Compilers at run time have no standard library. Define this macro where another compiler has none
// either: then there are no iterators.
#if defined(__CUDACC_RTC__) || defined(__HIPCC_RTC__)
#define BIJECTIVE_WALK_FREESTANDING
#endif

#if !defined(BIJECTIVE_WALK_FREESTANDING)
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <iterator>
#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_ranges)
#include <ranges>
#endif
#endif

#if defined(__clang__) && (defined(__CUDA__) || defined(__HIP__))
#define BIJECTIVE_WALK_FN __attribute__((host)) __attribute__((device)) constexpr
#elif defined(__CUDACC__) || defined(__HIPCC__)
#define BIJECTIVE_WALK_FN __host__ __device__ constexpr
#else
#define BIJECTIVE_WALK_FN constexpr
#endif

// Rounds are written out, so that on a device keys are operands of instructions.
#if defined(__clang__) || defined(__CUDACC__)
#define BIJECTIVE_WALK_UNROLL _Pragma("unroll")
#elif defined(__GNUC__)
#define BIJECTIVE_WALK_UNROLL _Pragma("GCC unroll 10")
#else
#define BIJECTIVE_WALK_UNROLL
#endif

// A kernel has nobody to tell of a failure.
#if defined(BIJECTIVE_WALK_FREESTANDING) || defined(__CUDA_ARCH__) || \
    defined(__HIP_DEVICE_COMPILE__) || defined(__AMDGCN__)
#define BIJECTIVE_WALK_ASSERT(condition) static_cast<void>(0)
#else
#define BIJECTIVE_WALK_ASSERT(condition) assert(condition)
#endif

namespace bijective_shuffle {

namespace walk_detail {

#if defined(BIJECTIVE_WALK_FREESTANDING)
using u32 = unsigned int;
using u64 = unsigned long long;
#else
using u32 = std::uint32_t;
using u64 = std::uint64_t;
#endif

// The most items whose order is drawn as a table.
constexpr u64 table_max = 256;
constexpr int rounds = 10;

// The smallest b with 2^b >= n, for n > 0.
BIJECTIVE_WALK_FN u32 bits_for(u64 n) {
    u32 bits = 0;
    for (u64 last = n - 1; last > 0; last >>= 1) ++bits;
    return bits;
}

struct pair {
    u64 first, second;
};

// The key stream of a seed, an epoch and a domain (chapter 3), in words of 64 bits.
class key_stream {
public:
    BIJECTIVE_WALK_FN key_stream(const u64 *keys, int count, u64 epoch, u32 domain)
        : keys_(keys), count_(count), epoch_(epoch), domain_(domain) {}

    // Words 2 j and 2 j + 1.
    BIJECTIVE_WALK_FN pair block(u32 j) const {
        u32 x[4] = {j, domain_, low(epoch_), high(epoch_)};
        for (int k = 0; k < count_; ++k) {
            u32 key[2] = {low(keys_[k]), high(keys_[k])};
            for (int round = 0; round < 10; ++round) {
                const u64 a = u64(0xd2511f53u) * x[0], b = u64(0xcd9e8d57u) * x[2];
                const u32 x1 = x[1], x3 = x[3];
                x[0] = high(b) ^ x1 ^ key[0];
                x[1] = low(b);
                x[2] = high(a) ^ x3 ^ key[1];
                x[3] = low(a);
                key[0] += 0x9e3779b9u;
                key[1] += 0xbb67ae85u;
            }
        }
        return {u64(x[1]) << 32 | x[0], u64(x[3]) << 32 | x[2]};
    }

    BIJECTIVE_WALK_FN u64 next() {
        const u32 word = next_++;
        const pair words = block(word / 2);
        return word % 2 == 0 ? words.first : words.second;
    }

private:
    static BIJECTIVE_WALK_FN u32 low(u64 x) { return u32(x & 0xffffffffu); }
    static BIJECTIVE_WALK_FN u32 high(u64 x) { return u32(x >> 32); }

    const u64 *keys_;
    int count_;
    u64 epoch_;
    u32 domain_, next_ = 0;
};

}  // namespace walk_detail

#if !defined(BIJECTIVE_WALK_FREESTANDING)
template <class Walk>
class walk_iterator;
#endif

// The order of n items that a seed and an epoch determine. `Word` is the type of an index: see
// `walk` and `walk32` below.
template <class Word>
class basic_walk {
    using u32 = walk_detail::u32;
    using u64 = walk_detail::u64;
    static constexpr bool is_wide = sizeof(Word) == 8;

public:
    using value_type = Word;
    // With this name, `cuda::shuffle_iterator` of CCCL takes a `walk` as its bijection.
    using index_type = Word;

    // No items.
    constexpr basic_walk() = default;

    // The order of n items. Precondition: `holds(n)`; without it there are no items, and on the
    // host an assertion fails.
    BIJECTIVE_WALK_FN explicit basic_walk(u64 n, u64 seed, u64 epoch = 0) {
        draw(n, &seed, 1, epoch);
    }

    // The order that a seed of 32 bytes determines, as `Seed::from_bytes` and `_keyed` do.
    static BIJECTIVE_WALK_FN basic_walk keyed(u64 n, const unsigned char *key, u64 epoch = 0) {
        u64 keys[4] = {};
        for (int k = 0; k < 32; ++k) keys[k / 8] |= u64(key[k]) << 8 * (k % 8);
        basic_walk p;
        p.draw(n, keys, 4, epoch);
        return p;
    }

    // Whether this type has the order of n items.
    static BIJECTIVE_WALK_FN bool holds(u64 n) {
        return is_wide || (n > walk_detail::table_max && n <= u64(1) << 32);
    }

    // The number of items.
    BIJECTIVE_WALK_FN u64 size() const { return bits_ == 0 ? 0 : u64(last_) + 1; }
    BIJECTIVE_WALK_FN bool empty() const { return bits_ == 0; }

    // The item at place i. Precondition: i is below `size()`. On the host an assertion checks it;
    // otherwise the value is i itself.
    BIJECTIVE_WALK_FN Word operator()(Word i) const {
        BIJECTIVE_WALK_ASSERT(i < size());
        if (i > last_) return i;
        if constexpr (is_wide) {
            if (last_ < walk_detail::table_max) return byte(u32(i));
            if (bits_ > 32) return forward<u64>(i);
        }
        return forward<u32>(u32(i));
    }

    // The place of item x: `inverse(p(i))` is i. Precondition: x is below `size()`. On the host an
    // assertion checks it; otherwise the value is x itself.
    BIJECTIVE_WALK_FN Word inverse(Word x) const {
        BIJECTIVE_WALK_ASSERT(x < size());
        if (x > last_) return x;
        if constexpr (is_wide) {
            if (last_ < walk_detail::table_max) return place_of(u32(x));
            if (bits_ > 32) return backward<u64>(x);
        }
        return backward<u32>(u32(x));
    }

#if !defined(BIJECTIVE_WALK_FREESTANDING)
    using iterator = walk_iterator<basic_walk>;
    using const_iterator = iterator;

    // The items in order. Precondition: there are fewer than 2^63. An iterator has a copy of this
    // object, so it is valid on its own, and on a device.
    BIJECTIVE_WALK_FN iterator begin() const { return iterator(*this, 0); }
    BIJECTIVE_WALK_FN iterator end() const { return iterator(*this, size()); }
#endif

private:
    static constexpr u32 count_of_words = is_wide ? 32 : 3 * walk_detail::rounds;

    BIJECTIVE_WALK_FN void draw(u64 n, const u64 *keys, int count, u64 epoch) {
        BIJECTIVE_WALK_ASSERT(holds(n));
        if (n == 0 || !holds(n)) return;
        const u32 bits = walk_detail::bits_for(n);
        last_ = Word(n - 1);
        bits_ = bits > 1 ? bits : 1;
        if constexpr (is_wide) {
            if (n <= walk_detail::table_max) {
                draw_table(u32(n), {keys, count, epoch, 0x80000000u | u32(n)});
                return;
            }
        }
        draw_chain({keys, count, epoch, bits});
    }

    // An exact draw (chapter 4). Beyond the items every point is its own value.
    BIJECTIVE_WALK_FN void draw_table(u32 n, walk_detail::key_stream stream) {
        for (u32 i = 0; i < walk_detail::table_max; ++i) {
            words_[i / 8] = Word(words_[i / 8] | Word(i) << 8 * (i % 8));
        }
        while (n > 1) {
            // How many of the ranges n, n - 1, .. one word serves, and their product.
            u32 count = 1;
            u64 product = n;
            while (n - count > 1 && product * (n - count) <= u64(1) << 56) {
                product *= n - count;
                ++count;
            }
            u64 word = stream.next();
            while (word * product < (0 - product) % product) word = stream.next();
            for (; count > 0; --count, --n) {
                // The whole product has up to 72 bits.
                const u64 high = (word >> 32) * n + ((word & 0xffffffffu) * n >> 32);
                exchange(n - 1, u32(high >> 32));
                word *= n;
            }
        }
    }

    BIJECTIVE_WALK_FN void exchange(u32 a, u32 b) {
        const Word difference = byte(a) ^ byte(b);
        words_[a / 8] ^= difference << 8 * (a % 8);
        words_[b / 8] ^= difference << 8 * (b % 8);
    }

    BIJECTIVE_WALK_FN Word byte(u32 i) const { return words_[i / 8] >> 8 * (i % 8) & 0xff; }

    // Each value is in the table once.
    BIJECTIVE_WALK_FN Word place_of(u32 value) const {
        const u64 ones = ~u64(0) / 255;
        u32 word = 0;
        for (; word < 31; ++word) {
            // The value's byte becomes 0, and the test below is true if there is a byte of 0.
            const u64 other = words_[word] ^ ones * value;
            if (((other - ones) & ~other & ones << 7) != 0) break;
        }
        u32 place = 8 * word;
        while (place < 8 * word + 7 && byte(place) != value) ++place;
        return place;
    }

    // The keys of `MulXorshift` with 10 rounds (chapter 5).
    BIJECTIVE_WALK_FN void draw_chain(const walk_detail::key_stream &stream) {
        const Word all = Word(~Word(0)) >> (8 * u32(sizeof(Word)) - bits_);
        for (int r = 0; r < walk_detail::rounds; ++r) {
            const walk_detail::pair key = stream.block(u32(r));
            const Word a = Word((key.second & ~u64(7)) | ((key.second & 4) != 0 ? 5u : 3u)) & all;
            // Three bits are right, and each step doubles their number.
            Word undo = a;
            for (int step = 0; step < 5; ++step) undo *= 2 - a * undo;
            words_[r] = a;
            words_[walk_detail::rounds + r] = Word(key.first) & all;
            words_[2 * walk_detail::rounds + r] = undo & all;
        }
    }

    // Arithmetic in `N`, the narrowest word that has the bits of the domain. Bits above these are
    // dropped where a shift would bring them down, and at the end.
    template <class N>
    struct width {
        N all;
        u32 shift[2];
        N below[2];

        BIJECTIVE_WALK_FN explicit width(u32 bits)
            : all(N(~N(0)) >> (8 * u32(sizeof(N)) - bits)), shift{(bits + 1) / 2, (bits + 1) / 2 + 1},
              below{N(all >> shift[0]), N(all >> shift[1])} {}

        BIJECTIVE_WALK_FN N xorshift(N x, int round) const {
            return x ^ ((x >> shift[round % 2]) & below[round % 2]);
        }
    };

    template <class N>
    BIJECTIVE_WALK_FN N forward(N x) const {
        const width<N> on(bits_);
        do {
            x = on.xorshift(x, 1);
            BIJECTIVE_WALK_UNROLL
            for (int r = 0; r < walk_detail::rounds; ++r) {
                x = on.xorshift(x * N(words_[r]) + N(words_[walk_detail::rounds + r]), r);
            }
            x &= on.all;
        } while (x > N(last_));
        return x;
    }

    template <class N>
    BIJECTIVE_WALK_FN N backward(N x) const {
        const width<N> on(bits_);
        do {
            BIJECTIVE_WALK_UNROLL
            for (int r = walk_detail::rounds - 1; r >= 0; --r) {
                x = on.xorshift(x, r) - N(words_[walk_detail::rounds + r]);
                x *= N(words_[2 * walk_detail::rounds + r]);
            }
            x = on.xorshift(x, 1) & on.all;
        } while (x > N(last_));
        return x;
    }

    // A table of bytes, eight to a word, or the multipliers, the increments, and the inverses of
    // the multipliers.
    Word words_[count_of_words] = {};
    Word last_ = 0;
    // The width of the domain, at least 1; 0 if there are no items.
    u32 bits_ = 0;
};

// The order of any number of items.
using walk = basic_walk<walk_detail::u64>;

// The order of 257 to 2^32 items in less memory, with indexes of 32 bits.
using walk32 = basic_walk<walk_detail::u32>;

#if !defined(BIJECTIVE_WALK_FREESTANDING)

// A random-access iterator over an order. It returns values, not references, as
// `std::views::iota` does, but its category is that of random access: what takes iterators of C++17
// asks it for the cost of a step.
template <class Walk>
class walk_iterator {
    using u64 = walk_detail::u64;

public:
    using value_type = typename Walk::value_type;
    using difference_type = std::ptrdiff_t;
    using reference = value_type;
    using pointer = void;
    using iterator_category = std::random_access_iterator_tag;

    constexpr walk_iterator() = default;
    BIJECTIVE_WALK_FN walk_iterator(const Walk &order, u64 place) : order_(order), place_(place) {}

    BIJECTIVE_WALK_FN value_type operator*() const { return order_(value_type(place_)); }
    BIJECTIVE_WALK_FN value_type operator[](difference_type steps) const {
        return order_(value_type(place_ + u64(steps)));
    }

    BIJECTIVE_WALK_FN walk_iterator &operator+=(difference_type steps) {
        place_ += u64(steps);
        return *this;
    }
    BIJECTIVE_WALK_FN walk_iterator &operator-=(difference_type steps) {
        place_ -= u64(steps);
        return *this;
    }
    BIJECTIVE_WALK_FN walk_iterator &operator++() { return *this += 1; }
    BIJECTIVE_WALK_FN walk_iterator &operator--() { return *this -= 1; }
    BIJECTIVE_WALK_FN walk_iterator operator++(int) {
        const walk_iterator old = *this;
        ++*this;
        return old;
    }
    BIJECTIVE_WALK_FN walk_iterator operator--(int) {
        const walk_iterator old = *this;
        --*this;
        return old;
    }

    friend BIJECTIVE_WALK_FN walk_iterator operator+(walk_iterator at, difference_type steps) {
        return at += steps;
    }
    friend BIJECTIVE_WALK_FN walk_iterator operator+(difference_type steps, walk_iterator at) {
        return at += steps;
    }
    friend BIJECTIVE_WALK_FN walk_iterator operator-(walk_iterator at, difference_type steps) {
        return at -= steps;
    }
    friend BIJECTIVE_WALK_FN difference_type operator-(const walk_iterator &a,
                                                       const walk_iterator &b) {
        return difference_type(a.place_ - b.place_);
    }

    // Iterators of one order compare by their places.
    friend BIJECTIVE_WALK_FN bool operator==(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ == b.place_;
    }
    friend BIJECTIVE_WALK_FN bool operator!=(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ != b.place_;
    }
    friend BIJECTIVE_WALK_FN bool operator<(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ < b.place_;
    }
    friend BIJECTIVE_WALK_FN bool operator>(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ > b.place_;
    }
    friend BIJECTIVE_WALK_FN bool operator<=(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ <= b.place_;
    }
    friend BIJECTIVE_WALK_FN bool operator>=(const walk_iterator &a, const walk_iterator &b) {
        return a.place_ >= b.place_;
    }

private:
    Walk order_;
    u64 place_ = 0;
};

#endif

}  // namespace bijective_shuffle

#if defined(__cpp_lib_ranges) && !defined(BIJECTIVE_WALK_FREESTANDING)
template <class Word>
inline constexpr bool std::ranges::enable_view<bijective_shuffle::basic_walk<Word>> = true;
template <class Word>
inline constexpr bool std::ranges::enable_borrowed_range<bijective_shuffle::basic_walk<Word>> = true;
#endif

#undef BIJECTIVE_WALK_FN
#undef BIJECTIVE_WALK_UNROLL
#undef BIJECTIVE_WALK_ASSERT

#endif
