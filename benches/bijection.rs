//! Evaluations a second of every bijection, by width: one thread, in runs of 1024 slots.

use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::bijection::{
    BlockShuffle, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, Standard, SwapOrNot,
    VariablePhilox,
};
use bijective_shuffle::prelude::*;
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const RUN: usize = 1024;
const BITS: [u32; 7] = [9, 16, 17, 24, 32, 33, 64];

/// Times runs of a bijection, in 32 bits where the domain allows it, as the engines do; after
/// checking that they can be undone.
fn forward_runs(bencher: Bencher, bijection: &dyn Bijection) {
    let first = bijection.last() / 3;
    let slots = (RUN as u64).min(bijection.last() - first + 1) as usize;
    let bencher = bencher.counter(ItemsCount::new(slots));
    if bijection.last() <= u64::from(u32::MAX) {
        let mut out = vec![0_u32; slots];
        bijection.forward_run_u32(first, &mut out);
        check(bijection, first, out.iter().map(|&x| u64::from(x)).collect());
        bencher.bench_local(|| {
            bijection.forward_run_u32(divan::black_box(first), &mut out);
            divan::black_box(&out).last().copied()
        });
    } else {
        let mut out = vec![0_u64; slots];
        bijection.forward_run(first, &mut out);
        check(bijection, first, out.clone());
        bencher.bench_local(|| {
            bijection.forward_run(divan::black_box(first), &mut out);
            divan::black_box(&out).last().copied()
        });
    }
}

fn check(bijection: &dyn Bijection, first: u64, mut values: Vec<u64>) {
    bijection.inverse_each(&mut values);
    assert!(values.iter().copied().eq(first..first + values.len() as u64));
}

fn inverse_runs(bencher: Bencher, bijection: &dyn Bijection) {
    forward_runs(bencher, &Inverse::new(bijection));
}

fn power(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

#[divan::bench(args = BITS)]
fn variable_philox(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &VariablePhilox::<24>::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn variable_philox_inverse(bencher: Bencher, bits: u32) {
    inverse_runs(bencher, &VariablePhilox::<24>::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn lcg(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &Lcg::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn standard(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &Standard::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn standard_inverse(bencher: Bencher, bits: u32) {
    inverse_runs(bencher, &Standard::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn mul_xorshift_8(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &MulXorshift::<8>::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn grid_feistel(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &GridFeistel::<12>::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn swap_or_not(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &SwapOrNot::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn swap_or_not_inverse(bencher: Bencher, bits: u32) {
    inverse_runs(bencher, &SwapOrNot::from_seed(power(bits), 1));
}

#[divan::bench(args = BITS)]
fn cycle_walk_worst(bencher: Bencher, bits: u32) {
    let len = power(bits) / 2 + 2;
    forward_runs(bencher, &CycleWalk::<VariablePhilox>::from_seed(len, 1));
}

/// Blocks of 512 items in windows of 8, or of all there are.
fn of_blocks(bits: u32) -> BlockShuffle {
    BlockShuffle::new(power(bits), 512, 8, 1).unwrap()
}

#[divan::bench(args = BITS)]
fn block_shuffle(bencher: Bencher, bits: u32) {
    forward_runs(bencher, &of_blocks(bits));
}

#[divan::bench(args = BITS)]
fn block_shuffle_inverse(bencher: Bencher, bits: u32) {
    inverse_runs(bencher, &of_blocks(bits));
}

/// Single points, each of which draws the key of a window; of tables, where they are small.
#[divan::bench(args = [16, 4096, 1 << 20])]
fn block_shuffle_points(bencher: Bencher, window_items: u64) {
    let f = BlockShuffle::new(1 << 40, window_items / 4, 4, 1).unwrap();
    let slots: Vec<u64> =
        (0..1000_u64).map(|k| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24).collect();
    bencher
        .counter(ItemsCount::new(slots.len()))
        .bench_local(|| slots.iter().fold(0, |sum, &slot| f.forward(divan::black_box(slot)) ^ sum));
}
