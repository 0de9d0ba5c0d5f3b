//! One permutation, every view: the engines, the views and any number of threads give what `Serial`
//! gives.

mod batches;

use crate::common::{Plain, cases, lengths, long};
use bijective_shuffle::Strategy;
use bijective_shuffle::prelude::*;
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use rayon::ThreadPoolBuilder;

/// Checks `Cpu` in the current pool against the indexes that `Serial` gave.
fn check_cpu(f: &dyn Bijection, expected: &[u64], what: &str) {
    let len = expected.len();
    let mut wide = vec![u64::MAX; len];
    Cpu.indices(f, &mut wide).unwrap();
    assert_eq!(wide, expected, "{what}: u64 indexes");
    let mut narrow = vec![u32::MAX; len];
    Cpu.indices(f, &mut narrow).unwrap();
    assert!(narrow.iter().map(|&x| u64::from(x)).eq(expected.iter().copied()), "{what}: u32");

    let original: Vec<u64> =
        (0..len as u64).map(|x| x.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
    let shuffled: Vec<u64> = expected.iter().map(|&x| original[x as usize]).collect();
    let mut items = original.clone();
    Cpu.shuffle(f, &mut items).unwrap();
    assert_eq!(items, shuffled, "{what}: shuffle");
    Cpu.unshuffle(f, &mut items).unwrap();
    assert_eq!(items, original, "{what}: unshuffle");
    assert_eq!(Cpu.shuffled(f, &original).unwrap(), shuffled, "{what}: shuffled");
    for strategy in [Strategy::Auto, Strategy::Direct, Strategy::Partitioned] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        for repeat in 0..2 {
            let what = format!("{what}: {strategy:?}, repeat {repeat}");
            check_workspace(f, &mut workspace, &original, &shuffled, &what);
        }
    }
}

/// Checks one workspace, which may have been used before.
fn check_workspace<T: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync>(
    f: &dyn Bijection,
    workspace: &mut Workspace,
    original: &[T],
    shuffled: &[T],
    what: &str,
) {
    let mut items = original.to_vec();
    workspace.shuffle(f, &mut items).unwrap();
    assert!(items == shuffled, "{what}: shuffle");
    workspace.unshuffle(f, &mut items).unwrap();
    assert!(items == original, "{what}: unshuffle");
    let mut out = vec![T::default(); items.len()];
    workspace.shuffle_into(f, &items, &mut out).unwrap();
    assert!(out == shuffled, "{what}: shuffle_into");
    assert!(items == original, "{what}: the source");
}

fn serial(f: &dyn Bijection, len: usize) -> Vec<u64> {
    let mut expected = vec![0; len];
    Serial.indices(f, &mut expected).unwrap();
    expected
}

#[test]
fn algorithm_1_by_hand() {
    // 3 0 5 2 7 4 1 6, of which those below the length stay.
    let f = Lcg::new(3, 5, 3).unwrap();
    assert_eq!(serial(&f, 8), [3, 0, 5, 2, 7, 4, 1, 6]);
    assert_eq!(serial(&f, 5), [3, 0, 2, 4, 1]);
    assert_eq!(serial(&f, 1), [0]);
    assert!(serial(&f, 0).is_empty());
}

#[test]
fn serial_moves_as_its_indexes_say() {
    for len in lengths(9) {
        let f = Standard::from_seed(len, 1);
        let p = serial(&f, len as usize);
        let original: Vec<String> = (0..len).map(|x| x.to_string()).collect();
        let shuffled: Vec<String> = p.iter().map(|x| x.to_string()).collect();
        let mut items = original.clone();
        Serial.shuffle(&f, &mut items).unwrap();
        assert_eq!(items, shuffled);
        Serial.unshuffle(&f, &mut items).unwrap();
        assert_eq!(items, original);
        assert_eq!(Serial.shuffled(&f, &original).unwrap(), shuffled);
    }
}

