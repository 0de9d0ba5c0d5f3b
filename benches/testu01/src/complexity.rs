//! The linear complexity of the bits that TestU01's tests of it look at, without TestU01.

use std::error::Error;

use bijective_shuffle::rng::{Generator, XorShift1024Weyl};

use crate::arguments::Complexity;
use crate::battery::Battery;
use crate::contenders::{self, Contender};
use crate::jobs::Job;
use crate::source::Feed;

/// Crush's tests of linear complexity, and which bit of a word each of them takes, counted from the
/// highest (`bbattery.c`: `scomp_LinearComp (gen, res, 1, 120000, r, 1)`).
const TESTS: [(usize, u32); 2] = [(71, 0), (72, 29)];

/// How many words these tests take, a bit of each.
const WORDS: usize = 120_000;

/// Prints the complexity of what Crush's tests 71 and 72 see.
pub(crate) fn run(arguments: &Complexity) -> Result<(), Box<dyn Error>> {
    println!(
        "| generator | seed | test | bit | linear complexity of {WORDS} bits | what is added |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for contender in contenders::matching(&arguments.only, None)? {
        for &seed in &arguments.seeds {
            for (test, bit) in TESTS {
                let seen = Seen { contender, seed, test, bit };
                let added = seen.added().map_or(String::new(), |added| {
                    format!("...{:02b}, {}", added & 3, if added & 1 == 0 { "even" } else { "odd" })
                });
                println!(
                    "| `{}` | {seed} | {test} | {bit} | {} | {added} |",
                    contender.name(),
                    seen.complexity()?
                );
            }
        }
    }
    Ok(())
}

/// What one of the tests sees.
struct Seen {
    contender: &'static Contender,
    seed: u32,
    test: usize,
    bit: u32,
}

impl Seen {
    fn generator_seed(&self) -> u64 {
        let (contender, test, seed) = (self.contender, self.test, self.seed);
        Job { contender, battery: Battery::Crush, test, seed }.generator_seed()
    }

    fn complexity(&self) -> Result<usize, Box<dyn Error>> {
        let mut feed = Feed::new((self.contender.start)(self.generator_seed())?);
        let bits: Vec<bool> = (0..WORDS).map(|_| feed.next() << self.bit >> 31 == 1).collect();
        Ok(linear_complexity(&bits))
    }

    /// The number that `XorShift1024Weyl` adds to all lanes of its first step: all warps of a seed
    /// have one Weyl word.
    fn added(&self) -> Option<u32> {
        if (self.contender.generator, self.contender.order) != ("xorshift", "streams") {
            return None;
        }
        let (_, before) = XorShift1024Weyl::new(self.generator_seed(), 0).state();
        let weyl = before.wrapping_add(362_437);
        Some(weyl ^ (weyl >> 16))
    }
}

/// The length of the shortest linear recursion over GF(2) that makes a sequence: J. Massey,
/// *Shift-register synthesis and BCH decoding*, IEEE Transactions on Information Theory 15 (1969),
/// with 64 coefficients a word.
fn linear_complexity(sequence: &[bool]) -> usize {
    let words = sequence.len() / 64 + 2;
    // The last bit of the sequence first: the bits before bit n are then in the order of the
    // coefficients.
    let mut reversed = vec![0_u64; words];
    for (k, _) in sequence.iter().rev().enumerate().filter(|(_, bit)| **bit) {
        reversed[k / 64] |= 1 << (k % 64);
    }
    // The recursion's polynomial, and that before its length last changed, with the number of bits
    // since then.
    let mut current = vec![0_u64; words];
    current[0] = 1;
    let mut previous = current.clone();
    let mut since = 1;
    let mut length = 0;
    for n in 0..sequence.len() {
        let (skip, shift) = ((sequence.len() - 1 - n) / 64, (sequence.len() - 1 - n) % 64);
        let mut discrepancy = 0;
        for (coefficients, seen) in current[..=length / 64].iter().zip(reversed[skip..].windows(2))
        {
            discrepancy ^= coefficients & (seen[0] >> shift | seen[1] << 1 << (63 - shift));
        }
        if discrepancy.count_ones() % 2 == 0 {
            since += 1;
        } else if 2 * length <= n {
            let before = current.clone();
            add_shifted(&mut current, &previous, since);
            previous = before;
            length = n + 1 - length;
            since = 1;
        } else {
            add_shifted(&mut current, &previous, since);
            since += 1;
        }
    }
    length
}

