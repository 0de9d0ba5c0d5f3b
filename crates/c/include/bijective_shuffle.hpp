// The C++ library of bijective-shuffle, for C++17 and later, over the C library.
//
//     std::vector<std::string> v = ..;
//     bijective_shuffle::shuffle(v, 42);
//     bijective_shuffle::unshuffle(v, 42);
//     bijective_shuffle::shuffle(v.begin(), v.end(), std::mt19937{42});
//
// Ranges and iterators need random access. Trivially copyable items that are contiguous are moved
// as bytes, on all cores. The calling thread moves all others one by one, by moves or by a `swap`
// that cannot throw. This takes 4 bytes and a bit of memory for each item, and 8 bytes beyond 2^32
// items; several ranges that are not contiguous take another 16 bytes for each item. The order is
// the same either way.
//
// Every failure is an `error`, except that a call which moves items one by one throws
// `std::bad_alloc` where there is too little memory. Nothing has changed then, unless a function
// says otherwise. Rules for threads are those of bijective_shuffle.h: a `permutation` may be used
// by several at the same time, a `sampler` or a `generator` by one.

#ifndef BIJECTIVE_SHUFFLE_HPP
#define BIJECTIVE_SHUFFLE_HPP

#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "bijective_shuffle.hpp needs C++17: compile with -std=c++17, or include bijective_shuffle.h"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
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

template <class Range, class = void>
struct has_data : std::false_type {};
template <class Range>
struct has_data<Range, std::void_t<decltype(std::data(std::declval<Range &>())),
                                   decltype(std::size(std::declval<Range &>()))>> : std::true_type {};

// The items of a range, or between two iterators: they begin at a pointer if it is known that they
// are contiguous.
template <class Iterator>
struct run {
    Iterator first;
    std::size_t count;

    std::size_t size() const noexcept { return count; }
    Iterator begin() const { return first; }
    Iterator end() const { return first + distance(count); }

    static auto distance(std::size_t count) {
        return static_cast<typename std::iterator_traits<Iterator>::difference_type>(count);
    }
};

template <class Iterator>
constexpr void check_random_access() {
    static_assert(std::is_base_of_v<std::random_access_iterator_tag,
                                    typename std::iterator_traits<Iterator>::iterator_category>,
                  "the iterators have no random access: shuffle a vector of the items");
}

template <class Range>
auto run_of(Range &range) {
    if constexpr (has_data<Range>::value) {
        return run<decltype(std::data(range))>{std::data(range), std::size(range)};
    } else {
        using std::begin;
        using std::end;
        const auto first = begin(range);
        using iterator = std::remove_const_t<decltype(first)>;
        check_random_access<iterator>();
        return run<iterator>{first, static_cast<std::size_t>(end(range) - first)};
    }
}

template <class Iterator>
constexpr bool is_contiguous() {
#if defined(__cpp_lib_ranges)
    return std::contiguous_iterator<Iterator>;
#else
    using item = typename std::iterator_traits<Iterator>::value_type;
    if constexpr (std::is_same_v<item, bool>) {
        return std::is_pointer_v<Iterator>;
    } else {
        return std::is_pointer_v<Iterator> ||
               std::is_same_v<Iterator, typename std::vector<item>::iterator>;
    }
#endif
}

template <class Iterator>
auto run_of(Iterator first, Iterator last) {
    check_random_access<Iterator>();
    const auto count = static_cast<std::size_t>(last - first);
    if constexpr (is_contiguous<Iterator>()) {
        using item = std::remove_reference_t<decltype(*first)>;
        // There may be no item at the end.
        return run<item *>{count > 0 ? std::addressof(*first) : nullptr, count};
    } else {
        return run<Iterator>{first, count};
    }
}

// How items are moved. A type that can be moved in none of these ways does not compile.
template <class Iterator>
struct way {
    using item = typename std::iterator_traits<Iterator>::value_type;
    using reference = decltype(*std::declval<Iterator &>());

