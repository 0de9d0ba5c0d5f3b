// Times a segmented sort by random keys, which shuffles each segment of an array apart. Prints a
// table as CSV: see README.md.

#include <cub/device/device_segmented_sort.cuh>
#include <cub/version.cuh>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "contender.cuh"
#include "rows.h"
#include "scene.cuh"
#include "verify.cuh"

namespace {

using namespace peers;

// All items, and the longest segment: as in benches/peers/src/gpu_segments.rs.
constexpr std::size_t ITEMS = std::size_t(1) << 26;
constexpr std::uint64_t LONGEST = 1000;

// A number that looks random: the finaliser of SplitMix64.
__host__ __device__ inline std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

// Segments of 1 to LONGEST items.
struct Segments {
    std::vector<std::uint32_t> offsets = {0};
    std::vector<std::uint32_t> of_item;
    Buffer<std::uint32_t> device_offsets, device_of_item;

    Segments() : of_item(ITEMS) {
        while (offsets.back() < ITEMS) {
            const std::uint64_t length = 1 + mix(offsets.size()) % LONGEST;
            const std::uint32_t start = offsets.back();
            const std::uint32_t end = std::uint32_t(std::min<std::uint64_t>(ITEMS, start + length));
            for (std::uint32_t k = start; k < end; k++) {
                of_item[k] = std::uint32_t(offsets.size());
            }
            offsets.push_back(end);
        }
        device_offsets = to_device(offsets);
        device_of_item = to_device(of_item);
    }

    int count() const { return int(offsets.size() - 1); }

private:
    static Buffer<std::uint32_t> to_device(const std::vector<std::uint32_t> &words) {
        Buffer<std::uint32_t> buffer(words.size());
        PEERS_CHECK(cudaMemcpy(buffer.data(), words.data(), buffer.bytes(), cudaMemcpyHostToDevice));
        return buffer;
    }
};

__global__ void draw_keys(std::uint32_t *keys, std::size_t length, std::uint64_t seed) {
    const std::size_t i = thread_number();
    if (i < length) {
        keys[i] = std::uint32_t(mix(seed + i));
    }
}

// Place i holds an item of its own segment.
struct InSegment {
    const std::uint32_t *of_item;
    template <class T>
    __device__ bool operator()(const T *items, std::size_t i) const {
        return items[i] < ITEMS && of_item[items[i]] == of_item[i];
    }
};

// The items of each segment in the order of random keys. Keys of 32 bits hardly ever tie within
// 1000 items.
template <class T>
class SegmentedSort : public Contender {
public:
    SegmentedSort(Scene<T> &scene, const Segments &segments, bool draws)
        : scene_(scene), segments_(segments), draws_(draws), keys_(ITEMS), sorted_keys_(ITEMS) {
        draw();
        std::size_t bytes = 0;
        sort(nullptr, bytes);
        memory_ = Buffer<char>(bytes);
    }

    void run(int) override {
        if (draws_) {
            draw();
        }
        std::size_t bytes = memory_.bytes();
        sort(memory_.data(), bytes);
    }

    void poison() override { scene_.poison(); }

    bool is_right() override {
        Buffer<std::uint32_t> seen((ITEMS + 31) / 32);
        PEERS_CHECK(cudaMemsetAsync(seen.data(), 0, seen.bytes(), scene_.stream.get()));
        const auto launch = [&](Findings *found) {
            take_attendance<<<blocks(ITEMS), THREADS, 0, scene_.stream.get()>>>(scene_.out.data(), ITEMS, seen.data(),
                                                                               found);
        };
        const Findings found = findings(scene_.stream, launch);
        return found.faults == 0 && found.unmoved < ITEMS / 50 &&
               agrees(scene_.stream, scene_.out, InSegment{segments_.device_of_item.data()});
    }

private:
    void draw() {
        draw_keys<<<blocks(ITEMS), THREADS, 0, scene_.stream.get()>>>(keys_.data(), ITEMS, seed_ += ITEMS);
        PEERS_CHECK_LAUNCH();
    }

    void sort(void *memory, std::size_t &bytes) {
        const std::uint32_t *offsets = segments_.device_offsets.data();
        PEERS_CHECK(cub::DeviceSegmentedSort::SortPairs(memory, bytes, keys_.data(), sorted_keys_.data(),
                                                        scene_.source.data(), scene_.out.data(), int(ITEMS),
                                                        segments_.count(), offsets, offsets + 1, scene_.stream.get()));
    }

    Scene<T> &scene_;
    const Segments &segments_;
    const bool draws_;
    std::uint64_t seed_ = 0;
    Buffer<std::uint32_t> keys_, sorted_keys_;
    Buffer<char> memory_;
};

template <class T>
void measure_all(const Segments &segments, const Effort &effort, const Origin &origin) {
    Scene<T> scene(ITEMS);
    for (const bool draws : {false, true}) {
        SegmentedSort<T> contender(scene, segments, draws);
        const double seconds = measure(contender, scene.stream, effort);
        const char *name = draws ? "cub::DeviceSegmentedSort, keys drawn" : "cub::DeviceSegmentedSort, keys given";
        origin.print({name, std::to_string(sizeof(T)), std::to_string(ITEMS), std::to_string(segments.count()),
                      digits(seconds, 9)});
    }
}

} // namespace

int main() {
    try {
        cudaDeviceProp properties{};
        PEERS_CHECK(cudaGetDeviceProperties(&properties, 0));
        const Origin origin(properties.name);
        const Effort effort;
        std::printf("# $ gpu-segments\n# nvcc %d.%d.%d, CUB %d.%d.%d\n", __CUDACC_VER_MAJOR__, __CUDACC_VER_MINOR__,
                    __CUDACC_VER_BUILD__, CUB_MAJOR_VERSION, CUB_MINOR_VERSION, CUB_SUBMINOR_VERSION);
        std::printf("# seconds: of all segments, of 1 to %d items, median of %d samples\n", int(LONGEST),
                    effort.repeats);
        Origin::print_head("name,item_bytes,length,segments,seconds");
        const Segments segments;
        measure_all<Item4>(segments, effort, origin);
        measure_all<Item8>(segments, effort, origin);
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
