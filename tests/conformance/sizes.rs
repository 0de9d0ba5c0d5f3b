//! Lengths too large to hold a second permutation beside: items of one byte, compared with the
//! iterator as it goes.
//!
//! The short form stays in the millions; the long form goes beyond 2^32 items, takes 9 GiB and some
//! minutes.

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use bijective_shuffle_laws as laws;
use rayon::prelude::*;

/// A byte that tells an index from most others.
fn mark(index: u64) -> u8 {
    (index.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8
}

fn marks(len: usize) -> Vec<u8> {
    (0..len).into_par_iter().map(|index| mark(index as u64)).collect()
}

fn check(len: usize) {
    let mut items = marks(len);
    items.par_bijective_shuffle(3);
    let p = Permutation::new(len as u64, 3);
    let mut seen = 0;
    for (place, (index, item)) in p.iter().zip(&items).enumerate() {
        assert_eq!(*item, mark(index), "place {place} of {len}");
        seen += 1;
    }
    assert_eq!(seen, len);
    items.par_bijective_unshuffle(3);
    let strays = items.par_iter().enumerate().filter(|(k, item)| **item != mark(*k as u64)).count();
    assert_eq!(strays, 0, "{len} items, put back");
}

#[test]
fn millions_of_items_agree_with_the_iterator() {
    for len in [(1_usize << 21) - 1, 1 << 21, (1 << 21) + 1, 3_000_000] {
        check(len);
    }
}

#[test]
fn more_than_32_bits_of_items() {
    if !laws::long() {
        println!("skipped: only the long form goes beyond 2^31 items");
        return;
    }
    for len in [(1_u64 << 31) + 1, (1 << 32) + 3] {
        check(usize::try_from(len).expect("the long form is for machines of 64 bits"));
    }
}

/// Beyond any memory, points can still be asked for.
#[test]
fn lengths_that_no_memory_holds() {
    for len in [(1_u64 << 40) + 1, (1 << 53) - 1, (1 << 63) + 1, u64::MAX] {
        let f = Standard::from_seed(len, 5);
        assert!(f.last() >= len - 1);
        for k in 0..1000_u64 {
            let slot = k.wrapping_mul(0x9E37_79B9_7F4A_7C15) & f.last();
            assert_eq!(f.inverse(f.forward(slot)), slot);
        }
        let head: Vec<u64> = Permutation::new(len, 5).iter().take(100).collect();
        let expected = (0..=f.last()).map(|slot| f.forward(slot)).filter(|&x| x < len).take(100);
        assert!(head.into_iter().eq(expected));
    }
}
