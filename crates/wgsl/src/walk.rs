//! [`WgslWalk`]: single indexes of an order, in shaders of a user.

use bijective_shuffle_core::bijection::{MulXorshift, Standard};
use bijective_shuffle_core::{Bijection as _, FromSeed as _, Seed};

use crate::error::WgslError;
use crate::families::words;

/// The order of 257 to 2^32 items, from which a shader of your own computes single indexes: that of
/// `Permutation::walk`.
///
/// [`TEXT`](Self::TEXT) defines a struct and two functions. A shader that contains the text calls
/// them with an index below the length:
///
/// ```wgsl
/// struct BsWalk { words: array<vec4<u32>, 8> }
/// fn bs_walk(i: u32, p: BsWalk) -> u32          // the item at place i
/// fn bs_walk_inverse(i: u32, p: BsWalk) -> u32  // the place of item i
/// ```
///
/// [`words`](Self::words) are the contents of the struct, for a uniform buffer or for push
/// constants: 128 bytes, which every device of Vulkan allows. In C++ they are the bytes of a
/// `bijective_shuffle::walk32`. The folder `shaders` of this package has the same functions in
/// GLSL, HLSL and the language of Metal.
///
/// Orders of up to 256 items are tables: give the shader a buffer with the items themselves.
///
/// # Examples
///
/// ```
/// # // Hidden, because the package for wgpu shows this page as its own.
/// # use bijective_shuffle_wgsl::WgslWalk;
/// let shader = WgslWalk::TEXT.to_owned() + r"
///     @group(0) @binding(0) var<uniform> order: BsWalk;
///     @group(0) @binding(1) var<storage, read_write> out: array<u32>;
///
///     @compute @workgroup_size(64)
///     fn main(@builtin(global_invocation_id) id: vec3<u32>) {
///         if (id.x < arrayLength(&out)) { out[id.x] = bs_walk(id.x, order); }
///     }";
/// let uniform: [u32; 32] = WgslWalk::new(1_000_000, 42)?.words();
/// # assert!(shader.contains("fn bs_walk_inverse(") && uniform[30] == 999_999);
/// # Ok::<(), bijective_shuffle_wgsl::WgslError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WgslWalk {
    words: [u32; 32],
}

impl WgslWalk {
    /// The text that defines the functions.
    pub const TEXT: &'static str = include_str!("../shaders/walk.wgsl");

    /// The order of `len` items that a seed determines.
    ///
    /// # Errors
    ///
    /// [`WgslError::IsTable`] for up to 256 items, and [`WgslError::DomainTooWide`] for more than
    /// 2^32.
    ///
    /// # Examples
    ///
    /// ```
    /// # use bijective_shuffle_wgsl::{WgslError, WgslWalk};
    /// assert_eq!(WgslWalk::new(256, 42), Err(WgslError::IsTable { len: 256 }));
    /// assert!(WgslWalk::new(1 << 32, 42).is_ok());
    /// ```
    pub fn new(len: u64, seed: impl Into<Seed>) -> Result<Self, WgslError> {
        if len <= Standard::EXACT_MAX {
            return Err(WgslError::IsTable { len });
        }
        let cipher = MulXorshift::<10>::from_seed(len, seed);
        if cipher.last() > u32::MAX.into() {
            return Err(WgslError::DomainTooWide { last: cipher.last() });
        }
        let source = cipher.device_source().ok_or(WgslError::NoSource { family: None })?;
        let form = source.view();
        let keys = ["multipliers", "increments", "undo"]
            .into_iter()
            .flat_map(|name| words(&form, name).unwrap_or_default());
        let width = [(len - 1) as u32, cipher.bits()];
        let mut made = [0; 32];
        for (word, value) in made.iter_mut().zip(keys.chain(width)) {
            *word = value;
        }
        Ok(Self { words: made })
    }

