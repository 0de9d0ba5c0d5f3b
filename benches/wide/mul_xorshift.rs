//! [`MulXorshift`] with vectors.

use std::array;
use std::hint::black_box;

use bijective_shuffle::Word;
use bijective_shuffle::bijection::MulXorshift;
use bijective_shuffle::prelude::*;
use wide::{u16x8, u32x4, u32x8, u64x2, u64x4};

use crate::contest::{Contest, POINTS, RunOf, RunWord, Task, others, ours};
use crate::vector::{Limbs16, Limbs32, Vector};

const ROUNDS: usize = 10;

type Chain = MulXorshift<ROUNDS>;

#[derive(Clone, Copy)]
struct Round<V: Vector> {
    multiplier: V::Multiplier,
    increment: V,
    shift: u32,
    /// The bits that the xorshift may change: garbage above the domain's bits stays there.
    mask: V,
}

impl<V: Vector> Round<V> {
    fn new(bits: u32, multiplier: u64, increment: u64, is_odd: bool) -> Self {
        let shift = bits.div_ceil(2) + u32::from(is_odd);
        Self {
            multiplier: V::multiplier(multiplier),
            increment: V::splat(increment),
            shift,
            mask: V::splat(u64::low_mask(bits) >> shift),
        }
    }

    #[inline(always)]
    fn xorshift(&self, x: V) -> V {
        x ^ ((x >> self.shift) & self.mask)
    }
}

/// The values or, with `INVERSE`, the slots, with a number of vectors at once.
fn run<V: Vector, W: Word, const INVERSE: bool, const VECTORS: usize>(
    chain: &Chain,
    first: W,
    out: &mut [W; POINTS],
) {
    let rounds: [Round<V>; ROUNDS] = array::from_fn(|k| {
        let k = if INVERSE { ROUNDS - 1 - k } else { k };
        let multiplier = chain.multipliers()[k];
        let multiplier = if INVERSE { multiplier.odd_inverse() } else { multiplier };
        Round::new(chain.bits(), multiplier, chain.increments()[k], k % 2 == 1)
    });
    let outer = Round::<V>::new(chain.bits(), 1, 0, true);
    let mask = V::splat(u64::low_mask(chain.bits()));
    let blocks = out.chunks_exact_mut(VECTORS * V::LANES);
    for (block, start) in blocks.zip((first.widen()..).step_by(VECTORS * V::LANES)) {
        let mut lanes: [V; VECTORS] =
            array::from_fn(|k| V::count_from(start + (k * V::LANES) as u64));
        if !INVERSE {
            lanes = lanes.map(|x| outer.xorshift(x));
        }
        for round in black_box(&rounds[..]) {
            for x in &mut lanes {
                *x = if INVERSE {
                    (round.xorshift(*x) - round.increment).times(round.multiplier)
                } else {
                    round.xorshift(x.times(round.multiplier) + round.increment)
                };
            }
        }
        if INVERSE {
            lanes = lanes.map(|x| outer.xorshift(x));
        }
        for (out, x) in block.chunks_exact_mut(V::LANES).zip(lanes) {
            (x & mask).store(out);
        }
    }
}

fn contest<W: RunWord, const INVERSE: bool>(
    task: &Task,
    bits: u32,
    runs: &[(&'static str, RunOf<Chain, W>)],
) {
    let chain = Chain::from_seed(u64::low_mask(bits), 1);
    let (ours, others) = (ours(&chain, INVERSE), others(&chain, runs));
    let family = "MulXorshift<10>";
    Contest { family, bits, is_inverse: INVERSE, ours, others }.hold(task);
}

pub(crate) fn contests<const INVERSE: bool>(task: &Task) {
    contest::<_, INVERSE>(
        task,
        16,
        &[
            ("8 u16x8", run::<u16x8, u32, INVERSE, 8>),
            ("16 u16x8", run::<u16x8, u32, INVERSE, 16>),
            ("32 u16x8", run::<u16x8, u32, INVERSE, 32>),
        ],
    );
    contest::<_, INVERSE>(
        task,
        24,
        &[
            ("8 u32x4", run::<u32x4, u32, INVERSE, 8>),
            ("16 u32x4", run::<u32x4, u32, INVERSE, 16>),
            ("8 u32x8", run::<u32x8, u32, INVERSE, 8>),
            ("8 u32x4 in limbs of 16 bits", run::<Limbs16, u32, INVERSE, 8>),
        ],
    );
    contest::<_, INVERSE>(
        task,
        64,
        &[
            ("8 u64x2", run::<u64x2, u64, INVERSE, 8>),
            ("4 u64x4", run::<u64x4, u64, INVERSE, 4>),
            ("16 u64x2 in limbs of 32 bits", run::<Limbs32, u64, INVERSE, 16>),
        ],
    );
}
