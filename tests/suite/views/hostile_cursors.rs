//! Cursors that somebody made up: never a panic, never an endless loop.

use bijective_shuffle::Error;
use bijective_shuffle::bijection::MulXorshift;
use bijective_shuffle::error::SavedError;
use bijective_shuffle::error::ViewError;
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cursor, KeyDomain, KeyStream};

use bijective_shuffle_laws::cases;

/// Random numbers.
struct Dice(KeyStream);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(Seed::new(seed).key_stream(KeyDomain::Exact(1)))
    }

    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    fn below(&mut self, end: usize) -> usize {
        (self.word() % end as u64) as usize
    }

    /// A number that is of interest near any of some.
    fn near(&mut self, numbers: &[u64]) -> u64 {
        let number = numbers[self.below(numbers.len())];
        match self.below(5) {
            0 => self.word(),
            1 => number.wrapping_add(self.word() % 3).wrapping_sub(1),
            2 => self.word() % number.max(1),
            3 => 1 << self.below(64),
            _ => number,
        }
    }
}

/// The check that a cursor with these numbers has to have: its finalizer is no secret.
fn check<B: Bijection>(p: &Permutation<B>, inverted: bool, words: [u64; 6]) -> u64 {
    let last = p.bijection().last();
    let samples =
        (0..16_u64).map(|k| p.bijection().forward((u128::from(last) * u128::from(k) / 15) as u64));
    let numbers = words.into_iter().chain([last, u64::from(inverted)]);
    numbers.chain(samples).fold(0, |hash, number| {
        let mut x = (hash ^ number).wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    })
}

fn cursor(words: [u64; 6], check: u64) -> Cursor {
    let words: Vec<String> = words.iter().chain([&check]).map(|word| format!("{word:x}")).collect();
    words.join("-").parse().unwrap()
}

/// Does with a cursor what a program would; whether it was taken.
fn run<B: Bijection>(p: &Permutation<B>, cursor: &Cursor, at_most: usize) -> bool {
    let iter = match p.resume(cursor) {
        Ok(iter) => iter,
        Err(error) => {
            assert!(
                matches!(
                    error,
                    Error::Saved(SavedError::Foreign)
                        | Error::View(ViewError::IndexNotBuilt { .. })
                ),
                "{error}"
            );
            return false;
        }
    };
    assert_eq!(iter.remaining(), cursor.remaining());
    assert!(iter.clone().take(at_most).count() <= at_most);
    if at_most > 1 {
        assert!(iter.clone().rev().take(at_most).count() <= at_most);
        let _ = (iter.clone().nth(at_most), iter.clone().nth_back(at_most));
        let _ = iter.clone().shard(1, 2).map(|shard| shard.take(at_most).count());
        let _ = iter.clone().shard_strided(1, 3).map(|shard| shard.take(at_most).count());
    }
    // What comes of it is a cursor that is taken again, if any index is left.
    let again = iter.cursor().to_string().parse().unwrap();
    assert!(iter.remaining() == 0 || p.resume(&again).is_ok());
    true
}

/// Whether the check here is the crate's.
#[test]
fn forged_checks_are_right() {
    let p = Permutation::new(1000, 1);
    let text = p.iter().cursor().to_string();
    let words: Vec<u64> =
        text.split('-').map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
    assert_eq!(check(&p, false, words[..6].try_into().unwrap()), words[6]);
}

#[test]
fn random_texts_are_no_cursors() {
    let p = Permutation::new(1000, 1);
    let mut dice = Dice::new(1);
    let letters = b"0123456789abcdefABCDEF---+ g\xc3";
    for _ in 0..cases(100_000) {
        let text: Vec<u8> =
            (0..dice.below(60)).map(|_| letters[dice.below(letters.len())]).collect();
        match String::from_utf8_lossy(&text).parse::<Cursor>() {
            Ok(cursor) => assert!(!run(&p, &cursor, 10)),
            Err(error) => assert_eq!(error, Error::Saved(SavedError::NotACursor)),
        }
    }
}

#[test]
fn changed_cursors_are_refused() {
    let mut dice = Dice::new(2);
    let p = Permutation::new(1000, 1);
    let mut iter = p.iter();
    iter.nth(700);
    let texts = [p.iter().cursor(), iter.cursor(), p.iter().shard_strided(1, 3).unwrap().cursor()];
    let texts = texts.map(|cursor| cursor.to_string().into_bytes());
    for _ in 0..cases(60_000) {
        let original = &texts[dice.below(texts.len())];
        let mut text = original.clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(text.len());
            match dice.below(4) {
                0 if text.len() > 1 => drop(text.remove(at)),
                1 => text.insert(at, b"0123456789abcdef-"[dice.below(17)]),
                2 => text[at] ^= 1 << dice.below(7),
                _ => text.truncate(at.max(1)),
            }
        }
        if let Ok(cursor) = String::from_utf8(text).unwrap().parse::<Cursor>() {
            // A leading zero, or a digit in upper case, changes no number.
            let same = cursor.to_string().as_bytes() == &original[..];
            assert_eq!(run(&p, &cursor, 10), same);
        }
    }
}

#[test]
fn forged_cursors_do_no_harm() {
    fn forge<B: Bijection>(p: &Permutation<B>, inverted: bool, seed: u64, at_most: usize) {
        let mut dice = Dice::new(seed);
        let (len, last) = (p.len(), p.bijection().last());
        let mut taken = 0;
        for _ in 0..cases(10_000) {
            let next = dice.near(&[0, len - 1, len, u64::MAX]);
            let words = [
                if dice.below(20) == 0 { dice.near(&[len]) } else { len },
                next,
                dice.near(&[0, 1, len.wrapping_sub(next), len, u64::MAX]),
                dice.near(&[0, 1, 1, 1, 2, len, u64::MAX]),
                dice.near(&[0, next, last, u64::MAX]),
                dice.near(&[0, next, len - 1, u64::MAX]),
            ];
            taken += u32::from(run(p, &cursor(words, check(p, inverted, words)), at_most));
        }
        assert!(taken > cases(10_000) / 100, "{taken} were taken");
    }
    let compacted = Permutation::new(1000, 1);
    forge(&compacted, false, 3, 20);
    let indexed = Permutation::new(30_000, 1).with_index(64).unwrap();
    forge(&indexed, false, 4, 20);
    forge(&indexed.inverted(), true, 5, 20);
    forge(&Permutation::new(100, 1), false, 6, 20);
    forge(&Permutation::walk(30_000, 1), false, 7, 20);
    let sparse = MulXorshift::<10>::from_seed(1 << 14, 1);
    forge(&Permutation::from_bijection(100, sparse).unwrap(), false, 8, 20);
    // Near the end of all numbers, where each index may be far from the next one.
    forge(&Permutation::walk(u64::MAX, 1), false, 9, 20);
    forge(&Permutation::new(1 << 63, 1), false, 10, 20);
    forge(&Permutation::new(u64::MAX, 1), false, 11, 1);
    forge(&Permutation::new((1 << 40) + 1, 1), false, 12, 1);
}
