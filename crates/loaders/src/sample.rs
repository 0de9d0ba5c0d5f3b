//! [`weighted_sample`]: draws without replacement.

use core::ops::Range;

use bijective_shuffle::rayon;
use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_engine::{check, parallel};

use crate::{Error, IntoWeights, ItemWeights};

/// The number of draws without replacement, among what this package draws.
const NUMBER: u32 = 1;

/// How many exponential numbers are made at a time.
const CHUNK: usize = 1 << 12;

/// How many items are worth a thread.
const LEAST: u64 = 1 << 15;

/// Draws `count` items without replacement, by weights: each draw picks one of the remaining items
/// with a probability in proportion to its weight. The items are in the order of the draws, so a
/// smaller sample of the same seed is the beginning of a larger one.
///
/// Item `i` gets the key `e / w`, with `w` its weight and `e` the `i`-th exponential number (`f64`)
/// of a stream of [`Philox4x32Rng`], and the items with the smallest keys are drawn (Efraimidis and
/// Spirakis, *Weighted random sampling with a reservoir*, 2006). The weight becomes an `f64`, and
/// the quotient is rounded, as IEEE 754 has it; of equal keys that of the earlier item is smaller.
/// So the items are the same on every machine. The numbers have 52 random bits, as those of
/// [`Fill`] have.
///
/// It takes time in proportion to the number of weights, on all cores, and memory for twice the
/// sample on each thread.
///
/// # Errors
///
/// [`Error::SampleTooLarge`] if fewer items have a weight above 0; those of
/// [`IntoWeights::into_weights`] and of [`ItemWeights::read`];
/// [`Error::Shuffle`] if there is too little memory.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_loaders::weighted_sample;
///
/// let weights = [1, 0, 1000, 1000, 1];
/// let three = weighted_sample(&weights, 3, 42)?;
/// assert!(!three.contains(&1));
/// assert_eq!(weighted_sample(&weights, 2, 42)?, three[..2]);
/// # Ok::<(), bijective_shuffle_loaders::Error>(())
/// ```
pub fn weighted_sample(
    weights: impl IntoWeights,
    count: usize,
    seed: impl Into<Seed>,
) -> Result<Vec<u64>, Error> {
    let weights = weights.into_weights()?;
    let child = seed.into().child(KeyDomain::Loader(NUMBER));
    let len = weights.count();
    let threads = (rayon::current_num_threads() as u64).min(len.div_ceil(LEAST)).max(1);
    let size = len.div_ceil(threads).max(1);
    let mut parts: Vec<_> = (0..threads).map(|_| Ok(Smallest::of(count))).collect();
    parallel::each_mut(&mut parts, |part, smallest| {
        let first = part as u64 * size;
        let items = first.min(len)..len.min(first + size);
        if let Ok(kept) = smallest
            && let Err(error) = kept.take(&weights, items, child)
        {
            *smallest = Err(error);
        }
    });
    let (mut all, mut available) = (Smallest::of(count), 0);
    for part in parts {
        let part = part?;
        available += part.seen;
        for key in part.keys {
            all.push(key)?;
        }
    }
    if (count as u64) > available {
        return Err(Error::SampleTooLarge { count: count as u64, available });
    }
    all.keys.sort_unstable();
    let mut items = check::try_with_capacity(count)?;
    items.extend(all.keys.iter().take(count).map(|key| key.item));
    Ok(items)
}

/// The key of an item that has a weight.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct WeightedKey {
    /// The bits of a number from 0 on, which are in the order of the numbers.
    bits: u64,
    item: u64,
}

/// The smallest keys so far, among some that are not.
struct Smallest {
    count: usize,
    keys: Vec<WeightedKey>,
    /// No smaller keys are known to be enough.
    bound: Option<WeightedKey>,
    /// The number of items with a weight above 0.
    seen: u64,
}

impl Smallest {
    fn of(count: usize) -> Self {
        Self { count, keys: Vec::new(), bound: None, seen: 0 }
    }

    /// Takes the keys of some items.
    fn take(
        &mut self,
        weights: &dyn ItemWeights,
        items: Range<u64>,
        child: Seed,
    ) -> Result<(), Error> {
        let mut rng = Philox4x32Rng::new(child, 0);
        // A number takes two words.
        rng.set_position(2 * u128::from(items.start));
        let (mut numbers, mut weights_read) = ([0.0; CHUNK], [0; CHUNK]);
        let mut item = items.start;
        while item < items.end {
            let len = usize::try_from(items.end - item).map_or(CHUNK, |left| left.min(CHUNK));
            let (numbers, own) = (&mut numbers[..len], &mut weights_read[..len]);
            weights.read(item, own)?;
            rng.fill_exponential_f64(numbers);
            for (&weight, &number) in own.iter().zip(&*numbers) {
                if weight > 0 {
                    self.seen += 1;
                    // From 2^-116 on, or 0: never subnormal.
                    self.push(WeightedKey { bits: (number / weight as f64).to_bits(), item })?;
                }
                item += 1;
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, key: WeightedKey) -> Result<(), Error> {
        if self.count == 0 || self.bound.is_some_and(|bound| key > bound) {
            return Ok(());
        }
        if self.keys.len() == self.keys.capacity() {
            // It grows by half or more, up to twice the sample.
            let more = self.keys.len().max(64).min(self.count.saturating_mul(2));
            check::try_reserve(&mut self.keys, more)?;
        }
        self.keys.push(key);
        if self.keys.len() >= self.count.saturating_mul(2) {
            let (_, &mut last, _) = self.keys.select_nth_unstable(self.count - 1);
            self.keys.truncate(self.count);
            self.bound = Some(last);
        }
        Ok(())
    }
}
