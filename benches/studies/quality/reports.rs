//! What others' shuffles and generators were reported to get wrong, asked of every family and
//! generator here.
//!
//! * Deciles of the first 10,000 of 3 * 10^9: PyTorch's `randperm` and `randint` took 32-bit words
//!   modulo the length, so that some values were twice as likely as others (PyTorch 143875,
//!   148175).
//! * 100,000 of 2^32 in 1,024 bins, and of 2^48: after that many probes some of masscan's networks
//!   had been hit far more often than others (masscan 505).
//! * The parity of each of the first words over seeds in a row: the second word of rocRAND's XORWOW
//!   was odd for 750 of 1,000 (rocRAND 556); and over streams in a row.
//! * The first place over epochs in a row, which is what a sampler without a random start repeats.

use bijective_shuffle::bijection::{
    CycleWalk, GridFeistel, MulXorshift, RandomSign, Standard, SwapOrNot, VariablePhilox,
};
use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::{
    Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng,
    XorShift1024Weyl, Xorwow,
};
use rayon::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::compare;
use crate::families::Draw;

/// A p-value below this, corrected for the number of all tests, is a finding.
const SIGNIFICANCE: f64 = 1e-3;

/// What is asked, and the family or generator that is asked, with what was seen.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    report: &'static str,
    subject: &'static str,
    /// How many seeds, streams or epochs.
    samples: u64,
    /// What the p-value is of.
    test: String,
    /// The smallest and the largest count that was seen, and the expected one, where that is one.
    seen: String,
    p_value: f64,
}

/// The families, each by a member for a length.
const SUBJECTS: [(&str, Draw); 6] = [
    ("Standard", |len, seed| Box::new(Standard::from_seed(len, seed))),
    ("VariablePhilox<24>", |len, seed| Box::new(VariablePhilox::<24>::from_seed(len, seed))),
    ("RandomSign<VariablePhilox<24>>", |len, seed| {
        Box::new(RandomSign::<VariablePhilox<24>>::from_seed(len, seed))
    }),
    ("GridFeistel<12>", |len, seed| Box::new(GridFeistel::<12>::from_seed(len, seed))),
    ("CycleWalk<MulXorshift<10>>", |len, seed| {
        Box::new(CycleWalk::<MulXorshift<10>>::from_seed(len, seed))
    }),
    ("SwapOrNot", |len, seed| Box::new(SwapOrNot::from_seed(len, seed))),
];

/// The first words of a generator's stream.
type Words = fn(Seed, u64, &mut [u32]);

macro_rules! words {
    ($($generator:ident)*) => {
        [$((stringify!($generator), |seed, stream, out: &mut [u32]| {
            let mut rng = $generator::new(seed, stream);
            out.iter_mut().for_each(|word| *word = rand_core::Rng::next_u32(&mut rng));
        })),*]
    };
}

const GENERATORS: [(&str, Words); 8] = words!(
    Philox4x32Rng XorShift1024Weyl LaggedFibonacci1279 LaggedFibonacci521 Xorwow Mwc Lcg64 Lcg32
);

/// How often each cell is hit, beside how often it should be.
struct Cells {
    counts: Vec<u64>,
    expected: Vec<f64>,
}

impl Cells {
    /// `samples` values below `n`, in `cells` cells of nearly equal size.
    fn of_values(values: impl Iterator<Item = u64>, n: u64, cells: u64, samples: u64) -> Self {
        let mut counts = vec![0; cells as usize];
        for value in values {
            counts[cell(value, n, cells) as usize] += 1;
        }
        Self { counts, expected: expected(n, cells, samples) }
    }

    fn add(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.expected.iter_mut().zip(&other.expected).for_each(|(count, more)| *count += more);
    }

    fn statistic(&self) -> f64 {
        let terms = self.counts.iter().zip(&self.expected);
        terms.map(|(&count, expected)| (count as f64 - expected).powi(2) / expected).sum()
    }

    fn degrees(&self) -> f64 {
        self.counts.len() as f64 - 1.0
    }

    fn seen(&self) -> String {
        let (least, most) = (self.counts.iter().min(), self.counts.iter().max());
        let mean = self.expected.iter().sum::<f64>() / self.expected.len() as f64;
        format!("{} to {}; {mean:.1}", least.unwrap_or(&0), most.unwrap_or(&0))
    }
}

fn cell(value: u64, n: u64, cells: u64) -> u64 {
    (u128::from(value) * u128::from(cells) / u128::from(n)) as u64
}

fn expected(n: u64, cells: u64, samples: u64) -> Vec<f64> {
    let start = |cell: u64| (u128::from(cell) * u128::from(n)).div_ceil(u128::from(cells));
    let size = |cell: u64| (start(cell + 1) - start(cell)) as f64;
    (0..cells).map(|cell| samples as f64 * size(cell) / n as f64).collect()
}