    /// The multipliers of the ten rounds, their increments, and the inverses of the multipliers;
    /// the last index; and the width of the domain in bits.
    pub const fn words(&self) -> [u32; 32] {
        self.words
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle_core::bijection::CycleWalk;

    use super::*;
    use crate::families::{chain, walk};

    /// The file, made of what the families of the kernels are made of.
    fn written() -> String {
        let word = |k: usize| format!("p.words[{}].{}", k / 4, ["x", "y", "z", "w"][k % 4]);
        let [forward, inverse] = chain(
            10,
            |r| format!("x = x * {} + {};", word(r), word(10 + r)),
            |r| format!("x = (x - {}) * {};", word(10 + r), word(20 + r)),
        );
        let mut text =
            "// The order of `Permutation::walk` for 257 to 2^32 items, one index at a time.
//
// p has the multipliers of ten rounds, their increments, and the inverses of the multipliers; the
// last index; and the width of the domain in bits. These are the words of `WgslWalk` in Rust, and
// the bytes of `bijective_shuffle::walk32` in C++.
//
// SPDX-License-Identifier: MIT OR Apache-2.0
// Copyright (c) 2026 The bijective-shuffle authors
struct BsWalk { words: array<vec4<u32>, 8> }
"
            .to_owned();
        for (name, is, steps) in
            [("bs_walk", "item at place", forward), ("bs_walk_inverse", "place of item", inverse)]
        {
            let step = format!("{name}_step");
            let walk = walk(&format!("{step}(x, p)"), "last", "outside").join("\n    ");
            text += &format!(
                "
fn {step}(x0: u32, p: BsWalk) -> u32 {{
    let all = 0xffffffffu >> (32u - {bits});
    let s = ({bits} + 1u) >> 1u;
    let w = vec4<u32>(all, s, s + 1u, all >> s);
    let o = all >> w.z;
    var x = x0;
    {steps}
    return x & w.x;
}}

// The {is} i, which is below the length.
fn {name}(i: u32, p: BsWalk) -> u32 {{
    let last = {last};
    let outside = (0xffffffffu >> (32u - {bits})) - last;
    var x = i;
    {walk}
}}
",
                last = word(30),
                bits = word(31),
                steps = steps.join("\n    "),
            );
        }
        text
    }

    #[test]
    fn the_file_is_what_the_writer_writes() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/shaders/walk.wgsl");
        if std::env::var_os("UPDATE_SHADERS").is_some() {
            std::fs::write(path, written()).unwrap();
        }
        let file = std::fs::read_to_string(path).unwrap();
        assert_eq!(
            file,
            written(),
            "UPDATE_SHADERS=1 writes it, and so do the tests of crates/wgpu"
        );
    }

    /// What the text computes from the words.
    #[test]
    fn words_are_those_of_the_walk() {
        for len in [257, 1000, 4096, 4097, 1 << 31, (1 << 32) - 1, 1 << 32] {
            let seed = Seed::new(7).with_epoch(len);
            let words = WgslWalk::new(len, seed).unwrap().words();
            let (last, bits) = (words[30], words[31]);
            assert_eq!(u64::from(last), len - 1);
            let (all, s) = (u32::MAX >> (32 - bits), bits.div_ceil(2));
            let step = |x: u32| {
                (0..10).fold(x ^ x >> (s + 1), |x, r| {
                    let x = x.wrapping_mul(words[r]).wrapping_add(words[10 + r]) & all;
                    x ^ x >> (s + r as u32 % 2)
                })
            };
            let walk: CycleWalk<Standard> = CycleWalk::from_seed(len, seed);
            for i in [0, 1, 200, last / 3, last] {
                let mut x = step(i);
                while x > last {
                    x = step(x);
                }
                assert_eq!(u64::from(x), walk.forward(i.into()));
            }
            assert!((0..10).all(|r| words[r].wrapping_mul(words[20 + r]) & all == 1));
        }
        let last = (1 << 33) - 1;
        assert_eq!(WgslWalk::new((1 << 32) + 1, 1), Err(WgslError::DomainTooWide { last }));
        assert_eq!(WgslWalk::new(0, 1), Err(WgslError::IsTable { len: 0 }));
    }
}