    static constexpr bool is_held =
        std::is_nothrow_move_constructible_v<item> && std::is_nothrow_move_assignable_v<item>;
    static constexpr bool is_by_bytes =
        std::is_pointer_v<Iterator> && std::is_trivially_copyable_v<item>;

    static_assert(!std::is_const_v<std::remove_reference_t<reference>>,
                  "the items are constant, so they cannot be moved");
    static_assert(
        is_by_bytes || is_held || std::is_nothrow_swappable_v<item>,
        "an item could be lost, since its move and its swap may throw: make one of them noexcept, "
        "or shuffle pointers or indexes of the items");
};

// Moves item `order[k]` to place k, for all k: along the cycles of the order, so that each item is
// moved once. `done` has a bit for each item.
template <class Iterator, class Word>
void follow(run<Iterator> items, const std::vector<Word> &order, std::vector<bool> &done) noexcept {
    using how = way<Iterator>;
    const auto at = [&](std::size_t place) -> typename how::reference {
        return items.first[run<Iterator>::distance(place)];
    };
    std::fill(done.begin(), done.end(), false);
    for (std::size_t start = 0; start < items.count; start++) {
        if (done[start] || order[start] == start) {
            continue;
        }
        std::size_t place = start, from = 0;
        if constexpr (how::is_held) {
            typename how::item held(std::move(at(start)));
            for (; (from = static_cast<std::size_t>(order[place])) != start; place = from) {
                at(place) = std::move(at(from));
                done[place] = true;
            }
            at(place) = std::move(held);
        } else {
            using std::swap;
            for (; (from = static_cast<std::size_t>(order[place])) != start; place = from) {
                swap(at(place), at(from));
                done[place] = true;
            }
        }
        done[place] = true;
    }
}

// The items of a run as the C library takes them, if they are moved as bytes.
template <class Iterator>
std::optional<bs_array> array_of(run<Iterator> items) {
    if constexpr (way<Iterator>::is_by_bytes) {
        return bs_array{items.first, sizeof(*items.first)};
    } else {
        return std::nullopt;
    }
}

template <class First, class... Others>
std::size_t common_size(const First &first, const Others &...others) {
    const std::size_t size = first.size();
    if (((others.size() != size) || ... || false)) {
        throw error(BS_ERROR_LENGTH, "the arrays differ in length");
    }
    return size;
}

// Where memory begins and ends.
using extent = std::pair<const char *, const char *>;

template <class Iterator>
void add_extents(run<Iterator> items, std::vector<extent> &extents) {
    static_assert(std::is_lvalue_reference_v<typename way<Iterator>::reference>,
                  "the items of std::vector<bool> and other proxies have no addresses to be told "
                  "apart by: shuffle each range alone by the same seed");
    const auto add = [&](auto &item, std::size_t count) {
        const auto start = reinterpret_cast<const char *>(std::addressof(item));
        extents.emplace_back(start, start + count * sizeof item);
    };
    if constexpr (std::is_pointer_v<Iterator>) {
        if (items.count > 0) {
            add(*items.first, items.count);
        }
    } else {
        for (auto &item : items) {
            add(item, 1);
        }
    }
}

// Checks that no two runs share items.
template <class... Iterators>
void check_apart(run<Iterators>... items) {
    std::vector<extent> extents;
    (add_extents(items, extents), ...);
    // Addresses of different arrays have this order, and no other.
    const std::less<const char *> is_less;
    std::sort(extents.begin(), extents.end(), [&](const extent &a, const extent &b) {
        return is_less(a.first, b.first);
    });
    for (std::size_t k = 1; k < extents.size(); k++) {
        if (is_less(extents[k].first, extents[k - 1].second)) {
            throw error(BS_ERROR_ARGUMENT, "two of the arrays share memory");
        }
    }
}

template <class Source, class = void>
struct is_random : std::false_type {};
template <class Source>
struct is_random<Source, std::enable_if_t<std::is_unsigned_v<decltype(std::declval<Source &>()())> &&
                                          (Source::min() < Source::max())>> : std::true_type {};
