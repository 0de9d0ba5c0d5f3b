//! Lengths around powers of two and at the ends of words, where sums and products wrap: of views,
//! which have no items, and of slices with as many items without a size.

use bijective_shuffle::Error;
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Rows, Serial, Strategy};

const LENGTHS: [u64; 11] = [
    (1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    (1 << 53) + 1,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 1,
    u64::MAX - 1,
    u64::MAX,
];

#[test]
fn views_end_where_their_lengths_do() {
    for (seed, len) in (0..).zip(LENGTHS) {
        let p = Permutation::walk(len, seed);
        for k in [0, 1, len / 3, len / 2, len - 2, len - 1] {
            let index = p.get(k).unwrap();
            assert!(index < len, "{len}");
            assert_eq!(p.position(index), Ok(k), "{len}");
            assert_eq!(p.inverted().get(index), Ok(k), "{len}");
            assert_eq!(p.iter().nth(usize::try_from(k).unwrap_or(0)), Some(index), "{len}");
        }
        for beyond in [len, u64::MAX] {
            let (start, end) = (beyond.into(), u128::from(beyond) + 1);
            let error = Error::View(ViewError::OutOfRange { start, end, len });
            let text = format!("{beyond} is not below the length {len}");
            assert_eq!(error.to_string(), text);
            assert_eq!(p.get(beyond), Err(error.clone()));
            assert_eq!(p.position(beyond), Err(error));
        }

        let near_end: Vec<u64> = p.range(len - 3..).unwrap().collect();
        let looked_up = (len - 3..len).map(|k| p.get(k).unwrap());
        assert!(near_end.iter().copied().eq(looked_up), "{len}");
        assert_eq!(p.range(len..).unwrap().next(), None);
        if let Some(beyond) = len.checked_add(1) {
            assert!(p.range(..beyond).is_err(), "{len}");
        }
        let mut rest = p.range(len - 2..).unwrap();
        let cursor = rest.cursor();
        assert_eq!(rest.by_ref().count(), 2);
        assert_eq!((rest.next(), rest.size_hint()), (None, (0, Some(0))));
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
    }
}

#[test]
fn shards_divide_any_length_among_any_number() {
    for len in LENGTHS {
        let p = Permutation::walk(len, 7);
        for ranks in [1, 2, 3, (1 << 32) + 1, len - 1, len] {
            // Each begins where the one before it ends, and they differ by one at most.
            for rank in [0, ranks / 2, ranks - 1] {
                let bound = |rank: u64| {
                    (u128::from(len) * u128::from(rank)).div_euclid(u128::from(ranks)) as u64
                };
                let mut shard = p.shard(rank, ranks).unwrap();
                let own = bound(rank + 1) - bound(rank);
                assert_eq!(shard.size_hint().0 as u64, own, "{rank} of {ranks}, {len}");
                assert_eq!(shard.next(), p.get(bound(rank)).ok().filter(|_| own > 0));
            }
        }
        for (rank, ranks) in [(0, 0), (1, 1), (u64::MAX, u64::MAX)] {
            assert!(p.shard(rank, ranks).is_err(), "{rank} of {ranks}");
        }
    }
}

/// An item without a size, for which nothing is to be moved, however many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Unit;

#[test]
fn items_without_a_size_may_be_as_many_as_can_be_counted() {
    fn check(units: &mut [Unit]) {
        let len = units.len();
        units.par_bijective_shuffle(1);
        units.par_bijective_unshuffle(1);
        units.try_par_bijective_shuffle(2).unwrap();
        assert_eq!(units.par_bijective_shuffled(3).len(), len);
        // A domain of 2^64 points is enough for all, and one of 2^20 is not.
        let wide = bijective_shuffle::bijection::MulXorshift::<10>::from_seed(u64::MAX, 1);
        let narrow = bijective_shuffle::bijection::MulXorshift::<10>::from_seed(1 << 20, 1);
        let too_long = Err(Error::LengthExceedsDomain { len: len as u64, last: (1 << 20) - 1 });
        for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned, Strategy::InPlace]
        {
            let mut workspace = Workspace::new().with_strategy(strategy);
            workspace.shuffle(&wide, units).unwrap();
            workspace.unshuffle(5, units).unwrap();
            assert_eq!(workspace.shuffle(&narrow, units), too_long);
            assert_eq!(workspace.shuffle_together(&narrow, &mut *units), too_long);
            workspace.shuffle_together(&wide, &mut *units).unwrap();
            // As a third as many rows, and beside a column of another length.
            if len.is_multiple_of(3) {
                workspace.shuffle_together(4, Rows::new(units, 3).unwrap()).unwrap();
            }
            let mut few = [1_u8, 2, 3];
            let (expected, actual) = (len as u64, 3);
            let unequal = Err(Error::LengthMismatch { expected, actual });
            assert_eq!(workspace.shuffle_together(4, (&mut *units, &mut few)), unequal);
            assert_eq!(few, [1, 2, 3]);
            let mut out = [Unit; 3];
            let (expected, actual) = (len as u64, 3);
            let unequal = Err(Error::LengthMismatch { expected, actual });
            assert_eq!(workspace.shuffle_into(4, units, &mut out), unequal);
        }
        assert_eq!(Serial.shuffle(&narrow, units), too_long);
        Serial.shuffle(&wide, units).unwrap();
    }
    check(&mut [Unit; (1 << 32) - 1]);
    check(&mut [Unit; (1 << 32) + 5]);
    check(&mut [Unit; (1 << 63) + 1]);
    check(&mut [Unit; usize::MAX]);
}
