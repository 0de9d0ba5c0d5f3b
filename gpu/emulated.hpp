// CUDA's threads in plain C++, as far as kernels that are tested without a GPU use them: blocks one
// after another, each with a thread of the system for every thread, and barriers where those of a
// warp or a block wait for each other. It stands before the prelude.
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

struct Place {
    unsigned x;
};
static thread_local Place threadIdx, blockIdx;
static Place gridDim;

struct uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

template <class T>
void __stcs(T* place, T value) {
    // A store wants an address that is a multiple of its size.
    if (reinterpret_cast<std::uintptr_t>(place) % sizeof(T) != 0) std::abort();
    *place = value;
}

// Blocks run one after another, so what they share may be static.
#define __shared__ static

class Barrier {
public:
    explicit Barrier(unsigned threads) : threads(threads), waiting(0), round(0) {}

    void wait() {
        std::unique_lock<std::mutex> lock(mutex);
        if (++waiting == threads) {
            waiting = 0;
            ++round;
            all.notify_all();
        } else {
            const unsigned long mine = round;
            all.wait(lock, [&] { return round != mine; });
        }
    }

private:
    std::mutex mutex;
    std::condition_variable all;
    const unsigned threads;
    unsigned waiting;
    unsigned long round;
};

struct Warp {
    Barrier barrier{32};
    unsigned words[32] = {};
};

static thread_local Warp* my_warp;
static Barrier* my_block;

inline void __syncthreads() { my_block->wait(); }
inline void __syncwarp() { my_warp->barrier.wait(); }

// The word of another thread of the warp.
inline unsigned __shfl_sync(unsigned, unsigned word, unsigned from) {
    my_warp->words[threadIdx.x % 32] = word;
    my_warp->barrier.wait();
    const unsigned other = my_warp->words[from % 32];
    my_warp->barrier.wait();
    return other;
}
// One's own where there is none.
inline unsigned shuffled(unsigned word, int by) {
    const int lane = int(threadIdx.x % 32), from = lane + by;
    return __shfl_sync(0, word, unsigned(from < 0 || from > 31 ? lane : from));
}
inline unsigned __shfl_down_sync(unsigned, unsigned word, unsigned by) { return shuffled(word, int(by)); }
inline unsigned __shfl_up_sync(unsigned, unsigned word, unsigned by) { return shuffled(word, -int(by)); }

// Which threads of the warp say so, all of which are asked.
inline unsigned __ballot_sync(unsigned, bool says) {
    my_warp->words[threadIdx.x % 32] = says;
    my_warp->barrier.wait();
    unsigned all = 0;
    for (unsigned lane = 0; lane < 32; ++lane) all |= my_warp->words[lane] << lane;
    my_warp->barrier.wait();
    return all;
}
inline int __popc(unsigned word) {
    int count = 0;
    for (; word != 0; word &= word - 1) ++count;
    return count;
}

// Runs a kernel. Threads that do not wait for each other run one after another.
inline void launch(unsigned grid, unsigned block, bool together, const std::function<void()>& kernel) {
    gridDim.x = grid;
    for (unsigned b = 0; b < grid; ++b) {
        if (!together) {
            blockIdx.x = b;
            for (unsigned t = 0; t < block; ++t) {
                threadIdx.x = t;
                kernel();
            }
            continue;
        }
        Barrier barrier(block);
        my_block = &barrier;
        std::vector<Warp> warps((block + 31) / 32);
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < block; ++t) {
            threads.emplace_back([&, t] {
                blockIdx.x = b;
                threadIdx.x = t;
                my_warp = &warps[t / 32];
                kernel();
            });
        }
        for (std::thread& thread : threads) thread.join();
    }
}