// For templates that take a source of random bits, such as std::mt19937 or std::random_device.
template <class Source>
using if_random = std::enable_if_t<is_random<std::remove_reference_t<Source>>::value, int>;

} // namespace detail

// What determines an order: a number or a key of 32 bytes, and an epoch.
class seed {
public:
    seed(std::uint64_t number, std::uint64_t epoch = 0) noexcept : number_(number), epoch_(epoch) {}

    explicit seed(const std::array<std::uint8_t, 32> &key, std::uint64_t epoch = 0) noexcept
        : key_(key), epoch_(epoch) {}

    // A key of 32 bytes from a source of random bits: the same for the same source in the same
    // state, on every machine.
    template <class Source, detail::if_random<Source> = 0>
    static seed from_rng(Source &&source) {
        using numbers = std::remove_reference_t<Source>;
        constexpr auto range = static_cast<std::uint64_t>(numbers::max() - numbers::min());
        // As many whole bits as a number has. Numbers beyond are drawn again.
        int bits = range == UINT64_MAX ? 64 : 0;
        while (bits < 63 && (range + 1) >> (bits + 1) != 0) {
            bits++;
        }
        std::array<std::uint8_t, 32> key{};
        for (int bit = 0; bit < 256;) {
            std::uint64_t number = 0;
            do {
                number = static_cast<std::uint64_t>(source() - numbers::min());
            } while (bits < 64 && number >> bits != 0);
            for (int k = 0; k < bits && bit < 256; k++, bit++) {
                const auto value = static_cast<unsigned>(number >> k & 1) << bit % 8;
                auto &byte = key[static_cast<std::size_t>(bit / 8)];
                byte = static_cast<std::uint8_t>(byte | value);
            }
        }
        return seed(key);
    }

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
// random-access iterators, so <algorithm> and <ranges> take it. A copy shares its state.
class permutation {
public:
    class iterator;
    using value_type = std::uint64_t;
    using const_iterator = iterator;

    // The order of `shuffle` for `length` items.
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
    // If a function throws, the call that it belongs to ends with that exception, or with the first
    // if there are several. If several threads make calls at the same time, each call whose
    // functions throw fails, but some may throw an `error` instead. Functions on all 2^64 points
    // have no value to fail with, so they have to be noexcept.
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
        bijection.forward = [](void *given, std::uint64_t point) {
            auto &of = *static_cast<functions *>(given);
            return of.caught->value([&]() -> std::uint64_t { return of.forward(point); });
        };
        bijection.inverse = [](void *given, std::uint64_t value) {
            auto &of = *static_cast<functions *>(given);
            return of.caught->value([&]() -> std::uint64_t { return of.inverse(value); });
        };
        bijection.free_context = [](void *given) { delete static_cast<functions *>(given); };
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

    permutation inverted() const {
        permutation inverted =
            made([&](bs_permutation **p) { return bs_permutation_inverted(handle_.get(), p); });
        inverted.caught_ = caught_;
        return inverted;
    }

    // 0 for a permutation that was moved from.
    std::uint64_t size() const noexcept { return handle_ ? size_ : 0; }
    bool empty() const noexcept { return size() == 0; }

    // The index at a place below the length.
    std::uint64_t operator[](std::uint64_t place) const {
        std::uint64_t index = 0;
        check(bs_permutation_get(handle_.get(), place, &index));
        return index;
    }

    // The place of an index below the length.
    std::uint64_t position(std::uint64_t index) const {
        std::uint64_t place = 0;
        check(bs_permutation_position(handle_.get(), index, &place));
        return place;
    }

    // Builds the index that single places need, if they need one.
    void build_index() const { check(bs_permutation_build_index(handle_.get())); }

