//! The laws of `Bijection`, for every family and combinator: exhaustively on small domains, at
//! random points on every width up to 64 bits.

use bijective_shuffle_laws as laws;
use std::sync::Arc;

use bijective_shuffle::Error;
use bijective_shuffle::TrustedBijection;
use bijective_shuffle::bijection::hooks::Hooked;
use bijective_shuffle::bijection::{
    BlockShuffle, Compose, CycleWalk, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign, Standard,
    SwapOrNot, Table, VariablePhilox,
};
use bijective_shuffle::error::BijectionError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Trusted, Word};
use bijective_shuffle_laws::{every_family, every_word_pair};
use proptest::prelude::*;

/// Checks every law on the whole domain, point by point and in runs.
fn check_everywhere<N: Word>(f: &dyn Bijection<N>, what: &str) {
    let n = f.last().widen() as usize + 1;
    let mut slot_of = vec![usize::MAX; n];
    for slot in 0..n {
        let index = f.forward(N::wrap(slot as u64)).widen() as usize;
        assert!(index < n, "{what}: slot {slot} leaves the domain");
        assert_eq!(slot_of[index], usize::MAX, "{what}: {index} comes twice");
        slot_of[index] = slot;
        let back = f.inverse(N::wrap(index as u64)).widen() as usize;
        assert_eq!(back, slot, "{what}: the inverse of {index}");
    }
    // Runs of lengths that are no multiple of any number of lanes.
    for (first, count) in [(0, n), (0, n.min(1)), (n / 3, n / 2), (n - 1, 1), (n / 2, n - n / 2)] {
        check_run(f, N::wrap(first as u64), count, what);
    }
}

/// Checks that runs and slices agree with the single points.
fn check_run<N: Word>(f: &dyn Bijection<N>, first: N, count: usize, what: &str) {
    let points: Vec<N> = (0..count).map(|k| N::wrap(first.widen() + k as u64)).collect();
    let forward: Vec<N> = points.iter().map(|&x| f.forward(x)).collect();
    let inverse: Vec<N> = points.iter().map(|&x| f.inverse(x)).collect();
    let mut out = vec![N::ZERO; count];
    f.forward_run(first, &mut out);
    assert_eq!(out, forward, "{what}: forward_run from {first}");
    f.inverse_run(first, &mut out);
    assert_eq!(out, inverse, "{what}: inverse_run from {first}");
    if f.last().widen() <= u64::from(u32::MAX) {
        let mut narrow = vec![0_u32; count];
        f.forward_run_u32(first, &mut narrow);
        let agrees = |values: &[N], narrow: &[u32]| {
            values.iter().map(|x| x.widen()).eq(narrow.iter().map(|&x| u64::from(x)))
        };
        assert!(agrees(&forward, &narrow), "{what}: forward_run_u32 from {first}");
        f.inverse_run_u32(first, &mut narrow);
        assert!(agrees(&inverse, &narrow), "{what}: inverse_run_u32 from {first}");
        // Of consecutive indexes, the slots are not consecutive.
        f.forward_each_u32(&mut narrow);
        assert!(agrees(&points, &narrow), "{what}: forward_each_u32 from {first}");
    }
    if f.last().widen() <= u64::from(u16::MAX) {
        let mut short = vec![0_u16; count];
        f.forward_run_u16(first, &mut short);
        let agrees = forward.iter().map(|x| x.widen()).eq(short.iter().map(|&x| u64::from(x)));
        assert!(agrees, "{what}: forward_run_u16 from {first}");
    }
    out.copy_from_slice(&points);
    f.forward_each(&mut out);
    assert_eq!(out, forward, "{what}: forward_each from {first}");
    out.copy_from_slice(&points);
    f.inverse_each(&mut out);
    assert_eq!(out, inverse, "{what}: inverse_each from {first}");
}

/// Checks round trips at one point, and short runs that end at the end of the domain.
fn check_at<N: Word>(f: &dyn Bijection<N>, point: u64, what: &str) {
    let last = f.last().widen();
    let point = point & u64::low_mask(64 - last.leading_zeros());
    let point = N::wrap(if point > last { point - last } else { point });
    assert!(f.forward(point) <= f.last(), "{what}: {point} leaves the domain");
    assert_eq!(f.inverse(f.forward(point)), point, "{what}");
    assert_eq!(f.forward(f.inverse(point)), point, "{what}");
    let count = (last - point.widen()).min(36) as usize + 1;
    check_run(f, point, count, what);
    check_run(f, N::wrap(last - last.min(40)), last.min(40) as usize + 1, what);
}

