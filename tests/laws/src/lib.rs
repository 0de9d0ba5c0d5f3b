//! The laws that every back end keeps, and what the test programs of the repository share: members
//! of every family, lengths at which things go wrong, and how long tests take.
//!
//! A test program has the laws by `#[macro_use] extern crate`, implements
//! [`UnderTest`](under_test::UnderTest) for its back ends and gives each a line of `back_ends!`.
#![allow(
    missing_docs,
    missing_debug_implementations,
    clippy::len_without_is_empty,
    clippy::should_implement_trait,
    reason = "only tests see it"
)]

#[macro_use]
mod laws;
#[macro_use]
pub mod items;
pub mod agreement;
pub mod batches;
pub mod compositions;
pub mod hostile;
pub mod liars;
pub mod lies;
pub mod permutations;
pub mod refusals;
pub mod together;
pub mod under_test;

pub use bijective_shuffle::families;

use bijective_shuffle::Word;
use bijective_shuffle::bijection::{
    BlockShuffle, Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, Standard,
    SwapOrNot, Table, VariablePhilox,
};
use bijective_shuffle::prelude::*;
use bijective_shuffle_affine::{Affine, BitMatrix};

/// How many cases a property test runs: ten times as many when `BIJECTIVE_SHUFFLE_LONG` is set, and
/// a tenth of them when `BIJECTIVE_SHUFFLE_SHORT` is, for a machine that is emulated.
pub fn cases(usual: u32) -> u32 {
    if long() {
        10 * usual
    } else if short() {
        usual.div_ceil(10)
    } else {
        usual
    }
}

/// Whether the short forms of the tests are asked for: for a machine that is emulated, or a tool
/// that watches every access to memory.
pub fn short() -> bool {
    std::env::var_os("BIJECTIVE_SHUFFLE_SHORT").is_some()
}

/// Whether the long forms of the tests are asked for.
pub fn long() -> bool {
    std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some()
}

/// The largest length that a domain of `2^bits` points is drawn for.
pub fn power(bits: u32) -> u64 {
    u64::low_mask(bits).saturating_add(1)
}

/// A member of every family and combinator there is on `2^bits` points (some need 2 bits, and a
/// table is only made for few).
pub fn every_family(bits: u32, seed: u64) -> Vec<(&'static str, Box<dyn Bijection>)> {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: u64) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let mut all = Vec::new();
    for (name, draw) in families!(draw) {
        let is_drawn = match name {
            "Lcg" => true,
            "Table" => bits <= 12,
            // Below, with few rounds.
            "SwapOrNot" => false,
            _ => bits >= 2,
        };
        if is_drawn {
            let (whole, half) = (draw(power(bits), seed), draw(power(bits) / 2 + 1, seed));
            if half.last() != whole.last() {
                all.push((name, half));
            }
            all.push((name, whole));
        }
    }
    let lcg = || with_bits(bits, seed);
    let more: [(_, Box<dyn Bijection>); 3] = [
        ("Inverse<Lcg>", Box::new(Inverse::new(lcg()))),
        ("RandomSign<Lcg>", Box::new(RandomSign::new(lcg(), true))),
        (
            "CycleWalk<Lcg>",
            Box::new(CycleWalk::from_last(lcg(), lcg().last() - lcg().last() / 3).unwrap()),
        ),
    ];
    all.extend([
        ("Affine", Box::new(affine(bits, seed)) as Box<dyn Bijection>),
        ("Inverse<Affine>", Box::new(Inverse::new(affine(bits, seed)))),
        ("Compose<Affine, Lcg>", Box::new(Compose::new(affine(bits, seed), lcg()).unwrap())),
    ]);
    all.extend(more);
    if bits >= 2 {
        let philox = || philox::<24>(bits, seed);
        let full = philox().last();
        all.push(("VariablePhilox<1>", Box::new(self::philox::<1>(bits, seed))));
        all.push(("VariablePhilox<0>", Box::new(self::philox::<0>(bits, seed))));
        all.push(("Inverse<VariablePhilox>", Box::new(Inverse::new(philox()))));
        all.push(("RandomSign, no swap", Box::new(RandomSign::new(philox(), false))));
        all.push(("RandomSign, swap", Box::new(RandomSign::new(philox(), true))));
        all.push(("Compose", Box::new(Compose::new(philox(), lcg()).unwrap())));
        all.push((
            "CycleWalk to all but one",
            Box::new(CycleWalk::from_last(philox(), full - 1).unwrap()),
        ));
        all.push((
            "CycleWalk to half and one",
            Box::new(CycleWalk::from_last(philox(), full / 2 + 1).unwrap()),
        ));
        let walk = CycleWalk::from_last(philox(), full / 2 + 1).unwrap();
        all.push((
            "Inverse<RandomSign<CycleWalk>>",
            Box::new(Inverse::new(RandomSign::new(walk, true))),
        ));
        all.push(("MulXorshift<0>", Box::new(mul_xorshift::<0>(bits, seed))));
        all.push(("GridFeistel<0>", Box::new(GridFeistel::<0>::from_seed(power(bits), seed))));
        all.push(("MulXorshift<3>", Box::new(mul_xorshift::<3>(bits, seed))));
        all.push(("Inverse<MulXorshift>", Box::new(Inverse::new(mul_xorshift::<8>(bits, seed)))));
        all.push((
            "GridFeistel<5>",
            Box::new(GridFeistel::<5>::from_seed(power(bits) / 3 * 2, seed)),
        ));
        all.push(("Standard", Box::new(Standard::from_seed(power(bits), seed))));
        // With as few rounds as there can be, and on few wide domains, for the time that it takes.
        if if long() { bits <= 12 || bits % 8 <= 1 } else { bits <= 9 || bits == 33 } {
            let of_points = |n| SwapOrNot::for_distance(n, 1, seed).unwrap();
            all.push(("SwapOrNot", Box::new(of_points(power(bits)))));
            all.push(("SwapOrNot, half and one", Box::new(of_points(power(bits) / 2 + 1))));
        }
        if bits <= 12 {
            let len = power(bits) / 2 + 1;
            let p = Permutation::from_bijection(len, philox()).unwrap();
            all.push(("Permutation, inverse", Box::new(p.inverted())));
            all.push(("Permutation", Box::new(p)));
        }
        // Half of the domain's bits in a block; the last block and the last window are short.
        let (len, block) = (power(bits) / 3 * 2 + 1, 1 << (bits / 2));
        all.push(("BlockShuffle", Box::new(BlockShuffle::new(len, block, 3, seed).unwrap())));
        let of_grids = BlockShuffle::<GridFeistel>::try_from_seed(power(bits), block, 3, seed);
        all.push(("BlockShuffle<GridFeistel>", Box::new(of_grids.unwrap())));
    }
    all
}