#[test]
fn cpu_is_serial_at_every_length() {
    for len in lengths(if long() { 20 } else { 17 }) {
        let f = Standard::from_seed(len, len ^ 5);
        check_cpu(&f, &serial(&f, len as usize), &format!("length {len}"));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let lengths = [1, 100, 40_000, (1 << 17) + 1, 200_000, 1 << 18, (1 << 18) + 1, (1 << 19) + 3];
    for len in lengths {
        let f = Standard::from_seed(len, 9);
        let expected = serial(&f, len as usize);
        for threads in [1, 2, 3, 7, 16] {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for repeat in 0..3 {
                let what = format!("length {len}, {threads} threads, repeat {repeat}");
                pool.install(|| check_cpu(&f, &expected, &what));
            }
        }
    }
}

/// Items of other sizes, which lie otherwise in the blocks of the partitioned strategy.
#[test]
fn items_of_any_size() {
    fn check<T: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync>(
        f: &dyn Bijection,
        len: u64,
        item: impl Fn(u64) -> T,
    ) {
        let expected = serial(f, len as usize);
        let original: Vec<T> = (0..len).map(&item).collect();
        let shuffled: Vec<T> = expected.iter().map(|&x| original[x as usize]).collect();
        for strategy in [Strategy::Direct, Strategy::Partitioned] {
            let what = format!("{strategy:?}, {len} items of {} bytes", size_of::<T>());
            let mut workspace = Workspace::new().with_strategy(strategy);
            check_workspace(f, &mut workspace, &original, &shuffled, &what);
        }
    }
    let mix = |x: u64| x.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for len in [1, 1000, 65_535, 65_537, 140_000, 1 << 18] {
        let f = Standard::from_seed(len, 3);
        check(&f, len, |x| mix(x) as u8);
        check(&f, len, |x| mix(x) as u16);
        check(&f, len, |x| mix(x) as u32);
        check(&f, len, |x| [mix(x) as u8; 3]);
        check(&f, len, |x| [mix(x) as u32; 3]);
        check(&f, len, |x| (mix(x) as u8, x));
        check(&f, len, |x| u128::from(mix(x)) << 20);
        check(&f, len, |x| [mix(x); 3]);
        check(&f, len, |x| [mix(x); 8]);
        check(&f, len, |x| [mix(x); 9]);
    }
}

/// Permutations that are not random at all overflow the buckets, and take the other way.
#[test]
fn buckets_that_overflow_are_no_harm() {
    for threads in [1, 2, 5] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        for multiplier in [1, 3, (1 << 17) + 1, (1 << 19) - 1] {
            let f = Lcg::new(19, multiplier, 5).unwrap();
            for len in [1 << 19, 300_000] {
                let what = format!("times {multiplier}, {len} items, {threads} threads");
                pool.install(|| check_cpu(&f, &serial(&f, len), &what));
            }
        }
    }
}

/// Which has no point that is not an item, and neighbours that stay near each other.
#[test]
fn blocks_are_moved_by_every_strategy() {
    for (len, block, window) in [(3000, 7, 20), (300_000, 1000, 16), (300_001, 1 << 16, 1)] {
        let f = BlockShuffle::new(len, block, window, 5).unwrap();
        check_cpu(&f, &serial(&f, len as usize), &format!("{len} items in blocks of {block}"));
    }
}

#[test]
fn slices_of_two_lengths_are_refused() {
    let f = Standard::from_seed(9, 1);
    let mut out = [0_u8; 8];
    let error = Workspace::new().shuffle_into(&f, &[1_u8; 9], &mut out).unwrap_err();
    assert_eq!(error, Error::LengthMismatch { expected: 9, actual: 8 });
    assert_eq!(out, [0; 8]);
}

#[test]
fn a_workspace_says_what_it_holds() {
    let f = Standard::from_seed(1 << 18, 1);
    let mut items: Vec<u64> = (0..1 << 18).collect();
    let mut workspace = Workspace::new().with_strategy(Strategy::Partitioned);
    assert_eq!(workspace.bytes(), 0);
    workspace.shuffle(&f, &mut items).unwrap();
    let held = workspace.bytes();
    assert!(held > 10 << 18, "{held}");
    workspace.shuffle(&f, &mut items[..1 << 17]).unwrap();
    assert_eq!(workspace.bytes(), held);
}

