//! The computed law beside what is counted, one by one.

use bijective_shuffle::bijection::MulXorshift;
use bijective_shuffle::prelude::*;

use super::*;

#[test]
fn classes_have_their_size_and_number() {
    for bits in [5, 6, 9] {
        let classes = Classes::new(bits);
        let mut sizes = vec![0; classes.count()];
        for difference in 1..1_u64 << bits {
            let class = classes.of(difference);
            sizes[class] += 1;
            assert!(classes.smallest(class) <= difference);
            assert_eq!(classes.zeros(class), difference.trailing_zeros());
            // What the proof says of a multiplication, for one multiplier of each kind.
            for multiplier in [3, 5, 11, 13] {
                let product = difference * multiplier % (1 << bits);
                assert_eq!(classes.of(product), classes.after_multiplication(class));
            }
        }
        let expected: Vec<_> = (0..classes.count()).map(|class| classes.size(class)).collect();
        assert_eq!(sizes, expected, "{bits} bits");
    }
}

/// All points and all differences of a class, one by one.
fn counted(classes: Classes, class: usize, shift: u32) -> Vec<u128> {
    let mask = (1_u64 << classes.bits) - 1;
    let mut counts = vec![0_u128; classes.count()];
    for difference in (1..=mask).filter(|&difference| classes.of(difference) == class) {
        for x in 0..=mask {
            let y = (x + difference) & mask;
            let after = (y ^ y >> shift).wrapping_sub(x ^ x >> shift) & mask;
            counts[classes.of(after)] += 1;
        }
    }
    counts
}

#[test]
fn transitions_are_those_counted_over_all_pairs() {
    for bits in 5..=11 {
        let classes = Classes::new(bits);
        for shift in [0, 1].map(|round| classes.shift(round)) {
            for class in 0..classes.count() {
                let pairs = u128::from(classes.size(class)) << bits;
                let computed = classes.after_xorshift(class, shift);
                assert_eq!(computed.iter().sum::<u128>(), 1 << classes.shares());
                let counted = counted(classes, class, shift);
                let equal = computed
                    .iter()
                    .zip(&counted)
                    .all(|(computed, counted)| computed * pairs == counted << classes.shares());
                assert!(equal, "{bits} bits, shift {shift}, class {class}");
            }
        }
    }
}

/// Every key of two rounds on 5 bits, by the bijection itself.
#[test]
#[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
fn distances_are_those_of_all_keys() {
    const BITS: u32 = 5;
    let points = 1_usize << BITS;
    let multipliers = || (0..32_u64).filter(|a| matches!(a % 8, 3 | 5));
    let increments = || 0..32_u64;
    // How often a pair of points has a pair of values, and of slots.
    let mut forward = vec![0_u32; points.pow(4)];
    let mut inverse = vec![0_u32; points.pow(4)];
    let mut keys = 0_u32;
    for (a0, a1) in multipliers().flat_map(|a0| multipliers().map(move |a1| (a0, a1))) {
        for (c0, c1) in increments().flat_map(|c0| increments().map(move |c1| (c0, c1))) {
            let f = MulXorshift::<2>::new(BITS, [a0, a1], [c0, c1]).unwrap();
            let values: Vec<_> = (0..32).map(|slot| f.forward(slot) as usize).collect();
            for i in 0..points {
                for j in (0..points).filter(|&j| j != i) {
                    let (slots, pair) = (i * points + j, values[i] * points + values[j]);
                    forward[slots * points * points + pair] += 1;
                    inverse[pair * points * points + slots] += 1;
                }
            }
            keys += 1;
        }
    }
    for (law, direction) in [(forward, Direction::Forward), (inverse, Direction::Inverse)] {
        let worst = worst(BITS, 2, direction);
        let pairs = (points * (points - 1)) as u64;
        let distance = |of: usize| {
            let counts = &law[of * points * points..][..points * points];
            let all = (0..points * points).filter(|pair| pair % points != pair / points);
            let excess =
                all.map(|pair| (u64::from(counts[pair]) * pairs).abs_diff(u64::from(keys)));
            // Either order of two values is equally likely, whatever the values.
            for a in 0..points {
                for b in 0..a {
                    assert_eq!(counts[a * points + b], counts[b * points + a]);
                }
            }
            Fraction::new(excess.sum::<u64>().into(), (2 * u64::from(keys) * pairs).into())
        };
        let all = (0..points * points).filter(|of| of % points != of / points);
        assert_eq!(all.map(distance).max(), Some(worst.distance.clone()), "{direction:?}");
        assert_eq!(distance(worst.partner as usize), worst.distance, "0 comes first");
    }
}

#[test]
fn the_worst_pair_of_few_rounds_is_seen_in_members() {
    // After three rounds the last xorshift undone, the low bits of slots 0 and the partner are
    // equal a quarter of the time; docs/quality.md had three rounds as enough.
    let bits = 24;
    let worst = worst(bits, 3, Direction::Forward);
    assert!((log2(&worst.distance) + 2.0).abs() < 0.1);
    let keys = 20_000;
    let equal = (0..keys).filter(|&seed| {
        let f = MulXorshift::<3>::from_seed(1 << bits, seed);
        let low = |slot| {
            let value = f.forward(slot);
            (value ^ value >> (bits / 2)) & 1
        };
        low(0) == low(worst.partner)
    });
    let share = equal.count() as f64 / keys as f64;
    assert!((share - 0.25).abs() < 0.02, "{share}");
}

#[test]
fn the_table_of_the_proof_is_what_is_computed() {
    let document = include_str!("../../../../docs/proof.md");
    for bits in 9..=14 {
        let row = table_row(bits, Direction::Forward);
        assert!(document.contains(&row), "docs/proof.md lacks {row}");
    }
}
