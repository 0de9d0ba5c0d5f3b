//! Permutations of a trillion items: what needs no index is there at once, and what needs one says
//! so.

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use bijective_shuffle::Error;
use bijective_shuffle::bijection::{BlockShuffle, MulXorshift};
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::{self, prelude::*};

const TRILLION: u64 = 1_000_000_000_000;
const MIDDLE: u64 = TRILLION / 2;
const REFUSED: Error = Error::View(ViewError::IndexNotBuilt { last: (1 << 40) - 1 });

#[test]
fn ends_of_a_trillion_items_are_there_at_once() {
    let p = Permutation::new(TRILLION, 42);
    let back = p.inverted();
    let first: Vec<u64> = p.head(100_000).collect();
    let last: Vec<u64> = p.iter().rev().take(100_000).collect();
    for k in [0, 1, 5, 999, 1000, 99_999] {
        let (a, b) = (first[k as usize], last[k as usize]);
        assert_eq!((p.get(k).unwrap(), p.get(TRILLION - 1 - k).unwrap()), (a, b), "{k}");
        assert_eq!((p.position(a).unwrap(), p.position(b).unwrap()), (k, TRILLION - 1 - k), "{k}");
        assert_eq!((back.get(a).unwrap(), back.position(k).unwrap()), (k, a), "{k}");
    }
    assert!(p.range(5..10).unwrap().eq(first[5..10].iter().copied()));
    assert!(p.range(TRILLION - 1000..).unwrap().eq(last[..1000].iter().rev().copied()));
    let near_end = p.range(TRILLION - 1000..TRILLION - 900).unwrap();
    assert!(near_end.clone().rev().eq(last[900..1000].iter().copied()));
    assert_eq!(near_end.into_par_iter().sum::<u64>(), last[900..1000].iter().sum::<u64>());
    assert_eq!(p.head(100_000).into_par_iter().collect::<Vec<_>>(), first);
    assert_eq!(p.iter().nth(99_999), Some(first[99_999]));
    assert_eq!(p.shard(TRILLION - 1, TRILLION).unwrap().next(), Some(last[0]));
    assert!(
        p.iter().shard_strided(7, 1000).unwrap().take(50).eq(first
            .iter()
            .skip(7)
            .step_by(1000)
            .take(50)
            .copied())
    );
    // A cursor there is resumed.
    let cursor = p.range(TRILLION - 1000..).unwrap().cursor();
    assert_eq!(p.resume(&cursor).unwrap().last(), Some(last[0]));
    // To the last of a few items it is nearer from the front.
    assert_eq!(p.head(1000).last(), Some(first[999]));
    assert_eq!(p.range(5..10).unwrap().last(), Some(first[9]));
    assert_eq!(p.iter().shard_strided(7, 1000).unwrap().take(1).last(), Some(first[7]));
    assert_eq!(p.iter().last(), Some(last[0]));
    assert!(p.index_bytes().is_none());
}

#[test]
fn the_middle_of_a_trillion_items_needs_a_walk_or_an_index() {
    let p = Permutation::new(TRILLION, 42);
    assert_eq!(p.get(MIDDLE).unwrap_err(), REFUSED);
    // An item that is not near an end.
    let index = p.bijection().forward(1 << 39);
    assert!(index < TRILLION);
    assert_eq!(p.position(index).unwrap_err(), REFUSED);
    assert_eq!(p.inverted().get(index).unwrap_err(), REFUSED);
    assert_eq!(p.inverted().position(MIDDLE).unwrap_err(), REFUSED);
    assert_eq!(p.range(MIDDLE..).unwrap_err(), REFUSED);
    assert_eq!(p.range(..MIDDLE).unwrap().remaining(), MIDDLE);
    assert_eq!(p.shard(1, 2).unwrap_err(), REFUSED);
    assert_eq!(p.inverted().range(..5).unwrap_err(), REFUSED);
    let both = p.then(&p).unwrap();
    assert_eq!(both.get(MIDDLE).unwrap_err(), REFUSED);
    assert_eq!(both.position(MIDDLE).unwrap_err(), REFUSED);
    assert_eq!(both.range(..5).unwrap_err(), REFUSED);
    assert_eq!(both.inverted().shard(0, 2).unwrap_err(), REFUSED);
    assert_eq!(both.then(&p).unwrap().get(0).unwrap_err(), REFUSED);
    assert_eq!(p.inverted().resume(&p.inverted().iter().cursor()).unwrap_err(), REFUSED);
    // A cursor of a place that nobody has looked for.
    let mut iter = p.range(..MIDDLE).unwrap();
    iter = iter.shard_strided(MIDDLE - 1, MIDDLE).unwrap();
    assert_eq!(p.resume(&iter.cursor()).unwrap_err(), REFUSED);

    let panicked = [
        catch_unwind(|| p.iter().nth_back(MIDDLE as usize)),
        catch_unwind(|| p.head(1 << 30).into_par_iter().find_any(|_| true)),
        catch_unwind(|| p.inverted().iter().next()),
    ];
    for panicked in panicked {
        let payload = panicked.unwrap_err();
        let text = payload.downcast_ref::<String>().unwrap();
        assert!(text.contains("Permutation::walk") && text.contains("build_index"), "{text}");
    }
    assert!(p.trusted().is_none());
}

