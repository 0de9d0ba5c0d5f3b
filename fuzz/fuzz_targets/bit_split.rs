//! Every width, every key: round trips, both words, runs, and Listing 1 of the paper written down
//! once more.
#![no_main]

use arbitrary::Arbitrary;
use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::bijection::{
    Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, VariablePhilox,
};
use bijective_shuffle::error::BijectionError;
use bijective_shuffle::prelude::*;
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input {
    bits: u8,
    keys: [u32; 24],
    multiplier: u64,
    increment: u64,
    point: u64,
    run: u8,
}

/// VariablePhilox as the paper's listing has it, in wide arithmetic.
fn listing_1(bits: u32, keys: &[u32], point: u64) -> u64 {
    let (left_bits, right_bits) = (u128::from(bits / 2), u128::from(bits - bits / 2));
    let (left_mask, right_mask) = ((1 << left_bits) - 1, (1 << right_bits) - 1);
    let (mut left, mut right) = (u128::from(point) >> right_bits, u128::from(point) & right_mask);
    for &key in keys {
        let product = (0xD2B7_4407_B1CE_6E93 * left) & u128::from(u64::MAX);
        let low = (product << (right_bits - left_bits)) | (right >> left_bits);
        left = ((product >> 32) ^ u128::from(key) ^ right) & left_mask;
        right = low & right_mask;
    }
    (left << right_bits | right) as u64
}

/// Checks round trips at a point, and the runs that start there.
fn check(f: &dyn Bijection, point: u64, run: usize) {
    let point = point.min(f.last());
    assert!(f.forward(point) <= f.last());
    assert_eq!(f.inverse(f.forward(point)), point);
    assert_eq!(f.forward(f.inverse(point)), point);
    let count = (f.last() - point).min(run as u64) as usize + 1;
    let mut out = vec![0; count];
    f.forward_run(point, &mut out);
    assert!((point..=u64::MAX).zip(&out).all(|(slot, &index)| f.forward(slot) == index));
    if f.last() <= u64::from(u32::MAX) {
        let mut narrow = vec![0; count];
        f.inverse_run_u32(point, &mut narrow);
        f.forward_each_u32(&mut narrow);
        assert!((point..).zip(narrow).all(|(index, back)| index == u64::from(back)));
    }
    f.inverse_each(&mut out);
    assert!((point..=u64::MAX).zip(&out).all(|(slot, &back)| slot == back));
    f.inverse_run(point, &mut out);
    f.forward_each(&mut out);
    assert!((point..=u64::MAX).zip(&out).all(|(index, &back)| index == back));
}

fuzz_target!(|input: Input| {
    let Input { bits, keys, multiplier, increment, point, run } = input;
    let bits = u32::from(bits);
    let Ok(f) = VariablePhilox::<24>::new(bits, keys) else {
        assert!(!(2..=64).contains(&bits));
        return;
    };
    let point = point & f.last();
    let run = usize::from(run);
    assert_eq!(f.forward(point), listing_1(bits, &keys, point));
    check(&f, point, run);
    if let Ok(narrow) = f.to_word::<u32>() {
        assert_eq!(u64::from(narrow.forward(point as u32)), f.forward(point));
        assert_eq!(u64::from(narrow.inverse(point as u32)), f.inverse(point));
    } else {
        assert!(bits > 32);
    }
    // The keys serve every family.
    let words: [u64; 8] =
        core::array::from_fn(|k| u64::from(keys[k]) << 32 | u64::from(keys[k + 8]));
    let chain = MulXorshift::new(bits, words.map(|word| word | 1), words.map(u64::reverse_bits))
        .expect("odd");
    check(&chain, point, run);
    if let Ok(narrow) = chain.to_word::<u32>() {
        assert_eq!(u64::from(narrow.forward(point as u32)), chain.forward(point));
    }
    let grid_keys: [[u32; 4]; 6] =
        core::array::from_fn(|k| core::array::from_fn(|i| keys[4 * k + i]));
    let grid = GridFeistel::new(point | 1, grid_keys).expect("not empty");
    assert!(grid.last() >= point.max(1) - 1);
    check(&grid, increment, run);
    match Lcg::new(bits, multiplier, increment) {
        Ok(lcg) => {
            check(&lcg, point, run);
            let both =
                Compose::new(lcg, RandomSign::new(f, increment & 1 == 1)).expect("one domain");
            check(&both, point, run);
            let last = f.last() - (f.last() >> 2);
            check(&CycleWalk::from_last(Inverse::new(both), last).expect("smaller"), point, run);
        }
        Err(error) => {
            assert_eq!(error, BijectionError::EvenMultiplier { multiplier });
            assert_eq!(multiplier % 2, 0);
        }
    }
});
