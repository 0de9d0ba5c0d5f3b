// The C++ library of bijective-shuffle, for C++17 and later, over the C library.
//
//     std::vector<double> v = ..;
//     bijective_shuffle::shuffle(v, 42);
//     bijective_shuffle::unshuffle(v, 42);
//
// Every failure is an `error`, and what was to be changed is as it was, unless a function says
// otherwise. Rules for threads are those of bijective_shuffle.h: a `permutation` may be used by
// several at the same time, a `sampler` or a `generator` by one.

#ifndef BIJECTIVE_SHUFFLE_HPP
#define BIJECTIVE_SHUFFLE_HPP

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__has_include)
#if __has_include(<version>)
#include <version>
#endif
#endif
#if defined(__cpp_lib_span)
#include <span>
#endif

#include "bijective_shuffle.h"

namespace bijective_shuffle {

// A failure of the library: a status of bijective_shuffle.h, and a sentence.
class error : public std::runtime_error {
public:
    error(bs_status status, const char *text) : std::runtime_error(text), status_(status) {}

    bs_status status() const noexcept { return status_; }

private:
    bs_status status_;
};

namespace detail {

inline void check(bs_status status) {
    if (status != BS_OK) {
        throw error(status, bs_error_text());
    }
}

template <class Range>
using item_of = std::remove_reference_t<decltype(*std::data(std::declval<Range &>()))>;

// An array of items that may be moved as bytes.
template <class Range>
bs_array array_of(Range &range) {
    using item = item_of<Range>;
    static_assert(!std::is_const_v<item>, "the items are constant, so they cannot be moved");
    static_assert(std::is_trivially_copyable_v<item>,
                  "the items cannot be moved as bytes: move item p[k] of a `permutation` p to k");
    return {std::data(range), sizeof(item)};
}

template <class First, class... Others>
std::size_t common_size(const First &first, const Others &...others) {
    const std::size_t size = std::size(first);
    if (((std::size(others) != size) || ... || false)) {
        throw error(BS_ERROR_LENGTH, "the arrays differ in length");
    }
    return size;
}

} // namespace detail

// What determines an order: a number or a key of 32 bytes, and an epoch.
class seed {
public:
    seed(std::uint64_t number, std::uint64_t epoch = 0) noexcept : number_(number), epoch_(epoch) {}

    explicit seed(const std::array<std::uint8_t, 32> &key, std::uint64_t epoch = 0) noexcept
        : key_(key), epoch_(epoch) {}

    seed with_epoch(std::uint64_t epoch) const noexcept {
        seed other = *this;
        other.epoch_ = epoch;
        return other;
    }

    std::uint64_t epoch() const noexcept { return epoch_; }
    // The number; 0 if there is a key.
    std::uint64_t number() const noexcept { return number_; }
    // The 32 bytes of the key, or null.
    const std::uint8_t *key() const noexcept { return key_ ? key_->data() : nullptr; }

private:
    std::optional<std::array<std::uint8_t, 32>> key_;
    std::uint64_t number_ = 0;
    std::uint64_t epoch_;
};

// A permutation of the numbers below a length, and a range of its items: `begin()` to `end()` are
// random-access iterators, so <algorithm> and <ranges> take it. A copy shares what little there is.
class permutation {
public:
    class iterator;
    using value_type = std::uint64_t;
    using const_iterator = iterator;

    // The order of `shuffle` for so many items.
    permutation(std::uint64_t length, const seed &by) : permutation(made([&](bs_permutation **p) {
        return by.key() ? bs_permutation_new_keyed(length, by.key(), by.epoch(), p)
                        : bs_permutation_new(length, by.number(), by.epoch(), p);
    })) {}

    // Another order, in which any place of any length is looked up at once.
    static permutation walk(std::uint64_t length, const seed &by) {
        return made([&](bs_permutation **p) {
            return by.key() ? bs_permutation_walk_keyed(length, by.key(), by.epoch(), p)
                            : bs_permutation_walk(length, by.number(), by.epoch(), p);
        });
    }

