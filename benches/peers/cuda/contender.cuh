// What is measured, and how.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "device.cuh"

namespace peers {

// Something that is measured. Whatever it needs besides the items, it allocates when it is made.
class Contender {
public:
    virtual ~Contender() = default;

    // In how many forms it exists that do the same. The fastest counts, at each length.
    virtual int forms() const { return 1; }

    // Does the work once, or puts it on the stream.
    virtual void run(int form) = 0;

    // Makes the result of the last call a wrong one, so that it is seen if the next call does
    // nothing.
    virtual void poison() = 0;

    // Whether the result of the last call is right.
    virtual bool is_right() = 0;
};

struct Effort {
    // How many samples the median is taken of.
    int repeats = 15;
};

// A sample of short calls takes this long, or MOST_CALLS calls.
constexpr double SAMPLE = 2e-3;
constexpr int MOST_CALLS = 1000;

// Between two events: the calls follow each other as in a program that has nothing else to do, so
// the time of one holds its launches so far as the device does not hide them behind the work of the
// call before.
inline double sample(Contender &contender, const Stream &stream, int form, int calls) {
    const Event begin;
    const Event end;
    begin.record(stream);
    for (int call = 0; call < calls; call++) {
        contender.run(form);
    }
    end.record(stream);
    return end.seconds_since(begin) / calls;
}

inline double median(Contender &contender, const Stream &stream, int form, const Effort &effort) {
    // This call warms up, and its time is a first guess; of short calls it is mostly the launch, so
    // there is a second.
    int calls = 1;
    for (int guess = 0; guess < 2; guess++) {
        const double seconds = sample(contender, stream, form, calls);
        calls = int(std::clamp(SAMPLE / std::max(seconds, 1e-9), 1.0, double(MOST_CALLS)));
    }
    std::vector<double> seconds(effort.repeats);
    for (double &one : seconds) {
        one = sample(contender, stream, form, calls);
    }
    std::sort(seconds.begin(), seconds.end());
    const std::size_t half = seconds.size() / 2;
    return seconds.size() % 2 == 1 ? seconds[half] : (seconds[half - 1] + seconds[half]) / 2;
}

// The median of the seconds that a call takes, after its result was checked.
inline double measure(Contender &contender, const Stream &stream, const Effort &effort) {
    int best = 0;
    double least = 0;
    for (int form = 0; form < contender.forms(); form++) {
        contender.poison();
        contender.run(form);
        stream.wait();
        if (!contender.is_right()) {
            throw std::runtime_error("the result is wrong, of form " + std::to_string(form));
        }
        if (contender.forms() > 1) {
            const double seconds = median(contender, stream, form, Effort{3});
            if (form == 0 || seconds < least) {
                best = form;
                least = seconds;
            }
        }
    }
    const double seconds = median(contender, stream, best, effort);
    if (!contender.is_right()) {
        throw std::runtime_error("the result is wrong after many calls in a row");
    }
    return seconds;
}

} // namespace peers
