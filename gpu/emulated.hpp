// Emulates CUDA's threads in plain C++, as far as the kernels that are tested without a GPU need
// them. Blocks run one after the other. The threads of a block take turns: each runs until it has
// to wait for others of its warp or its block. It precedes the prelude.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#if defined(__linux__)
#include <csetjmp>
#include <sys/mman.h>
#include <ucontext.h>
// All threads of a block are one thread of the system, each with a stack of its own. A change from
// one to the next takes nanoseconds, and there is one at every shuffle.
#define OF_EACH_THREAD static
#else
#include <condition_variable>
#include <mutex>
#include <thread>
// Each thread of a block is a thread of the system.
#define OF_EACH_THREAD static thread_local
#endif

struct Place {
    unsigned x, y;
};
OF_EACH_THREAD Place threadIdx, blockIdx;
static Place gridDim, blockDim;

struct uint4 {
    unsigned x, y, z, w;
};
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct ulonglong2 {
    unsigned long long x, y;
};

template <class T>
T __ldg(const T* place) {
    return *place;
}

template <class T>
void __stcs(T* place, T value) {
    // A store needs an address that is a multiple of its size.
    if (reinterpret_cast<std::uintptr_t>(place) % sizeof(T) != 0) std::abort();
    *place = value;
}

// Blocks run one after the other, so shared memory can be static.
#define __shared__ static

struct Warp;
OF_EACH_THREAD Warp* my_warp;

#if defined(__linux__)
// A thread of a block, while others run.
struct Paused {
    ucontext_t start;
    std::jmp_buf at;
    bool has_begun, has_ended;
};
static std::vector<Paused> paused;
static std::jmp_buf all_have_ended;
static const std::function<void(unsigned)>* body_of_all;
static Warp* (*warp_of)(unsigned thread);

// Runs the next thread that has not ended. The contexts of the C library would make a system call
// at every change, so they only begin a thread.
[[noreturn]] inline void resume_another() {
    const unsigned threads = unsigned(paused.size());
    for (unsigned by = 1; by <= threads; ++by) {
        const unsigned next = (threadIdx.x + by) % threads;
        if (paused[next].has_ended) continue;
        threadIdx = {next, 0};
        my_warp = warp_of(next);
        if (paused[next].has_begun) _longjmp(paused[next].at, 1);
        paused[next].has_begun = true;
        setcontext(&paused[next].start);
    }
    _longjmp(all_have_ended, 1);
}

inline void run_to_the_end() {
    (*body_of_all)(threadIdx.x);
    paused[threadIdx.x].has_ended = true;
    resume_another();
}

// Calls a function for each thread of a block; they take turns.
inline void run_together(unsigned threads, Warp* (*warp)(unsigned), const std::function<void(unsigned)>& body) {
    constexpr std::size_t STACK = 256 << 10;
    static std::vector<void*> stacks;
    while (stacks.size() < threads) {
        const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        stacks.push_back(mmap(nullptr, STACK, PROT_READ | PROT_WRITE, flags, -1, 0));
        if (stacks.back() == MAP_FAILED) std::abort();
    }
    paused.assign(threads, Paused());
    body_of_all = &body;
    warp_of = warp;
    for (unsigned t = 0; t < threads; ++t) {
        if (getcontext(&paused[t].start) != 0) std::abort();
        paused[t].start.uc_stack.ss_sp = stacks[t];
        paused[t].start.uc_stack.ss_size = STACK;
        makecontext(&paused[t].start, run_to_the_end, 0);
    }
    threadIdx = {threads - 1, 0};
    if (_setjmp(all_have_ended) == 0) resume_another();
}

class Barrier {
public:
    explicit Barrier(unsigned threads) : threads(threads), waiting(0), round(0) {}

    void wait() {
        if (++waiting == threads) {
            waiting = 0;
            ++round;
            return;
        }
        const unsigned long mine = round;
        while (round == mine) {
            if (_setjmp(paused[threadIdx.x].at) == 0) resume_another();
        }
    }

private:
    const unsigned threads;
    unsigned waiting;
    // Another thread changes it in the middle of a loop.
    volatile unsigned long round;
};
#else
// Calls a function for each thread of a block, all at the same time.
inline void run_together(unsigned threads, Warp* (*warp)(unsigned), const std::function<void(unsigned)>& body) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            threadIdx = {t, 0};
            my_warp = warp(t);
            body(t);
        });
    }
    for (std::thread& thread : all) thread.join();
}

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
#endif

struct Warp {
    Barrier barrier{32};
    unsigned words[32] = {};
};

static std::vector<Warp>* all_warps;
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
// The thread's own word if there is no such thread.
inline unsigned shuffled(unsigned word, int by) {
    const int lane = int(threadIdx.x % 32), from = lane + by;
    return __shfl_sync(0, word, unsigned(from < 0 || from > 31 ? lane : from));
}
inline unsigned __shfl_down_sync(unsigned, unsigned word, unsigned by) { return shuffled(word, int(by)); }
inline unsigned __shfl_up_sync(unsigned, unsigned word, unsigned by) { return shuffled(word, -int(by)); }

template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned with) {
    static_assert(sizeof(T) <= 8, "two words");
    const unsigned long long all = value;
    const unsigned from = threadIdx.x % 32 ^ with;
    const unsigned low = __shfl_sync(0, unsigned(all), from), high = __shfl_sync(0, unsigned(all >> 32), from);
    return T(static_cast<unsigned long long>(high) << 32 | low);
}

// A bit for each thread of the warp: whether its predicate holds. All threads take part.
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

inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __clzll(long long word) { return word == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(word)); }

inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
inline unsigned atomicAdd(unsigned* word, unsigned by) { return __atomic_fetch_add(word, by, __ATOMIC_RELAXED); }
inline unsigned atomicOr(unsigned* word, unsigned bits) { return __atomic_fetch_or(word, bits, __ATOMIC_RELAXED); }
inline unsigned atomicMax(unsigned* word, unsigned value) {
    unsigned old = *word;
    while (old < value && !__atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
    return old;
}
inline unsigned atomicExch(unsigned* word, unsigned value) {
    return __atomic_exchange_n(word, value, __ATOMIC_RELAXED);
}

// Nothing promises an order of blocks, so a test may turn it round.
static bool blocks_run_backwards = false;

// Runs a kernel. Threads that never wait for each other run one after the other.
inline void launch(unsigned grid, unsigned rows, unsigned block, bool together, const std::function<void()>& kernel) {
    gridDim = {grid, rows};
    blockDim = {block, 1};
    const auto each_block = [&](const std::function<void()>& then) {
        for (unsigned row = 0; row < rows; ++row) {
            for (unsigned b = 0; b < grid; ++b) {
                blockIdx = {blocks_run_backwards ? grid - 1 - b : b, row};
                then();
            }
        }
    };
    if (!together) {
        each_block([&] {
            for (unsigned t = 0; t < block; ++t) {
                threadIdx = {t, 0};
                kernel();
            }
        });
        return;
    }
    Barrier barrier(block);
    my_block = &barrier;
    std::vector<Warp> warps((block + 31) / 32);
    all_warps = &warps;
    run_together(block, [](unsigned t) { return &(*all_warps)[t / 32]; }, [&](unsigned) {
        each_block([&] {
            kernel();
            // Shared memory is the next block's from here on.
            barrier.wait();
        });
    });
}
inline void launch(unsigned grid, unsigned block, bool together, const std::function<void()>& kernel) {
    launch(grid, 1, block, together, kernel);
}