    // An order for items in blocks: whole blocks are read in random order, and the items of each
    // `window` consecutive ones are shuffled among each other.
    static permutation blocks(std::uint64_t length, std::uint64_t block, std::uint64_t window,
                              const seed &by) {
        return made([&](bs_permutation **p) {
            return by.key()
                       ? bs_permutation_blocks_keyed(length, block, window, by.key(), by.epoch(), p)
                       : bs_permutation_blocks(length, block, window, by.number(), by.epoch(), p);
        });
    }

    // The permutation that a bijection of your own on the points 0 to `last` gives. The functions
    // take and return a std::uint64_t, are called by several threads at the same time, and are
    // checked before anything is moved.
    //
    // What they throw ends the call that they belong to, and comes out of it: the first of it, if
    // they throw several times. Of calls that several threads make at the same time, all fail whose
    // functions throw, but some may do so by an `error` instead. Functions on all 2^64 points have
    // no value to fail with, so they have to be noexcept.
    template <class Forward, class Inverse>
    static permutation from_bijection(std::uint64_t length, std::uint64_t last, Forward forward,
                                      Inverse inverse) {
        using functions = functions_of<Forward, Inverse>;
        if (last == UINT64_MAX && !functions::are_noexcept) {
            throw error(BS_ERROR_ARGUMENT,
                        "functions on all 2^64 points may throw: make them noexcept, or `last` less");
        }
        auto caught = std::make_shared<catcher>();
        auto context =
            std::make_unique<functions>(functions{std::move(forward), std::move(inverse), caught});
        bs_bijection bijection{};
        bijection.context = context.get();
        bijection.last = last;
        bijection.forward = [](void *context, std::uint64_t point) {
            auto &of = *static_cast<functions *>(context);
            return of.caught->value([&]() -> std::uint64_t { return of.forward(point); });
        };
        bijection.inverse = [](void *context, std::uint64_t value) {
            auto &of = *static_cast<functions *>(context);
            return of.caught->value([&]() -> std::uint64_t { return of.inverse(value); });
        };
        bijection.free_context = [](void *context) { delete static_cast<functions *>(context); };
        permutation made_of = made([&](bs_permutation **p) {
            const bs_status status = bs_permutation_from_bijection(length, &bijection, p);
            if (status == BS_OK) {
                context.release();
            }
            return status;
        });
        made_of.caught_ = std::move(caught);
        return made_of;
    }

    permutation inverse() const {
        permutation inverted =
            made([&](bs_permutation **p) { return bs_permutation_inverse(handle_.get(), p); });
        inverted.caught_ = caught_;
        return inverted;
    }

    std::uint64_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }

    // The item at a place below the length.
    std::uint64_t operator[](std::uint64_t place) const {
        std::uint64_t item = 0;
        check(bs_permutation_get(handle_.get(), place, &item));
        return item;
    }

    // The place of an item below the length.
    std::uint64_t position(std::uint64_t item) const {
        std::uint64_t place = 0;
        check(bs_permutation_position(handle_.get(), item, &place));
        return place;
    }

    // Builds the index that single places need, if they need one.
    void build_index() const { check(bs_permutation_build_index(handle_.get())); }

    // Writes the items at `first` and the places behind it: as many as there is room for. After a
    // failure of memory or of a bijection of your own, the items are unspecified.
    void write(std::uint64_t first, std::uint64_t *items, std::size_t count) const {
        check(bs_permutation_range(handle_.get(), first, count, items));
    }
    void write(std::uint64_t first, std::uint32_t *items, std::size_t count) const {
        check(bs_permutation_range_u32(handle_.get(), first, count, items));
    }
#if defined(__cpp_lib_span)
    void write(std::uint64_t first, std::span<std::uint64_t> items) const {
        write(first, items.data(), items.size());
    }
    void write(std::uint64_t first, std::span<std::uint32_t> items) const {
        write(first, items.data(), items.size());
    }
#endif

    // The items at `count` places from `first` on, or all of them, as words of 32 or 64 bits.
    template <class Word = std::uint64_t>
    std::vector<Word> to_vector(std::uint64_t first, std::size_t count) const {
        std::vector<Word> items(count);
        write(first, items.data(), count);
        return items;
    }
    template <class Word = std::uint64_t>
    std::vector<Word> to_vector() const {
        return to_vector<Word>(0, static_cast<std::size_t>(size_));
    }

