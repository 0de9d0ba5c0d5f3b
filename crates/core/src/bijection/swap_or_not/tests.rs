//! The rounds against a plain form of them, which is also Ethereum's shuffle; and the bound against
//! exact distances.

mod distances;
mod ethereum;

use super::*;
use crate::base::philox4x32::Philox4x32;
use crate::bijection::verify;

/// Swap-or-not as it is defined, for any way to find a partner and any bit of a pair.
fn swap_or_not<R: Copy>(
    point: u64,
    rounds: impl IntoIterator<Item = R>,
    partner: impl Fn(R, u64) -> u64,
    bit: impl Fn(R, [u64; 2]) -> bool,
) -> u64 {
    rounds.into_iter().fold(point, |point, round| {
        let other = partner(round, point);
        let pair = [point.min(other), point.max(other)];
        if bit(round, pair) { other } else { point }
    })
}

/// The rounds of a level, each by its batch and its number in it, at one point.
fn plain_level(f: &SwapOrNot, level: &RoundLevel, point: u64) -> u64 {
    let key = |(batch, round): (usize, usize)| {
        f.batches[batch].keys[round] & (u64::MAX >> (64 - level.width))
    };
    let rounds = (0..level.batches as usize).flat_map(|b| (0..ROUNDS).map(move |round| (b, round)));
    let partner = |round, point| {
        let other = point ^ key(round);
        if other <= level.last { other } else { point }
    };
    let bit = |of: (usize, usize), [point, _]: [u64; 2]| {
        // The point with no pivot set, and which keys lead from there to the pair.
        let sum = |name: u64| {
            (0..ROUNDS).filter(|j| name >> j & 1 != 0).fold(0, |sum, j| sum ^ key((of.0, j)))
        };
        let lowest_first = |name: &u64| (((point ^ sum(*name)) & 511) as u16).reverse_bits();
        let name = (0..32).min_by_key(lowest_first).unwrap();
        let first = point ^ sum(name);
        let (key, number) = (f.bits.key, level.width << 24 | of.0 as u32);
        let block = Philox4x32::<10>::new([key as u32, (key >> 32) as u32]).block([
            first as u32,
            (first >> 32) as u32,
            number,
            f.bits.salt,
        ]);
        let pair: usize = (0..4).map(|i| (name as usize >> ((of.1 + 1 + i) % 5) & 1) << i).sum();
        block[of.1 / 2] >> (of.1 % 2 * 16 + pair) & 1 != 0
    };
    swap_or_not(point, rounds, partner, bit)
}

#[test]
fn the_rounds_are_swap_or_not() {
    for n in [300, 512, 700, 1 << 20, (1 << 33) - 5, u64::MAX] {
        let f = SwapOrNot::for_distance(n, 3, Seed::new(5).with_epoch(n)).unwrap();
        for k in 0..20_u64 {
            let slot = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) % n;
            let mut point = slot;
            for level in &f.levels {
                if point <= level.last {
                    point = plain_level(&f, level, point);
                }
            }
            assert_eq!(f.first.forward(point), f.forward(slot), "{n} points, slot {slot}");
        }
    }
}

#[test]
fn lanes_agree_with_single_points() {
    for n in [200, 257, 700, 3000, u64::from(u32::MAX) + 1, (1 << 33) - 5] {
        let f = SwapOrNot::for_distance(n, 1, n).unwrap();
        let points: Vec<u64> = (0..n.min(TOGETHER as u64)).map(|k| n - 1 - 5 * k % n).collect();
        let single = [
            points.iter().map(|&point| f.forward(point)).collect::<Vec<_>>(),
            points.iter().map(|&point| f.inverse(point)).collect(),
        ];
        for level in SimdLevel::all() {
            for len in
                [0, 1, FEW - 1, FEW, 31, 32, 33, 200, TOGETHER].map(|len| len.min(points.len()))
            {
                let mut values = [points[..len].to_vec(), points[..len].to_vec()];
                f.evaluate::<false>(level, &mut values[0]);
                f.evaluate::<true>(level, &mut values[1]);
                for (values, single) in values.iter().zip(&single) {
                    assert_eq!(values, &single[..len], "{n} points, {len}, {}", level.name());
                }
            }
        }
    }
    // More points than are evaluated together, in words of each width.
    let f = SwapOrNot::for_distance(3000, 1, 1).unwrap();
    let (mut wide, mut narrow, mut short) = ([0_u64; 2500], [0_u32; 2500], [0_u16; 2500]);
    f.forward_run(400, &mut wide);
    assert!(wide.iter().zip(400..).all(|(&value, slot)| value == f.forward(slot)));
    f.forward_run_u32(400, &mut narrow);
    assert!(narrow.iter().zip(&wide).all(|(&value, &wide)| u64::from(value) == wide));
    f.forward_run_u16(400, &mut short);
    assert!(short.iter().zip(&wide).all(|(&value, &wide)| u64::from(value) == wide));
    f.inverse_each(&mut wide);
    assert!(wide.into_iter().eq(400..2900));
}

#[test]
fn every_number_of_points_is_permuted() {
    for n in (1..40).chain([255, 256, 257, 258, 511, 512, 513, 1000, 1023, 1024, 1025, 3000]) {
        let f = SwapOrNot::for_distance(n, 1, 7).unwrap();
        assert_eq!(f.last(), n - 1);
        verify(&f, n).unwrap();
    }
}

#[test]
fn keys_of_a_batch_are_independent_and_named() {
    let mut stream = Seed::new(3).key_stream(KeyDomain::Bits(0));
    for _ in 0..2000 {
        let FiveRounds { keys, pivots } = FiveRounds::draw(&mut stream);
        let of = |point: u64| {
            pivots.iter().filter(|p| point & p.bit != 0).fold(0, |name, p| name ^ p.name)
        };
        for (round, &key) in keys.iter().enumerate() {
            assert_eq!(of(key), 1 << round);
            assert_eq!(of(key & 511), 1 << round, "on the last level");
        }
    }
}

/// The first key of a batch is not 0 in its lowest bits, and nothing else is excluded from it.
#[test]
fn first_keys_are_uniform() {
    let mut stream = Seed::new(4).key_stream(KeyDomain::Bits(0));
    let mut counts = [0_u32; 512];
    for _ in 0..511 * 64 {
        counts[(FiveRounds::draw(&mut stream).keys[0] & 511) as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    let chi_squared: f64 =
        counts[1..].iter().map(|&count| (f64::from(count) - 64.0).powi(2) / 64.0).sum();
    // 510 degrees of freedom: the standard deviation is 32.
    assert!((350.0..670.0).contains(&chi_squared), "{chi_squared}");
}

#[test]
fn unreachable_distances_are_refused() {
    let refused = |n, bits| SwapOrNot::for_distance(n, bits, 1).unwrap_err();
    assert_eq!(refused(0, 40), BijectionError::EmptyDomain);
    for bits in [0, 129] {
        let error = BijectionError::BitsOutOfRange { bits, min: 1, max: 128 };
        assert_eq!(refused(1000, bits), error);
    }
}
