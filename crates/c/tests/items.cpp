// Items, ranges and sources of random bits that a C++ program has: whatever is moved one by one has
// the order of what is moved as bytes, and nothing is lost.
#include "check.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <numeric>
#include <random>

// How many allocations are left before one fails.
static long left = -1;

void *operator new(std::size_t size) {
    if (left == 0) {
        throw std::bad_alloc();
    }
    left -= left > 0;
    if (void *made = std::malloc(size > 0 ? size : 1)) {
        return made;
    }
    throw std::bad_alloc();
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, std::size_t) noexcept { std::free(memory); }

// Long enough to have memory of its own.
static std::string text_of(std::uint64_t number) {
    return "a text of more than sixteen bytes, number " + std::to_string(number);
}

template <class Container, class Make>
static Container filled(std::size_t count, Make make) {
    Container made;
    for (std::uint64_t k = 0; k < count; k++) {
        made.push_back(make(k));
    }
    return made;
}

// An item that cannot be moved without an exception, but exchanged.
class exchanged {
public:
    explicit exchanged(std::uint64_t by) : number(by) {}
    exchanged(const exchanged &other) : number(other.number) { throw std::bad_alloc(); }
    exchanged(exchanged &&other) : number(other.number) {}
    exchanged &operator=(const exchanged &) = delete;
    friend void swap(exchanged &a, exchanged &b) noexcept { std::swap(a.number, b.number); }

    std::uint64_t number;
};

// Shuffles and un-shuffles a container whose item `k` is `make(k)`, by ranges and by iterators.
template <class Container, class Make, class Number>
static void there_and_back(Make make, Number number) {
    for (const std::size_t count : std::array<std::size_t, 6>{0, 1, 2, 10, 300, 5000}) {
        for (const bs::seed seed : {bs::seed(42, 1), bs::seed(std::array<std::uint8_t, 32>{7}, 2)}) {
            const auto order = bs::permutation(count, seed).to_vector();
            auto items = filled<Container>(count, make);
            const auto is_shuffled = [&] {
                return std::equal(order.begin(), order.end(), items.begin(), items.end(),
                                  [&](std::uint64_t k, const auto &item) { return k == number(item); });
            };
            const auto is_whole = [&] {
                std::uint64_t k = 0;
                return std::all_of(items.begin(), items.end(),
                                   [&](const auto &item) { return number(item) == k++; });
            };
            bs::shuffle(items, seed);
            CHECK(is_shuffled());
            bs::unshuffle(items.begin(), items.end(), seed);
            CHECK(is_whole());
            bs::shuffle(items.begin(), items.end(), seed);
            CHECK(is_shuffled());
            bs::unshuffle(items, seed);
            CHECK(is_whole());
            // From the end, so no two items are contiguous.
            bs::shuffle(items.rbegin(), items.rend(), seed);
            CHECK(std::equal(order.begin(), order.end(), items.rbegin(), [&](auto k, const auto &item) {
                return count - 1 - k == number(item);
            }));
            bs::unshuffle(items.rbegin(), items.rend(), seed);
            CHECK(is_whole());
        }
    }
}

static void items_of_many_types() {
    const auto same = [](std::uint64_t k) { return k; };
    const auto short_of = [](std::uint64_t k) { return static_cast<short>(k); };
    const auto number_of_short = [](short item) { return static_cast<std::uint64_t>(item); };
    const auto number = [](const std::string &text) {
        return std::stoull(text.substr(text.rfind(' ')));
    };
    there_and_back<std::vector<std::uint64_t>>(same, same);
    there_and_back<std::deque<std::uint64_t>>(same, same);
    there_and_back<std::vector<short>>(short_of, number_of_short);
    there_and_back<std::vector<std::string>>(text_of, number);
    there_and_back<std::deque<std::string>>(text_of, number);
    there_and_back<std::vector<std::unique_ptr<std::uint64_t>>>(
        [](std::uint64_t k) { return std::make_unique<std::uint64_t>(k); },
        [](const auto &item) { return *item; });
    there_and_back<std::vector<std::vector<std::uint64_t>>>(
        [](std::uint64_t k) { return std::vector<std::uint64_t>{k}; },
        [](const auto &item) { return item.at(0); });
    // It is made in place, since it cannot be moved.
    there_and_back<std::deque<exchanged>>([](std::uint64_t k) { return exchanged(k); },
                                          [](const exchanged &item) { return item.number; });
}

