// The order of `Permutation::walk` for 257 to 2^32 items, one index at a time.
//
// p has the multipliers of ten rounds, their increments, and the inverses of the multipliers; the
// last index; and the width of the domain in bits. These are the words of `WgslWalk` in Rust, and
// the bytes of `bijective_shuffle::walk32` in C++.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) 2026 The bijective-shuffle authors
struct BsWalk { words: array<vec4<u32>, 8> }

fn bs_walk_step(x0: u32, p: BsWalk) -> u32 {
    let all = 0xffffffffu >> (32u - p.words[7].w);
    let s = (p.words[7].w + 1u) >> 1u;
    let w = vec4<u32>(all, s, s + 1u, all >> s);
    let o = all >> w.z;
    var x = x0;
    x ^= (x >> w.z) & o;
    x = x * p.words[0].x + p.words[2].z;
    x ^= (x >> w.y) & w.w;
    x = x * p.words[0].y + p.words[2].w;
    x ^= (x >> w.z) & o;
    x = x * p.words[0].z + p.words[3].x;
    x ^= (x >> w.y) & w.w;
    x = x * p.words[0].w + p.words[3].y;
    x ^= (x >> w.z) & o;
    x = x * p.words[1].x + p.words[3].z;
    x ^= (x >> w.y) & w.w;
    x = x * p.words[1].y + p.words[3].w;
    x ^= (x >> w.z) & o;
    x = x * p.words[1].z + p.words[4].x;
    x ^= (x >> w.y) & w.w;
    x = x * p.words[1].w + p.words[4].y;
    x ^= (x >> w.z) & o;
    x = x * p.words[2].x + p.words[4].z;
    x ^= (x >> w.y) & w.w;
    x = x * p.words[2].y + p.words[4].w;
    x ^= (x >> w.z) & o;
    return x & w.x;
}

// The item at place i, which is below the length.
fn bs_walk(i: u32, p: BsWalk) -> u32 {
    let last = p.words[7].z;
    let outside = (0xffffffffu >> (32u - p.words[7].w)) - last;
    var x = i;
    x = bs_walk_step(x, p);
    for (var n = outside; x > last && n > 0u; n--) { x = bs_walk_step(x, p); }
    return x;
}

fn bs_walk_inverse_step(x0: u32, p: BsWalk) -> u32 {
    let all = 0xffffffffu >> (32u - p.words[7].w);
    let s = (p.words[7].w + 1u) >> 1u;
    let w = vec4<u32>(all, s, s + 1u, all >> s);
    let o = all >> w.z;
    var x = x0;
    x ^= (x >> w.z) & o;
    x = (x - p.words[4].w) * p.words[7].y;
    x ^= (x >> w.y) & w.w;
    x = (x - p.words[4].z) * p.words[7].x;
    x ^= (x >> w.z) & o;
    x = (x - p.words[4].y) * p.words[6].w;
    x ^= (x >> w.y) & w.w;
    x = (x - p.words[4].x) * p.words[6].z;
    x ^= (x >> w.z) & o;
    x = (x - p.words[3].w) * p.words[6].y;
    x ^= (x >> w.y) & w.w;
    x = (x - p.words[3].z) * p.words[6].x;
    x ^= (x >> w.z) & o;
    x = (x - p.words[3].y) * p.words[5].w;
    x ^= (x >> w.y) & w.w;
    x = (x - p.words[3].x) * p.words[5].z;
    x ^= (x >> w.z) & o;
    x = (x - p.words[2].w) * p.words[5].y;
    x ^= (x >> w.y) & w.w;
    x = (x - p.words[2].z) * p.words[5].x;
    x ^= (x >> w.z) & o;
    return x & w.x;
}

// The place of item i, which is below the length.
fn bs_walk_inverse(i: u32, p: BsWalk) -> u32 {
    let last = p.words[7].z;
    let outside = (0xffffffffu >> (32u - p.words[7].w)) - last;
    var x = i;
    x = bs_walk_inverse_step(x, p);
    for (var n = outside; x > last && n > 0u; n--) { x = bs_walk_inverse_step(x, p); }
    return x;
}
