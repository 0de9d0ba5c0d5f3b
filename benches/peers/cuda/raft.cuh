// The shuffle of RAFT, which is compiled only where its headers are: see README.md.
#pragma once

#include <raft/random/permute.cuh>

#include <limits>
#include <stdexcept>

#include "shuffles.cuh"

namespace peers {

// The items are a matrix of one column, which makes no difference to rows and columns but to the
// kernel: by columns each thread has an item, by rows each warp.
template <class T>
class RaftPermute : public Shuffle<T> {
public:
    explicit RaftPermute(Scene<T> &scene) : Shuffle<T>(scene) {
        // Threads are numbered by an int, whatever the type of the indexes.
        if (scene.length > std::size_t(std::numeric_limits<int>::max())) {
            throw std::length_error("RAFT permutes fewer than 2^31 items");
        }
    }

    void run(int) override {
        const Scene<T> &scene = this->scene;
        int *no_indexes = nullptr;
        raft::random::permute(no_indexes, scene.out.data(), static_cast<const T *>(scene.source.data()), 1,
                              int(scene.length), false, scene.stream.get(), ++calls_);
    }

private:
    // Another seed for each call, so that no shuffle does the same twice.
    std::uint64_t calls_ = 0;
};

} // namespace peers