#[test]
fn bijective_on_every_small_domain() {
    for bits in 1..=12 {
        // One key of the widest, on which most of the time is spent.
        for seed in 0..if laws::long() {
            4
        } else if bits < 9 {
            2
        } else {
            1
        } {
            for (name, f) in every_family(bits, seed) {
                check_everywhere(&*f, &format!("{name}, {bits} bits, seed {seed}"));
            }
        }
    }
}

/// So few points that Miri can watch them, and one family of each kind, of few rounds.
#[test]
fn short_form_families_are_bijective() {
    check_everywhere(&Lcg::new(3, 5, 3).unwrap(), "Lcg");
    check_everywhere(&MulXorshift::<2>::from_seed(8, 3), "MulXorshift");
    check_everywhere(&GridFeistel::<2>::from_seed(9, 3), "GridFeistel");
    check_everywhere(&VariablePhilox::<2>::from_seed(8, 3), "VariablePhilox");
    check_everywhere(&SwapOrNot::for_distance(9, 1, 3).unwrap(), "SwapOrNot");
}

#[test]
fn narrow_words_agree_on_every_small_domain() {
    for bits in 1..=12 {
        for (name, wide, narrow) in every_word_pair(bits, 7) {
            check_everywhere(&*narrow, &format!("{name} in u32, {bits} bits"));
            for x in 0..1_u32 << bits {
                assert_eq!(u64::from(narrow.forward(x)), wide.forward(u64::from(x)), "{name}");
            }
        }
    }
}

#[test]
fn cycle_walk_is_bijective_for_every_length() {
    for len in (1..=300).step_by(if laws::long() { 1 } else { 3 }) {
        let f = CycleWalk::<VariablePhilox>::from_seed(len, len);
        assert_eq!(f.last(), len - 1);
        check_everywhere(&f, &format!("walk to {len}"));
        // A domain far larger than needed makes for long walks.
        let wide = VariablePhilox::<24>::from_seed(1024, len);
        check_everywhere(&CycleWalk::new(wide, len).unwrap(), &format!("long walk to {len}"));
    }
}

#[test]
fn standard_is_bijective_around_its_threshold() {
    let most = Standard::EXACT_MAX;
    for len in (1..=40).chain(most - 3..=most + 3).chain([1000, 4096, 4097]) {
        let f = Standard::from_seed(len, 3);
        assert!(f.last() >= len - 1);
        check_everywhere(&f, &format!("standard for {len}"));
    }
}

#[test]
fn blocks_compose() {
    for (len, block, window) in [(200, 7, 3), (2000, 64, 9)] {
        let of_blocks = || BlockShuffle::new(len, block, window, len).unwrap();
        let walk = || CycleWalk::<VariablePhilox>::from_seed(len, 5);
        let checked = |f: &dyn Bijection| {
            check_everywhere(f, "blocks in a combinator");
            check_everywhere(&f.trusted().unwrap(), "blocks in a combinator, trusted");
        };
        checked(&Compose::new(of_blocks(), walk()).unwrap());
        checked(&Compose::new(walk(), Inverse::new(of_blocks())).unwrap());
        checked(&RandomSign::new(CycleWalk::new(of_blocks(), len - 9).unwrap(), true));
    }
}

#[test]
fn trusted_forms_are_the_same_map() {
    for bits in [4, 9] {
        for (name, f) in every_family(bits, 5) {
            let trusted = f.trusted().unwrap_or_else(|| panic!("{name} is not trusted"));
            check_everywhere(&trusted, name);
            assert!((0..=f.last()).all(|x| trusted.forward(x) == f.forward(x)), "{name}");
            let again = trusted.trusted().unwrap();
            assert!((0..=f.last()).all(|x| again.forward(x) == f.forward(x)), "{name}");
        }
    }
}

/// The identity, for which nobody vouches.
struct Unvouched(u64);

