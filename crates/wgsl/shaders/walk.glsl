// The order of `Permutation::walk` for 257 to 2^32 items, one index at a time.
//
// p has the multipliers of ten rounds, their increments, and the inverses of the multipliers; the
// last index; and the width of the domain in bits. These are the words of `WgslWalk` in Rust, and
// the bytes of `bijective_shuffle::walk32` in C++.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) 2026 The bijective-shuffle authors

struct BsWalk {
    uvec4 words[8];
};

uint bs_walk_step(uint x0_, BsWalk p) {
    uint x = 0u;
    uint all_ = (4294967295u >> (32u - p.words[7].w));
    uint s = ((p.words[7].w + 1u) >> 1u);
    uvec4 w = uvec4(all_, s, (s + 1u), (all_ >> s));
    uint o = (all_ >> w.z);
    x = x0_;
    uint _e23 = x;
    uint _e24 = x;
    x = (_e23 ^ ((_e24 >> w.z) & o));
    uint _e29 = x;
    x = ((_e29 * p.words[0].x) + p.words[2].z);
    uint _e38 = x;
    uint _e39 = x;
    x = (_e38 ^ ((_e39 >> w.y) & w.w));
    uint _e45 = x;
    x = ((_e45 * p.words[0].y) + p.words[2].w);
    uint _e54 = x;
    uint _e55 = x;
    x = (_e54 ^ ((_e55 >> w.z) & o));
    uint _e60 = x;
    x = ((_e60 * p.words[0].z) + p.words[3].x);
    uint _e69 = x;
    uint _e70 = x;
    x = (_e69 ^ ((_e70 >> w.y) & w.w));
    uint _e76 = x;
    x = ((_e76 * p.words[0].w) + p.words[3].y);
    uint _e85 = x;
    uint _e86 = x;
    x = (_e85 ^ ((_e86 >> w.z) & o));
    uint _e91 = x;
    x = ((_e91 * p.words[1].x) + p.words[3].z);
    uint _e100 = x;
    uint _e101 = x;
    x = (_e100 ^ ((_e101 >> w.y) & w.w));
    uint _e107 = x;
    x = ((_e107 * p.words[1].y) + p.words[3].w);
    uint _e116 = x;
    uint _e117 = x;
    x = (_e116 ^ ((_e117 >> w.z) & o));
    uint _e122 = x;
    x = ((_e122 * p.words[1].z) + p.words[4].x);
    uint _e131 = x;
    uint _e132 = x;
    x = (_e131 ^ ((_e132 >> w.y) & w.w));
    uint _e138 = x;
    x = ((_e138 * p.words[1].w) + p.words[4].y);
    uint _e147 = x;
    uint _e148 = x;
    x = (_e147 ^ ((_e148 >> w.z) & o));
    uint _e153 = x;
    x = ((_e153 * p.words[2].x) + p.words[4].z);
    uint _e162 = x;
    uint _e163 = x;
    x = (_e162 ^ ((_e163 >> w.y) & w.w));
    uint _e169 = x;
    x = ((_e169 * p.words[2].y) + p.words[4].w);
    uint _e178 = x;
    uint _e179 = x;
    x = (_e178 ^ ((_e179 >> w.z) & o));
    uint _e184 = x;
    return (_e184 & w.x);
}

uint bs_walk(uint i, BsWalk p_1) {
    uint x_1 = 0u;
    uint n = 0u;
    bool local = false;
    uint last = p_1.words[7].z;
    uint outside = ((4294967295u >> (32u - p_1.words[7].w)) - last);
    x_1 = i;
    uint _e14 = x_1;
    uint _e15 = bs_walk_step(_e14, p_1);
    x_1 = _e15;
    n = outside;
    bool loop_init = true;
    while(true) {
        if (!loop_init) {
            uint _e29 = n;
            n = (_e29 - 1u);
        }
        loop_init = false;
        uint _e17 = x_1;
        if ((_e17 > last)) {
            uint _e21 = n;
            local = (_e21 > 0u);
        } else {
            local = false;
        }
        bool _e25 = local;
        if (_e25) {
        } else {
            break;
        }
        {
            uint _e26 = x_1;
            uint _e27 = bs_walk_step(_e26, p_1);
            x_1 = _e27;
        }
    }
    uint _e31 = x_1;
    return _e31;
}

