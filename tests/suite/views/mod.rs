//! One permutation, every view: whatever a `Permutation` is asked, and in whatever order, it is
//! what `Serial` writes.

mod hostile;
mod hostile_cursors;
mod large;
mod owned;
mod steps;

use core::ops::Bound::{Excluded, Unbounded};

use bijective_shuffle::Error;
use bijective_shuffle::Serial;
use bijective_shuffle::bijection::{CycleWalk, GridFeistel, MulXorshift, Standard, VariablePhilox};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::prelude::*;
use bijective_shuffle_laws::lengths;
use rayon::ThreadPoolBuilder;

fn serial(f: &dyn Bijection, len: u64) -> Vec<u64> {
    let mut expected = vec![0; len as usize];
    Serial.write_indexes(f, &mut expected).unwrap();
    expected
}

fn inverse_of(order: &[u64]) -> Vec<u64> {
    let mut inverse = vec![0; order.len()];
    for (place, &index) in (0..).zip(order) {
        inverse[index as usize] = place;
    }
    inverse
}

/// Checks every view against the whole of the permutation; `steps` places are asked for one by one.
fn check<B: Bijection + Clone>(p: &Permutation<B>, expected: &[u64], steps: usize, what: &str) {
    let len = expected.len() as u64;
    assert_eq!(p.len(), len, "{what}");
    assert!(p.iter().eq(expected.iter().copied()), "{what}: forth");
    assert!(p.iter().rev().eq(expected.iter().rev().copied()), "{what}: back");
    assert_eq!(p.to_vec(), expected, "{what}: to_vec");
    assert_eq!(p.par_iter().collect::<Vec<_>>(), expected, "{what}: in parallel");
    let by_reference: Vec<u64> = p.into_par_iter().rev().collect();
    assert!(by_reference.iter().rev().eq(expected), "{what}: by reference, in parallel");
    for k in (0..expected.len()).step_by(expected.len() / steps + 1) {
        let index = expected[k];
        assert_eq!(p.get(k as u64).unwrap(), index, "{what}: get {k}");
        assert_eq!(p.position(index).unwrap(), k as u64, "{what}: position of {index}");
    }
    for beyond in [len, len + 1, u64::MAX] {
        let is_refused = |found| matches!(found, Err(Error::View(ViewError::OutOfRange { .. })));
        assert!(is_refused(p.get(beyond)) && is_refused(p.position(beyond)), "{what}");
        assert!(p.head(beyond).eq(p.iter()), "{what}: head {beyond}");
    }
    for (a, b) in [(0, len), (len / 3, len / 2), (len / 2, len), (len, len), (0, len / 7)] {
        let part = &expected[a as usize..b as usize];
        let range = p.range(a..b).unwrap();
        assert_eq!(range.remaining(), b - a, "{what}: {a}..{b}");
        assert!(range.clone().eq(part.iter().copied()), "{what}: {a}..{b}");
        assert!(range.clone().rev().eq(part.iter().rev().copied()), "{what}: {a}..{b} back");
        assert_eq!(range.into_par_iter().collect::<Vec<_>>(), part, "{what}: {a}..{b} in parallel");
    }
    for ranks in [1, 2, 3, 8, len.max(1), len + 5] {
        check_shards(p, expected, ranks, what);
    }
}

/// Checks some of a number of shards.
fn check_shards<B: Bijection>(p: &Permutation<B>, expected: &[u64], ranks: u64, what: &str) {
    let mut end = 0;
    for rank in (0..ranks).step_by((ranks / 8) as usize + 1) {
        let shard: Vec<u64> = p.shard(rank, ranks).unwrap().collect();
        let start = (u128::from(p.len()) * u128::from(rank) / u128::from(ranks)) as usize;
        assert!(ranks / 8 > 0 || start == end, "{what}: shard {rank} of {ranks}");
        end = start + shard.len();
        assert_eq!(shard, expected[start..end], "{what}: shard {rank} of {ranks}");

        let strided = p.iter().shard_strided(rank, ranks).unwrap();
        let places = (rank as usize..expected.len()).step_by(ranks as usize);
        let of_rank: Vec<u64> = places.map(|place| expected[place]).collect();
        assert!(strided.clone().eq(of_rank.iter().copied()), "{what}: strided {rank} of {ranks}");
        assert!(strided.rev().eq(of_rank.into_iter().rev()), "{what}: strided {rank}, back");
    }
    for rank in [ranks, u64::MAX] {
        let refused = Error::NoSuchRank { rank, ranks };
        assert_eq!(p.shard(rank, ranks).unwrap_err(), refused);
        assert_eq!(p.iter().shard_strided(rank, ranks).unwrap_err(), refused);
    }
}