static void what_is_written_first() {
    std::vector<std::string> names = {"zero", "one", "two", "three", "four"};
    bs::shuffle(names.begin(), names.end(), 42);
    bs::unshuffle(names, 42);

    std::mt19937 rng(3);
    const bs::seed by = bs::shuffle(names, rng);
    bs::unshuffle(names, by);
    CHECK(names[0] == "zero" && names[4] == "four");

    std::array<std::string, 3> few = {"a", "b", "c"};
    bs::shuffle(few, 1);
    bs::unshuffle(few.begin(), few.end(), 1);
    CHECK(few[0] == "a" && few[2] == "c");
    std::string plain[] = {"a", "b", "c"};
    bs::shuffle(plain, 1);
    bs::unshuffle(std::begin(plain), std::end(plain), 1);
    CHECK(plain[0] == "a" && plain[2] == "c");
    std::array<int, 3> numbers = {1, 2, 3};
    bs::shuffle(numbers.begin(), numbers.end(), 1);
    bs::unshuffle(numbers, 1);
    CHECK(numbers[0] == 1 && numbers[2] == 3);
    std::string letters = "abcdefgh";
    bs::shuffle(letters, 1);
    bs::unshuffle(letters.begin(), letters.end(), 1);
    CHECK(letters == "abcdefgh");

    // A part of a vector; the rest stays.
    std::vector<std::string> texts = filled<std::vector<std::string>>(10, text_of);
    bs::shuffle(texts.begin() + 2, texts.end() - 3, 1);
    CHECK(texts[0] == text_of(0) && texts[1] == text_of(1) && texts[7] == text_of(7));
    const auto part = bs::permutation(5, 1).to_vector();
    for (std::size_t k = 0; k < 5; k++) {
        CHECK(texts[2 + k] == text_of(2 + part[k]));
    }

    // Bits have no addresses of their own.
    std::vector<bool> bits(100);
    bits[3] = bits[50] = true;
    const auto before = bits;
    bs::shuffle(bits, 7);
    const auto hundred = bs::permutation(100, 7);
    CHECK(bits[static_cast<std::size_t>(hundred.position(3))]);
    CHECK(bits[static_cast<std::size_t>(hundred.position(50))]);
    bs::unshuffle(bits.begin(), bits.end(), 7);
    CHECK(bits == before);
#if defined(__cpp_lib_span)
    auto more = filled<std::vector<std::string>>(10, text_of);
    bs::shuffle(std::span(more).first(5), 1);
    bs::unshuffle(std::span(more).first(5), 1);
    CHECK(more[0] == text_of(0));
#endif
#if defined(HAS_VIEWS)
    bs::shuffle(more | std::views::drop(5), 1);
    CHECK(more[4] == text_of(4) && more[5] == text_of(5 + part[0]));
    bs::unshuffle(std::ranges::subrange(more.begin() + 5, more.end()), 1);
    bs::shuffle(more | std::views::reverse, 1);
    bs::unshuffle(more | std::views::reverse, 1);
    CHECK(more == filled<std::vector<std::string>>(10, text_of));
#endif
}

