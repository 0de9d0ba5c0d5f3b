// What figures 9 to 11 of Bouverot-Dupuis and Sheeran compare, over lengths, as rows; and the
// kernels once each, for a profiler.
#pragma once

// A thread an item: the copy that the paper divides by.
template <class Item>
__global__ void copied(const Item* source, Item* out) {
    const size_t k = blockIdx.x * size_t(blockDim.x) + threadIdx.x;
    out[k] = source[k];
}

template <class Item>
static void copy_by_kernel(const Bench<Item>& bench) {
    copied<<<1u << (bench.bits - 10), 1024>>>(bench.source(), bench.out());
}

// Population counts that one multiprocessor makes in a clock, with nothing else to do.
static constexpr int CHAINS = 8, COUNTS = 512;

__global__ void count_bits(unsigned more, long long* clocks, unsigned* sum) {
    unsigned x[CHAINS];
    for (int k = 0; k < CHAINS; ++k) x[k] = (threadIdx.x + k) * more;
    __syncthreads();
    const long long start = clock64();
#pragma unroll 4
    for (int i = 0; i < COUNTS; ++i) {
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) x[k] = __popc(x[k]) ^ more;
    }
    __syncthreads();
    if (threadIdx.x == 0) *clocks = clock64() - start;
    for (int k = 1; k < CHAINS; ++k) x[0] ^= x[k];
    sum[threadIdx.x] = x[0];
}

static double counts_a_clock() {
    constexpr int THREADS = 1024;
    long long* clocks = reinterpret_cast<long long*>(out_memory);
    unsigned* sum = reinterpret_cast<unsigned*>(source_memory);
    for (int run = 0; run < 2; ++run) count_bits<<<1, THREADS>>>(0x9e3779b9, clocks, sum);
    CHECK(cudaGetLastError());
    long long passed;
    CHECK(cudaMemcpy(&passed, clocks, sizeof passed, cudaMemcpyDeviceToHost));
    return double(THREADS) * CHAINS * COUNTS / double(passed);
}

// The cases of a width: all kernels of 2^30 items, of others those that figure 11 compares.
static std::vector<PaperCase<uint32_t>> figure_cases(int bits) {
    switch (bits) {
        case 20: return swept_cases_20<uint32_t>();
        case 21: return swept_cases_21<uint32_t>();
        case 22: return swept_cases_22<uint32_t>();
        case 23: return swept_cases_23<uint32_t>();
        case 24: return swept_cases_24<uint32_t>();
        case 25: return swept_cases_25<uint32_t>();
        case 26: return swept_cases_26<uint32_t>();
        case 27: return swept_cases_27<uint32_t>();
        case 28: return swept_cases_28<uint32_t>();
        case 29: return swept_cases_29<uint32_t>();
        default: return paper_cases_30<uint32_t>();
    }
}

static void figures() {
    for (int bits = 20; bits <= 30; ++bits) {
        Bench<uint32_t> bench{"4 bytes", bits};
        bench.start();
        Matrix same;
        for (int j = 0; j < bits; ++j) same.columns.push_back(uint64_t(1) << j);
        bench.contend("-", same, 0, "paper: copy", [&] { copy_by_kernel(bench); });
        beside_the_paper<uint32_t, Four>(bench, figure_cases(bits));
    }
}

// Each kernel of bit reversal and of a random BMMC once. Their results are not looked at.
static void profiled() {
    Bench<uint32_t> bench{"4 bytes", 30};
    fill<<<4096, 256>>>(bench.source(), uint64_t(1) << bench.bits);
    copy_by_kernel(bench);
    const auto cases = paper_cases_30<uint32_t>();
    for (const char* name : {"bit reversal", "random BMMC"}) {
        const auto found = std::find_if(cases.begin(), cases.end(), [&](const auto& one) { return one.matrix == std::string(name); });
        for (const auto& run : found->runs) {
            if (std::string(run.name).find("naive") != std::string::npos) continue;
            run.run(bench.source(), bench.out(), reinterpret_cast<uint32_t*>(between_memory));
        }
        const Matrix a{Vectors(found->columns, found->columns + bench.bits)};
        bench.ours_once<Four>(a, 0);
    }
    CHECK(cudaDeviceSynchronize());
}