    // Writes the indexes at `first` and the places behind it: as many as there is room for. After a
    // failure of memory or of a bijection of your own, they are unspecified.
    void write(std::uint64_t first, std::uint64_t *indexes, std::size_t count) const {
        check(bs_permutation_range(handle_.get(), first, count, indexes));
    }
    void write(std::uint64_t first, std::uint32_t *indexes, std::size_t count) const {
        check(bs_permutation_range_u32(handle_.get(), first, count, indexes));
    }
#if defined(__cpp_lib_span)
    void write(std::uint64_t first, std::span<std::uint64_t> indexes) const {
        write(first, indexes.data(), indexes.size());
    }
    void write(std::uint64_t first, std::span<std::uint32_t> indexes) const {
        write(first, indexes.data(), indexes.size());
    }
#endif

    // The indexes at `count` places from `first` on, or all of them, as words of 32 or 64 bits.
    template <class Word = std::uint64_t>
    std::vector<Word> to_vector(std::uint64_t first, std::size_t count) const {
        std::vector<Word> indexes(count);
        write(first, indexes.data(), count);
        return indexes;
    }
    template <class Word = std::uint64_t>
    std::vector<Word> to_vector() const {
        return to_vector<Word>(0, static_cast<std::size_t>(size()));
    }

    // The first place of a worker's share, and the number of its places.
    std::pair<std::uint64_t, std::uint64_t> shard(std::uint64_t rank, std::uint64_t ranks) const {
        std::pair<std::uint64_t, std::uint64_t> share;
        check(bs_permutation_shard(handle_.get(), rank, ranks, &share.first, &share.second));
        return share;
    }

