// What the C++ header adds: values that are those of C, failures as exceptions, ranges.
#include "check.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

static std::vector<std::uint64_t> numbers(std::size_t count) {
    std::vector<std::uint64_t> made(count);
    std::iota(made.begin(), made.end(), 0);
    return made;
}

static std::array<std::uint8_t, 32> key() {
    std::array<std::uint8_t, 32> made;
    std::iota(made.begin(), made.end(), std::uint8_t{0});
    return made;
}

static void orders() {
    // The order of seed 42 in docs/specification.md.
    const std::vector<std::uint64_t> ten = {4, 0, 6, 9, 1, 7, 5, 3, 8, 2};
    auto items = numbers(10);
    bs::shuffle(items, 42);
    CHECK(items == ten);
    bs::unshuffle(items, 42);
    CHECK(items == numbers(10));

    for (const bs::seed seed : {bs::seed(42, 3), bs::seed(key(), 3)}) {
        const bs::permutation p(1000, seed);
        const auto order = p.to_vector();
        CHECK(p.size() == 1000 && !p.empty() && std::equal(p.begin(), p.end(), order.begin()));
        auto moved = numbers(1000);
        bs::shuffle(moved, seed);
        CHECK(moved == order);
        struct item { char text[7]; };
        std::vector<item> texts(1000);
        for (std::size_t k = 0; k < 1000; k++) {
            std::snprintf(texts[k].text, sizeof texts[k].text, "%zu", k);
        }
        bs::unshuffle(moved, seed);
        bs::shuffle_together(seed, moved, texts);
        for (std::size_t k = 0; k < 1000; k++) {
            CHECK(moved[k] == order[k] && std::to_string(order[k]) == texts[k].text);
        }
        bs::unshuffle_together(seed, moved, texts);
        CHECK(moved == numbers(1000));
        const auto narrow = p.to_vector<std::uint32_t>(10, 20);
        CHECK(std::equal(narrow.begin(), narrow.end(), order.begin() + 10));
        CHECK(p.position(p[77]) == 77 && p.inverted()[p[77]] == 77);
        CHECK(p.shard(1, 3) == std::make_pair(std::uint64_t{333}, std::uint64_t{333}));
        CHECK(bs::permutation(1000, seed.with_epoch(4)).to_vector() != order);
        p.build_index();
    }
    const auto blocks = bs::permutation::blocks(10, 3, 2, 42).to_vector();
    CHECK((blocks == std::vector<std::uint64_t>{1, 0, 3, 5, 2, 4, 8, 7, 9, 6}));
    int few[] = {3, 1, 2};
    bs::shuffle(few, 1);
    bs::unshuffle(few, 1);
    CHECK(few[0] == 3 && few[2] == 2);
}

