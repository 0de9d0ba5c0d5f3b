//! A [`Permutation`] is its length and its seed, and nothing else.

use bijective_shuffle::prelude::*;

use bijective_shuffle_laws::{Numbers, lengths};

#[test]
fn every_view_of_a_permutation_agrees() {
    for len in lengths(10) {
        for seed in [Seed::new(len).with_epoch(2), Seed::from_bytes([len as u8; 32])] {
            let p = Permutation::new(len, seed);
            let expected = p.to_vec();
            assert_eq!(p.len(), len);
            assert_eq!(p.is_empty(), len == 0);
            assert_eq!(p.iter().size_hint(), (len as usize, Some(len as usize)));
            assert!(p.iter().eq(expected.iter().copied()), "iter, {len}");
            assert!((&p).into_iter().skip(3).eq(expected.iter().copied().skip(3)));
            let mut narrow = vec![0_u32; len as usize];
            p.write_indexes(&mut narrow).unwrap();
            assert!(narrow.iter().map(|&x| u64::from(x)).eq(expected.iter().copied()));
            let source: Vec<u64> = (0..len).collect();
            assert_eq!(p.apply(&source).unwrap(), expected);
            let mut items = source.clone();
            p.apply_in_place(&mut items).unwrap();
            assert_eq!(items, expected);
            p.unapply_in_place(&mut items).unwrap();
            assert_eq!(items, source);
            items.par_bijective_shuffle(seed);
            assert_eq!(items, expected);
            items.par_bijective_unshuffle(seed);
            assert_eq!(items, source);
            assert_eq!(items.par_bijective_shuffled(seed), expected);
            assert_eq!(expected.par_bijective_unshuffled(seed), source);
        }
    }
}

#[test]
fn the_iterator_reaches_far() {
    // Nothing of the size of the length is held, and the first indexes come at once.
    let p = Permutation::new(1 << 62, 8);
    let head: Vec<u64> = p.iter().take(1000).collect();
    let mut sorted = head.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), 1000);
    assert!(head.iter().all(|&x| x < 1 << 62));
    let p = Permutation::new(u64::MAX, 8);
    assert_eq!(p.iter().take(10).count(), 10);
    assert_eq!(p.iter().size_hint().0, usize::try_from(u64::MAX).unwrap_or(usize::MAX));
}

#[test]
fn a_seed_gives_one_permutation() {
    let mut numbers = Numbers(3);
    for _ in 0..100 {
        let (len, seed, epoch) = (numbers.below(3000), numbers.next(), numbers.next());
        let p = Permutation::new(len, Seed::new(seed).with_epoch(epoch));
        let mut indices = p.to_vec();
        assert_eq!(indices, Permutation::new(len, Seed::new(seed).with_epoch(epoch)).to_vec());
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..len), "{len}, {seed}, {epoch}");
        let mut items: Vec<u64> = (0..len).collect();
        p.unapply_in_place(&mut items).unwrap();
        for (index, place) in (0..20).zip(items) {
            assert_eq!(p.iter().nth(place as usize), Some(index), "{len}, {seed}, {epoch}");
        }
    }
}
