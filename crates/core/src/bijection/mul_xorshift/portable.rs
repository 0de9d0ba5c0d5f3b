//! [`MulXorshift`](super::MulXorshift) on many points with the vectors of the crate `wide`, where a
//! target has one set of them: SIMD128 of WebAssembly, NEON, SSE2 of 32-bit x86.
//!
//! In 32-bit lanes these keep all points of a block in registers from the first round to the last,
//! and the loops of `lanes.rs` go through the block in memory in each round. In WebAssembly vectors
//! make 1.2 times as many evaluations; in 16-bit lanes there is no difference, and in 64-bit lanes
//! hardly any (`benches/notes/cpu.md`). On x86-64 `wide` would take SSE2 at every level.

use wide::u32x4;

use super::lanes::Vectored;
use super::round::Round;
use crate::bijection::copies::Meanwhile;

/// The number of vectors that are computed together, so that the multipliers are busy through their
/// latency.
const VECTORS: usize = 16;

const LANES: usize = 4;

impl Vectored for u32 {
    const POINTS: usize = VECTORS * LANES;
    const IS_PORTABLE: bool = true;

    #[inline(never)]
    unsafe fn evaluate<const INVERSE: bool, W: Meanwhile>(
        rounds: &[Round<Self>],
        outer: Round<Self>,
        mask: Self,
        first: Option<Self>,
        out: &mut [Self],
        mut meanwhile: W,
    ) -> W {
        let set = u32x4::splat;
        // x ^ (x >> shift & mask)
        let xorshift =
            |x: u32x4, round: &Round<Self>| x ^ (x >> round.shift as u32 & set(round.mask));
        let mut next = set(first.unwrap_or(0)) + u32x4::new([0, 1, 2, 3]);
        for out in out.chunks_exact_mut(Self::POINTS) {
            let (out, _) = out.as_chunks_mut::<LANES>();
            let mut vectors = [next; VECTORS];
            for (x, points) in vectors.iter_mut().zip(&*out) {
                if first.is_some() {
                    *x = next;
                    next += set(LANES as u32);
                } else {
                    *x = u32x4::new(*points);
                }
            }
            if !INVERSE {
                vectors.iter_mut().for_each(|x| *x = xorshift(*x, &outer));
            }
            for round in rounds {
                let (multiplier, increment) = (set(round.multiplier), set(round.increment));
                for x in &mut vectors {
                    *x = if INVERSE {
                        (xorshift(*x, round) - increment) * multiplier
                    } else {
                        xorshift(*x * multiplier + increment, round)
                    };
                }
                meanwhile.step();
            }
            if INVERSE {
                vectors.iter_mut().for_each(|x| *x = xorshift(*x, &outer));
            }
            for (out, x) in out.iter_mut().zip(vectors) {
                *out = (x & set(mask)).to_array();
            }
        }
        meanwhile
    }
}