    // The first place of a worker's share, and the number of its places.
    std::pair<std::uint64_t, std::uint64_t> shard(std::uint64_t rank, std::uint64_t ranks) const {
        std::pair<std::uint64_t, std::uint64_t> share;
        check(bs_permutation_shard(handle_.get(), rank, ranks, &share.first, &share.second));
        return share;
    }

    // Moves the items of arrays of this length together: the item at index (*this)[k] goes to
    // place k. `unapply` undoes it.
    template <class... Ranges>
    void apply(Ranges &&...ranges) const {
        const bs_array arrays[] = {detail::array_of(ranges)...};
        const std::size_t count = detail::common_size(ranges...);
        check(bs_permutation_apply(handle_.get(), arrays, sizeof...(ranges), count));
    }
    template <class... Ranges>
    void unapply(Ranges &&...ranges) const {
        const bs_array arrays[] = {detail::array_of(ranges)...};
        const std::size_t count = detail::common_size(ranges...);
        check(bs_permutation_unapply(handle_.get(), arrays, sizeof...(ranges), count));
    }

    iterator begin() const noexcept;
    iterator end() const noexcept;

    // The C library's permutation, which this one keeps.
    const bs_permutation *get() const noexcept { return handle_.get(); }

private:
    // What a user's function threw first: it must not pass through the library.
    class catcher {
    public:
        template <class Work>
        std::uint64_t value(Work work) noexcept {
            try {
                return work();
            } catch (...) {
                const std::lock_guard<std::mutex> lock(mutex_);
                if (!thrown_) {
                    thrown_ = std::current_exception();
                }
            }
            // It is no point, so the library ends its call.
            return UINT64_MAX;
        }

        void rethrow() {
            std::exception_ptr thrown;
            {
                const std::lock_guard<std::mutex> lock(mutex_);
                thrown = std::exchange(thrown_, nullptr);
            }
            if (thrown) {
                std::rethrow_exception(thrown);
            }
        }

    private:
        std::mutex mutex_;
        std::exception_ptr thrown_;
    };

    template <class Forward, class Inverse>
    struct functions_of {
        static constexpr bool are_noexcept =
            std::is_nothrow_invocable_r_v<std::uint64_t, Forward &, std::uint64_t> &&
            std::is_nothrow_invocable_r_v<std::uint64_t, Inverse &, std::uint64_t>;
        Forward forward;
        Inverse inverse;
        std::shared_ptr<catcher> caught;
    };

    explicit permutation(bs_permutation *handle)
        : handle_(handle, bs_permutation_free), size_(bs_permutation_length(handle)) {}

    template <class Make>
    static permutation made(Make make) {
        bs_permutation *handle = nullptr;
        detail::check(make(&handle));
        return permutation(handle);
    }

    void check(bs_status status) const {
        // Every call whose functions throw ends with this status; with another, none has thrown.
        if (status == BS_ERROR_NOT_A_BIJECTION && caught_) {
            // Read before what was thrown is freed.
            const error failure(status, bs_error_text());
            caught_->rethrow();
            throw failure;
        }
        detail::check(status);
    }

    std::shared_ptr<const bs_permutation> handle_;
    std::shared_ptr<catcher> caught_;
    std::uint64_t size_;
};

// Looks the items up, one by one. The permutation must exist as long as its iterators are used.
class permutation::iterator {
public:
    // Items are values and no objects, as those of std::views::iota, so in C++17 it is a random
    // access iterator in all but its reference.
    using iterator_category = std::random_access_iterator_tag;
    using value_type = std::uint64_t;
    using difference_type = std::int64_t;
    using pointer = void;
    using reference = std::uint64_t;

    iterator() noexcept = default;

    reference operator*() const { return (*of_)[place_]; }
    reference operator[](difference_type by) const { return *(*this + by); }

    iterator &operator+=(difference_type by) noexcept {
        place_ += static_cast<std::uint64_t>(by);
        return *this;
    }
    iterator &operator-=(difference_type by) noexcept {
        place_ -= static_cast<std::uint64_t>(by);
        return *this;
    }
    iterator &operator++() noexcept { return *this += 1; }
    iterator &operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept {
        const iterator before = *this;
        ++*this;
        return before;
    }
    iterator operator--(int) noexcept {
        const iterator before = *this;
        --*this;
        return before;
    }

