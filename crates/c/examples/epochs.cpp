// A training loop: batches of two ranks, stopped and resumed.
//
//     c++ -std=c++17 epochs.cpp $(pkg-config --cflags --libs bijective_shuffle)
#include <bijective_shuffle.hpp>
#include <cstdio>

namespace bs = bijective_shuffle;

int main() {
    bs_sampler_options options{};
    options.length = 10;
    options.seed = 42;
    options.ranks = 2;
    options.batch = 3;

    bs::sampler sampler(options);
    std::vector<std::uint64_t> batch;
    sampler.next_batch(batch);
    const std::string state = sampler.state();

    // Another process, with another number of ranks, goes on.
    options.ranks = 1;
    bs::sampler resumed(options);
    resumed.resume(state);
    std::size_t left = 0;
    while (resumed.next_batch(batch)) {
        for (const auto item : batch) {
            std::printf("%d ", static_cast<int>(item));
            left += 1;
        }
    }
    std::printf("\n");
    return left == 4 ? 0 : 1;
}
