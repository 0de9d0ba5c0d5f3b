//! [`MulXorshift`](super::MulXorshift) on many points with vectors of a given type: the one
//! evaluator for all instruction sets that have vectors here (`x86.rs`, `portable.rs`).
//!
//! ```text
//! for vectors in points:                        as many as the registers hold
//!     count them up, or load them
//!     for round in rounds:
//!         x = round(x), for each vector         so that the multipliers are busy
//!         meanwhile.step()                      through their latency
//!     store them
//! ```

use super::round::Round;
use crate::bijection::copies::Meanwhile;
use crate::bijection::lanes::Lane;
use crate::word::Index;

/// Words in a register, for which the names of the operations are those of the words'. A value is
/// the proof that the machine has the type's instructions.
pub(super) trait Vector: Copy {
    type Lane: Lane;
    /// How far lanes are shifted, as the instructions want it.
    type Shift: Copy;
    const LANES: usize;

    /// The same word in all lanes.
    ///
    /// # Safety
    ///
    /// The machine has the type's instructions.
    unsafe fn splat(word: Self::Lane) -> Self;

    /// The words of a slice, which holds as many as there are lanes.
    ///
    /// # Safety
    ///
    /// The machine has the type's instructions.
    unsafe fn load(words: &[Self::Lane]) -> Self;

    /// Writes the lanes to a slice, which holds as many words.
    fn store(self, words: &mut [Self::Lane]);

    /// What [`xorshift`](Self::xorshift) takes for a shift by some bits: at least one, and fewer
    /// than a lane has.
    ///
    /// # Safety
    ///
    /// The machine has the type's instructions.
    unsafe fn shift(bits: usize) -> Self::Shift;

    /// `x ^ (x >> shift & mask)`.
    fn xorshift(self, shift: Self::Shift, mask: Self) -> Self;

    fn add(self, other: Self) -> Self;
    fn sub(self, other: Self) -> Self;
    fn mul(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
}

/// The rounds of a member of the family, in the order in which they are applied.
#[derive(Clone, Copy)]
pub(super) struct Chain<'a, L> {
    pub(super) rounds: &'a [Round<L>],
    /// The xorshift before the first round; after the last, if they are inverse.
    pub(super) outer: Round<L>,
    pub(super) mask: L,
}

/// A round's words in vectors.
struct RoundKeys<V: Vector> {
    multiplier: V,
    increment: V,
    shift: V::Shift,
    mask: V,
}

impl<V: Vector> RoundKeys<V> {
    #[inline(always)]
    fn new(round: &Round<V::Lane>, set: impl Fn(V::Lane) -> V) -> Self {
        let [multiplier, increment, mask] =
            [round.multiplier, round.increment, round.mask].map(set);
        // SAFETY: there are vectors, so the machine has their instructions.
        let shift = unsafe { V::shift(round.shift) };
        Self { multiplier, increment, shift, mask }
    }

    #[inline(always)]
    fn xorshift(&self, x: V) -> V {
        x.xorshift(self.shift, self.mask)
    }
}

/// Writes the values at points, `VECTORS` vectors at a time, as many times as the slice holds that
/// many: at consecutive points from `first` on or, if there is none, at those that the slice holds.
///
/// # Safety
///
/// The machine has the instructions of V. They are allowed where this is inlined.
#[inline(always)]
pub(super) unsafe fn evaluate<V, const VECTORS: usize, const INVERSE: bool, W>(
    chain: Chain<V::Lane>,
    first: Option<V::Lane>,
    out: &mut [V::Lane],
    mut meanwhile: W,
) -> W
where
    V: Vector,
    W: Meanwhile,
{
    // SAFETY: the caller promises the instructions.
    let set = |word| unsafe { V::splat(word) };
    // SAFETY: the caller promises the instructions.
    let load = |words: &[V::Lane]| unsafe { V::load(words) };
    let Chain { rounds, outer, mask } = chain;
    let mut count = V::Lane::EMPTY;
    let count = &mut count.as_mut()[..V::LANES];
    count.iter_mut().zip(0..).for_each(|(lane, k)| *lane = V::Lane::truncate(k));
    let mut next = set(first.unwrap_or(V::Lane::ZERO)).add(load(count));
    for out in out.chunks_exact_mut(VECTORS * V::LANES) {
        let mut vectors = [next; VECTORS];
        for (x, points) in vectors.iter_mut().zip(out.chunks_exact(V::LANES)) {
            if first.is_some() {
                *x = next;
                next = next.add(set(V::Lane::truncate(V::LANES as u64)));
            } else {
                *x = load(points);
            }
        }
        if !INVERSE {
            let outer = RoundKeys::new(&outer, set);
            vectors.iter_mut().for_each(|x| *x = outer.xorshift(*x));
        }
        for round in rounds {
            let keys = RoundKeys::new(round, set);
            for x in &mut vectors {
                *x = if INVERSE {
                    keys.xorshift(*x).sub(keys.increment).mul(keys.multiplier)
                } else {
                    keys.xorshift(x.mul(keys.multiplier).add(keys.increment))
                };
            }
            meanwhile.step();
        }
        if INVERSE {
            let outer = RoundKeys::new(&outer, set);
            vectors.iter_mut().for_each(|x| *x = outer.xorshift(*x));
        }
        for (out, x) in out.chunks_exact_mut(V::LANES).zip(vectors) {
            x.and(set(mask)).store(out);
        }
    }
    meanwhile
}