/// `to += x^by from`, of which nothing beyond the end of `to` is wanted.
fn add_shifted(to: &mut [u64], from: &[u64], by: usize) {
    let (skip, shift) = (by / 64, by % 64);
    let mut carried = 0;
    for (to, from) in to.iter_mut().skip(skip).zip(from) {
        *to ^= from << shift | carried;
        carried = from >> 1 >> (63 - shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(name: &str, seed: u32, test: usize) -> Seen {
        let contender = contenders::find(name).unwrap();
        let bit = TESTS.iter().find(|(number, _)| *number == test).unwrap().1;
        Seen { contender, seed, test, bit }
    }

    /// The shortest recursion by trial of all.
    fn by_trial(sequence: &[bool]) -> usize {
        let holds = |length: usize, recursion: u32| {
            (length..sequence.len()).all(|n| {
                let sum = (1..=length)
                    .filter(|k| recursion >> (k - 1) & 1 == 1 && sequence[n - k])
                    .count();
                sequence[n] == (sum % 2 == 1)
            })
        };
        (0..=sequence.len())
            .find(|&length| (0..1 << length).any(|recursion| holds(length, recursion)))
            .unwrap()
    }

    #[test]
    fn the_shortest_recursion_is_found() {
        for len in 0..=10 {
            for number in 0..1_u32 << len {
                let sequence: Vec<bool> = (0..len).map(|k| number >> k & 1 == 1).collect();
                assert_eq!(linear_complexity(&sequence), by_trial(&sequence), "{sequence:?}");
            }
        }
    }

    #[test]
    fn recursions_longer_than_a_word_are_found() {
        for degree in [63, 64, 65, 127, 128, 200] {
            // One bit after so many zeros needs a recursion of one more; repeated, of the period.
            let mut late = vec![false; degree + 1];
            late[degree] = true;
            assert_eq!(linear_complexity(&late), degree + 1);
            let repeated: Vec<bool> = (0..4 * degree).map(|k| k % degree == 0).collect();
            assert_eq!(linear_complexity(&repeated), degree);
        }
    }

    /// The third bit from below of XORWOW is linear, with what the two bits below it carry:
    /// products of two of the 160 bits at every other word, 2 (160 161 / 2), a bit at two words of
    /// four, 2 160 more, and a constant of period 8.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn xorwow_has_a_third_bit_of_low_complexity() {
        for seed in [1, 2] {
            assert_eq!(
                seen("xorwow/sequence", seed, 72).complexity().unwrap(),
                2 * 12_880 + 2 * 160 + 5
            );
        }
        assert!(seen("xorwow/sequence", 1, 71).complexity().unwrap().abs_diff(WORDS / 2) < 20);
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn the_mersenne_twister_is_linear() {
        for (test, _) in TESTS {
            assert_eq!(seen("mt19937/sequence", 1, test).complexity().unwrap(), 19_937);
        }
    }

    /// All streams add the same number to their lanes: the lowest two bits stay linear, and the
    /// third if it is even.
    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn warps_are_linear_together_where_an_even_number_is_added() {
        let linear = |complexity: usize| complexity.abs_diff(32 * 1024) <= 1;
        let mut parities = [0; 2];
        for seed in 1..=3 {
            let seen = seen("xorshift/streams", seed, 72);
            let complexity = seen.complexity().unwrap();
            let odd = seen.added().unwrap() & 1;
            parities[odd as usize] += 1;
            if odd == 0 {
                assert!(linear(complexity), "{complexity}");
            } else {
                assert!(complexity.abs_diff(WORDS / 2) < 20, "{complexity}");
                for bit in [30, 31] {
                    assert!(linear(Seen { bit, ..seen }.complexity().unwrap()));
                }
            }
        }
        assert!(parities.iter().all(|&count| count > 0), "{parities:?}");
    }
}