    // Moves the items of ranges of this length together: the item at index (*this)[k] goes to
    // place k. `unapply` undoes it. Several ranges must not share memory.
    template <class... Ranges>
    void apply(Ranges &&...ranges) const {
        reorder(false, detail::run_of(ranges)...);
    }
    template <class... Ranges>
    void unapply(Ranges &&...ranges) const {
        reorder(true, detail::run_of(ranges)...);
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

    template <class... Iterators>
    void reorder(bool undo, detail::run<Iterators>... items) const {
        const std::size_t count = detail::common_size(items...);
        if constexpr ((detail::way<Iterators>::is_by_bytes && ...)) {
            const bs_array arrays[] = {*detail::array_of(items)...};
            check((undo ? bs_permutation_unapply : bs_permutation_apply)(
                handle_.get(), arrays, sizeof...(items), count));
        } else {
            if (count != size()) {
                const std::string text = "the ranges have " + std::to_string(count) +
                                         " items, and the permutation " + std::to_string(size());
                throw error(BS_ERROR_LENGTH, text.c_str());
            }
            if constexpr (sizeof...(items) > 1) {
                detail::check_apart(items...);
            }
            const bool is_narrow = size() <= std::uint64_t{1} << 32;
            is_narrow ? follow<std::uint32_t>(undo, items...) : follow<std::uint64_t>(undo, items...);
        }
    }

    // Moves what is moved as bytes, and then the rest, which cannot fail.
    template <class Word, class... Iterators>
    void follow(bool undo, detail::run<Iterators>... items) const {
        const std::vector<Word> order = (undo ? inverted() : *this).template to_vector<Word>();
        std::vector<bool> done(order.size());
        std::vector<bs_array> arrays;
        for (const auto &array : {detail::array_of(items)...}) {
            if (array) {
                arrays.push_back(*array);
            }
        }
        check((undo ? bs_permutation_unapply : bs_permutation_apply)(
            handle_.get(), arrays.data(), arrays.size(), order.size()));
        const auto move = [&](auto run) {
            if constexpr (!detail::way<decltype(run.first)>::is_by_bytes) {
                detail::follow(run, order, done);
            }
        };
        (move(items), ...);
    }

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
inline permutation::iterator permutation::end() const noexcept { return {this, size()}; }

// Shuffles a vector, an array, a span, a deque or any other range with random access.
template <class Range>
void shuffle(Range &&range, const seed &by) {
    const auto items = detail::run_of(range);
    if (const auto array = by.key() ? std::nullopt : detail::array_of(items)) {
        return detail::check(
            bs_shuffle(array->items, items.size(), array->item_size, by.number(), by.epoch()));
    }
    permutation(items.size(), by).apply(items);
}

// Undoes `shuffle` with the same seed.
template <class Range>
void unshuffle(Range &&range, const seed &by) {
    const auto items = detail::run_of(range);
    if (const auto array = by.key() ? std::nullopt : detail::array_of(items)) {
        return detail::check(
            bs_unshuffle(array->items, items.size(), array->item_size, by.number(), by.epoch()));
    }
    permutation(items.size(), by).unapply(items);
}

// Shuffles what is between two iterators, as `shuffle` does a range.
template <class Iterator>
void shuffle(Iterator first, Iterator last, const seed &by) {
    shuffle(detail::run_of(first, last), by);
}

// Undoes `shuffle` with the same seed.
template <class Iterator>
void unshuffle(Iterator first, Iterator last, const seed &by) {
    unshuffle(detail::run_of(first, last), by);
}

// Shuffles several ranges of one length in the order that `shuffle` gives each of them.
template <class... Ranges>
void shuffle_together(const seed &by, Ranges &&...ranges) {
    permutation(detail::common_size(detail::run_of(ranges)...), by).apply(ranges...);
}

// Undoes `shuffle_together` with the same seed.
template <class... Ranges>
void unshuffle_together(const seed &by, Ranges &&...ranges) {
    permutation(detail::common_size(detail::run_of(ranges)...), by).unapply(ranges...);
}

// Shuffle by a seed that is drawn from a source of random bits, such as std::mt19937 or
// std::random_device, and return the seed, by which `unshuffle` undoes the call. The order is not
// that of std::shuffle.
template <class Range, class Source, detail::if_random<Source> = 0>
seed shuffle(Range &&range, Source &&source) {
    const seed by = seed::from_rng(source);
    shuffle(range, by);
    return by;
}
template <class Iterator, class Source, detail::if_random<Source> = 0>
seed shuffle(Iterator first, Iterator last, Source &&source) {
    return shuffle(detail::run_of(first, last), source);
}
template <class Source, class... Ranges, detail::if_random<Source> = 0>
seed shuffle_together(Source &&source, Ranges &&...ranges) {
    const seed by = seed::from_rng(source);
    shuffle_together(by, ranges...);
    return by;
}

// Limits the threads that all calls share; 0 takes the limit away.
inline void set_threads(std::size_t count) { detail::check(bs_set_threads(count)); }

// Deals out the items of one epoch after another to ranks, in batches.
class sampler {
public:
    // The options, as in bijective_shuffle.h.
    explicit sampler(const bs_sampler_options &options)
        : batch_(static_cast<std::size_t>(options.batch)) {
        bs_sampler *handle = nullptr;
        detail::check(bs_sampler_new(&options, &handle));
        handle_.reset(handle);
    }

    // Takes this rank's next batch, or none if the epoch is over. The vector's memory is reused,
    // and it is empty after a failure.
    bool next_batch(std::vector<std::uint64_t> &batch) {
        batch.clear();
        if (handle_ && steps_remaining() == 0) {
            return false;
        }
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
    std::uint64_t steps_remaining() const noexcept { return bs_sampler_steps_remaining(handle_.get()); }

    // The state as a text, and back.
    std::string state() const {
        char text[BS_STATE_SIZE];
        detail::check(bs_sampler_state(handle_.get(), text, sizeof text));
        return text;
    }
    // The state after all ranks together have taken `consumed` items of an epoch. Draws nothing.
    std::string state_at(std::uint64_t epoch, std::uint64_t consumed) const {
        char text[BS_STATE_SIZE];
        detail::check(bs_sampler_state_at(handle_.get(), epoch, consumed, text, sizeof text));
        return text;
    }
    void resume(const std::string &state) {
        if (state.find('\0') != std::string::npos) {
            throw error(BS_ERROR_STATE, "the text has a zero byte, so it is no state of a sampler");
        }
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