static void ranges() {
    const auto p = bs::permutation::walk(1'000'000'000'000, 42);
    CHECK(p.begin()[0] == 0x245c8b0ad5 && p.end() - p.begin() == 1'000'000'000'000);
    auto it = p.begin() + 15;
    CHECK(*it == 0x70366b4dbb && *--it == p[14] && *it++ == p[14] && 1 + it > it && it[-1] == p[14]);

    const bs::permutation small(1000, 7);
    CHECK(std::accumulate(small.begin(), small.end(), std::uint64_t{0}) == 499'500);
    CHECK(*std::max_element(small.begin(), small.end()) == 999);
    CHECK(static_cast<std::uint64_t>(std::find(small.begin(), small.end(), 5) - small.begin()) ==
          small.position(5));
#if defined(HAS_VIEWS)
    static_assert(std::ranges::random_access_range<const bs::permutation>);
    static_assert(std::ranges::sized_range<const bs::permutation>);
    std::uint64_t sum = 0;
    for (std::uint64_t index : p | std::views::drop(1'000'000) | std::views::take(3)) {
        sum += index;
    }
    CHECK(sum == p[1'000'000] + p[1'000'001] + p[1'000'002]);
    CHECK(std::ranges::max(small) == 999);
#endif
#if defined(__cpp_lib_span)
    std::array<std::uint64_t, 3> three;
    p.write(15, std::span<std::uint64_t>(three));
    CHECK(three[0] == 0x70366b4dbb);
    bs::shuffle(std::span(three), 1);
#endif
}

// What was moved from is empty, and its other calls fail.
static void moved_from() {
    bs::permutation p(10, 42);
    const bs::permutation taken = std::move(p);
    CHECK(taken.size() == 10 && taken[0] == 4);
    CHECK(p.size() == 0 && p.empty() && p.begin() == p.end());
    fails(BS_ERROR_NULL, "permutation", [&] { (void)p[0]; });
    p = taken;
    CHECK(p.size() == 10 && p[0] == 4);

    bs_sampler_options options{};
    options.length = 10;
    options.seed = 42;
    options.ranks = 1;
    options.batch = 10;
    bs::sampler first(options);
    first.set_epoch(3);
    bs::sampler second = std::move(first);
    CHECK(first.epoch() == 0 && first.steps() == 0 && first.steps_remaining() == 0);
    std::vector<std::uint64_t> batch = {7};
    fails(BS_ERROR_NULL, "sampler", [&] { first.next_batch(batch); });
    CHECK(batch.empty() && second.epoch() == 3 && second.next_batch(batch) && batch.size() == 10);

    bs::generator one(42);
    bs::generator other = std::move(one);
    std::vector<std::uint32_t> words(2);
    fails(BS_ERROR_NULL, "generator", [&] { one.fill(words); });
    other.fill(words);
    CHECK(words[0] == 0x2e923317);
}

struct thrown {};

template <class Call>
static bool throws(Call call) {
    try {
        call();
    } catch (const thrown &) {
        return true;
    }
    return false;
}

// A function throws where it has an item, and where it has none, in each kind of call.
static void thrown_by_any_call() {
    constexpr std::uint64_t length = 200'000, last = (1 << 18) - 1;
    for (const std::uint64_t point : {std::uint64_t{150'000}, std::uint64_t{250'000}, last}) {
        const auto is_armed = std::make_shared<std::atomic<bool>>(true);
        const auto same = [=](std::uint64_t x) -> std::uint64_t {
            return x == point && *is_armed ? throw thrown() : x;
        };
        const auto p = bs::permutation::from_bijection(length, last, same, same);
        auto items = numbers(length);
        std::vector<std::uint64_t> out(length);
        std::vector<std::uint32_t> narrow(length);
        for (const auto &each : {p, p.inverted()}) {
            CHECK(throws([&] { each.apply(items); }) && throws([&] { each.unapply(items); }));
            CHECK(throws([&] { each.apply(items, narrow); }) && items == numbers(length));
        }
        CHECK(throws([&] { p.write(0, out.data(), length); }));
        CHECK(throws([&] { p.write(0, narrow.data(), length); }));
        CHECK(throws([&] { p.build_index(); }));
        if (point < length) {
            *is_armed = false;
            p.build_index();
            *is_armed = true;
            CHECK(throws([&] { p.write(point - 100, out.data(), 200); }));
            CHECK(throws([&] { p.write(point - 100, narrow.data(), 200); }));
            CHECK(throws([&] { (void)p[point]; }) && throws([&] { (void)p.position(point); }));
        }
        // Another failure is its own, and nothing is left for a later call.
        fails(BS_ERROR_RANGE, "no place", [&] { (void)p[length]; });
        *is_armed = false;
        p.apply(items);
        CHECK(items == numbers(length) && p.to_vector() == items && p[point % length] == point % length);
    }
    // On all 2^64 points, no value is left that says that a function has thrown.
    const auto may_throw = [](std::uint64_t x) { return x; };
    const auto cannot_throw = [](std::uint64_t x) noexcept { return UINT64_MAX - x; };
    fails(BS_ERROR_ARGUMENT, "noexcept",
          [&] { bs::permutation::from_bijection(10, UINT64_MAX, may_throw, cannot_throw); });
    const auto all = bs::permutation::from_bijection(10, UINT64_MAX, cannot_throw, cannot_throw);
    CHECK(all[0] == 9 && all.position(0) == 9);
}

static void own_bijections() {
    const auto plus = [](std::uint64_t x) noexcept { return (x + 3) % 10; };
    const auto minus = [](std::uint64_t x) noexcept { return (x + 7) % 10; };
    const auto turned = bs::permutation::from_bijection(8, 9, plus, minus);
    const std::vector<std::uint64_t> expected = {3, 4, 5, 6, 7, 0, 1, 2};
    CHECK(turned.to_vector() == expected && turned.position(7) == 4);

    constexpr std::uint64_t last = (1 << 18) - 1;
    const auto backwards = [](std::uint64_t x) { return last - x; };
    const auto p = bs::permutation::from_bijection(200'000, last, backwards, backwards);
    auto items = numbers(200'000);
    p.apply(items);
    CHECK(items.front() == 199'999 && items.back() == 0);
    p.unapply(items);

    const auto counted = std::make_shared<int>(0);
    const auto broken = [counted](std::uint64_t x) -> std::uint64_t {
        return x == 150'000 ? throw thrown() : x;
    };
    {
        const auto q = bs::permutation::from_bijection(200'000, last, broken, broken);
        CHECK(counted.use_count() > 2);
        for (const auto &each : {q, q.inverted()}) {
            CHECK(throws([&] { each.apply(items); }) && items == numbers(200'000));
        }
    }
    CHECK(counted.use_count() == 2);
    const auto same = [](std::uint64_t) { return std::uint64_t{0}; };
    fails(BS_ERROR_NOT_A_BIJECTION, "",
          [&] { bs::permutation::from_bijection(9, 9, same, same).to_vector(); });
    fails(BS_ERROR_ARGUMENT, "points",
          [&] { bs::permutation::from_bijection(11, 9, broken, broken); });
    CHECK(counted.use_count() == 2);
}

static void failures() {
    std::vector<int> five(5), six(6);
    fails(BS_ERROR_LENGTH, "length", [&] { bs::shuffle_together(1, five, six); });
    fails(BS_ERROR_LENGTH, "5", [&] { bs::permutation(6, 1).apply(five); });
    fails(BS_ERROR_RANGE, "no place 6", [] { bs::permutation(6, 1)[6]; });
    fails(BS_ERROR_RANGE, "no index 6", [] { bs::permutation(6, 1).position(6); });
    fails(BS_ERROR_ARGUMENT, "share memory", [&] { bs::shuffle_together(1, five, five); });
    bs::set_threads(0);
}

static void samplers_and_generators() {
    bs_sampler_options options{};
    options.length = 10;
    options.seed = 42;
    options.ranks = 3;
    options.batch = 2;
    bs::sampler sampler(options);
    std::vector<std::uint64_t> batch;
    CHECK(sampler.next_batch(batch) && (batch == std::vector<std::uint64_t>{4, 9}));
    // These are in docs/specification.md too.
    const std::string state = "a-0-6-697b00e9129d35f5";
    CHECK(sampler.state() == state && sampler.consumed() == 6 && sampler.steps_remaining() == 1);
    CHECK(sampler.state_at(0, 6) == state && sampler.state_at(1, 6) != state);
    fails(BS_ERROR_RANGE, "items consumed were given", [&] { sampler.state_at(0, 100); });
    CHECK(sampler.next_batch(batch) && (batch == std::vector<std::uint64_t>{5, 2}));
    CHECK(!sampler.next_batch(batch) && batch.empty());
    sampler.next_epoch();
    CHECK(sampler.epoch() == 1 && sampler.steps() == 2);
    sampler.resume(state);
    CHECK(sampler.epoch() == 0 && sampler.next_batch(batch) && batch[1] == 2);
    sampler.set_epoch(5);
    fails(BS_ERROR_STATE, "", [&] { sampler.resume("a-0-6-697b00e9129d35f6"); });
    CHECK(sampler.epoch() == 5);
    // A C string would end at the zero byte, and what comes after it would not be seen.
    fails(BS_ERROR_STATE, "zero byte", [&] { sampler.resume(state + '\0' + "more"); });
    fails(BS_ERROR_STATE, "zero byte", [&] { sampler.resume(state + '\0'); });
    CHECK(sampler.epoch() == 5);

    bs::generator philox(42);
    std::array<std::uint32_t, 2> words;
    philox.fill(words);
    CHECK(words[0] == 0x2e923317 && words[1] == 0x750bcd18);
    std::vector<float> floats(1000);
    std::vector<double> doubles(1000);
    philox.fill(floats);
    philox.fill_normal(doubles, 10, 0.5);
    philox.fill_normal(floats, 0.0, 1.0);
    const double mean = std::accumulate(doubles.begin(), doubles.end(), 0.0) / 1000;
    CHECK(mean > 9.9 && mean < 10.1);
    philox.fill_exponential(floats);
    auto xorwow = bs::generator::streams(bs::seed(key()), 0, 100, BS_GENERATOR_XORWOW);
    std::vector<std::uint64_t> wide(100);
    xorwow.fill(wide);
    fails(BS_ERROR_ARGUMENT, "no generator", [] { bs::generator(1, 0, 99); });
}

int main() {
    orders();
    ranges();
    own_bijections();
    moved_from();
    thrown_by_any_call();
    failures();
    samplers_and_generators();
    std::printf("C++: %lu checks\n", checked);
}
