// Pairs of normal numbers; crates/rng/src/normal.rs says how they are made. WGSL allows products
// and sums to be fused, and divisions and square roots to be a few units off, so all arithmetic is
// done here in integers, as IEEE 754 rounds it. No number is subnormal, infinite or none.

fn bs_exponent(a: u32) -> u32 { return (a >> 23u) & 0xFFu; }
fn bs_fraction(a: u32) -> u32 { return (a & 0x7FFFFFu) | 0x800000u; }
fn bs_is_zero(a: u32) -> bool { return (a << 1u) == 0u; }

// The number with 32 bits of a fraction, the first of which is 1, rounded to the nearest. A last bit
// of 1 may stand for others that are beyond it.
fn bs_rounded(sign: u32, exponent: u32, fraction: u32) -> u32 {
  let rest = fraction & 0xFFu;
  let odd = (fraction >> 8u) & 1u;
  // What carries out of the fraction goes into the exponent.
  let up = select(0u, 1u, rest + odd > 0x80u);
  return sign | ((exponent << 23u) + ((fraction >> 8u) & 0x7FFFFFu) + up);
}

fn bs_whole(sign: u32, magnitude: u32) -> u32 {
  if (magnitude == 0u) { return 0u; }
  let zeros = countLeadingZeros(magnitude);
  return bs_rounded(sign, 158u - zeros, magnitude << zeros);
}

fn bs_signed(x: u32) -> u32 {
  return bs_whole(x & 0x80000000u, select(x, 0u - x, (x >> 31u) == 1u));
}

fn bs_neg(a: u32) -> u32 { return a ^ 0x80000000u; }

fn bs_add(a: u32, b: u32) -> u32 {
  let swaps = (a << 1u) < (b << 1u);
  let large = select(a, b, swaps);
  let small = select(b, a, swaps);
  if (bs_is_zero(large)) { return a & b; }
  if (bs_is_zero(small)) { return large; }
  let apart = min(bs_exponent(large) - bs_exponent(small), 31u);
  let shifted = bs_fraction(small) << 7u;
  let lost = select(0u, 1u, (shifted & ((1u << apart) - 1u)) != 0u);
  let addend = (shifted >> apart) | lost;
  let are_opposite = ((a ^ b) >> 31u) == 1u;
  let sum = (bs_fraction(large) << 7u) + select(addend, 0u - addend, are_opposite);
  if (sum == 0u) { return 0u; }
  let zeros = countLeadingZeros(sum);
  return bs_rounded(large & 0x80000000u, bs_exponent(large) + 1u - zeros, sum << zeros);
}

fn bs_mul(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & 0x80000000u;
  if (bs_is_zero(a) || bs_is_zero(b)) { return sign; }
  let left = bs_fraction(a) << 8u;
  let right = bs_fraction(b) << 8u;
  let high = bs_high(left, right);
  let product = high | select(0u, 1u, left * right != 0u);
  let zeros = countLeadingZeros(high);
  return bs_rounded(sign, bs_exponent(a) + bs_exponent(b) - 126u - zeros, product << zeros);
}

fn bs_div(a: u32, b: u32) -> u32 {
  let sign = (a ^ b) & 0x80000000u;
  if (bs_is_zero(a)) { return sign; }
  let divisor = bs_fraction(b);
  var rest = bs_fraction(a);
  let is_less = select(0u, 1u, rest < divisor);
  rest <<= is_less;
  var quotient = 0u;
  for (var k = 0u; k < 25u; k++) {
    let bit = select(0u, 1u, rest >= divisor);
    rest = (rest - bit * divisor) << 1u;
    quotient = (quotient << 1u) | bit;
  }
  let fraction = (quotient << 7u) | select(0u, 1u, rest != 0u);
  return bs_rounded(sign, bs_exponent(a) + 127u - is_less - bs_exponent(b), fraction);
}

// Of what is not negative, or the negative zero.
fn bs_sqrt(a: u32) -> u32 {
  if (bs_is_zero(a)) { return a; }
  // An odd power of two goes to the radicand.
  let exponent = bs_exponent(a) + 127u;
  var radicand = (bs_fraction(a) << 7u) << (exponent & 1u);
  var rest = 0u;
  var root = 0u;
  for (var k = 0u; k < 25u; k++) {
    rest = (rest << 2u) | (radicand >> 30u);
    radicand <<= 2u;
    let trial = (root << 2u) | 1u;
    let bit = select(0u, 1u, rest >= trial);
    rest -= bit * trial;
    root = (root << 1u) | bit;
  }
  let fraction = (root << 7u) | select(0u, 1u, rest != 0u);
  return bs_rounded(0u, exponent >> 1u, fraction);
}

fn bs_ln(x: u32) -> u32 {
  // x = 2^k (1 + f), with 1 + f between the square roots of 1/2 and of 2.
  let shifted = x + (0x3F800000u - 0x3F3304F4u);
  let k = bs_signed((shifted >> 23u) - 127u);
  let f = bs_add((shifted & 0x7FFFFFu) + 0x3F3304F4u, 0xBF800000u);
  let s = bs_div(f, bs_add(0x40000000u, f));
  let z = bs_mul(s, s);
  let w = bs_mul(z, z);
  let odd = bs_mul(w, bs_add(0x3ECCCE13u, bs_mul(w, 0x3E789E26u)));
  let even = bs_mul(z, bs_add(0x3F2AAAAAu, bs_mul(w, 0x3E91E9EEu)));
  let half = bs_mul(bs_mul(0x3F000000u, f), f);
  let rest = bs_add(bs_mul(s, bs_add(half, bs_add(even, odd))), bs_mul(k, 0x3717F7D1u));
  let less = bs_add(bs_add(half, bs_neg(rest)), bs_neg(f));
  return bs_add(bs_mul(k, 0x3F317180u), bs_neg(less));
}

// The cosine and the sine of an angle in units of 2^-32 turns.
fn bs_turn(angle: u32) -> vec2<u32> {
  let quarter = (angle + 0x20000000u) >> 30u;
  let x = bs_mul(bs_signed(angle << 2u), 0x2FC90FDBu);
  let z = bs_mul(x, x);
  let cubic = bs_mul(z, bs_add(0xBE2AAAA3u, bs_mul(z, bs_add(0x3C08839Eu, bs_mul(z, 0xB94CA1F9u)))));
  let sine = bs_add(x, bs_mul(x, cubic));
  let quartic = bs_add(0x3D2AAAA5u, bs_mul(z, bs_add(0xBAB6061Au, bs_mul(z, 0x37CCF5CEu))));
  let square = bs_add(0x3F800000u, bs_neg(bs_mul(0x3F000000u, z)));
  let cosine = bs_add(square, bs_mul(bs_mul(z, z), quartic));
  // In an odd quarter, sine and cosine change places; the quarter also determines the signs.
  let swap = (sine ^ cosine) & (0u - (quarter & 1u));
  return vec2(cosine ^ swap ^ (((quarter + 1u) & 2u) << 30u), sine ^ swap ^ ((quarter & 2u) << 30u));
}

fn bs_pair(radius: u32, angle: u32) -> vec2<u32> {
  let open = bs_add(bs_mul(bs_whole(0u, radius >> 1u), 0x30000000u), 0x2F800000u);
  let r = bs_sqrt(bs_mul(0xC0000000u, bs_ln(open)));
  let turn = bs_turn(angle);
  return vec2(bs_mul(r, turn.x), bs_mul(r, turn.y));
}

fn bs_numbers(x: vec4<u32>) -> vec4<u32> {
  return vec4(bs_pair(x.x, x.y), bs_pair(x.z, x.w));
}
