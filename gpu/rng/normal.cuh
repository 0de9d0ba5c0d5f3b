// Pairs of normal numbers by the method of Box and Muller, with the same bits as
// crates/rng/src/normal.rs, which gives the source of the coefficients.
#ifndef BIJECTIVE_SHUFFLE_NORMAL
#define BIJECTIVE_SHUFFLE_NORMAL

namespace bijective_shuffle {

// Conversions between a number and its bits.
__device__ __forceinline__ uint32_t to_bits(uint32_t a) { return a; }
__device__ __forceinline__ uint64_t to_bits(uint64_t a) { return a; }
#if defined(__CUDACC__)
__device__ __forceinline__ uint32_t to_bits(float a) { return __float_as_uint(a); }
__device__ __forceinline__ uint64_t to_bits(double a) { return uint64_t(__double_as_longlong(a)); }
__device__ __forceinline__ float from_bits(uint32_t a) { return __uint_as_float(a); }
__device__ __forceinline__ double from_bits(uint64_t a) { return __longlong_as_double((long long)a); }
#else
template <class To, class From> inline To with_bits_of(From a) {
    To b;
    static_assert(sizeof a == sizeof b, "as many bits");
    __builtin_memcpy(&b, &a, sizeof a);
    return b;
}
inline uint32_t to_bits(float a) { return with_bits_of<uint32_t>(a); }
inline uint64_t to_bits(double a) { return with_bits_of<uint64_t>(a); }
inline float from_bits(uint32_t a) { return with_bits_of<float>(a); }
inline double from_bits(uint64_t a) { return with_bits_of<double>(a); }
#endif

// Operations that are rounded one by one. Otherwise a device compiler fuses a multiplication and an
// addition into one operation where it can. A plain C++ compiler must be told not to.
namespace rounded {

#if defined(__CUDACC__)
__device__ __forceinline__ float add(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ float sub(float a, float b) { return __fsub_rn(a, b); }
__device__ __forceinline__ float mul(float a, float b) { return __fmul_rn(a, b); }
// a * power + b, where `power` is a power of two: the product is exact, so this is rounded once.
__device__ __forceinline__ float add_scaled(float a, float power, float b) { return __fmaf_rn(a, power, b); }
// The quotient and the root by the device's approximations and one step of Newton's method, with
// the rounding corrected by the remainder (Markstein, 1990). Where results, remainders and
// reciprocals are normal numbers these are the bits of the intrinsics, which have a branch for all
// others: that takes instructions, and keeps a thread's numbers from being made side by side.
// tests/gpu/fill.rs compares every quotient and every root that a normal number can need.
__device__ __forceinline__ float div(float a, float b) {
    float inverse;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(b));
    inverse = __fmaf_rn(inverse, __fmaf_rn(-b, inverse, 1.0f), inverse);
    const float quotient = __fmul_rn(a, inverse);
    return __fmaf_rn(__fmaf_rn(-b, quotient, a), inverse, quotient);
}
__device__ __forceinline__ float root(float a) {
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(a));
    const float root = __fmul_rn(a, inverse);
    const float rounded = __fmaf_rn(__fmaf_rn(-root, root, a), __fmul_rn(0.5f, inverse), root);
    // The approximation has no root of 0.
    return a == 0.0f ? a : rounded;
}
__device__ __forceinline__ double add(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ double sub(double a, double b) { return __dsub_rn(a, b); }
__device__ __forceinline__ double mul(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ double div(double a, double b) { return __ddiv_rn(a, b); }
__device__ __forceinline__ double root(double a) { return __dsqrt_rn(a); }
#else
template <class T> inline T add(T a, T b) { return a + b; }
template <class T> inline T sub(T a, T b) { return a - b; }
template <class T> inline T mul(T a, T b) { return a * b; }
template <class T> inline T div(T a, T b) { return a / b; }
inline float add_scaled(float a, float power, float b) { return a * power + b; }
inline float root(float a) { return __builtin_sqrtf(a); }
inline double root(double a) { return __builtin_sqrt(a); }
#endif

// A polynomial by Horner's rule, the lowest coefficient first.
template <class T>
__device__ __forceinline__ T polynomial(T, T last) { return last; }

template <class T, class... Rest>
__device__ __forceinline__ T polynomial(T x, T first, Rest... rest) {
    return add(first, mul(x, polynomial(x, rest...)));
}

// Twice the natural logarithm of a positive normal number: k ln 2 + ln (1 + f), of which all terms
// are doubled, which changes no rounding. The host doubles the sum.
__device__ __forceinline__ float twice_ln(float x) {
    constexpr int ROOT = 0x3F3304F4, ONE = 0x3F800000;
    const int shifted = int(to_bits(x)) + (ONE - ROOT);
    const float k = float((shifted >> 23) - 127);
    const float f = sub(from_bits(uint32_t((shifted & 0x007FFFFF) + ROOT)), 1.0f);
    const float s = div(f, add(2.0f, f)), z = mul(s, s), w = mul(z, z);
    const float odd = mul(w, polynomial(w, 2 * 0.40000972f, 2 * 0.24279079f));
    const float even = mul(z, polynomial(w, 2 * 0.66666663f, 2 * 0.28498787f));
    const float square = mul(f, f);
    const float rest = add(mul(s, add(square, add(even, odd))), mul(k, 2 * 9.0580006e-6f));
    return sub(mul(k, 2 * 0.6931381f), add_scaled(f, -2.0f, sub(square, rest)));
}

// The natural logarithm of a positive normal number.

__device__ __forceinline__ double ln(double x) {
    constexpr uint64_t ROOT = uint64_t(0x3FE6A09E667F3BCD), ONE = uint64_t(0x3FF0000000000000);
    const uint64_t shifted = to_bits(x) + (ONE - ROOT);
    const double k = sub(from_bits(shifted >> 52 | uint64_t(0x4330000000000000)), 4503599627370496.0 + 1023.0);
    const double f = sub(from_bits((shifted & uint64_t(0x000FFFFFFFFFFFFF)) + ROOT), 1.0);
    const double s = div(f, add(2.0, f)), z = mul(s, s), w = mul(z, z);
    const double odd = mul(w, polynomial(w, 3.999999999940941908e-1, 2.222219843214978396e-1, 1.531383769920937332e-1));
    const double even = mul(z, polynomial(w, 6.666666666666735130e-1, 2.857142874366239149e-1, 1.818357216161805012e-1,
                                          1.479819860511658591e-1));
    const double half_square = mul(mul(0.5, f), f);
    const double rest = add(mul(s, add(half_square, add(even, odd))), mul(k, 1.90821492927058770002e-10));
    return sub(mul(k, 6.93147180369123816490e-1), sub(sub(half_square, rest), f));
}

// Sine and cosine of an angle in units of 2^-32 turns: those of x, the distance to the nearest
// multiple of a quarter turn, adjusted for the quarter.
__device__ __forceinline__ void turn(uint32_t angle, float& sine, float& cosine) {
    const uint32_t quarter = (angle + (1u << 29)) >> 30;
    const float x = mul(float(int(angle << 2)), float(6.283185307179586476925 / 17179869184.0));
    const float z = mul(x, x);
    const float s = add(x, mul(x, mul(z, polynomial(z, -1.6666655e-1f, 8.332161e-3f, -1.9515296e-4f))));
    const float c = add(add_scaled(z, -0.5f, 1.0f),
                        mul(mul(z, z), polynomial(z, 4.1666646e-2f, -1.3887316e-3f, 2.4433157e-5f)));
    const uint32_t swap = (to_bits(s) ^ to_bits(c)) & (0 - (quarter & 1));
    sine = from_bits(to_bits(s) ^ swap ^ (quarter & 2) << 30);
    cosine = from_bits(to_bits(c) ^ swap ^ ((quarter + 1) & 2) << 30);
}

// The same in units of 2^-64 turns. Only the upper 54 bits matter.
__device__ __forceinline__ void turn(uint64_t angle, double& sine, double& cosine) {
    const uint64_t quarter = (angle + (uint64_t(1) << 61)) >> 62;
    const uint64_t rest = ((angle + (uint64_t(1) << 61)) << 2 >> 12) + uint64_t(0x4330000000000000);
    const double x = mul(sub(from_bits(rest), 4503599627370496.0 + 2251799813685248.0),
                         6.283185307179586476925 / 18014398509481984.0);
    const double z = mul(x, x);
    const double s = add(
        x, mul(x, mul(z, polynomial(z, -1.66666666666666307295e-1, 8.33333333332211858878e-3,
                                    -1.98412698295895385996e-4, 2.75573136213857245213e-6,
                                    -2.50507477628578072866e-8, 1.58962301576546568060e-10))));
    const double c = add(
        sub(1.0, mul(0.5, z)),
        mul(mul(z, z), polynomial(z, 4.16666666666665929218e-2, -1.38888888888730564116e-3, 2.48015872888517045348e-5,
                                  -2.75573141792967388112e-7, 2.08757008419747316778e-9, -1.13585365213876817300e-11)));
    const uint64_t swap = (to_bits(s) ^ to_bits(c)) & (0 - (quarter & 1));
    sine = from_bits(to_bits(s) ^ swap ^ (quarter & 2) << 62);
    cosine = from_bits(to_bits(c) ^ swap ^ ((quarter + 1) & 2) << 62);
}

}  // namespace rounded

// Two normal numbers from two words: the first gives the radius, the second the angle.
__device__ __forceinline__ void normal_f32(uint32_t radius, uint32_t angle, float* numbers) {
    using namespace rounded;
    const float uniform = add_scaled(float(int(radius >> 1)), 0x1p-31f, 0x1p-32f);
    const float r = root(-twice_ln(uniform));
    float sine, cosine;
    turn(angle, sine, cosine);
    numbers[0] = mul(r, cosine);
    numbers[1] = mul(r, sine);
}

// Two normal numbers from two 64-bit words, in the same way.
__device__ __forceinline__ void normal_f64(uint64_t radius, uint64_t angle, double* numbers) {
    using namespace rounded;
    const double uniform = sub(2.0, from_bits(radius >> 12 | uint64_t(0x3FF0000000000000)));
    const double r = root(mul(-2.0, ln(uniform)));
    double sine, cosine;
    turn(angle, sine, cosine);
    numbers[0] = mul(r, cosine);
    numbers[1] = mul(r, sine);
}

}  // namespace bijective_shuffle

#endif