/// Checks a bijection's permutation of a length, backwards too.
fn check_both<B: Bijection + Clone>(f: &B, len: u64, what: &str) {
    let expected = serial(f, len);
    let p = Permutation::from_bijection(len, f.clone()).unwrap();
    check(&p, &expected, 50, what);
    let backwards = inverse_of(&expected);
    check(&p.inverted(), &backwards, 50, &format!("{what}, inverse"));
    assert!(p.inverted().inverted().iter().eq(expected), "{what}");

    let items: Vec<u64> = (0..len).map(|x| x ^ 0x5555).collect();
    let mut there = p.apply(&items).unwrap();
    assert_eq!(p.inverted().apply(&there).unwrap(), items, "{what}: applied");
    p.inverted().apply_in_place(&mut there).unwrap();
    assert_eq!(there, items, "{what}: applied in place");
    p.inverted().unapply_in_place(&mut there).unwrap();
    assert_eq!(there, p.apply(&items).unwrap(), "{what}: unapplied");
}

#[test]
fn views_agree_at_awkward_lengths() {
    for len in lengths(9).into_iter().chain([1023, 1024, 1025, 2049]).filter(|&len| len < 3000) {
        check_both(&Standard::from_seed(len, 1), len, &format!("Standard, {len}"));
        let philox = VariablePhilox::<24>::from_seed(len, 2);
        check_both(&philox, len, &format!("VariablePhilox, {len}"));
    }
    for len in [12_345, 65_537, 99_999] {
        let p = Permutation::new(len, 3);
        check(&p, &serial(p.bijection(), len), 200, &format!("Standard, {len}"));
        let grid = GridFeistel::<12>::from_seed(len, 3);
        let p = Permutation::from_bijection(len, grid).unwrap();
        check(&p, &serial(&grid, len), 200, &format!("GridFeistel, {len}"));
    }
}

#[test]
fn walks_and_compositions_agree() {
    for len in [1, 2, 3, 100, 255, 256, 257, 1000, 1025, 4095] {
        let walk = Permutation::walk(len, 5);
        let all = serial(walk.bijection(), len);
        check(&walk, &all, 50, "walk");
        assert!(walk.build_index().is_ok() && walk.index_bytes().is_none());

        let p = Permutation::new(len, 6);
        let both = p.then(&walk).unwrap();
        let (first, second) = (p.to_vec(), walk.to_vec());
        let expected: Vec<u64> = second.iter().map(|&k| first[k as usize]).collect();
        check(&both, &expected, 20, "then");
        let undone = both.then(&both.inverted()).unwrap();
        assert!(undone.iter().eq(0..len), "there and back");
        assert!(both.bijection().trusted().is_some());
    }
    // What moves items builds no index, and what is built before is shared.
    let p = Permutation::new(100_000, 1);
    let both = p.then(&p.inverted()).unwrap();
    let mut items: Vec<u64> = (0..100_000).collect();
    both.apply_in_place(&mut items).unwrap();
    assert!(items.into_iter().eq(0..100_000));
    let parts = both.bijection().clone().into_parts();
    assert!(parts.0.index_bytes().is_none() && parts.1.index_bytes().is_none());
    both.build_index().unwrap();
    let parts = both.bijection().clone().into_parts();
    assert!(
        parts.0.index_bytes().is_some()
            && parts.1.index_bytes().is_some()
            && both.index_bytes().is_none()
    );
    let refused = Permutation::new(3, 1).then(&Permutation::new(4, 1)).unwrap_err();
    assert_eq!(refused, Error::LengthMismatch { expected: 3, actual: 4 });
    let empty = Permutation::new(0, 1);
    assert!(empty.then(&empty.inverted()).unwrap().iter().next().is_none());
}