/// The families that come in both words: each in `u64` and in `u32`, on the same domain of at most
/// `2^32` points.
#[expect(clippy::type_complexity, reason = "a list of pairs, named where it is taken apart")]
pub fn every_word_pair(
    bits: u32,
    seed: u64,
) -> Vec<(&'static str, Box<dyn Bijection<u64>>, Box<dyn Bijection<u32>>)> {
    let lcg = || with_bits(bits, seed);
    let narrow_lcg = || lcg().to_word::<u32>().unwrap();
    let mut all: Vec<(_, Box<dyn Bijection<u64>>, Box<dyn Bijection<u32>>)> = vec![
        ("Lcg", Box::new(lcg()), Box::new(narrow_lcg())),
        ("Inverse<Lcg>", Box::new(Inverse::new(lcg())), Box::new(Inverse::new(narrow_lcg()))),
    ];
    {
        let wide = affine(bits, seed);
        let narrow = wide.to_word::<u32>().unwrap();
        all.push(("Affine", Box::new(wide), Box::new(narrow)));
    }
    if bits <= 12 {
        let table = Table::from_seed(power(bits), seed);
        let narrow = table.to_word::<u32>().unwrap();
        all.push(("Table", Box::new(table), Box::new(narrow)));
    }
    if bits >= 2 {
        let wide = philox::<24>(bits, seed);
        let narrow = wide.to_word::<u32>().unwrap();
        all.push(("VariablePhilox", Box::new(wide), Box::new(narrow)));
        let chain = mul_xorshift::<8>(bits, seed);
        all.push(("MulXorshift", Box::new(chain), Box::new(chain.to_word::<u32>().unwrap())));
        all.push((
            "Compose",
            Box::new(Compose::new(lcg(), wide).unwrap()),
            Box::new(Compose::new(narrow_lcg(), narrow).unwrap()),
        ));
        all.push((
            "RandomSign",
            Box::new(RandomSign::new(wide, true)),
            Box::new(RandomSign::new(narrow, true)),
        ));
    }
    all
}

fn philox<const ROUNDS: usize>(bits: u32, seed: u64) -> VariablePhilox<ROUNDS> {
    let drawn = VariablePhilox::<ROUNDS>::from_seed(power(bits), seed);
    VariablePhilox::new(bits, *drawn.keys()).unwrap()
}

fn mul_xorshift<const ROUNDS: usize>(bits: u32, seed: u64) -> MulXorshift<ROUNDS> {
    let drawn = MulXorshift::<ROUNDS>::from_seed(u64::MAX, seed);
    MulXorshift::new(bits, *drawn.multipliers(), *drawn.increments()).unwrap()
}

/// On 64 bits too, which no length asks for.
fn affine(bits: u32, seed: u64) -> Affine {
    Affine::new(&BitMatrix::random(bits, seed).unwrap(), seed.wrapping_mul(0x9E37_79B9)).unwrap()
}

fn with_bits(bits: u32, seed: u64) -> Lcg {
    let drawn = Lcg::from_seed(u64::MAX, seed);
    Lcg::new(bits, drawn.multiplier(), drawn.increment()).unwrap()
}

/// A sequence of numbers: SplitMix64.
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }
}

/// What a user writes: no run, no trust, only the methods that have to be there.
pub struct Plain<B>(pub B);

impl<B: Bijection> Bijection for Plain<B> {
    fn last(&self) -> u64 {
        self.0.last()
    }
    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }
    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }
}

/// The lengths at which things go wrong: all the small ones, and around every power of two up to
/// `2^most`.
pub fn lengths(most: u32) -> Vec<u64> {
    let (small, each, beside) = if short() { (5, 4, 1) } else { (17, 1, 3) };
    let mut all: Vec<u64> = (0..=small).collect();
    for bits in (3..=most).rev().step_by(each) {
        let power = 1_u64 << bits;
        all.extend(power.saturating_sub(beside)..=power + beside);
    }
    all.extend((2..=most / 2).step_by(each).map(|k| (1_u64 << (2 * k)) + 1));
    all.extend([100, 1000, 12_345, 99_999]);
    all.sort_unstable();
    all.dedup();
    all
}
