//! [`VariablePhilox`] with vectors.

use std::array;
use std::hint::black_box;

use bijective_shuffle::Word;
use bijective_shuffle::bijection::VariablePhilox;
use bijective_shuffle::prelude::*;
use wide::{u16x8, u32x4, u64x2};

use crate::contest::{Contest, POINTS, RunOf, RunWord, Task, others, ours};
use crate::halves::Halves;
use crate::vector::Vector;

const ROUNDS: usize = 24;
const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;

type Cipher = VariablePhilox<ROUNDS>;

/// Lanes that hold a left or a right half.
trait Sides: Halves {
    /// The low bits of the multiplier's product, and the bits from 32 on, both with garbage above.
    /// In 16-bit lanes a carry is computed by a `MEAN`, or by a comparison.
    fn low_high<const MEAN: bool>(self) -> [Self; 2];
}

impl Sides for u16x8 {
    #[inline(always)]
    fn low_high<const MEAN: bool>(self) -> [Self; 2] {
        const LIMBS: [u16x8; 3] =
            [u16x8::splat(0x6E93), u16x8::splat(0xB1CE), u16x8::splat(0x4407)];
        let middle = self * LIMBS[1];
        let high = self.mul_keep_high(LIMBS[1]) + self * LIMBS[2];
        let high = if MEAN {
            // As in crates/core/src/bijection/variable_philox/lanes.rs.
            let below = self.mul_keep_high(LIMBS[0] - Self::splat(3));
            let mean = (below | middle) - ((below ^ middle) >> 1_u32);
            high + (mean >> 15_u32)
        } else {
            let sum = self.mul_keep_high(LIMBS[0]) + middle;
            // A comparison gives all ones, which is one less than zero.
            high - sum.simd_lt(middle)
        };
        [self * LIMBS[0], high]
    }
}

macro_rules! sides {
    ($vector:ident) => {
        impl Sides for $vector {
            #[inline(always)]
            fn low_high<const MEAN: bool>(self) -> [Self; 2] {
                let [low, high] = self.product(Vector::splat(MULTIPLIER));
                [low, high + self.product(Vector::splat(MULTIPLIER >> 32))[0]]
            }
        }
    };
}

sides!(u32x4);
sides!(u64x2);

/// The values or, with `INVERSE`, the points, with a number of vectors for each side at once.
fn run<
    V: Sides,
    W: Word,
    const INVERSE: bool,
    const ODD: bool,
    const MEAN: bool,
    const VECTORS: usize,
>(
    cipher: &Cipher,
    first: W,
    out: &mut [W; POINTS],
) {
    let left_bits = cipher.bits() / 2;
    let right_bits = left_bits + u32::from(ODD);
    let keys: [V; ROUNDS] = array::from_fn(|k| {
        V::splat(u64::from(cipher.keys()[if INVERSE { ROUNDS - 1 - k } else { k }]))
    });
    // Hidden, since the compiler would drop masks of products that it knows to be needless, and
    // then multiply whole lanes; and it would multiply by twice the multiplier instead of shifting.
    let masks = [left_bits, right_bits].map(|bits| V::splat(black_box(u64::low_mask(bits))));
    let ([left_mask, right_mask], bit) = (masks, black_box(1_u32));
    let undo = V::splat(u64::from((MULTIPLIER as u32).odd_inverse()));
    let blocks = out.chunks_exact_mut(VECTORS * V::LANES);
    for (block, start) in blocks.zip((first.widen()..).step_by(VECTORS * V::LANES)) {
        let [mut left, mut right] = V::cut::<VECTORS>(start, right_bits, right_mask);
        for &key in black_box(&keys[..]) {
            for (left, right) in left.iter_mut().zip(&mut right) {
                if INVERSE {
                    let shifted = if ODD { *right >> bit } else { *right };
                    let old_left = shifted.product(undo)[0] & left_mask;
                    let old_right = old_left.low_high::<MEAN>()[1] ^ key ^ *left;
                    *right = if ODD {
                        (old_right & left_mask) | ((*right & V::splat(1)) << left_bits)
                    } else {
                        old_right
                    };
                    *left = old_left;
                } else {
                    let [low, high] = left.low_high::<MEAN>();
                    *left = (high ^ key ^ *right) & left_mask;
                    *right =
                        if ODD { ((low << bit) | (*right >> left_bits)) & right_mask } else { low };
                }
            }
        }
        for ((out, left), right) in block.chunks_exact_mut(V::LANES).zip(left).zip(right) {
            V::join(left, right & right_mask, right_bits, out);
        }
    }
}

fn contest<W: RunWord, const INVERSE: bool>(
    task: &Task,
    bits: u32,
    runs: &[(&'static str, RunOf<Cipher, W>)],
) {
    let cipher = Cipher::from_seed(u64::low_mask(bits), 1);
    let (ours, others) = (ours(&cipher, INVERSE), others(&cipher, runs));
    let family = "VariablePhilox<24>";
    Contest { family, bits, is_inverse: INVERSE, ours, others }.hold(task);
}

pub(crate) fn contests<const INVERSE: bool>(task: &Task) {
    both::<INVERSE, false>(task);
    both::<INVERSE, true>(task);
}

/// Domains of up to 32 bits and beyond, of an even or an odd width.
fn both<const INVERSE: bool, const ODD: bool>(task: &Task) {
    contest::<_, INVERSE>(
        task,
        24 + u32::from(ODD),
        &[
            ("8 u16x8", run::<u16x8, u32, INVERSE, ODD, true, 8>),
            ("16 u16x8", run::<u16x8, u32, INVERSE, ODD, true, 16>),
            ("8 u16x8 with comparisons", run::<u16x8, u32, INVERSE, ODD, false, 8>),
        ],
    );
    contest::<_, INVERSE>(
        task,
        48 + u32::from(ODD),
        &[
            ("8 u32x4", run::<u32x4, u64, INVERSE, ODD, false, 8>),
            ("8 u64x2", run::<u64x2, u64, INVERSE, ODD, false, 8>),
            ("16 u64x2", run::<u64x2, u64, INVERSE, ODD, false, 16>),
        ],
    );
}
