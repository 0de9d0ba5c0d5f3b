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
    Item* source() const { return reinterpret_cast<Item*>(source_memory); }
    Item* out() const { return reinterpret_cast<Item*>(out_memory); }

    void start() {
        fill<<<4096, 256>>>(source(), uint64_t(1) << bits);
        copy = timed([&] { CHECK(cudaMemcpyAsync(out_memory, source_memory, bytes(), cudaMemcpyDeviceToDevice)); }, 15);
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
        const float time = timed(run, 9);
        print_row(type, bits, matrix, name, time, copy / time);
    }

    // Of items of COUNT words each.
    template <class S, class Word = Item, int COUNT = 1>
    std::function<void()> ours_of(const Matrix& a, uint64_t offset) const {
        constexpr bool GAPS = (COUNT & (COUNT - 1)) != 0;
        int more = 0, block_bits = S::TILES, step_bits = 0;
        while (1 << more < COUNT) ++more;
        const auto argument = tiles<Word, S::I, S::T, S::R>(widened(a, more), offset << more, block_bits, step_bits);
        const bijective_shuffle::Row<GAPS> row{uint64_t(more), uint64_t(COUNT)};
        const auto kernel = ours<Word, S, GAPS>;
        const size_t shared = sizeof(Word) << S::TILE;
        CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
        const unsigned grid = 1u << (step_bits - block_bits);
        return [=, source = source(), out = out()] {
            kernel<<<grid, 1 << S::T, shared>>>(argument, row, reinterpret_cast<const Word*>(source), reinterpret_cast<Word*>(out));
        };
    }

    template <class S, class Word = Item, int COUNT = 1>
    void ours_by(const char* matrix, const Matrix& a, uint64_t offset, const std::string& name) {
        contend(matrix, a, offset, name, ours_of<S, Word, COUNT>(a, offset));
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

};

template <class Item>
struct PaperRun {
    const char* name;
    std::function<void(const Item*, Item*, Item*)> run;
};

template <class Item>
struct PaperCase {
    const uint64_t* columns;
    std::vector<PaperRun<Item>> runs;
};

#include "paper_kernels.inc"

// The shapes for large arrays in src/cuda/affine/tuning.rs.
using One = Shape<4, 9, 3, 0, 2>;
using Four = Shape<2, 8, 2, 0, 6>;
using Eight = Shape<1, 9, 2, 2, 2>;
using Sixteen = Shape<0, 8, 2, 0, 4>;
using Words = Shape<0, 8, 4, 2, 4>;

// The paper's kernels beside ours, for matrices without an offset.
static void beside_the_paper() {
    Bench<uint32_t> bench{"4 bytes", 30};
    bench.start();
    for (const auto& one : paper_cases_30<uint32_t>()) {
        const Matrix a{Vectors(one.columns, one.columns + bench.bits)};
        for (const auto& run : one.runs) {
            bench.contend("random BMMC", a, 0, run.name,
                          [&] { run.run(bench.source(), bench.out(), reinterpret_cast<uint32_t*>(between_memory)); });
        }
        bench.ours_by<Four>("random BMMC", a, 0, "ours, beside the paper");
    }
}

int main() {
    for (char** memory : {&source_memory, &out_memory, &between_memory}) CHECK(cudaMalloc(memory, size_t(1) << 32));
    CHECK(cudaMalloc(&wrong_count, 8));
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    try {
        origin = std::make_unique<peers::Origin>(device.name);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    const int version = CUDART_VERSION;
    std::printf("# $ gpu-affine\n# CUDA %d.%d\n", version / 1000, version % 1000 / 10);
    std::printf("# milliseconds: of one launch, median of nine\n");
    peers::Origin::print_head("item,length,matrix,kernel,milliseconds,part_of_copy");
    // 4 GiB of each kind of item, or 3.
    Bench<uint8_t>{"1 byte", 32}.all<One>();
    Bench<uint32_t>{"4 bytes", 30}.all<Four>();
    Bench<uint64_t>{"8 bytes", 29}.all<Eight>();
    Bench<Item16>{"16 bytes", 28}.all<Sixteen>();
    Bench<Several<uint32_t, 3>>{"12 bytes", 28}.all<Words, uint32_t, 3>();
    beside_the_paper();
}
