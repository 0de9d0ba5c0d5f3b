// What the tests of the C++ header share.
#ifndef CHECK_HPP
#define CHECK_HPP

#include "bijective_shuffle.hpp"

#include <cstring>
#if defined(__cpp_lib_ranges)
#include <ranges>
#endif

#include "check.h"

// Clang 14 and 15 do not compile the views of libstdc++ 12.
#if defined(__cpp_lib_ranges) && !(defined(__clang__) && __clang_major__ < 16)
#define HAS_VIEWS
#endif

namespace bs = bijective_shuffle;

template <class Call>
static void fails(bs_status status, const char *words, Call call) {
    try {
        call();
    } catch (const bs::error &error) {
        CHECK(error.status() == status && std::strstr(error.what(), words));
        return;
    }
    CHECK(false);
}

#endif