impl Bijection for Unvouched {
    fn last(&self) -> u64 {
        self.0
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
}

#[test]
fn a_combinator_is_no_better_than_its_parts() {
    let cipher = || VariablePhilox::<24>::new(4, [3; 24]).unwrap();
    assert!(Compose::new(Unvouched(15), cipher()).unwrap().trusted().is_none());
    assert!(Compose::new(cipher(), Unvouched(15)).unwrap().trusted().is_none());
    assert!(Inverse::new(Unvouched(15)).trusted().is_none());
    assert!(RandomSign::new(Unvouched(15), true).trusted().is_none());
    assert!(CycleWalk::new(Unvouched(15), 9).unwrap().trusted().is_none());
    assert!(Bijection::trusted(&&Unvouched(15)).is_none());
}

/// Hands out a trusted bijection that is another one than itself, on another domain.
struct Impostor(VariablePhilox);

impl Bijection for Impostor {
    fn last(&self) -> u64 {
        255
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(&self.0))
    }
}

#[test]
fn a_borrowed_good_name_is_checked_again() {
    let impostor = || Impostor(VariablePhilox::new(4, [1; 24]).unwrap());
    let eight_bits = Lcg::new(8, 5, 1).unwrap();
    // Made of parts on 256 points; what the impostor hands out has 16, which no longer composes.
    assert!(Compose::new(impostor(), eight_bits).unwrap().trusted().is_none());
    assert!(CycleWalk::new(impostor(), 200).unwrap().trusted().is_none());
    let mut items: Vec<u64> = (0..200).collect();
    let error = items.try_par_bijective_shuffle(&impostor()).unwrap_err();
    assert_eq!(error, Error::LengthExceedsDomain { len: 200, last: 15 });
    assert!(items.iter().copied().eq(0..200));
}

/// Keeps every requirement, and has a clone with another domain.
struct Stretching(u64);

impl Clone for Stretching {
    fn clone(&self) -> Self {
        Self(2 * self.0 + 1)
    }
}

impl Bijection for Stretching {
    fn last(&self) -> u64 {
        self.0
    }
    fn forward(&self, slot: u64) -> u64 {
        slot
    }
    fn inverse(&self, index: u64) -> u64 {
        index
    }
    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self))
    }
}

// SAFETY: the identity, on a domain that never changes.
unsafe impl TrustedBijection for Stretching {}

#[test]
fn a_clone_is_checked_again() {
    let composed = Compose::new(Stretching(15), Lcg::new(4, 5, 1).unwrap()).unwrap();
    assert!(composed.trusted().is_some());
    assert!(composed.clone().trusted().is_none());
}

#[test]
fn pointers_are_bijections() {
    let f = VariablePhilox::<24>::new(6, [5; 24]).unwrap();
    let boxed: Box<dyn Bijection> = Box::new(f);
    let shared: Arc<dyn Bijection> = Arc::new(f);
    for pointer in [&boxed as &dyn Bijection, &shared, &&f] {
        check_everywhere(pointer, "pointer");
        assert!((0..64).all(|x| pointer.forward(x) == f.forward(x)));
        assert!(pointer.trusted().is_some());
    }
    let nested = Compose::new(boxed, Inverse::new(shared)).unwrap();
    assert!((0..64).all(|x| nested.forward(x) == x));
    let p = Permutation::from_bijection(50, Box::new(f) as Box<dyn Bijection>).unwrap();
    assert_eq!(p.to_vec(), Permutation::from_bijection(50, f).unwrap().to_vec());
}

#[test]
fn combinators_refuse_what_does_not_fit() {
    let (a, b) = (Lcg::new(4, 5, 1).unwrap(), Lcg::new(5, 5, 1).unwrap());
    let mismatch = BijectionError::DomainMismatch { first: 15, second: 31 };
    assert_eq!(Compose::new(a, b).unwrap_err(), mismatch);
    assert_eq!(CycleWalk::new(a, 0).unwrap_err(), BijectionError::EmptyDomain);
    let too_long = BijectionError::LengthExceedsDomain { len: 17, last: 15 };
    assert_eq!(CycleWalk::new(a, 17).unwrap_err(), too_long);
    assert_eq!(Table::new(vec![]).unwrap_err(), BijectionError::EmptyDomain);
}

#[test]
fn the_whole_of_64_bits_is_a_domain() {
    for (name, f) in every_family(64, 11) {
        for point in [0, 1, u64::MAX - 1, 1 << 63, (1 << 63) - 1] {
            check_at(&*f, point, name);
        }
    }
}