template <class Source>
static bool undoes(Source source) {
    const Source before = source;
    auto items = filled<std::vector<std::string>>(300, text_of);
    auto numbers = filled<std::vector<std::uint64_t>>(300, [](std::uint64_t k) { return k; });
    const bs::seed by = bs::shuffle(items.begin(), items.end(), source);
    Source again = before;
    CHECK(bs::shuffle(numbers, again).key() != nullptr);
    CHECK(items[0] == text_of(numbers[0]) && items != filled<std::vector<std::string>>(300, text_of));
    bs::unshuffle(items, by);
    bs::unshuffle(numbers, bs::seed::from_rng(Source(before)));
    // The source has gone on.
    const bs::seed next = bs::seed::from_rng(source);
    CHECK(std::memcmp(by.key(), next.key(), 32) != 0);
    return items == filled<std::vector<std::string>>(300, text_of) && numbers[299] == 299;
}

// The bits of a source's numbers, the low ones first, without those that are too large.
template <class Source>
static std::array<std::uint8_t, 32> bits_of(Source source, int bits) {
    std::array<std::uint8_t, 32> key{};
    int at = 0;
    while (at < 256) {
        const std::uint64_t number = source() - Source::min();
        if (bits < 64 && number >= std::uint64_t{1} << bits) {
            continue;
        }
        for (int k = 0; k < bits && at < 256; k++, at++) {
            if (number >> k & 1) {
                key[static_cast<std::size_t>(at / 8)] |= static_cast<std::uint8_t>(1 << at % 8);
            }
        }
    }
    return key;
}

// Numbers between two ends. A test chooses ends whose bits are hard to count.
template <std::uint64_t Min, std::uint64_t Max>
struct numbers_between {
    using result_type = std::uint64_t;
    std::mt19937_64 words{1};
    static constexpr result_type min() { return Min; }
    static constexpr result_type max() { return Max; }
    result_type operator()() {
        for (;;) {
            const result_type word = words();
            if (word >= Min && word <= Max) {
                return word;
            }
        }
    }
};

static void sources_of_random_bits() {
    CHECK(undoes(std::mt19937(42)) && undoes(std::mt19937_64(42)) && undoes(std::minstd_rand(42)));
    CHECK(undoes(std::ranlux24_base(42)) && undoes(std::ranlux48_base(42)) && undoes(std::knuth_b(42)));
    const auto is_key = [](auto source, int bits) {
        const auto expected = bits_of(source, bits);
        return std::memcmp(bs::seed::from_rng(source).key(), expected.data(), 32) == 0;
    };
    CHECK(is_key(std::mt19937(1), 32) && is_key(std::mt19937_64(1), 64));
    // Its numbers are from 1 to 2^31 - 2.
    CHECK(is_key(std::minstd_rand(1), 30) && is_key(std::ranlux24_base(1), 24));
    // As most generators of 63 bits, and as xorshift generators, which never give 0.
    CHECK(is_key(numbers_between<0, (std::uint64_t{1} << 63) - 1>(), 63));
    CHECK(is_key(numbers_between<0, (std::uint64_t{1} << 63) - 2>(), 62));
    CHECK(is_key(numbers_between<1, UINT64_MAX>(), 63));
    std::mt19937 words(1);
    const bs::seed first = bs::seed::from_rng(words);
    std::mt19937 again(1);
    for (std::size_t k = 0; k < 32; k += 4) {
        const auto word = again();
        CHECK(first.key()[k] == (word & 255) && first.key()[k + 3] == word >> 24);
    }
    // What a program writes first.
    std::vector<int> cards(52);
    std::iota(cards.begin(), cards.end(), 0);
    bs::shuffle(cards.begin(), cards.end(), std::random_device{});
    bs::shuffle(cards, std::mt19937{std::random_device{}()});
    std::sort(cards.begin(), cards.end());
    CHECK(cards[0] == 0 && cards[51] == 51);
    std::mt19937 rng(3);
    auto names = filled<std::vector<std::string>>(52, text_of);
    const auto by = bs::shuffle_together(rng, cards, names);
    CHECK(names[9] == text_of(static_cast<std::uint64_t>(cards[9])));
    bs::unshuffle_together(by, cards, names);
    CHECK(names[9] == text_of(9) && cards[9] == 9);
}

