//! Iterators that are run, skipped, cut, saved and resumed, in any order; and cursors by
//! themselves.

use bijective_shuffle::Cursor;
use bijective_shuffle::Error;
use bijective_shuffle::bijection::{CycleWalk, GridFeistel, MulXorshift, Standard};
use bijective_shuffle::error::SavedError;
use bijective_shuffle::iter::Iter;
use bijective_shuffle::prelude::*;
use proptest::prelude::{Just, ProptestConfig, Strategy as _, any, prop_assert_eq, prop_oneof};
use proptest::{collection, proptest};

use super::{inverse_of, serial};
use bijective_shuffle_laws::cases;

/// What is done to an iterator.
#[derive(Clone, Debug)]
enum Step {
    Next(u8),
    Back(u8),
    Nth(u16),
    NthBack(u16),
    Save,
    Strided(u8, u8),
    Shard(u8, u8),
}

fn step() -> impl proptest::strategy::Strategy<Value = Step> {
    prop_oneof![
        any::<u8>().prop_map(Step::Next),
        any::<u8>().prop_map(Step::Back),
        any::<u16>().prop_map(Step::Nth),
        any::<u16>().prop_map(Step::NthBack),
        Just(Step::Save),
        (any::<u8>(), 0..5_u8).prop_map(|(rank, more)| Step::Strided(rank % (more + 1), more + 1)),
        (any::<u8>(), 0..3_u8).prop_map(|(rank, more)| Step::Shard(rank % (more + 1), more + 1)),
    ]
}

/// Does it to an iterator, and to what it should run through.
fn apply<'a, B: Bijection>(
    step: &Step,
    p: &'a Permutation<B>,
    mut iter: Iter<'a, B>,
    left: &mut Vec<u64>,
) -> Iter<'a, B> {
    let mut take = |count: usize, back: bool| -> Vec<u64> {
        let count = count.min(left.len());
        if back {
            left.drain(left.len() - count..).rev().collect()
        } else {
            left.drain(..count).collect()
        }
    };
    match *step {
        Step::Next(count) => {
            let count = usize::from(count);
            assert_eq!(iter.by_ref().take(count).collect::<Vec<_>>(), take(count, false));
        }
        Step::Back(count) => {
            let count = usize::from(count);
            assert_eq!(iter.by_ref().rev().take(count).collect::<Vec<_>>(), take(count, true));
        }
        Step::Nth(n) => {
            let n = usize::from(n);
            assert_eq!(iter.nth(n), take(n + 1, false).get(n).copied());
        }
        Step::NthBack(n) => {
            let n = usize::from(n);
            assert_eq!(iter.nth_back(n), take(n + 1, true).get(n).copied());
        }
        Step::Save => {
            let text = iter.cursor().to_string();
            iter = p.resume(&text.parse::<Cursor>().unwrap()).unwrap();
        }
        Step::Strided(rank, ranks) => {
            iter = iter.shard_strided(rank.into(), ranks.into()).unwrap();
            *left = left.iter().skip(rank.into()).step_by(ranks.into()).copied().collect();
        }
        Step::Shard(rank, ranks) => {
            iter = iter.shard(rank.into(), ranks.into()).unwrap();
            let bound = |rank: usize| left.len() * rank / usize::from(ranks);
            *left = left[bound(rank.into())..bound(usize::from(rank) + 1)].to_vec();
        }
    }
    iter
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(200)))]

    #[test]
    fn any_mix_of_steps_agrees(
        len in prop_oneof![0..300_u64, 0..20_000_u64, Just(16_384), Just(16_385)],
        seed: u64,
        kind in 0..4_u8,
        inverted: bool,
        index: bool,
        steps in collection::vec(step(), 0..12),
    ) {
        match kind {
            0 => mix(&Standard::from_seed(len, seed), len, inverted, index, &steps),
            1 => mix(&GridFeistel::<12>::from_seed(len, seed), len, inverted, index, &steps),
            2 => mix(&MulXorshift::<10>::from_seed(100 * len, seed), len, inverted, index, &steps),
            _ => mix(&CycleWalk::<Standard>::from_seed(len, seed), len, inverted, index, &steps),
        }
    }

    #[test]
    fn no_numbers_are_a_cursor_by_chance(words: [u64; 7]) {
        let words = words.map(|word| format!("{word:x}"));
        let cursor: Cursor = words.join("-").parse().unwrap();
        let error = Permutation::new(10, 1).resume(&cursor).unwrap_err();
        prop_assert_eq!(error, Error::Saved(SavedError::Foreign));
    }

    #[test]
    fn no_text_is_a_cursor_by_chance(text in "[0-9a-fA-F+-]{0,80}") {
        if let Ok(cursor) = text.parse::<Cursor>() {
            let error = Permutation::new(10, 1).resume(&cursor).unwrap_err();
            prop_assert_eq!(error, Error::Saved(SavedError::Foreign));
        }
    }
}