#[test]
fn a_walk_and_blocks_have_every_view_of_a_trillion_items() {
    fn check<B: Bijection + Clone>(p: &Permutation<B>) {
        let index = p.get(MIDDLE).unwrap();
        assert_eq!(
            (p.position(index).unwrap(), p.inverted().get(index).unwrap()),
            (MIDDLE, MIDDLE)
        );
        assert_eq!(p.range(MIDDLE..).unwrap().next(), Some(index));
        assert_eq!(p.shard(1, 2).unwrap().next(), Some(index));
        if let Ok(middle) = usize::try_from(MIDDLE) {
            assert_eq!(p.iter().nth(middle), Some(index));
            assert_eq!(p.iter().nth_back(middle - 1), Some(index));
        }
        let cursor = p.range(MIDDLE..).unwrap().cursor();
        assert_eq!(p.resume(&cursor).unwrap().next(), Some(index));
        assert!(p.index_bytes().is_none());
    }
    check(&Permutation::walk(TRILLION, 42));
    let blocks = BlockShuffle::new(TRILLION, 4096, 1000, 42).unwrap();
    check(&Permutation::from_bijection(TRILLION, blocks).unwrap());
}

/// Which domains are indexed unasked, and that those are.
#[test]
fn smaller_domains_are_indexed_unasked() {
    let p = Permutation::new(3_000_000, 1);
    let all = p.to_vec();
    for k in [0, 3000, 1_500_000, 2_999_999] {
        assert_eq!(p.get(k).unwrap(), all[k as usize]);
        assert_eq!(p.position(all[k as usize]).unwrap(), k);
    }
    assert!(p.index_bytes().is_some());
    // Places near an end need none.
    let p = Permutation::new(3_000_000, 1);
    for k in (0..1000).chain(2_999_000..3_000_000) {
        assert_eq!(p.get(k).unwrap(), all[k as usize]);
        assert_eq!(p.position(all[k as usize]).unwrap(), k);
    }
    assert!(p.range(2_999_000..).unwrap().eq(all[2_999_000..].iter().copied()));
    assert!(p.index_bytes().is_none());

    // Few items are listed, however large the domain.
    let wide = MulXorshift::<10>::from_seed(u64::MAX, 1);
    let p = Permutation::from_bijection(1000, wide).unwrap();
    assert!(p.get(500).is_ok() && p.index_bytes().is_some());
    let many = (1 << 33) / 64;
    let p = Permutation::from_bijection(many, wide).unwrap();
    assert_eq!(
        p.get(many / 2).unwrap_err(),
        Error::View(ViewError::IndexNotBuilt { last: u64::MAX })
    );
}