static void several_ranges() {
    for (const std::size_t count : std::array<std::size_t, 4>{0, 1, 300, 5000}) {
        const auto texts = filled<std::deque<std::string>>(count, text_of);
        auto names = texts;
        auto again = filled<std::vector<std::string>>(count, text_of);
        auto numbers = filled<std::vector<std::uint64_t>>(count, [](std::uint64_t k) { return k; });
        bs::shuffle_together(42, names, numbers, again);
        const bs::permutation order(count, 42);
        for (std::size_t k = 0; k < count; k++) {
            CHECK(numbers[k] == order[k] && names[k] == text_of(order[k]) && again[k] == names[k]);
        }
        order.unapply(numbers, again, names);
        CHECK(names == texts && std::is_sorted(numbers.begin(), numbers.end()));
        CHECK(std::equal(again.begin(), again.end(), texts.begin()));
    }
    // Nothing has moved after a failure.
    const auto texts = filled<std::vector<std::string>>(100, text_of);
    auto names = texts;
    std::vector<int> numbers(100), fewer(99);
    std::deque<std::string> deque(names.begin(), names.end());
    const auto share = [&](auto &&...ranges) {
        fails(BS_ERROR_ARGUMENT, "share memory", [&] { bs::shuffle_together(1, ranges...); });
    };
    share(names, names);
    share(numbers, names, names);
    share(numbers, names, numbers);
    share(deque, names, deque);
#if defined(HAS_VIEWS)
    share(deque | std::views::take(60), std::views::reverse(deque) | std::views::take(60));
    bs::shuffle_together(1, deque | std::views::take(50), deque | std::views::drop(50));
    bs::unshuffle_together(1, deque | std::views::take(50), deque | std::views::drop(50));
#endif
    fails(BS_ERROR_LENGTH, "length", [&] { bs::shuffle_together(1, names, fewer); });
    fails(BS_ERROR_LENGTH, "100", [&] { bs::permutation(99, 1).apply(names); });
    CHECK(names == texts && std::equal(names.begin(), names.end(), deque.begin()));
}

// Whatever allocation fails, and whatever a function throws, all items are where they were.
static void nothing_is_lost() {
    const auto texts = filled<std::vector<std::string>>(1000, text_of);
    auto names = texts;
    auto numbers = filled<std::deque<int>>(1000, [](std::uint64_t k) { return static_cast<int>(k); });
    const auto before = numbers;
    int failed = 0;
    for (long allowed = 0;; allowed++) {
        left = allowed;
        try {
            bs::shuffle_together(42, names, numbers);
            left = -1;
            break;
        } catch (const std::bad_alloc &) {
            left = -1;
            failed++;
            CHECK(names == texts && numbers == before);
        }
    }
    CHECK(failed > 3);
    bs::unshuffle_together(42, names, numbers);
    CHECK(names == texts && numbers == before);

    struct thrown {};
    const auto broken = [](std::uint64_t x) -> std::uint64_t { return x == 999 ? throw thrown() : x; };
    const auto p = bs::permutation::from_bijection(1000, 1023, broken, broken);
    for (const bool undo : {false, true}) {
        bool is_thrown = false;
        try {
            undo ? p.unapply(names, numbers) : p.apply(names, numbers);
        } catch (const thrown &) {
            is_thrown = true;
        }
        CHECK(is_thrown && names == texts && numbers == before);
    }
    const auto constant = [](std::uint64_t) noexcept { return std::uint64_t{0}; };
    fails(BS_ERROR_NOT_A_BIJECTION, "bijection", [&] {
        bs::permutation::from_bijection(1000, 1023, constant, constant).apply(names);
    });
    CHECK(names == texts);
}

int main() {
    items_of_many_types();
    what_is_written_first();
    sources_of_random_bits();
    several_ranges();
    nothing_is_lost();
    std::printf("C++ items: %lu checks\n", checked);
}
