// The shaders of crates/wgsl, of which GLSL, HLSL and the language of Metal are close enough to C++
// to be compiled as such: their values are those of walk32, whose bytes they take.
#include <bijective_walk.hpp>
#include <cstdio>
#include <cstring>

using uint = unsigned;

struct words4 {
    uint x, y, z, w;
    words4(uint x_, uint y_, uint z_, uint w_) : x(x_), y(y_), z(z_), w(w_) {}
    words4() : words4(0, 0, 0, 0) {}
};

namespace metal {
using ::uint;
using uint4 = words4;
}

namespace as_glsl {
using uvec4 = words4;
#include "walk.glsl"
}
namespace as_hlsl {
using uint4 = words4;
#include "walk.hlsl"
}
namespace as_metal {
// Its headers, <metal_stdlib> and <simd/simd.h>, are empty here.
#include "walk.metal"
}

template <class Struct, class Function>
static bool same(std::uint64_t n, const bijective_shuffle::walk32 &p, Function item, Function place) {
    Struct order;
    static_assert(sizeof order == sizeof p, "a walk32 fills the struct");
    std::memcpy(static_cast<void *>(&order), &p, sizeof p);
    for (std::uint64_t k = 0; k < 1000; k++) {
        const uint i = uint((n - 1) * k / 999);
        if (item(i, order) != p(i) || place(p(i), order) != i) {
            return false;
        }
    }
    return true;
}

int main() {
    unsigned lengths = 0;
    const auto check = [&](std::uint64_t n) {
        const bijective_shuffle::walk32 p(n, n * 77, n % 3);
        lengths++;
        return same<as_glsl::BsWalk>(n, p, as_glsl::bs_walk, as_glsl::bs_walk_inverse) &&
               same<as_hlsl::BsWalk>(n, p, as_hlsl::bs_walk, as_hlsl::bs_walk_inverse) &&
               same<as_metal::BsWalk>(n, p, as_metal::bs_walk, as_metal::bs_walk_inverse);
    };
    bool right = true;
    for (std::uint64_t n = 257; n <= 1000; n++) right = right && check(n);
    for (int bits = 10; bits <= 32; bits++) {
        const std::uint64_t power = std::uint64_t{1} << bits;
        right = right && check(power - 1) && check(power) && (bits == 32 || check(power + 1));
    }
    std::printf("shaders of %u lengths are %s\n", lengths, right ? "right" : "wrong");
    return right ? 0 : 1;
}