#[test]
fn a_plain_bijection_gets_the_same_permutation() {
    for len in [0, 1, 2, 17, 1000, 100_001, 300_000] {
        let f = VariablePhilox::<24>::from_seed(len, 4);
        let expected = serial(&f, len as usize);
        check_cpu(&Plain(f), &expected, &format!("plain, length {len}"));
        let boxed: Box<dyn Bijection> = Box::new(Plain(f));
        check_cpu(&boxed, &expected, &format!("boxed, length {len}"));
    }
}

#[test]
fn a_domain_may_be_much_larger_than_the_length() {
    let f = VariablePhilox::<24>::from_keys(19, [3; 24]);
    for len in [0, 1, 2, 5, 100, 1000] {
        check_cpu(&f, &serial(&f, len), &format!("{len} of 2^19"));
    }
}

#[test]
fn every_view_of_a_permutation_agrees() {
    for len in lengths(10) {
        for seed in [Seed::new(len).epoch(2), Seed::from_bytes([len as u8; 32])] {
            let p = Permutation::new(len, seed);
            let expected = p.to_vec();
            assert_eq!(p.len(), len);
            assert_eq!(p.is_empty(), len == 0);
            assert_eq!(p.iter().size_hint(), (len as usize, Some(len as usize)));
            assert!(p.iter().eq(expected.iter().copied()), "iter, {len}");
            assert!((&p).into_iter().skip(3).eq(expected.iter().copied().skip(3)));
            let mut narrow = vec![0_u32; len as usize];
            p.write_indices(&mut narrow).unwrap();
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
fn items_of_any_size_are_moved() {
    fn check<T: Send + Sync + Clone + PartialEq + std::fmt::Debug>(make: impl Fn(u64) -> T) {
        for len in [0_u64, 1, 2, 100, 1000, 20_001, 140_000] {
            let original: Vec<T> = (0..len).map(&make).collect();
            let expected: Vec<T> = Permutation::new(len, 6).iter().map(&make).collect();
            let mut items = original.clone();
            items.par_bijective_shuffle(6);
            assert_eq!(items, expected);
            items.par_bijective_unshuffle(6);
            assert_eq!(items, original);
            assert_eq!(original.par_bijective_shuffled(6), expected);
        }
    }
    check(|_| ());
    check(|x| x as u8);
    check(|x| x as u16);
    check(|x| (x as u32, x as u8, x as u16));
    check(|x| [x; 3]);
    check(|x| [x as u8; 12]);
    check(|x| x.to_string());
    check(|x| Box::new([x; 64]));
    check(|x| [x as u32; 200]);
}

#[test]
fn items_that_cannot_be_copied_or_shared_are_moved() {
    // A cell may change threads, but not be shared between them.
    let mut cells: Vec<std::cell::Cell<u32>> = (0..300_000).map(std::cell::Cell::new).collect();
    cells.par_bijective_shuffle(1);
    let p = Permutation::new(300_000, 1);
    assert!(p.iter().zip(&cells).all(|(index, cell)| index == u64::from(cell.get())));

    let mut boxes: Vec<Box<dyn Fn() -> u64 + Send>> = Vec::new();
    for k in 0..300_u64 {
        boxes.push(Box::new(move || k));
    }
    boxes.par_bijective_shuffle(2);
    assert!(Permutation::new(300, 2).iter().zip(&boxes).all(|(index, f)| index == f()));
}

#[test]
fn zero_sized_items_take_no_time() {
    let mut units = [(); usize::MAX];
    units.par_bijective_shuffle(1);
    units.par_bijective_unshuffle(1);
    let f = VariablePhilox::<24>::from_keys(64, [0; 24]);
    units.par_bijective_shuffle_with(&f).unwrap();
    assert_eq!(units.len(), usize::MAX);
    let short = Lcg::new(4, 1, 0).unwrap();
    let error = units.par_bijective_shuffle_with(&short).unwrap_err();
    assert!(matches!(error, Error::LengthExceedsDomain { last: 15, .. }));
}

#[test]
fn wrong_lengths_are_refused_and_nothing_moves() {
    let p = Permutation::new(4, 1);
    let mut items = [1, 2, 3];
    let error = Error::LengthMismatch { expected: 4, actual: 3 };
    assert_eq!(p.apply_in_place(&mut items), Err(error.clone()));
    assert_eq!(p.unapply_in_place(&mut items), Err(error.clone()));
    assert_eq!(p.apply(&items), Err(error.clone()));
    assert_eq!(p.write_indices(&mut [0_u32; 3]), Err(error));
    assert_eq!(items, [1, 2, 3]);

    let small = Lcg::new(2, 1, 0).unwrap();
    let error = Error::LengthExceedsDomain { len: 5, last: 3 };
    assert_eq!(Permutation::with_bijection(5, small).unwrap_err(), error);
    let mut items = [1, 2, 3, 4, 5];
    assert_eq!(Cpu.shuffle(&small, &mut items), Err(error.clone()));
    assert_eq!(Serial.shuffle(&small, &mut items), Err(error.clone()));
    assert_eq!(Cpu.shuffled(&small, &items), Err(error.clone()));
    assert_eq!(Serial.unshuffle(&small, &mut items), Err(error));
    assert_eq!(items, [1, 2, 3, 4, 5]);
    assert!(Permutation::with_bijection(4, small).is_ok());
}

#[test]
fn what_does_not_fit_the_memory_is_said() {
    let p = Permutation::new(1 << 60, 1);
    assert_eq!(p.try_to_vec(), Err(Error::OutOfMemory { bytes: 1 << 63 }));
    assert!(matches!(Permutation::new(1 << 62, 1).try_to_vec(), Err(Error::OutOfMemory { .. })));
}

#[test]
fn back_ends_can_be_chosen() {
    let p = Permutation::new(100, 1);
    assert_eq!(p.backend(), Backend::Auto);
    assert_eq!(p.clone().on(Backend::Cpu).to_vec(), p.to_vec());
    let mut items: Vec<u32> = (0..100).collect();
    match p.clone().on(Backend::Cuda).try_to_vec() {
        Ok(order) => assert_eq!(order, p.to_vec()),
        Err(error) => {
            assert!(matches!(error, Error::BackendUnavailable { .. }));
            assert!(error.to_string().starts_with("back end cuda is not available: "));
            assert_eq!(p.on(Backend::Cuda).apply_in_place(&mut items), Err(error));
            assert!(items.into_iter().eq(0..100));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn cpu_is_serial_for_any_bijection(len in 0..60_000_usize, more_bits in 0..3_u32, seed: u64) {
        let bits = (usize::BITS - len.leading_zeros()).max(2) + more_bits;
        let drawn = VariablePhilox::<24>::from_seed(1 << bits, seed);
        let f = Compose::new(drawn, Lcg::new(bits, seed | 1, seed).unwrap()).unwrap();
        check_cpu(&f, &serial(&f, len), "composed");
    }

    #[test]
    fn permutation_laws(len in 0..3000_u64, seed: u64, epoch: u64) {
        let p = Permutation::new(len, Seed::new(seed).epoch(epoch));
        let mut indices = p.to_vec();
        prop_assert_eq!(&indices, &Permutation::new(len, Seed::new(seed).epoch(epoch)).to_vec());
        indices.sort_unstable();
        prop_assert!(indices.into_iter().eq(0..len));
        let mut items: Vec<u64> = (0..len).collect();
        p.unapply_in_place(&mut items).unwrap();
        for (index, place) in items.iter().enumerate() {
            prop_assert_eq!(p.iter().nth(*place as usize), Some(index as u64));
            if index > 20 { break; }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(12)))]

    #[test]
    fn cpu_is_serial_where_there_are_threads(len in 131_073..700_000_usize, seed: u64, threads in 1..9_usize) {
        let f = MulXorshift::<8>::from_seed(len as u64, seed);
        let f = RandomSign::new(f, seed % 2 == 0);
        let expected = serial(&f, len);
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| check_cpu(&f, &expected, "with threads"));
    }
}