fn mix<B: Bijection + Clone>(f: &B, len: u64, inverted: bool, index: bool, steps: &[Step]) {
    let mut p = Permutation::from_bijection(len, f.clone()).unwrap();
    let mut left = serial(f, len);
    if inverted {
        p = p.inverted();
        left = inverse_of(&left);
    }
    if index {
        p.build_index().unwrap();
    }
    let mut iter = p.iter();
    for step in steps {
        iter = apply(step, &p, iter, &mut left);
        assert_eq!(iter.remaining(), left.len() as u64);
    }
    assert!(iter.eq(left));
}

#[test]
fn cursors_are_refused_unless_they_are_the_permutations_own() {
    let p = Permutation::new(1000, 1);
    let mut iter = p.iter();
    iter.nth(700);
    let cursor = iter.cursor();
    assert_eq!((cursor.place(), cursor.remaining()), (701, 299));
    let others = [Permutation::new(1000, 2), Permutation::new(999, 1), p.inverted()];
    assert!(
        others
            .iter()
            .all(|other| other.resume(&cursor).unwrap_err() == Error::Saved(SavedError::Foreign))
    );
    let text = cursor.to_string();
    for k in 0..text.len() {
        let mut changed = text.clone().into_bytes();
        changed[k] = if changed[k] == b'1' { b'2' } else { b'1' };
        let changed = String::from_utf8(changed).unwrap();
        match changed.parse::<Cursor>() {
            Ok(cursor) => {
                assert_eq!(p.resume(&cursor).unwrap_err(), Error::Saved(SavedError::Foreign));
            }
            Err(error) => assert_eq!(error, Error::Saved(SavedError::NotACursor)),
        }
    }
    for bad in
        ["", "-", "1-2-3", "1-2-3-4-5-6-7-8", "1-2-3-4-5-6-+7", "1-2-3-4-5-6-g", " 1-2-3-4-5-6-7"]
    {
        assert_eq!(bad.parse::<Cursor>(), Err(Error::Saved(SavedError::NotACursor)), "{bad}");
    }
    // The values themselves are for ever.
    assert_eq!(text, "3e8-2bd-12b-1-0-0-a3ef2b2f1cd3b664");
}

#[cfg(feature = "serde")]
#[test]
fn cursors_are_serialised() {
    let p = Permutation::new(1000, 1);
    let mut iter = p.iter();
    iter.nth(5);
    let text = serde_json::to_string(&iter.cursor()).unwrap();
    assert_eq!(text, format!("\"{}\"", iter.cursor()));
    let cursor: Cursor = serde_json::from_str(&text).unwrap();
    assert!(p.resume(&cursor).unwrap().eq(iter));
    for bad in ["7", "\"3e8-2bd\"", "{}"] {
        assert!(serde_json::from_str::<Cursor>(bad).is_err(), "{bad}");
    }
}
