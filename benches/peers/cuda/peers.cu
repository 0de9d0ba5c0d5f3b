// Times shuffles of other libraries and of the literature on a GPU, and what no shuffle can well be
// faster than. Prints a table as CSV: see README.md.

#include <cub/version.cuh>
#include <thrust/version.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bounds.cuh"
#include "contender.cuh"
#include "rows.h"
#include "scene.cuh"
#include "shuffles.cuh"
#ifdef RAFT
#include <raft/version_config.hpp>

#include "raft.cuh"
#endif

namespace {

using namespace peers;

// Not more, so that 2^w + 1 items have indexes of 32 bits.
constexpr int MOST_BITS = 31;

struct Arguments {
    int from = 8;
    int to = 29;
    int step = 1;
    Effort effort;
    // All of them, if none is named.
    std::set<std::string> only;
};

template <class T>
struct Entry {
    const char *name;
    std::unique_ptr<Contender> (*make)(Scene<T> &);
};

template <template <class> class C, class T>
std::unique_ptr<Contender> make(Scene<T> &scene) {
    return std::make_unique<C<T>>(scene);
}

template <class T>
const std::vector<Entry<T>> &contenders() {
    static const std::vector<Entry<T>> all = {
        {"gather", make<Gather, T>},
        {"thrust::shuffle_copy", make<ThrustShuffle, T>},
        {"thrust::shuffle_copy (memory kept)", make<ThrustShuffleKept, T>},
#ifdef RAFT
        {"raft::random::permute", make<RaftPermute, T>},
#endif
    };
    return all;
}

[[noreturn]] void usage(const std::string &wrong) {
    std::cerr << wrong << (wrong.empty() ? "" : "\n\n")
              << "peers [--from W] [--to W] [--step N] [--repeats N] [--only NAME]...\n\n"
              << "  --from W, --to W  lengths are 2^w and 2^w + 1 for all w between (8 and 29; at most " << MOST_BITS
              << ")\n"
              << "  --step N          from one w to the next (1)\n"
              << "  --repeats N       how many samples the median is taken of (15)\n"
              << "  --only NAME       leave out the others; may be given several times. The names:\n";
    for (const auto &entry : contenders<Item8>()) {
        std::cerr << "                    " << entry.name << '\n';
    }
    std::exit(wrong.empty() ? 0 : 2);
}

int number(const std::string &option, const char *text, int least, int most) {
    char *end = nullptr;
    errno = 0;
    const long value = std::strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < least || value > most) {
        usage(option + " takes a number from " + std::to_string(least) + " to " + std::to_string(most));
    }
    return int(value);
}

Arguments parse(int count, char **words) {
    Arguments arguments;
    for (int at = 1; at < count; at += 2) {
        const std::string option = words[at];
        if (option == "--help") {
            usage("");
        }
        if (at + 1 == count) {
            usage(option + " needs a value, or is no option");
        }
        const char *value = words[at + 1];
        if (option == "--from") {
            arguments.from = number(option, value, 0, MOST_BITS);
        } else if (option == "--to") {
            arguments.to = number(option, value, 0, MOST_BITS);
        } else if (option == "--step") {
            arguments.step = number(option, value, 1, MOST_BITS);
        } else if (option == "--repeats") {
            arguments.effort.repeats = number(option, value, 1, 1000000);
        } else if (option == "--only") {
            arguments.only.insert(value);
        } else {
            usage(option + " is no option");
        }
    }
    if (arguments.from > arguments.to) {
        usage("--from is above --to");
    }
    std::set<std::string> unknown = arguments.only;
    for (const auto &entry : contenders<Item8>()) {
        unknown.erase(entry.name);
    }
    if (!unknown.empty()) {
        usage("there is no contender called " + *unknown.begin());
    }
    return arguments;
}

std::string version(int number, int thousands) {
    return std::to_string(number / thousands) + "." + std::to_string(number % thousands / 10);
}

// The driver's own number, where the system tells it.
std::string driver() {
    std::ifstream file("/proc/driver/nvidia/version");
    std::string line;
    return std::getline(file, line) ? line : "of unknown version";
}