/// Domains with far more points than items, where the index lists the slots.
#[test]
fn walks_of_more_points_than_items_agree() {
    for len in [1, 500, 999, 1000] {
        let walk = CycleWalk::<Standard>::from_seed(1000, 42);
        let p = Permutation::from_bijection(len, walk).unwrap();
        for p in [p.clone(), p.inverted()] {
            for (place, &item) in (0..).zip(&p.to_vec()) {
                assert_eq!((p.get(place), p.position(item)), (Ok(item), Ok(place)));
            }
            assert!(p.get(len).is_err() && p.position(len).is_err());
        }
    }
}

#[test]
fn views_agree_on_sparse_domains() {
    let f = MulXorshift::<10>::from_seed(1 << 16, 7);
    for len in [1, 2, 100, 1000, 1024, 1025, 2000] {
        check_both(&f, len, &format!("{len} of 2^16 points"));
    }
    let wide = VariablePhilox::<24>::from_seed(u64::MAX, 7);
    let p = Permutation::from_bijection(1000, wide).unwrap();
    let mut seen: Vec<u64> = (0..1000).map(|k| p.get(k).unwrap()).collect();
    assert!((0..1000).all(|k| p.position(seen[k as usize]).unwrap() == k));
    let slots: Vec<u64> = seen.iter().map(|&index| wide.inverse(index)).collect();
    assert!(slots.is_sorted());
    assert_eq!(p.index_bytes(), Some(8000));
    seen.sort_unstable();
    assert!(seen.into_iter().eq(0..1000));
}

#[test]
fn indexes_of_any_density_agree() {
    let f = Standard::from_seed(40_000, 9);
    let expected = serial(&f, 40_000);
    let mut bytes = usize::MAX;
    for bits in 6..=15 {
        let p = Permutation::from_bijection(40_000, f.clone()).unwrap();
        let p = p.with_index(1 << bits).unwrap();
        let fewer = p.index_bytes().unwrap();
        assert!(fewer < bytes);
        bytes = fewer;
        check(&p, &expected, 200, &format!("blocks of 2^{bits} slots"));
    }
    for slots in [0, 1, 32, 63, 65, 1000, 1 << 16, u64::MAX] {
        let refused = Permutation::new(1000, 1).with_index(slots).unwrap_err();
        assert_eq!(refused, Error::View(ViewError::BlockSizeOutOfRange { slots }));
    }
    let shared = Permutation::new(40_000, 9);
    shared.build_index().unwrap();
    assert!(shared.clone().inverted().index_bytes().is_some(), "clones share the index");
}

#[test]
fn views_do_not_depend_on_threads() {
    let p = Permutation::new(70_001, 11);
    let expected = p.to_vec();
    for threads in [1, 2, 3, 7, 16] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let p = Permutation::new(70_001, 11);
        pool.install(|| {
            assert_eq!(p.par_iter().collect::<Vec<_>>(), expected);
            let strided = p.iter().shard_strided(3, 7).unwrap().into_par_iter().rev();
            let of_rank = expected[3..].iter().step_by(7).rev().copied();
            assert_eq!(strided.collect::<Vec<_>>(), of_rank.collect::<Vec<_>>());
            let pairs: usize = p.par_iter().zip(&expected).filter(|(a, b)| a == *b).count();
            assert_eq!(pairs, expected.len());
        });
    }
}

