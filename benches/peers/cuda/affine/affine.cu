// Arrays permuted by affine maps on a GPU: ours, the kernels of Bouverot-Dupuis and Sheeran, and
// the naive one, in one run. Every result is checked before it is timed. See README.md here.
#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "../rows.h"
#include "tiling.h"

using namespace affine;
using bijective_shuffle::AffineMap;
using bijective_shuffle::Item16;

static void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::printf("%s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}
#define CHECK(call) check(call, #call)

// What rows begin with, once the device is known.
static std::unique_ptr<peers::Origin> origin;

static void print_row(const char* item, int bits, const char* matrix, const std::string& kernel, float time, float part) {
    origin->print({item, "2^" + std::to_string(bits), matrix, kernel, peers::digits(time, 6), peers::digits(part, 4)});
}

// ---- Maps

static uint64_t random_state;

static uint64_t random_word() {
    uint64_t z = random_state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static Matrix bit_permutation(const std::vector<int>& to) {
    Matrix a;
    for (int bit : to) a.columns.push_back(uint64_t(1) << bit);
    return a;
}

static std::vector<int> places(int n, bool random) {
    std::vector<int> to;
    for (int j = n - 1; j >= 0; --j) to.push_back(j);
    for (int j = n - 1; random && j > 0; --j) std::swap(to[j], to[random_word() % (j + 1)]);
    return to;
}

static Matrix random_matrix(int n) {
    Matrix a;
    do {
        a.columns.clear();
        for (int j = 0; j < n; ++j) a.columns.push_back(random_word() & low_mask(n));
    } while (inverse(a).bits() < n);
    return a;
}

// ---- Kernels

// `AffineShape` in src/cuda/affine/tuning.rs: logarithms, and the blocks that a multiprocessor
// should hold.
template <int ITEM_BITS, int THREAD_BITS, int ROUND_BITS, int BLOCK_BITS, int BLOCKS_HELD>
struct Shape {
    static constexpr int I = ITEM_BITS, T = THREAD_BITS, R = ROUND_BITS, TILES = BLOCK_BITS, BLOCKS = BLOCKS_HELD;
    static constexpr int TILE = I + T + R;
};

template <class Item, class S, bool GAPS>
__global__ void __launch_bounds__(1 << S::T, S::BLOCKS)
    ours(const __grid_constant__ bijective_shuffle::Tiles tiles,
         const __grid_constant__ bijective_shuffle::Row<GAPS> row, const Item* source, Item* out) {
    bijective_shuffle::permute_tiles<Item, S::I, S::T, S::R>(tiles, row, source, out);
}

template <class Word, class S>
__global__ void __launch_bounds__(1 << S::T, S::BLOCKS)
    ours_of_triples(const __grid_constant__ bijective_shuffle::Tiles tiles, const Word* source, Word* out) {
    bijective_shuffle::permute_triples<Word, S::T, S::R>(tiles, source, out);
}

template <class Word>
__global__ void item_by_item(const __grid_constant__ AffineMap map, const Word* source, Word* out, uint64_t words) {
    bijective_shuffle::permute_rows(map, source, out, words);
}

// Items of several words that are not a power of two.
template <class Word, int COUNT>
struct Several {
    Word words[COUNT];
};

template <class Item>
struct Make {
    static __device__ Item item(uint64_t x) { return Item(((x + 1) * 0x9e3779b97f4a7c15) >> 24); }
    static __device__ bool differ(Item a, Item b) { return a != b; }
};

template <>
struct Make<Item16> {
    static __device__ Item16 item(uint64_t x) { return {(x + 1) * 0x9e3779b97f4a7c15, ~x}; }
    static __device__ bool differ(const Item16& a, const Item16& b) { return a.low != b.low || a.high != b.high; }
};

template <class Word, int COUNT>
struct Make<Several<Word, COUNT>> {
    static __device__ Several<Word, COUNT> item(uint64_t x) {
        Several<Word, COUNT> item;
        for (int k = 0; k < COUNT; ++k) item.words[k] = Make<Word>::item(COUNT * x + k);
        return item;
    }
    static __device__ bool differ(const Several<Word, COUNT>& a, const Several<Word, COUNT>& b) {
        bool differ = false;
        for (int k = 0; k < COUNT; ++k) differ |= a.words[k] != b.words[k];
        return differ;
    }
};

template <class Item>
__global__ void fill(Item* items, uint64_t len) {
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
    for (uint64_t x = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; x < len; x += stride) items[x] = Make<Item>::item(x);
}

template <class Item>
__global__ void compare(const __grid_constant__ AffineMap undo, const Item* out, uint64_t len, unsigned long long* wrong) {
    const uint64_t stride = uint64_t(gridDim.x) * blockDim.x;
    unsigned long long own = 0;
    for (uint64_t y = blockIdx.x * uint64_t(blockDim.x) + threadIdx.x; y < len; y += stride) {
        own += Make<Item>::differ(out[y], Make<Item>::item(undo.value(y)));
    }
    if (own != 0) atomicAdd(wrong, own);
}

// ---- Measuring

static char *source_memory, *out_memory, *between_memory;
static unsigned long long* wrong_count;

static AffineMap on_device(const Matrix& a, uint64_t offset) {
    AffineMap map{};
    map.bits = a.bits();
    map.offset = offset;
    std::copy(a.columns.begin(), a.columns.end(), map.columns);
    return map;
}

// The median of several times between two events, in milliseconds.
static float timed(const std::function<void()>& run, int samples) {
    cudaEvent_t before, after;
    CHECK(cudaEventCreate(&before));
    CHECK(cudaEventCreate(&after));
    std::vector<float> times(samples);
    for (float& time : times) {
        CHECK(cudaEventRecord(before));
        run();
        CHECK(cudaEventRecord(after));
        CHECK(cudaEventSynchronize(after));
        CHECK(cudaEventElapsedTime(&time, before, after));
    }
    CHECK(cudaEventDestroy(before));
    CHECK(cudaEventDestroy(after));
    std::sort(times.begin(), times.end());
    return times[samples / 2];
}

template <class Item>
struct Bench {
    const char* type;
    int bits;
    float copy = 0;

    size_t bytes() const { return sizeof(Item) << bits; }
    int samples() const { return bytes() < size_t(1) << 28 ? 101 : 9; }
    Item* source() const { return reinterpret_cast<Item*>(source_memory); }
    Item* out() const { return reinterpret_cast<Item*>(out_memory); }

    void start() {
        fill<<<4096, 256>>>(source(), uint64_t(1) << bits);
        copy = timed([&] { CHECK(cudaMemcpyAsync(out_memory, source_memory, bytes(), cudaMemcpyDeviceToDevice)); }, samples() + 6);
        print_row(type, bits, "-", "cudaMemcpy", copy, 1);
    }

    void contend(const char* matrix, const Matrix& a, uint64_t offset, const std::string& name, const std::function<void()>& run) {
        CHECK(cudaMemset(out_memory, 0xEE, bytes()));
        CHECK(cudaMemset(wrong_count, 0, 8));
        run();
        CHECK(cudaGetLastError());
        const Matrix undo = inverse(a);
        compare<<<4096, 256>>>(on_device(undo, undo.apply(offset)), out(), uint64_t(1) << bits, wrong_count);
        unsigned long long wrong;
        CHECK(cudaMemcpy(&wrong, wrong_count, 8, cudaMemcpyDeviceToHost));
        if (wrong != 0) {
            std::fprintf(stderr, "%s, %s, %s: %llu items are wrong\n", type, matrix, name.c_str(), wrong);
            std::exit(1);
        }
        const float time = timed(run, samples());
        print_row(type, bits, matrix, name, time, copy / time);
    }

    // Of items of COUNT words each.
    template <class S, class Word = Item, int COUNT = 1>
    std::function<void()> ours_of(const Matrix& a, uint64_t offset, Slots slots, Order order) const {
        constexpr bool GAPS = (COUNT & (COUNT - 1)) != 0;
        int more = 0, block_bits = S::TILES, step_bits = 0;
        while (1 << more < COUNT) ++more;
        const auto argument =
            tiles<Word, S::I, S::T, S::R>(widened(a, more), offset << more, slots, order, block_bits, step_bits);
        const bijective_shuffle::Row<GAPS> row{uint64_t(more), uint64_t(COUNT)};
        const auto kernel = ours<Word, S, GAPS>;
        const size_t shared = sizeof(Word) << S::TILE;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
        const unsigned grid = 1u << (step_bits - block_bits);
        return [=, source = source(), out = out()] {
            kernel<<<grid, 1 << S::T, shared>>>(argument, row, reinterpret_cast<const Word*>(source), reinterpret_cast<Word*>(out));
        };
    }

    // Of items of three short words each, in slots of four.
    template <class S, class Word>
    std::function<void()> ours_of_three(const Matrix& a, uint64_t offset) const {
        using Slot = typename bijective_shuffle::Triples<Word>::Slot;
        int block_bits = S::TILES, step_bits = 0;
        const auto argument = tiles<Slot, S::I, S::T, S::R>(a, offset, Slots::FREE, order_of(sizeof(Slot)), block_bits, step_bits);
        const auto kernel = ours_of_triples<Word, S>;
        const size_t shared = sizeof(Slot) << S::TILE;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
        const unsigned grid = 1u << (step_bits - block_bits);
        return [=, source = source(), out = out()] {
            kernel<<<grid, 1 << S::T, shared>>>(argument, reinterpret_cast<const Word*>(source), reinterpret_cast<Word*>(out));
        };
    }

    static constexpr Order order_of(size_t word) { return word == 2 || word == 4 ? Order::SOURCE : Order::BOTH; }

    template <class S, class Word = Item, int COUNT = 1>
    void ours_by(const char* matrix, const Matrix& a, uint64_t offset, const std::string& name, Slots slots = Slots::FREE,
                 Order order = order_of(sizeof(Word))) {
        contend(matrix, a, offset, name, ours_of<S, Word, COUNT>(a, offset, slots, order));
    }

    template <class S>
    void ours_once(const Matrix& a, uint64_t offset) const {
        ours_of<S>(a, offset, Slots::FREE, order_of(sizeof(Item)))();
    }

    using Case = std::pair<const char*, Matrix>;

    std::vector<Case> cases() const {
        random_state = bits;
        return {
            {"bit reversal", bit_permutation(places(bits, false))}, {"random BPC", bit_permutation(places(bits, true))},
            {"random BPC", bit_permutation(places(bits, true))},    {"random BMMC", random_matrix(bits)},
            {"random BMMC", random_matrix(bits)},
        };
    }

    template <class S, class Word = Item, int COUNT = 1>
    void all() {
        start();
        for (const auto& [name, a] : cases()) {
            const uint64_t offset = random_word() & low_mask(bits);
            ours_by<S, Word, COUNT>(name, a, offset, "ours");
            contend(name, a, offset, "item by item", [&, a = a] {
                item_by_item<<<2112, 256>>>(on_device(a, offset), reinterpret_cast<const Word*>(source()),
                                            reinterpret_cast<Word*>(out()), COUNT);
            });
        }
    }

    // Beside them, word by word in another shape.
    template <class S, class OfWords, class Word>
    void all_of_triples() {
        start();
        for (const auto& [name, a] : cases()) {
            const uint64_t offset = random_word() & low_mask(bits);
            contend(name, a, offset, "ours", ours_of_three<S, Word>(a, offset));
            ours_by<OfWords, Word, 3>(name, a, offset, "ours, word by word");
            contend(name, a, offset, "item by item", [&, a = a] {
                item_by_item<<<2112, 256>>>(on_device(a, offset), reinterpret_cast<const Word*>(source()),
                                            reinterpret_cast<Word*>(out()), 3);
            });
        }
    }

    template <class S>
    static std::string described() {
        return "ours: tiles of 2^" + std::to_string(S::TILE) + " - " + std::to_string(1 << S::T) + " threads - " +
               std::to_string(1 << S::TILES) + " tiles a block - " + std::to_string(S::BLOCKS) + " blocks";
    }

    // The shapes that those for items of three words were chosen from.
    template <class Word, class... S>
    void sweep_of_triples() {
        start();
        for (const auto& [name, a] : cases()) (contend(name, a, 0, described<S>(), ours_of_three<S, Word>(a, 0)), ...);
    }

    template <class S>
    void shape(const char* matrix, const Matrix& a) {
        const std::string name = described<S>();
        ours_by<S>(matrix, a, 0, name, Slots::FREE, Order::BOTH);
        ours_by<S>(matrix, a, 0, name + " - in the order of the source", Slots::FREE, Order::SOURCE);
    }

    // The shapes that `tuning::affine` was chosen from.
    template <class... S>
    void sweep() {
        start();
        for (const auto& [name, a] : cases()) (shape<S>(name, a), ...);
    }
};

template <class Item>
struct PaperRun {
    const char* name;
    std::function<void(const Item*, Item*, Item*)> run;
};

template <class Item>
struct PaperCase {
    const char* matrix;
    const uint64_t* columns;
    std::vector<PaperRun<Item>> runs;
};

#include "paper_kernels.inc"

// The paper's kernels beside ours, for matrices without an offset.
template <class Item, class S>
static void beside_the_paper(Bench<Item>& bench, const std::vector<PaperCase<Item>>& cases) {
    for (const auto& one : cases) {
        const Matrix a{Vectors(one.columns, one.columns + bench.bits)};
        for (const auto& run : one.runs) {
            bench.contend(one.matrix, a, 0, run.name,
                          [&] { run.run(bench.source(), bench.out(), reinterpret_cast<Item*>(between_memory)); });
        }
        bench.template ours_by<S>(one.matrix, a, 0, "ours, beside the paper");
        bench.template ours_by<S>(one.matrix, a, 0, "ours with conflicts of banks", Slots::TARGET);
    }
}

template <class Item, class S>
static void beside_the_paper(const char* type, int bits, const std::vector<PaperCase<Item>>& cases) {
    Bench<Item> bench{type, bits};
    bench.start();
    beside_the_paper<Item, S>(bench, cases);
}

// The shapes for large arrays in src/cuda/affine/tuning.rs.
using One = Shape<4, 9, 3, 0, 2>;
using Two = Shape<3, 8, 3, 0, 4>;
using Four = Shape<2, 8, 2, 0, 6>;
using Eight = Shape<1, 9, 2, 2, 2>;
using Sixteen = Shape<0, 8, 2, 0, 4>;
using Words = Shape<0, 8, 4, 2, 4>;
using Shorts = Shape<0, 10, 4, 2, 1>;
using ThreeBytes = Shape<2, 9, 3, 2, 2>;
using SixBytes = Shape<2, 8, 2, 0, 4>;

#include "figures.h"

static void sweep() {
    Bench<uint8_t>{"1 byte", 32}.sweep<One, Shape<4, 9, 3, 2, 2>, Shape<4, 8, 2, 0, 4>, Shape<4, 8, 2, 2, 4>>();
    Bench<uint16_t>{"2 bytes", 31}.sweep<Two, Shape<3, 8, 3, 2, 4>, Shape<3, 9, 2, 0, 3>, Shape<3, 9, 3, 0, 2>>();
    Bench<uint32_t>{"4 bytes", 30}.sweep<Four, Shape<2, 8, 2, 2, 4>, Shape<2, 9, 1, 2, 4>, Shape<2, 9, 3, 0, 2>>();
    Bench<uint64_t>{"8 bytes", 29}.sweep<Eight, Shape<1, 8, 3, 0, 4>, Shape<1, 10, 1, 2, 2>, Shape<1, 8, 1, 2, 8>>();
    Bench<Item16>{"16 bytes", 28}.sweep<Sixteen, Shape<0, 8, 2, 2, 6>, Shape<0, 9, 1, 2, 4>, Shape<0, 9, 3, 2, 2>>();
    // Arrays of 64 MiB.
    Bench<uint32_t>{"4 bytes", 24}.sweep<Four, Shape<2, 8, 2, 0, 4>, Shape<2, 8, 2, 2, 4>>();
    Bench<uint64_t>{"8 bytes", 23}.sweep<Eight, Shape<1, 9, 2, 0, 2>, Shape<1, 8, 3, 0, 4>, Shape<1, 8, 1, 2, 8>>();
}

static void sweep_of_triples() {
    Bench<Several<uint8_t, 3>>{"3 bytes", 30}
        .sweep_of_triples<uint8_t, Shape<2, 8, 2, 0, 6>, Shape<2, 8, 2, 2, 6>, Shape<2, 9, 3, 0, 2>, Shape<2, 9, 3, 2, 2>,
                          Shape<2, 9, 1, 0, 4>, Shape<2, 8, 2, 0, 4>, Shape<2, 10, 2, 0, 2>>();
    Bench<Several<uint16_t, 3>>{"6 bytes", 29}
        .sweep_of_triples<uint16_t, Shape<2, 8, 2, 0, 4>, Shape<2, 8, 2, 2, 4>, Shape<2, 9, 1, 0, 3>, Shape<2, 9, 1, 2, 3>,
                          Shape<2, 8, 0, 2, 8>, Shape<2, 10, 2, 0, 1>>();
}

int main(int count, char** arguments) {
    for (char** memory : {&source_memory, &out_memory, &between_memory}) CHECK(cudaMalloc(memory, size_t(1) << 32));
    CHECK(cudaMalloc(&wrong_count, 8));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    const std::string what = count > 1 ? arguments[1] : "";
    if (what == "profile") return profiled(), 0;
    try {
        origin = std::make_unique<peers::Origin>(device.name);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    const int version = CUDART_VERSION;
    std::printf("# $ gpu-affine%s\n# CUDA %d.%d\n", what.empty() ? "" : (" " + what).c_str(), version / 1000, version % 1000 / 10);
    std::printf("# milliseconds: of one launch, median of nine, or of 101 with arrays below 256 MiB\n");
    if (what == "figures") std::printf("# %.2f population counts a clock by one multiprocessor\n", counts_a_clock());
    peers::Origin::print_head("item,length,matrix,kernel,milliseconds,part_of_copy");
    if (what == "figures") return figures(), 0;
    if (what == "shapes") return sweep(), 0;
    if (what == "triple-shapes") return sweep_of_triples(), 0;
    // 4 GiB of each kind of item, or 3.
    Bench<uint8_t>{"1 byte", 32}.all<One>();
    Bench<uint16_t>{"2 bytes", 31}.all<Two>();
    Bench<uint32_t>{"4 bytes", 30}.all<Four>();
    Bench<uint64_t>{"8 bytes", 29}.all<Eight>();
    Bench<Item16>{"16 bytes", 28}.all<Sixteen>();
    Bench<Several<uint8_t, 3>>{"3 bytes", 30}.all_of_triples<ThreeBytes, Shorts, uint8_t>();
    Bench<Several<uint16_t, 3>>{"6 bytes", 29}.all_of_triples<SixBytes, Shorts, uint16_t>();
    Bench<Several<uint32_t, 3>>{"12 bytes", 28}.all<Words, uint32_t, 3>();
    Bench<Several<uint64_t, 3>>{"24 bytes", 27}.all<Words, uint64_t, 3>();
    beside_the_paper<uint32_t, Four>("4 bytes", 30, paper_cases_30<uint32_t>());
    beside_the_paper<uint64_t, Eight>("8 bytes", 29, paper_cases_29<uint64_t>());
    beside_the_paper<uint32_t, Four>("4 bytes", 24, paper_cases_24<uint32_t>());
}