// Prints what is measured on, and returns what rows begin with.
Origin print_header(const Effort &effort) {
    int device = 0;
    int driver_version = 0;
    int runtime_version = 0;
    cudaDeviceProp properties{};
    PEERS_CHECK(cudaGetDevice(&device));
    PEERS_CHECK(cudaGetDeviceProperties(&properties, device));
    PEERS_CHECK(cudaDriverGetVersion(&driver_version));
    PEERS_CHECK(cudaRuntimeGetVersion(&runtime_version));
    const Origin origin(properties.name);
    std::printf("# $ gpu-peers\n");
    std::printf("# GPU: %s, compute capability %d.%d, %d multiprocessors, %zu MiB of memory, %d MiB of L2 cache\n",
                properties.name, properties.major, properties.minor, properties.multiProcessorCount,
                properties.totalGlobalMem >> 20, properties.l2CacheSize >> 20);
    std::printf("# driver: %s, for CUDA up to %s\n", driver().c_str(), version(driver_version, 1000).c_str());
    std::printf("# CUDA: runtime %s, nvcc %d.%d.%d\n", version(runtime_version, 1000).c_str(), __CUDACC_VER_MAJOR__,
                __CUDACC_VER_MINOR__, __CUDACC_VER_BUILD__);
    std::printf("# Thrust %d.%d.%d, CUB %d.%d.%d\n", THRUST_MAJOR_VERSION, THRUST_MINOR_VERSION,
                THRUST_SUBMINOR_VERSION, CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
#ifdef RAFT
    std::printf("# RAFT %02d.%02d.%02d\n", RAFT_VERSION_MAJOR, RAFT_VERSION_MINOR, RAFT_VERSION_PATCH);
#endif
    std::printf("# seconds: of one call, median of %d samples; a sample is the time between two events with as many "
                "calls as take 2 ms, from 1 to 1000 between them, one after the other\n",
                effort.repeats);
    Origin::print_head("name,item_bytes,length,seconds");
    return origin;
}

// Not in the template below: there nvcc 13.0 makes of the list something that no compiler takes.
void print_row(const Origin &origin, const char *name, std::size_t item_bytes, std::size_t length, double seconds) {
    origin.print({name, std::to_string(item_bytes), std::to_string(length), digits(seconds, 9)});
}

template <class T>
void measure_all(std::size_t length, const Arguments &arguments, const Origin &origin) {
    Scene<T> scene(length);
    for (const Entry<T> &entry : contenders<T>()) {
        if (!arguments.only.empty() && arguments.only.count(entry.name) == 0) {
            continue;
        }
        try {
            const std::unique_ptr<Contender> contender = entry.make(scene);
            const double seconds = measure(*contender, scene.stream, arguments.effort);
            if (!agrees(scene.stream, scene.source, InOrder{})) {
                throw std::runtime_error("the items themselves were changed");
            }
            print_row(origin, entry.name, sizeof(T), length, seconds);
        } catch (const std::bad_alloc &) {
            // Thrust has an exception of its own for this, and leaves the error behind.
            static_cast<void>(cudaGetLastError());
            std::printf("# too little memory for %s, %zu bytes an item, %zu items\n", entry.name, sizeof(T), length);
        } catch (const std::length_error &error) {
            std::printf("# %s: %s\n", entry.name, error.what());
        } catch (const std::exception &error) {
            throw std::runtime_error(std::string(entry.name) + ", " + std::to_string(sizeof(T)) + " bytes an item, " +
                                     std::to_string(length) + " items: " + error.what());
        }
    }
}

template <class T>
void measure_lengths(const Arguments &arguments, const Origin &origin) {
    for (int bits = arguments.from; bits <= arguments.to; bits += arguments.step) {
        for (const std::size_t more : {std::size_t(0), std::size_t(1)}) {
            const std::size_t length = (std::size_t(1) << bits) + more;
            try {
                measure_all<T>(length, arguments, origin);
            } catch (const std::bad_alloc &) {
                std::printf("# too little memory for the items: %zu bytes an item, %zu items\n", sizeof(T), length);
            }
        }
    }
}

} // namespace

int main(int count, char **words) {
    const Arguments arguments = parse(count, words);
    try {
        const Origin origin = print_header(arguments.effort);
        measure_lengths<Item4>(arguments, origin);
        measure_lengths<Item8>(arguments, origin);
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