/// Values beyond a domain are unspecified, and nothing worse.
#[test]
fn points_beyond_a_domain_do_no_harm() {
    let points = [100, 101, 255, 256, 257, 1000, 1 << 32, 1 << 63, u64::MAX];
    let mut all: Vec<(&str, Box<dyn Bijection>)> = vec![
        ("Table", Box::new(Table::new(vec![2, 0, 1]).unwrap())),
        ("a small Standard", Box::new(Standard::from_seed(100, 1))),
        ("Standard", Box::new(Standard::from_seed(1000, 1))),
        ("BlockShuffle", Box::new(BlockShuffle::new(100, 7, 3, 1).unwrap())),
        ("BlockShuffle of one block", Box::new(BlockShuffle::new(3, 100, 1, 1).unwrap())),
        ("a large BlockShuffle", Box::new(BlockShuffle::new(100_000, 1000, 3, 1).unwrap())),
        ("CycleWalk", Box::new(CycleWalk::<Standard>::from_seed(100, 1))),
        ("a large CycleWalk", Box::new(CycleWalk::<Standard>::from_seed(100_000, 1))),
    ];
    for bits in [1, 2, 7] {
        all.extend(every_family(bits, 1));
    }
    for (name, f) in all {
        for point in points {
            let (_, _) = (f.forward(point), f.inverse(point));
            let mut run = [0; 300];
            f.forward_run(point, &mut run);
            f.inverse_run(point, &mut run);
            run.fill(point);
            f.forward_each(&mut run);
            f.inverse_each(&mut run);
            let mut narrow = [0; 300];
            f.forward_run_u32(point, &mut narrow);
            f.inverse_run_u32(point, &mut narrow);
            f.forward_run_u16(point, &mut [0; 300]);
        }
        assert!(f.forward(0) <= f.last(), "{name}");
    }
    // Of a table they are what it says, at its end as well.
    let f = Table::new(vec![2, 0, 1]).unwrap();
    assert_eq!([f.forward(3), f.inverse(u64::MAX)], [3, u64::MAX]);
    let mut run = [0; 4];
    f.forward_run(1, &mut run);
    assert_eq!(run, [0, 1, 3, 4]);
    f.inverse_run(u64::MAX - 1, &mut run);
    assert_eq!(run, [u64::MAX - 1, u64::MAX, 0, 1]);
    assert_eq!(Standard::from_seed(100, 1).forward(100), 100);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(laws::cases(200)))]

    #[test]
    fn round_trips_at_every_width(bits in 1..=64_u32, seed: u64, point: u64) {
        for (name, f) in every_family(bits, seed) {
            check_at(&*f, point, &format!("{name}, {bits} bits"));
        }
    }

    #[test]
    fn words_agree_at_every_width(bits in 1..=32_u32, seed: u64, point: u32) {
        for (name, wide, narrow) in every_word_pair(bits, seed) {
            check_at(&*narrow, u64::from(point), name);
            let point = point & narrow.last();
            prop_assert_eq!(u64::from(narrow.forward(point)), wide.forward(u64::from(point)));
            prop_assert_eq!(u64::from(narrow.inverse(point)), wide.inverse(u64::from(point)));
        }
    }

    #[test]
    fn any_key_will_do(bits in 2..=64_u32, keys: [u32; 24], point: u64) {
        check_at(&VariablePhilox::<24>::new(bits, keys).unwrap(), point, "philox");
        let keys: [u32; 7] = core::array::from_fn(|k| keys[k]);
        check_at(&VariablePhilox::<7>::new(bits, keys).unwrap(), point, "philox, 7 rounds");
    }

    #[test]
    fn any_odd_multiplier_will_do(bits in 1..=64_u32, a: u64, c: u64, point: u64) {
        let f = Lcg::new(bits, a | 1, c).unwrap();
        check_at(&f, point, "lcg");
        let x = point & f.last();
        let expected = (u128::from(a | 1) * u128::from(x) + u128::from(c)) & u128::from(f.last());
        prop_assert_eq!(u128::from(f.forward(x)), expected);
    }

    #[test]
    fn tables_are_what_they_were_given(len in 1..200_u64, seed: u64) {
        let values = Permutation::new(len, seed).to_vec();
        let table = Table::new(values.clone()).unwrap();
        prop_assert_eq!(table.values(), &values[..]);
        check_everywhere(&table, "table");
        check_everywhere(&table.to_word::<u32>().unwrap(), "narrow table");
    }
}
