//! The evaluators' inner loops written with the vectors of the crate `wide`, beside ours: one
//! thread, 1024 points at a time. `wide` takes its instructions when it is compiled, so in the
//! default build these are SSE2, and what they are to be compared with is ours with
//! `BIJECTIVE_SHUFFLE_SIMD=portable`. With `RUSTFLAGS=-Ctarget-cpu=native` they are the machine's
//! best.

use std::hint::black_box;

use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;
use wide::{u16x8, u32x8};

fn main() {
    divan::main();
}

const BITS: u32 = 24;
const ROUNDS: usize = 10;
const POINTS: usize = 1024;

/// `MulXorshift` of 24 bits, 128 points together.
fn chain_by_wide(chain: &MulXorshift<ROUNDS>, first: u32, out: &mut [u32; POINTS]) {
    const VECTORS: usize = 16;
    let mask = u32::MAX >> (32 - BITS);
    let half = BITS.div_ceil(2);
    let keys: Vec<_> = (0..ROUNDS)
        .map(|k| (chain.multipliers()[k] as u32, chain.increments()[k] as u32, half + k as u32 % 2))
        .collect();
    let xorshift = |x: u32x8, shift: u32| x ^ ((x >> shift) & u32x8::splat(mask >> shift));
    for (block, first) in
        out.as_chunks_mut::<{ 8 * VECTORS }>().0.iter_mut().zip((first..).step_by(8 * VECTORS))
    {
        let mut lanes: [u32x8; VECTORS] = core::array::from_fn(|k| {
            u32x8::splat(first + 8 * k as u32) + u32x8::new([0, 1, 2, 3, 4, 5, 6, 7])
        });
        for x in &mut lanes {
            *x = xorshift(*x, half + 1);
        }
        for &(multiplier, increment, shift) in black_box(&keys[..]) {
            for x in &mut lanes {
                *x = xorshift(*x * u32x8::splat(multiplier) + u32x8::splat(increment), shift);
            }
        }
        for (out, x) in block.as_chunks_mut::<8>().0.iter_mut().zip(lanes) {
            *out = (x & u32x8::splat(mask)).to_array();
        }
    }
}

/// `VariablePhilox` of 24 bits, 256 points together, in 16-bit limbs.
fn philox_by_wide(cipher: &VariablePhilox<24>, first: u32, out: &mut [u32; POINTS]) {
    const VECTORS: usize = 32;
    const LIMBS: [u16; 3] = [0x6E93, 0xB1CE, 0x4407];
    let half = BITS / 2;
    let mask = u16x8::splat(u16::MAX >> (16 - half));
    let limbs = LIMBS.map(u16x8::splat);
    let keys = cipher.keys().map(|key| key as u16);
    for (block, first) in
        out.as_chunks_mut::<{ 8 * VECTORS }>().0.iter_mut().zip((first..).step_by(8 * VECTORS))
    {
        let point = |k: usize, lane: usize| first + (8 * k + lane) as u32;
        let mut left: [u16x8; VECTORS] = core::array::from_fn(|k| {
            u16x8::new(core::array::from_fn(|lane| (point(k, lane) >> half) as u16))
        });
        let mut right: [u16x8; VECTORS] = core::array::from_fn(|k| {
            u16x8::new(core::array::from_fn(|lane| point(k, lane) as u16)) & mask
        });
        for &key in black_box(&keys[..]) {
            for (left, right) in left.iter_mut().zip(&mut right) {
                let middle = *left * limbs[1];
                let sum = left.mul_keep_high(limbs[0]) + middle;
                // A comparison gives all ones, which is one less than zero.
                let high = left.mul_keep_high(limbs[1]) + *left * limbs[2] - sum.simd_lt(middle);
                let low = *left * limbs[0];
                *left = (high ^ u16x8::splat(key) ^ *right) & mask;
                *right = low;
            }
        }
        let halves = left.into_iter().zip(right);
        for (out, (left, right)) in block.as_chunks_mut::<8>().0.iter_mut().zip(halves) {
            let (left, right) = (left.to_array(), (right & mask).to_array());
            *out =
                core::array::from_fn(|lane| u32::from(left[lane]) << half | u32::from(right[lane]));
        }
    }
}

fn bench<B: Bijection>(bencher: Bencher, f: &B, run: impl Fn(&B, u32, &mut [u32; POINTS])) {
    let mut out = [0; POINTS];
    run(f, 7, &mut out);
    let slots = out.iter().map(|&x| f.inverse(u64::from(x)));
    assert!(slots.eq(7..7 + POINTS as u64), "another map");
    bencher.counter(ItemsCount::new(POINTS)).bench_local(|| {
        run(f, black_box(7), &mut out);
        black_box(&out)[POINTS - 1]
    });
}

fn ours<B: Bijection>(f: &B, first: u32, out: &mut [u32; POINTS]) {
    f.forward_run_u32(u64::from(first), out);
}

#[divan::bench]
fn mul_xorshift_ours(bencher: Bencher) {
    bench(bencher, &MulXorshift::<10>::from_seed(1 << BITS, 1), ours);
}

#[divan::bench]
fn mul_xorshift_wide(bencher: Bencher) {
    bench(bencher, &MulXorshift::<10>::from_seed(1 << BITS, 1), chain_by_wide);
}

#[divan::bench]
fn variable_philox_ours(bencher: Bencher) {
    bench(bencher, &VariablePhilox::<24>::from_seed(1 << BITS, 1), ours);
}

#[divan::bench]
fn variable_philox_wide(bencher: Bencher) {
    bench(bencher, &VariablePhilox::<24>::from_seed(1 << BITS, 1), philox_by_wide);
}