    friend iterator operator+(iterator it, difference_type by) noexcept { return it += by; }
    friend iterator operator+(difference_type by, iterator it) noexcept { return it += by; }
    friend iterator operator-(iterator it, difference_type by) noexcept { return it -= by; }
    friend difference_type operator-(const iterator &a, const iterator &b) noexcept {
        return static_cast<difference_type>(a.place_ - b.place_);
    }
    friend bool operator==(const iterator &a, const iterator &b) noexcept {
        return a.place_ == b.place_;
    }
    friend bool operator!=(const iterator &a, const iterator &b) noexcept { return !(a == b); }
    friend bool operator<(const iterator &a, const iterator &b) noexcept {
        return a.place_ < b.place_;
    }
    friend bool operator>(const iterator &a, const iterator &b) noexcept { return b < a; }
    friend bool operator<=(const iterator &a, const iterator &b) noexcept { return !(b < a); }
    friend bool operator>=(const iterator &a, const iterator &b) noexcept { return !(a < b); }

private:
    friend class permutation;
    iterator(const permutation *of, std::uint64_t place) noexcept : of_(of), place_(place) {}

    const permutation *of_ = nullptr;
    std::uint64_t place_ = 0;
};

inline permutation::iterator permutation::begin() const noexcept { return {this, 0}; }
inline permutation::iterator permutation::end() const noexcept { return {this, size_}; }

// Shuffles a vector, an array, a span or whatever else `std::data` and `std::size` take, whose
// items are trivially copyable.
template <class Range>
void shuffle(Range &&range, const seed &by) {
    if (by.key()) {
        return permutation(std::size(range), by).apply(range);
    }
    const bs_array array = detail::array_of(range);
    detail::check(
        bs_shuffle(array.items, std::size(range), array.item_size, by.number(), by.epoch()));
}

// Undoes `shuffle` with the same seed.
template <class Range>
void unshuffle(Range &&range, const seed &by) {
    if (by.key()) {
        return permutation(std::size(range), by).unapply(range);
    }
    const bs_array array = detail::array_of(range);
    detail::check(
        bs_unshuffle(array.items, std::size(range), array.item_size, by.number(), by.epoch()));
}

// Shuffles several ranges of one length in the order that `shuffle` gives each of them.
template <class... Ranges>
void shuffle_together(const seed &by, Ranges &&...ranges) {
    permutation(detail::common_size(ranges...), by).apply(ranges...);
}

// Undoes `shuffle_together` with the same seed.
template <class... Ranges>
void unshuffle_together(const seed &by, Ranges &&...ranges) {
    permutation(detail::common_size(ranges...), by).unapply(ranges...);
}

// Limits the threads that all calls share; 0 takes the limit away.
inline void set_threads(std::size_t count) { detail::check(bs_set_threads(count)); }

// Deals out the items of one epoch after another to ranks, in batches.
class sampler {
public:
    // The options of bijective_shuffle.h.
    explicit sampler(const bs_sampler_options &options)
        : batch_(static_cast<std::size_t>(options.batch)) {
        bs_sampler *handle = nullptr;
        detail::check(bs_sampler_new(&options, &handle));
        handle_.reset(handle);
    }

    // Takes this rank's next batch; no batch if the epoch is over. The vector's memory is used
    // again, and it is empty after a failure.
    bool next_batch(std::vector<std::uint64_t> &batch) {
        batch.resize(batch_);
        std::size_t count = 0;
        const bs_status status =
            bs_sampler_next_batch(handle_.get(), batch.data(), batch.size(), &count);
        batch.resize(count);
        if (status == BS_END) {
            return false;
        }
        detail::check(status);
        return true;
    }

    void next_epoch() { detail::check(bs_sampler_next_epoch(handle_.get())); }
    void set_epoch(std::uint64_t epoch) { detail::check(bs_sampler_set_epoch(handle_.get(), epoch)); }
    std::uint64_t epoch() const noexcept { return bs_sampler_epoch(handle_.get()); }
    std::uint64_t consumed() const noexcept { return bs_sampler_consumed(handle_.get()); }
    std::uint64_t steps() const noexcept { return bs_sampler_steps(handle_.get()); }
    std::uint64_t steps_left() const noexcept { return bs_sampler_steps_left(handle_.get()); }

