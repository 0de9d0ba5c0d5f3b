//! Slices that are shuffled at their first places only.

use bijective_shuffle::Error;
use bijective_shuffle::bijection::{GridFeistel, Lcg, MulXorshift};
use bijective_shuffle::error::Defect;
use bijective_shuffle::prelude::*;
use bijective_shuffle::rayon::ThreadPoolBuilder;

/// Texts, which are neither copied nor lost unnoticed.
fn texts(len: usize) -> Vec<String> {
    (0..len).map(|k| k.to_string()).collect()
}

#[test]
fn a_partial_shuffle_begins_as_the_whole_one_and_keeps_all_items() {
    for len in [0, 1, 2, 9, 64, 257, 1000, 1024, 5000] {
        let all = texts(len).par_bijective_shuffled(9);
        for count in [0, 1, 2, 7, 8, 100, 124, 125, 624, 625, 3000, usize::MAX] {
            let mut items = texts(len);
            let (first, rest) = items.par_bijective_partial_shuffle(count, 9);
            assert_eq!(first, &all[..count.min(len)], "{count} of {len}");
            assert_eq!(first.len() + rest.len(), len, "{count} of {len}");
            items.sort_by_key(|item| item.parse::<usize>().unwrap());
            assert_eq!(items, texts(len), "{count} of {len}");
        }
    }
    let mut nothing = [(); usize::MAX / 2];
    assert_eq!(nothing.par_bijective_partial_shuffle(usize::MAX / 20, 1).0.len(), usize::MAX / 20);
}

#[test]
fn a_partial_shuffle_takes_any_bijection() {
    let len = 5000;
    let p = Permutation::new(len, 3);
    let orders: [&dyn Bijection; 6] = [
        &Lcg::new(13, 5, 3).unwrap(),
        &GridFeistel::<16>::from_seed(len, 1),
        &MulXorshift::<10>::from_seed(1 << 20, 1), // many points for each item
        &p,
        &p.inverted(),
        &p.then(&p).unwrap(),
    ];
    for (f, count) in orders.into_iter().flat_map(|f| [0, 1, 70, 624, 625].map(|n| (f, n))) {
        let mut all: Vec<u64> = (0..len).collect();
        all.try_par_bijective_shuffle(f).unwrap();
        let mut items: Vec<u64> = (0..len).collect();
        let (first, _) = items.try_par_bijective_partial_shuffle(count, f).unwrap();
        assert_eq!(first, &all[..count]);
        items.sort();
        assert!(items.into_iter().eq(0..len));
    }
    let error = texts(33).try_par_bijective_partial_shuffle(2, &Lcg::new(5, 5, 3).unwrap()).err();
    assert_eq!(error, Some(Error::LengthExceedsDomain { len: 33, last: 31 }));
}

#[test]
fn a_partial_shuffle_does_not_depend_on_the_number_of_threads() {
    let on = |threads| {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        [1000, 40_000].map(|count| {
            let mut items: Vec<u32> = (0..100_000).collect();
            pool.install(|| items.par_bijective_partial_shuffle(count, 1).0.len());
            items
        })
    };
    assert_eq!(on(1), on(3));
}

/// A map that is the same at slots 3 and 4.
struct Wrong;

impl Bijection for Wrong {
    fn last(&self) -> u64 {
        99
    }

    fn forward(&self, slot: u64) -> u64 {
        if slot == 4 { 3 } else { slot }
    }

    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

#[test]
fn a_partial_shuffle_by_a_wrong_bijection_leaves_the_slice_as_it_was() {
    let mut items = texts(100);
    let error = items.try_par_bijective_partial_shuffle(10, &Wrong).err();
    assert_eq!(error, Some(Error::NotABijection(Defect::Repeats { index: 3, slots: None })));
    assert_eq!(items, texts(100));
    // The fault is beyond these places, and nobody looks for it there.
    assert_eq!(items.try_par_bijective_partial_shuffle(4, &Wrong).unwrap().0, texts(4));
}