/// Programs that want to be able to stop the building of an index ask before they look up anything.
#[test]
fn places_at_hand_are_those_that_build_no_index() {
    fn check(len: u64, is_inverted: bool) {
        let new = || match Permutation::new(len, 1) {
            p if is_inverted => p.inverted(),
            p => p,
        };
        let (p, all) = (new(), new().to_vec());
        // A value whose place is near an end is at hand, whichever it is.
        let at_hand = [
            (0..len).map(|k| p.is_place_at_hand(k)).collect::<Vec<_>>(),
            all.iter().map(|&index| p.is_index_at_hand(index)).collect(),
        ];
        let [mut near, mut far] = [0, 0];
        for k in 1..len {
            let k = k as usize;
            for (lookup, at_hand) in at_hand.iter().enumerate() {
                // Check both sides of each end. A place that is counted to has two ends.
                if at_hand[k] == at_hand[k - 1] || near + far > 40 {
                    continue;
                }
                for k in [k - 1, k] {
                    let p = new();
                    let (number, expected) = (k as u64, all[k]);
                    match lookup {
                        0 => assert_eq!(p.get(number).unwrap(), expected),
                        _ => assert_eq!(p.position(expected).unwrap(), number),
                    }
                    assert_eq!(p.index_bytes().is_none(), at_hand[k], "{len} {lookup} {k}");
                    *if at_hand[k] { &mut near } else { &mut far } += 1;
                }
            }
        }
        assert!(near >= 4 && far >= 4, "{len}: {near} {far}");
    }
    for len in [(1 << 17) + 1, 100_000, (1 << 14) + 5] {
        check(len, false);
        check(len, true);
    }
}

/// Counts and lists of slots are left alone at the first no, and are built another time.
#[test]
fn the_building_of_an_index_stops_when_it_is_told_to() {
    fn check<B: Bijection>(p: Permutation<B>) {
        let expected = p.to_vec();
        for most in [0, 1, 5] {
            let asked = AtomicUsize::new(0);
            let go_on = || asked.fetch_add(1, Relaxed) < most;
            assert_eq!(p.build_index_while(go_on), Ok(false));
            assert!(p.index_bytes().is_none());
            // Each thread may have been asking at that moment.
            assert!(asked.into_inner() <= most + rayon::current_num_threads());
        }
        assert_eq!(p.build_index_while(|| true), Ok(true));
        assert!(p.index_bytes().is_some());
        for k in (0..p.len()).step_by(997) {
            assert_eq!(p.get(k).unwrap(), expected[k as usize]);
        }
        assert_eq!(p.build_index_while(|| false), Ok(true), "there is one");
    }
    check(Permutation::new((1 << 20) + 1, 1));
    check(Permutation::from_bijection(40_000, MulXorshift::<10>::from_seed(1 << 24, 1)).unwrap());
    // One thread.
    check(Permutation::from_bijection(7000, MulXorshift::<10>::from_seed(1 << 24, 1)).unwrap());
    assert_eq!(Permutation::walk(1_000_000, 1).build_index_while(|| false), Ok(true));
}

/// All survivors are at one end, so that places near the other one are far from it all the same.
#[test]
fn places_are_found_wherever_the_survivors_are() {
    #[derive(Clone)]
    struct Affine {
        last: u64,
        flipped: bool,
    }
    impl Bijection for Affine {
        fn last(&self) -> u64 {
            self.last
        }
        fn forward(&self, slot: u64) -> u64 {
            if self.flipped { self.last.wrapping_sub(slot) } else { slot }
        }
        fn inverse(&self, index: u64) -> u64 {
            self.forward(index)
        }
    }
    for flipped in [false, true] {
        let len = 300_000;
        let f = Affine { last: (1 << 20) - 1, flipped };
        let p = Permutation::from_bijection(len, f).unwrap();
        let expected = |k| if flipped { len - 1 - k } else { k };
        for k in [0, 1, 100, len / 2, len - 100, len - 1] {
            let p = p.clone();
            assert_eq!(p.get(k).unwrap(), expected(k), "{k}");
            let p = Permutation::from_bijection(len, p.bijection().clone()).unwrap();
            assert_eq!(p.position(expected(k)).unwrap(), k, "{k}");
            let ahead = p.range(k..).unwrap().take(3);
            assert!(ahead.eq((k..len).take(3).map(expected)), "{k}");
            assert_eq!(p.range(..=k).unwrap().next_back(), Some(expected(k)), "{k}");
        }
    }
}
