//! [`PoissonSample`]: each item by itself with one probability.

use core::fmt;
use std::sync::Arc;

use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_engine::check;
use num_bigint::BigUint;

use super::binomial::Binomial;
use super::{check_rank, deal};
use crate::Error;

/// The number of Poisson subsampling, among what this package draws.
const NUMBER: u32 = 32;

/// How many items of a part are expected in a batch, at most. It decides which values a seed gives.
const EXPECTED: u64 = 1024;

/// Parts are below this number, each with 2^24 blocks of Philox.
const MOST_PARTS: u64 = 1 << 38;

/// How many words are drawn at a time.
const WORDS: usize = 256;

/// Batches for private training: each of some items is in the batch of a step with probability `q`,
/// independently of all other items and steps.
///
/// This is the law that the accountants of private training assume (Abadi et al., *Deep learning
/// with differential privacy*, 2016; Mironov, Talwar and Zhang, *Rényi differential privacy of the
/// sampled Gaussian mechanism*, 2019). So a batch has any size, and may be empty: that is a step
/// like any other, and the accountant counts it.
///
/// A batch takes time and memory in proportion to its size, not to the set. It is a function of the
/// seed and the step, so the state of a run is these two numbers, and every rank computes its own
/// [share](Self::share) without talking to the others.
///
/// # Exactness
///
/// The probability is the `f64` exactly if it is 2^-76 or more, and otherwise the next smaller
/// multiple of 2^-128. The law of a batch differs from the one above by less than 2^-100 in total
/// variation for each 1,024 items that it is expected to have, and the words it is drawn with are
/// Philox's instead of random ones. The values are the same on every machine, as no floating-point
/// number is involved but `q` itself.
///
/// The seed must be secret where the batches have to be, and even so Philox is no cipher, and its
/// key has 64 bits: see *Not for secrets* in docs/reproducibility.md.
///
/// # The values
///
/// `crates/resample/vectors/README.md` in the repository defines them for other languages.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::PoissonSample;
///
/// let sample = PoissonSample::new(100_000_000, 1e-5, 42)?;
/// let mut batch = Vec::new();
/// sample.batch(1_000_000, &mut batch)?; // any step, without the ones before it
/// assert!((800..1200).contains(&batch.len()) && batch.is_sorted());
///
/// // Two ranks.
/// let (mut first, mut second) = (Vec::new(), Vec::new());
/// sample.share(1_000_000, 0, 2, &mut first)?;
/// sample.share(1_000_000, 1, 2, &mut second)?;
/// first.extend(second);
/// first.sort();
/// assert_eq!(first, batch);
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone)]
pub struct PoissonSample {
    items: u64,
    probability: f64,
    seed: Seed,
    key: u64,
    law: PoissonLaw,
}

/// How many items a batch takes.
#[derive(Clone)]
enum PoissonLaw {
    None,
    All,
    /// Parts of `size` items, and a last one that may be smaller.
    Parts {
        size: u64,
        whole: Arc<Binomial>,
        last: Arc<Binomial>,
    },
}

impl PoissonSample {
    /// Batches that have each of `items` items with the given probability, from 0 to 1.
    ///
    /// It takes some milliseconds, for a table of the binomial law with a few thousand numbers.
    ///
    /// # Errors
    ///
    /// [`Error::NotBetweenZeroAndOne`]; [`Error::BatchTooLarge`] if 2^48 items or more are expected
    /// in a batch; [`Error::Shuffle`] if there is too little memory.
    pub fn new(items: u64, probability: f64, seed: impl Into<Seed>) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::NotBetweenZeroAndOne { given: probability });
        }
        let seed = seed.into();
        let key = seed.key_stream(KeyDomain::Resample(NUMBER)).next_u64();
        let law = PoissonLaw::new(items, probability)?;
        Ok(Self { items, probability, seed, key, law })
    }

    /// Replaces a vector's contents with the batch of a step, in ascending order.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory. The contents are unspecified then.
    pub fn batch(&self, step: u64, out: &mut Vec<u64>) -> Result<(), Error> {
        out.clear();
        match &self.law {
            PoissonLaw::None => {}
            PoissonLaw::All => {
                check::try_reserve(out, usize::try_from(self.items).unwrap_or(usize::MAX))?;
                out.extend(0..self.items);
            }
            PoissonLaw::Parts { size, whole, last } => {
                let parts = self.items.div_ceil(*size);
                for part in 0..parts {
                    let first = part * size;
                    let part_law = if part + 1 < parts { whole } else { last };
                    let mut words = PartWords::new(self.key, step, part);
                    let count = part_law.count(words.first());
                    choose(first, (*size).min(self.items - first), count, &mut words, out)?;
                }
            }
        }
        Ok(())
    }

    /// Replaces a vector's contents with a rank's share of the batch of a step: items `rank`,
    /// `rank + ranks`, and so on of it. The shares of all ranks are the batch, and differ by at
    /// most one item in size, so a share may be empty where the batch is not.
    ///
    /// It takes the time of the whole batch.
    ///
    /// # Errors
    ///
    /// [`Error::Rank`] if there is no such rank; [`Error::Shuffle`] if there is too little memory.
    pub fn share(&self, step: u64, rank: u64, ranks: u64, out: &mut Vec<u64>) -> Result<(), Error> {
        check_rank(rank, ranks)?;
        self.batch(step, out)?;
        deal(out, rank, ranks);
        Ok(())
    }

    /// The number of items to choose from.
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The probability of each item.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// The seed.
    pub fn seed(&self) -> Seed {
        self.seed
    }
}