    // The state as a text, and back.
    std::string state() const {
        char text[BS_STATE_SIZE];
        detail::check(bs_sampler_state(handle_.get(), text, sizeof text));
        return text;
    }
    void resume(const std::string &state) {
        detail::check(bs_sampler_resume(handle_.get(), state.c_str()));
    }

private:
    struct free {
        void operator()(bs_sampler *handle) const noexcept { bs_sampler_free(handle); }
    };
    std::unique_ptr<bs_sampler, free> handle_;
    std::size_t batch_;
};

// A stream of random numbers, or several that are filled row by row.
class generator {
public:
    // One stream; `kind` is a BS_GENERATOR_...
    explicit generator(const seed &by, std::uint64_t stream = 0,
                       std::int32_t kind = BS_GENERATOR_PHILOX4X32) {
        bs_generator *handle = nullptr;
        detail::check(by.key()
                          ? bs_generator_new_keyed(kind, by.key(), by.epoch(), stream, &handle)
                          : bs_generator_new(kind, by.number(), by.epoch(), stream, &handle));
        handle_.reset(handle);
    }

    // `count` streams from number `first` on.
    static generator streams(const seed &by, std::uint64_t first, std::uint64_t count,
                             std::int32_t kind = BS_GENERATOR_PHILOX4X32) {
        bs_generator *handle = nullptr;
        detail::check(
            by.key() ? bs_generator_streams_keyed(kind, by.key(), by.epoch(), first, count, &handle)
                     : bs_generator_streams(kind, by.number(), by.epoch(), first, count, &handle));
        return generator(handle);
    }

    // Fills a range with integers, or with numbers from 0 up to, but not including, 1.
    template <class Range>
    void fill(Range &&range) {
        using item = detail::item_of<Range>;
        static_assert(std::is_same_v<item, std::uint32_t> || std::is_same_v<item, std::uint64_t> ||
                          std::is_same_v<item, float> || std::is_same_v<item, double>,
                      "a generator fills uint32_t, uint64_t, float and double");
        if constexpr (std::is_same_v<item, std::uint32_t>) {
            filled(bs_generator_fill_u32, range);
        } else if constexpr (std::is_same_v<item, std::uint64_t>) {
            filled(bs_generator_fill_u64, range);
        } else if constexpr (std::is_same_v<item, float>) {
            filled(bs_generator_fill_f32, range);
        } else {
            filled(bs_generator_fill_f64, range);
        }
    }

    // Fills a range of float or double with normal numbers.
    template <class Range>
    void fill_normal(Range &&range, detail::item_of<Range> mean = 0,
                     detail::item_of<Range> deviation = 1) {
        check_floating<detail::item_of<Range>>();
        if constexpr (std::is_same_v<detail::item_of<Range>, float>) {
            filled(bs_generator_fill_normal_f32, range, mean, deviation);
        } else {
            filled(bs_generator_fill_normal_f64, range, mean, deviation);
        }
    }

    // Fills a range of float or double with exponential numbers of mean 1.
    template <class Range>
    void fill_exponential(Range &&range) {
        check_floating<detail::item_of<Range>>();
        if constexpr (std::is_same_v<detail::item_of<Range>, float>) {
            filled(bs_generator_fill_exponential_f32, range);
        } else {
            filled(bs_generator_fill_exponential_f64, range);
        }
    }

private:
    struct free {
        void operator()(bs_generator *handle) const noexcept { bs_generator_free(handle); }
    };

    explicit generator(bs_generator *handle) : handle_(handle) {}

    template <class Item>
    static constexpr void check_floating() {
        static_assert(std::is_same_v<Item, float> || std::is_same_v<Item, double>,
                      "these numbers are float or double");
    }

    template <class Fill, class Range, class... Parameters>
    void filled(Fill fill, Range &range, Parameters... parameters) {
        detail::check(fill(handle_.get(), std::data(range), std::size(range), parameters...));
    }

    std::unique_ptr<bs_generator, free> handle_;
};

} // namespace bijective_shuffle

#endif