#[test]
fn ranges_are_checked() {
    let p = Permutation::new(1000, 1);
    let all = p.to_vec();
    assert!(p.range(..).unwrap().eq(all.iter().copied()));
    assert!(p.range(990..).unwrap().eq(all[990..].iter().copied()));
    assert!(p.range(..=9).unwrap().eq(all[..10].iter().copied()));
    let refused = |start, end| Error::View(ViewError::OutOfRange { start, end, len: 1000 });
    assert_eq!(p.range(0..1001).unwrap_err(), refused(0, 1001));
    #[expect(clippy::reversed_empty_ranges, reason = "it is what is tested")]
    let backwards = p.range(5..4).unwrap_err();
    assert_eq!(backwards, refused(5, 4));
    assert_eq!(p.range(1001..).unwrap_err(), refused(1001, 1000));
    assert_eq!(p.range(..=u64::MAX).unwrap_err(), refused(0, 1 << 64));
    assert_eq!(p.range((Excluded(u64::MAX), Unbounded)).unwrap_err(), refused(1 << 64, 1000));
    // The longest permutation has no place 2^64 - 1, and the error shows how it was asked for.
    let longest = Permutation::walk(u64::MAX, 1);
    assert_eq!(longest.range(..u64::MAX).unwrap().remaining(), u64::MAX);
    assert_eq!(
        longest.range(..=u64::MAX).unwrap_err().to_string(),
        "the range 0..18446744073709551616 does not lie within 0..18446744073709551615"
    );
}

/// Lengths that no index can be built for, and what needs none.
#[test]
fn lengths_beyond_memory() {
    let p = Permutation::new((1 << 63) + 1, 1);
    assert!(matches!(p.build_index(), Err(Error::OutOfMemory { .. })));
    assert!(matches!(
        p.range(1 << 40..),
        Err(Error::View(ViewError::IndexNotBuilt { last: u64::MAX }))
    ));
    assert!(matches!(p.shard(1, 2), Err(Error::View(ViewError::IndexNotBuilt { .. }))));
    let first: Vec<u64> = p.head(1000).collect();
    // What is near the beginning is found without the index.
    assert!(p.range(5..10).unwrap().eq(first[5..10].iter().copied()));
    assert_eq!(p.head(10).into_par_iter().collect::<Vec<_>>(), first[..10]);
    assert!(p.head(10).shard(1, 2).unwrap().eq(first[5..10].iter().copied()));
    assert!(Permutation::walk(u64::MAX, 1).with_index(512).is_ok());
    assert!(p.iter().shard_strided(0, 10).unwrap().take(100).eq(first.into_iter().step_by(10)));

    // Those that fill their domain, and walks, have every view at any length.
    for len in [1 << 63, 1 << 62] {
        check_anywhere(&Permutation::new(len, 2));
    }
    for len in [u64::MAX, u64::MAX - 1, (1 << 63) + 1, (1 << 63) - 1, (1 << 32) + 1, 3] {
        check_anywhere(&Permutation::walk(len, 2));
    }
}

/// Checks some places all over a permutation that needs no index.
fn check_anywhere<B: Bijection + Clone>(p: &Permutation<B>) {
    let len = p.len();
    let back = p.inverted();
    for k in [0, 1, len / 3, len / 2, len - 2, len - 1] {
        let index = p.get(k).unwrap();
        assert!(index < len);
        assert_eq!((p.position(index).unwrap(), back.get(index).unwrap()), (k, k));
        assert!(p.range(k..).unwrap().take(3).eq((k..len).take(3).map(|k| p.get(k).unwrap())));
        assert_eq!(p.range(..=k).unwrap().next_back(), Some(index));
    }
    let mut last = p.shard(1, 2).unwrap();
    assert_eq!(last.next_back(), p.get(len - 1).ok());
    assert_eq!(last.next_back(), p.get(len - 2).ok());
    assert!(p.index_bytes().is_none());
}

/// A walk has both signs at the lengths next to a power of two, where one over an even cipher has
/// one.
#[test]
fn walks_have_either_sign() {
    for len in [257, 510, 511, 512, 513, 1022, 1023] {
        let odd = (0..400)
            .filter(|&seed| {
                let order = Permutation::walk(len, seed).to_vec();
                is_odd(&order)
            })
            .count();
        // 200 are expected, with a standard deviation of 10.
        assert!((140..260).contains(&odd), "{odd} of 400 are odd at {len}");
    }
}

fn is_odd(order: &[u64]) -> bool {
    let mut seen = vec![false; order.len()];
    let mut odd = false;
    for start in 0..order.len() {
        let mut at = start;
        let mut steps = 0;
        while !seen[at] {
            seen[at] = true;
            at = order[at] as usize;
            steps += 1;
        }
        odd ^= steps > 0 && steps % 2 == 0;
    }
    odd
}