impl fmt::Debug for PoissonSample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoissonSample")
            .field("items", &self.items)
            .field("probability", &self.probability)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl PoissonLaw {
    fn new(items: u64, probability: f64) -> Result<Self, Error> {
        let q = in_128_bits(probability);
        if items == 0 || q == Some(0) {
            return Ok(Self::None);
        }
        let Some(q) = q else {
            return Ok(Self::All);
        };
        let size = part_size(q).min(items);
        let parts = items.div_ceil(size);
        if parts > MOST_PARTS {
            return Err(Error::BatchTooLarge);
        }
        let last = Arc::new(Binomial::new(items - (parts - 1) * size, q)?);
        let whole = if parts == 1 { last.clone() } else { Arc::new(Binomial::new(size, q)?) };
        Ok(Self::Parts { size, whole, last })
    }
}

/// `floor(1024 * 2^128 / q)`, or 2^64 - 1 if that is less.
fn part_size(q: u128) -> u64 {
    let size = (BigUint::from(EXPECTED) << 128) / q;
    u64::try_from(&size).unwrap_or(u64::MAX)
}

/// A number from 0 to 1 times 2^128, rounded down; `None` for 1.
fn in_128_bits(probability: f64) -> Option<u128> {
    let bits = probability.to_bits();
    // 0, -0 and subnormal numbers are far below 2^-128.
    let exponent = (bits >> 52 & 0x7FF) as i32 - 1023;
    let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
    // The number is mantissa * 2^(exponent - 52).
    match exponent + 76 {
        _ if probability >= 1.0 => None,
        shift @ 0.. => Some(mantissa << shift),
        shift @ -127..0 => Some(mantissa >> -shift),
        _ => Some(0),
    }
}

/// The words of a part of the items: those of blocks `part * 2^24` and on of the stream that has
/// the step's number.
struct PartWords {
    rng: Philox4x32Rng,
    words: [u64; WORDS],
    used: usize,
}

impl PartWords {
    fn new(key: u64, step: u64, part: u64) -> Self {
        let mut rng = Philox4x32Rng::from_key(key, step);
        rng.set_position(u128::from(part) << 26);
        Self { rng, words: [0; WORDS], used: WORDS }
    }

    /// The first 128 bits, by which the count is drawn. It is called first.
    fn first(&mut self) -> u128 {
        let [low, high] = [self.next(), self.next()].map(u128::from);
        high << 64 | low
    }

    #[inline(always)]
    fn next(&mut self) -> u64 {
        if self.used == WORDS {
            self.rng.fill_u64(&mut self.words);
            self.used = 0;
        }
        let word = self.words[self.used];
        self.used += 1;
        word
    }

    /// A number below `range`, each with the same probability: Lemire, *Fast random integer
    /// generation in an interval* (2019). `rejected` is `2^64 mod range`.
    #[inline(always)]
    fn below(&mut self, range: u64, rejected: u64) -> u64 {
        loop {
            let product = u128::from(self.next()) * u128::from(range);
            if product as u64 >= rejected {
                return (product >> 64) as u64;
            }
        }
    }
}

/// Appends `count` of the `size` items from `first` on, in ascending order: the first `count`
/// different numbers that are drawn, or if they are more than half, all items but the first
/// `size - count` different numbers.
fn choose(
    first: u64,
    size: u64,
    count: u64,
    words: &mut PartWords,
    out: &mut Vec<u64>,
) -> Result<(), Error> {
    let rejected = size.wrapping_neg() % size;
    let is_most = count > size - count;
    let drawn = if is_most { size - count } else { count } as usize;
    check::try_reserve(out, count as usize)?;
    // A bit for each item, if there are not many more of them than are drawn.
    if is_most || size / 64 <= drawn as u64 {
        let mut bits = check::try_with_capacity(size.div_ceil(64) as usize)?;
        bits.resize(size.div_ceil(64) as usize, 0_u64);
        let mut left = drawn;
        while left > 0 {
            let item = words.below(size, rejected);
            let (word, bit) = (&mut bits[(item / 64) as usize], 1 << (item % 64));
            left -= usize::from(*word & bit == 0);
            *word |= bit;
        }
        if is_most {
            bits.iter_mut().for_each(|word| *word = !*word);
            if !size.is_multiple_of(64) {
                *bits.last_mut().expect("there are items") &= (1 << (size % 64)) - 1;
            }
        }
        for (word, mut bits) in bits.into_iter().enumerate() {
            while bits != 0 {
                out.push(first + 64 * word as u64 + u64::from(bits.trailing_zeros()));
                bits &= bits - 1;
            }
        }
        return Ok(());
    }
    let start = out.len();
    while out.len() - start < drawn {
        // All that are missing, and then again as many as came twice.
        for _ in out.len() - start..drawn {
            out.push(first + words.below(size, rejected));
        }
        out[start..].sort_unstable();
        let mut kept = start;
        for place in start..out.len() {
            if place == start || out[place] != out[kept - 1] {
                out[kept] = out[place];
                kept += 1;
            }
        }
        out.truncate(kept);
    }
    Ok(())
}
