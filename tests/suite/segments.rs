//! Segments of different lengths are those of as many permutations.

use std::ops::Range;

use bijective_shuffle::Error;
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws::short;
use rayon::ThreadPoolBuilder;

/// Offsets with these lengths between them.
fn offsets(lens: impl IntoIterator<Item = usize>) -> Vec<u64> {
    let mut offsets = vec![0];
    offsets.extend(lens.into_iter().scan(0, |end, len| {
        *end += len as u64;
        Some(*end)
    }));
    offsets
}

/// Lengths below a limit that look random.
fn lens(count: usize, range: Range<usize>, seed: u64) -> impl Iterator<Item = usize> {
    let mix = move |k: u64| k.wrapping_add(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
    (0..count as u64).map(move |k| range.start + mix(k * k + k) as usize % range.len())
}

/// The indexes of segments, one by one.
fn expected(offsets: &[u64], seed: Seed) -> Vec<u64> {
    let segments = offsets.windows(2).zip(0..);
    let orders =
        segments.map(|(ends, r)| Permutation::new(ends[1] - ends[0], seed.with_epoch(r)).to_vec());
    orders.flatten().collect()
}

/// An item that can only be moved.
#[derive(Debug, PartialEq)]
struct Moved(u64);

fn check(offsets: &[u64], seed: Seed, threads: usize, what: &str) {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let segments = Segments::new(offsets, seed.with_epoch(77)).unwrap();
    let order = expected(offsets, seed);
    let what = format!("{what}, {threads} threads");
    let mut narrow = vec![u32::MAX; order.len()];
    pool.install(|| segments.write_indexes(&mut narrow)).unwrap();
    assert!(narrow.iter().map(|&index| u64::from(index)).eq(order.iter().copied()), "{what}");
    let mut wide = vec![u64::MAX; order.len()];
    pool.install(|| segments.write_indexes(&mut wide)).unwrap();
    assert!(wide == order, "{what}");
    let mut items: Vec<Moved> = (0..order.len() as u64).map(Moved).collect();
    pool.install(|| segments.shuffle(&mut items)).unwrap();
    for (number, ends) in offsets.windows(2).enumerate() {
        let places = ends[0] as usize..ends[1] as usize;
        assert_eq!(segments.range(number), Some(places.clone()));
        let right = places.clone().all(|k| items[k].0 == ends[0] + order[k]);
        assert!(right, "segment {number} of {places:?}, {what}");
    }
    pool.install(|| segments.unshuffle(&mut items)).unwrap();
    assert!(items.iter().zip(0..).all(|(item, k)| item.0 == k), "back, {what}");
}

#[test]
fn segments_are_permutations_of_their_lengths() {
    let long = if short() { 20_000 } else { 400_000 };
    let cases: Vec<(&str, Vec<u64>)> = vec![
        ("no segments", offsets([])),
        ("empty ones only", offsets([0; 100])),
        ("one of one item", offsets([1])),
        ("every length to 300", offsets(0..300)),
        ("from 300 down", offsets((0..300).rev())),
        ("single items", offsets(vec![1; 40_000])),
        ("pairs and empty ones", offsets((0..40_000).map(|k| k % 2 * 2))),
        ("short ones", offsets(lens(20_000, 0..40, 1))),
        ("of up to 1000", offsets(lens(300, 1..1001, 2))),
        ("of up to 20,000", offsets(lens(30, 1..20_001, 3))),
        ("one long one", offsets([long])),
        ("one long one first", offsets([long].into_iter().chain(lens(2000, 0..100, 4)))),
        ("one long one last", offsets(lens(2000, 0..100, 5).chain([long]))),
        ("two long ones", offsets([5, long, 0, 3, long / 2, 256, 257])),
        ("each twice as long", offsets((0..17).map(|k| 1 << k))),
    ];
    for (what, offsets) in &cases {
        for threads in [1, 3, 16] {
            check(offsets, Seed::new(9), threads, what);
        }
        check(offsets, Seed::from_bytes([0xA5; 32]), 2, what);
    }
}

/// A row is drawn again in one in fifty of this length.
#[test]
fn segments_with_rejected_words_are_permutations() {
    check(&offsets([252; 1000]), Seed::new(3), 2, "of 252");
}

#[test]
fn a_million_segments_are_shuffled() {
    let count = if short() { 1 << 16 } else { 1 << 20 };
    let offsets = offsets(lens(count, 0..9, 6));
    check(&offsets, Seed::new(1), 3, "many");
}

/// Any integers that fit, and the same segments by each.
#[test]
fn offsets_are_integers_of_any_type() {
    fn shuffled<N: Copy + Sync + TryInto<usize>>(offsets: &[N]) -> Vec<u8> {
        let mut items: Vec<u8> = (0..60).collect();
        let segments = Segments::new(offsets, 4).unwrap();
        assert_eq!((segments.count(), segments.items()), (3, 60));
        segments.shuffle(&mut items).unwrap();
        items
    }
    let expected = shuffled(&[0_usize, 40, 40, 60]);
    assert_eq!(shuffled(&[0_i32, 40, 40, 60]), expected);
    assert_eq!(shuffled(&[0_i64, 40, 40, 60]), expected);
    assert_eq!(shuffled(&[0_u32, 40, 40, 60]), expected);
    assert_eq!(shuffled(&[0_u64, 40, 40, 60]), expected);
    assert_eq!(shuffled(&[0_u8, 40, 40, 60]), expected);
}

#[test]
fn offsets_that_cannot_be_are_refused() {
    let error = |offsets: &[i64]| Segments::new(offsets, 1).unwrap_err();
    let wrong = |number| Error::View(ViewError::Offsets { number });
    assert_eq!(error(&[]), wrong(0));
    assert_eq!(error(&[1]), wrong(0));
    assert_eq!(error(&[-1, 3]), wrong(0));
    assert_eq!(error(&[0, 5, 4, 9]), wrong(2));
    assert_eq!(error(&[0, 5, -1]), wrong(2));
    let segments = Segments::new(&[0_u64, 2, 4, 4], Seed::new(1).with_epoch(9)).unwrap();
    assert_eq!(segments, Segments::new(&[0_u64, 2, 4, 4], 1).unwrap());
    for len in [0_usize, 3, 5] {
        let refused = Error::LengthMismatch { expected: 4, actual: len as u64 };
        let mut items: Vec<String> = (0..len).map(|k| k.to_string()).collect();
        let before = items.clone();
        assert_eq!(segments.shuffle(&mut items), Err(refused.clone()));
        assert_eq!(segments.unshuffle(&mut items), Err(refused.clone()));
        assert_eq!(segments.write_indexes(&mut vec![0_u32; len]), Err(refused));
        assert_eq!(items, before);
    }
    assert!(segments.segment(3).is_none() && segments.range(3).is_none());
    assert_eq!(segments.segment(2).unwrap().len(), 0);
    assert_eq!(segments.offsets(), [0, 2, 4, 4]);
}

/// Items without a size are as many as any.
#[test]
fn segments_of_items_without_a_size_are_shuffled() {
    let segments = [0, 1 << 20, 1 << 20, (1 << 20) + 300];
    let mut items = vec![(); segments[3]];
    Segments::new(&segments, 1).unwrap().shuffle(&mut items).unwrap();
}