/// The probability of a statistic so far from what is usual, to either side: counts that are too
/// even are a fault too.
fn two_sided(statistic: f64, degrees: f64) -> f64 {
    ChiSquared::new(degrees).map_or(1.0, |chi| {
        let (above, below) = (chi.sf(statistic), chi.cdf(statistic));
        (2.0 * above.min(below)).min(1.0)
    })
}

/// The first values of permutations by many seeds, in cells: their sum over the seeds, and how
/// uneven they are for single seeds.
fn first_values(
    report: &'static str,
    (subject, draw): (&'static str, Draw),
    [len, first, cells]: [u64; 3],
    seeds: u64,
    seed: u64,
) -> [Answer; 2] {
    let of = |k: u64| {
        let f = draw(len, Seed::new(seed.wrapping_add(k)));
        let permutation = Permutation::from_bijection(len, f).expect("drawn for the length");
        Cells::of_values(permutation.iter().take(first as usize), len, cells, first)
    };
    let all: Vec<Cells> = (0..seeds).into_par_iter().map(of).collect();
    let single: f64 = all.iter().map(Cells::statistic).sum();
    let mut sum = Cells { counts: vec![0; cells as usize], expected: vec![0.0; cells as usize] };
    all.iter().for_each(|cells| sum.add(cells));
    let answer = |test: &str, seen, p_value| Answer {
        report,
        subject,
        samples: seeds,
        test: test.into(),
        seen,
        p_value,
    };
    let degrees = sum.degrees();
    [
        answer("all seeds together", sum.seen(), two_sided(sum.statistic(), degrees)),
        answer("each seed", String::new(), two_sided(single, degrees * seeds as f64)),
    ]
}

/// Where a run's epochs have their first items: each by itself, and each two in a row.
fn first_places(
    (subject, draw): (&'static str, Draw),
    len: u64,
    epochs: u64,
    seed: u64,
) -> [Answer; 2] {
    const CELLS: u64 = 64;
    const IN_PAIRS: u64 = 16;
    let first = |epoch: u64| {
        let f = draw(len, Seed::new(seed).with_epoch(epoch));
        let permutation = Permutation::from_bijection(len, f).expect("drawn for the length");
        permutation.iter().next().expect("there are items")
    };
    let first: Vec<u64> = (0..epochs).into_par_iter().map(first).collect();
    let single = Cells::of_values(first.iter().copied(), len, CELLS, epochs);
    let mut counts = vec![0; (IN_PAIRS * IN_PAIRS) as usize];
    for pair in first.chunks_exact(2) {
        let [a, b] = [pair[0], pair[1]].map(|value| cell(value, len, IN_PAIRS));
        counts[(a * IN_PAIRS + b) as usize] += 1;
    }
    let one = expected(len, IN_PAIRS, 1);
    let of_pairs = one.iter().flat_map(|a| one.iter().map(move |b| a * b * (epochs / 2) as f64));
    let pairs = Cells { counts, expected: of_pairs.collect() };
    [("place 0", single), ("place 0, two epochs in a row", pairs)].map(|(test, cells)| Answer {
        report: "first place over epochs",
        subject,
        samples: epochs,
        test: format!("{test}, {len} items"),
        seen: cells.seen(),
        p_value: two_sided(cells.statistic(), cells.degrees()),
    })
}

/// How many of each of the first words are odd, by the one that is furthest from half. (The sum
/// over all words would be another question: the lowest bit of an LCG alternates along its stream.)
fn parities(
    subject: &'static str,
    over: &'static str,
    samples: u64,
    words: impl Fn(u64, &mut [u32]) + Sync,
) -> Answer {
    const WORDS: usize = 64;
    let odd = (0..samples).into_par_iter().fold(
        || [0_u64; WORDS],
        |mut odd, k| {
            let mut first = [0; WORDS];
            words(k, &mut first);
            odd.iter_mut().zip(first).for_each(|(odd, word)| *odd += u64::from(word & 1));
            odd
        },
    );
    let odd = odd.reduce(
        || [0; WORDS],
        |mut a, b| {
            a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            a
        },
    );
    let half = samples as f64 / 2.0;
    let (least, most) = odd.iter().fold((samples, 0), |(a, b), &odd| (a.min(odd), b.max(odd)));
    let furthest = (half - least as f64).max(most as f64 - half);
    let square = furthest * furthest / (samples as f64 / 4.0);
    let p_value = ChiSquared::new(1.0).map_or(1.0, |chi| chi.sf(square));
    Answer {
        report: "parity of words",
        subject,
        samples,
        test: format!("worst of {WORDS} words, over {over}"),
        seen: format!("{least} to {most}; {half}"),
        p_value: compare::corrected(p_value, WORDS),
    }
}

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Seeds whose first values are looked at.
    pub(crate) seeds: u64,
    /// Seeds and streams of generators, and epochs.
    pub(crate) streams: u64,
}

/// What all families and generators answer.
pub(crate) fn answers(effort: Effort, seed: u64) -> Vec<Answer> {
    let Effort { seeds, streams } = effort;
    let mut all = Vec::new();
    for subject in SUBJECTS {
        let lengths = [
            ("10,000 of 3 10^9, deciles", [3_000_000_000, 10_000, 10]),
            ("100,000 of 2^32, 1,024 bins", [1 << 32, 100_000, 1024]),
            ("100,000 of 2^48, 1,024 bins", [1 << 48, 100_000, 1024]),
        ];
        for (report, sizes) in lengths {
            all.extend(first_values(report, subject, sizes, seeds, seed));
        }
        for len in [257, 1000, 1024, 1_000_000, 3_000_000_000] {
            all.extend(first_places(subject, len, streams, seed));
        }
    }
    for (subject, words) in GENERATORS {
        let over_seeds = |k, out: &mut [u32]| words(Seed::new(k), 0, out);
        all.push(parities(subject, "seeds", streams, over_seeds));
        let over_streams = |k, out: &mut [u32]| words(Seed::new(seed), k, out);
        all.push(parities(subject, "streams", streams, over_streams));
    }
    all
}

/// Prints a row for each answer; returns whether there is no finding.
pub(crate) fn print(effort: Effort, seed: u64) -> bool {
    let all = answers(effort, seed);
    println!("| report | subject | samples | test | seen | p | corrected |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut passed = true;
    for answer in &all {
        let Answer { report, subject, samples, test, seen, p_value: p } = answer;
        let corrected = compare::corrected(*p, all.len());
        passed &= corrected >= SIGNIFICANCE;
        let cells = format!("{report} | {subject} | {samples} | {test} | {seen}");
        println!("| {cells} | {p:.2e} | {corrected:.2e} |");
    }
    passed
}

#[cfg(test)]
mod tests {
    use bijective_shuffle::bijection::Lcg;

    use super::*;

    fn smallest(answers: &[Answer]) -> f64 {
        answers.iter().map(|answer| answer.p_value).fold(1.0, f64::min)
    }

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn every_family_and_generator_is_even() {
        let all = answers(Effort { seeds: 1, streams: 250 }, 20_261_126);
        let corrected = compare::corrected(smallest(&all), all.len());
        assert!(corrected >= SIGNIFICANCE, "{all:?}");
        assert_eq!(all.len(), SUBJECTS.len() * 2 * 8 + GENERATORS.len() * 2);
    }

    /// Words of 32 bits modulo the length: no permutation, but what the first places of the one
    /// that was reported had.
    struct ShortWords(u64, Seed);

    impl Bijection for ShortWords {
        fn last(&self) -> u64 {
            self.0 - 1
        }
        fn forward(&self, slot: u64) -> u64 {
            let mut word = [0];
            let rng = GENERATORS[0].1;
            rng(self.1, slot, &mut word);
            u64::from(word[0]) % self.0
        }
        fn inverse(&self, _index: u64) -> u64 {
            unreachable!("only looked at forwards")
        }
    }

    #[test]
    fn what_was_reported_is_found() {
        let short: Draw = |len, seed| Box::new(ShortWords(len, seed));
        let sizes = [3_000_000_000, 10_000, 10];
        let found = first_values("", ("", short), sizes, 1, 1);
        assert!(smallest(&found) < 1e-100, "{found:?}");
        let found = first_places(("", short), 3_000_000_000, 1000, 1);
        assert!(found[0].p_value < 1e-10, "{found:?}");
        // An order by a fixed stride is too even.
        let lcg: Draw = |len, seed| Box::new(Lcg::from_seed(len, seed));
        let found = first_values("", ("", lcg), [1 << 32, 100_000, 1024], 2, 1);
        assert!(smallest(&found) < 1e-6, "{found:?}");
    }

    /// rocRAND's seeds of XORWOW: Marsaglia's state, with multiples of the two halves of the seed
    /// added to it or combined by exclusive or.
    #[test]
    fn the_parity_that_was_reported_is_found() {
        let second = |seed: u64| {
            let low = (seed as u32 ^ 0x2c7f_967f).wrapping_mul(1_228_688_033);
            let high = ((seed >> 32) as u32 ^ 0xa036_97cb).wrapping_mul(2_073_658_381);
            let mut x = [
                123_456_789_u32.wrapping_add(low),
                362_436_069 ^ low,
                521_288_629_u32.wrapping_add(high),
                88_675_123 ^ high,
                5_783_321_u32.wrapping_add(low),
            ];
            let mut d = 6_615_241_u32.wrapping_add(low).wrapping_add(high);
            let mut word = 0;
            for _ in 0..2 {
                let t = x[0] ^ x[0] >> 2;
                x.rotate_left(1);
                x[4] = (x[3] ^ x[3] << 4) ^ (t ^ t << 1);
                d = d.wrapping_add(362_437);
                word = d.wrapping_add(x[4]);
            }
            word
        };
        let odd = (0..1000).filter(|&seed| second(seed) % 2 == 1).count();
        assert_eq!(odd, 750);
        let found = parities("", "", 1000, |seed, out| out[1] = second(seed));
        assert!(found.p_value < 1e-50, "{found:?}");
    }
}