uint bs_walk_inverse_step(uint x0_1, BsWalk p_2) {
    uint x_2 = 0u;
    uint all_1 = (4294967295u >> (32u - p_2.words[7].w));
    uint s_1 = ((p_2.words[7].w + 1u) >> 1u);
    uvec4 w_1 = uvec4(all_1, s_1, (s_1 + 1u), (all_1 >> s_1));
    uint o_1 = (all_1 >> w_1.z);
    x_2 = x0_1;
    uint _e23 = x_2;
    uint _e24 = x_2;
    x_2 = (_e23 ^ ((_e24 >> w_1.z) & o_1));
    uint _e29 = x_2;
    x_2 = ((_e29 - p_2.words[4].w) * p_2.words[7].y);
    uint _e38 = x_2;
    uint _e39 = x_2;
    x_2 = (_e38 ^ ((_e39 >> w_1.y) & w_1.w));
    uint _e45 = x_2;
    x_2 = ((_e45 - p_2.words[4].z) * p_2.words[7].x);
    uint _e54 = x_2;
    uint _e55 = x_2;
    x_2 = (_e54 ^ ((_e55 >> w_1.z) & o_1));
    uint _e60 = x_2;
    x_2 = ((_e60 - p_2.words[4].y) * p_2.words[6].w);
    uint _e69 = x_2;
    uint _e70 = x_2;
    x_2 = (_e69 ^ ((_e70 >> w_1.y) & w_1.w));
    uint _e76 = x_2;
    x_2 = ((_e76 - p_2.words[4].x) * p_2.words[6].z);
    uint _e85 = x_2;
    uint _e86 = x_2;
    x_2 = (_e85 ^ ((_e86 >> w_1.z) & o_1));
    uint _e91 = x_2;
    x_2 = ((_e91 - p_2.words[3].w) * p_2.words[6].y);
    uint _e100 = x_2;
    uint _e101 = x_2;
    x_2 = (_e100 ^ ((_e101 >> w_1.y) & w_1.w));
    uint _e107 = x_2;
    x_2 = ((_e107 - p_2.words[3].z) * p_2.words[6].x);
    uint _e116 = x_2;
    uint _e117 = x_2;
    x_2 = (_e116 ^ ((_e117 >> w_1.z) & o_1));
    uint _e122 = x_2;
    x_2 = ((_e122 - p_2.words[3].y) * p_2.words[5].w);
    uint _e131 = x_2;
    uint _e132 = x_2;
    x_2 = (_e131 ^ ((_e132 >> w_1.y) & w_1.w));
    uint _e138 = x_2;
    x_2 = ((_e138 - p_2.words[3].x) * p_2.words[5].z);
    uint _e147 = x_2;
    uint _e148 = x_2;
    x_2 = (_e147 ^ ((_e148 >> w_1.z) & o_1));
    uint _e153 = x_2;
    x_2 = ((_e153 - p_2.words[2].w) * p_2.words[5].y);
    uint _e162 = x_2;
    uint _e163 = x_2;
    x_2 = (_e162 ^ ((_e163 >> w_1.y) & w_1.w));
    uint _e169 = x_2;
    x_2 = ((_e169 - p_2.words[2].z) * p_2.words[5].x);
    uint _e178 = x_2;
    uint _e179 = x_2;
    x_2 = (_e178 ^ ((_e179 >> w_1.z) & o_1));
    uint _e184 = x_2;
    return (_e184 & w_1.x);
}

uint bs_walk_inverse(uint i_1, BsWalk p_3) {
    uint x_3 = 0u;
    uint n_1 = 0u;
    bool local_1 = false;
    uint last_1 = p_3.words[7].z;
    uint outside_1 = ((4294967295u >> (32u - p_3.words[7].w)) - last_1);
    x_3 = i_1;
    uint _e14 = x_3;
    uint _e15 = bs_walk_inverse_step(_e14, p_3);
    x_3 = _e15;
    n_1 = outside_1;
    bool loop_init_1 = true;
    while(true) {
        if (!loop_init_1) {
            uint _e29 = n_1;
            n_1 = (_e29 - 1u);
        }
        loop_init_1 = false;
        uint _e17 = x_3;
        if ((_e17 > last_1)) {
            uint _e21 = n_1;
            local_1 = (_e21 > 0u);
        } else {
            local_1 = false;
        }
        bool _e25 = local_1;
        if (_e25) {
        } else {
            break;
        }
        {
            uint _e26 = x_3;
            uint _e27 = bs_walk_inverse_step(_e26, p_3);
            x_3 = _e27;
        }
    }
    uint _e31 = x_3;
    return _e31;
}
