//! Bootstrap: rows drawn with replacement, statistics of rows, and confidence intervals.

mod draws;
mod interval;
mod plan;
mod statistic;

use core::ops::Range;

use bijective_shuffle::rng::{Fill, Philox4x32Rng};
use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_engine::check;
use rayon::prelude::*;

pub use interval::{basic_interval, bca_interval, percentile_interval, standard_error};
pub use plan::SeriesBlocks;
pub use statistic::RowStatistic;

use crate::Error;
use draws::Taker;
use plan::RowPlan;

/// The numbers of the draws and of the weights, among what this package draws.
const DRAWS: u32 = 16;
const WEIGHTS: u32 = 17;

/// A row has fewer draws than this, so that counts convert to `f64` as signed numbers, for which
/// every processor has an instruction.
const MOST_DRAWS: usize = 1 << 31;

/// Rows of items drawn with replacement: the bootstrap of Efron and Tibshirani, *An introduction to
/// the bootstrap* (1993).
///
/// Row `k` is a function of the seed and `k`, so it can be computed alone, and a run that asks for
/// more rows goes on where another one stopped. A row comes as indexes, or as the number of times
/// that each item was drawn, for statistics that take weights. The latter need one pass over the
/// data in order, and no copy.
///
/// | rows | by | source |
/// | --- | --- | --- |
/// | `n` items of `n` | [`new`](Self::new) | Efron and Tibshirani, chapter 6 |
/// | `m` items of `n` | [`with_draws`](Self::with_draws) | Bickel, Götze and van Zwet (1997) |
/// | as many of each stratum as it has | [`strata`](Self::strata) | Davison and Hinkley, *Bootstrap methods and their application* (1997), section 3.2 |
/// | whole clusters | [`clusters`](Self::clusters) | Davison and Hinkley, section 3.8 |
/// | blocks of a series | [`series`](Self::series) | [`SeriesBlocks`] |
/// | weights for all items | [`weights`](Self::weights) | Rubin, *The Bayesian bootstrap* (1981) |
///
/// # The same values everywhere
///
/// Draws are integers, made of Philox's words as `crates/resample/vectors/README.md` in the
/// repository says, and each has exactly the same probability for each word that Philox gives. A
/// row is one thread's, from its first draw to its statistic, and sums are added up in an order
/// that depends on their length alone. So values have the same bits on any number of threads, and
/// on every machine whose `f64` is rounded as IEEE 754 requires (not on 32-bit x86 without SSE2).
///
/// # Examples
///
/// A mean with its interval, and any other statistic:
///
/// ```
/// use bijective_shuffle_resample::{Bootstrap, RowStatistic, bca_interval, percentile_interval};
///
/// let data: Vec<f64> = (0..50_u32).map(|k| f64::from(k * k)).collect();
/// let bootstrap = Bootstrap::new(data.len(), 42)?;
///
/// let mean = RowStatistic::mean(&data);
/// let values = bootstrap.statistics(0..9999, &[&mean])?;
/// let [low, high] = bca_interval(&values, mean.observed(), &[&mean.leave_one_out()?], 0.025)?;
/// assert!(low < mean.observed() && mean.observed() < high);
///
/// let largest = |items: &[usize]| items.iter().map(|&item| data[item]).fold(0.0, f64::max);
/// let values = bootstrap.distribution(0..9999, largest)?;
/// assert_eq!(percentile_interval(&values, 0.025)?[1], 2401.0);
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Bootstrap {
    items: usize,
    seed: Seed,
    plan: RowPlan,
}

/// What a thread needs to make rows.
struct RowMemory<T> {
    memory: Vec<T>,
    keys: BootstrapKeys,
}

/// Lists items.
struct ItemList<'a>(&'a mut Vec<usize>);

impl Taker for ItemList<'_> {
    #[inline(always)]
    fn take(&mut self, item: usize) {
        self.0.push(item);
    }
}

/// Counts items.
struct ItemCounts<'a>(&'a mut [u32]);

impl Taker for ItemCounts<'_> {
    #[inline(always)]
    fn take(&mut self, item: usize) {
        self.0[item] += 1;
    }
}

/// The keys of the generators.
#[derive(Clone, Copy)]
struct BootstrapKeys {
    draws: u64,
    weights: u64,
}

impl Bootstrap {
    /// Rows of as many draws as there are items.
    ///
    /// # Errors
    ///
    /// [`Error::NoItems`] if there are none.
    pub fn new(items: usize, seed: impl Into<Seed>) -> Result<Self, Error> {
        if items == 0 {
            return Err(Error::NoItems);
        }
        Ok(Self { items, seed: seed.into(), plan: RowPlan::Items { draws: items } })
    }

    /// Rows of another number of draws than there are items: the `m` out of `n` bootstrap.
    ///
    /// # Errors
    ///
    /// [`Error::OwnDraws`] with strata or clusters.
    pub fn with_draws(mut self, count: usize) -> Result<Self, Error> {
        match &mut self.plan {
            RowPlan::Items { draws } | RowPlan::Series { draws, .. } => *draws = count,
            RowPlan::Strata(_) | RowPlan::Clusters(_) => return Err(Error::OwnDraws),
        }
        Ok(self)
    }

    /// Rows that draw within strata: place `j` of a row holds an item that has the label of item
    /// `j`. It takes the place of other plans.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if there is not one label for each item, and [`Error::Shuffle`] if
    /// there is too little memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Bootstrap;
    ///
    /// let labels = ["a", "b", "a", "a", "b"];
    /// let bootstrap = Bootstrap::new(5, 42)?.strata(&labels)?;
    /// let mut row = Vec::new();
    /// bootstrap.indexes(7, &mut row)?;
    /// assert!(row.iter().zip(labels).all(|(&item, label)| labels[item] == label));
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn strata<L: Ord>(self, labels: &[L]) -> Result<Self, Error> {
        let plan = RowPlan::strata(self.items, labels)?;
        Ok(Self { plan, ..self })
    }

    /// Rows of whole clusters: as many clusters are drawn as there are, and each brings all its
    /// items. Rows have as many items as the clusters that were drawn. It takes the place of other
    /// plans.
    ///
    /// # Errors
    ///
    /// As [`strata`](Self::strata).
    pub fn clusters<L: Ord>(self, labels: &[L]) -> Result<Self, Error> {
        let plan = RowPlan::clusters(self.items, labels)?;
        Ok(Self { plan, ..self })
    }

    /// Rows of blocks of consecutive items, for a series whose neighbours depend on each other. It
    /// takes the place of other plans.
    ///
    /// # Errors
    ///
    /// [`Error::BlockLength`] if a block has no items, or more than the series.
    pub fn series(self, blocks: SeriesBlocks) -> Result<Self, Error> {
        let plan = RowPlan::series(self.items, blocks)?;
        Ok(Self { plan, ..self })
    }

    /// The number of items to draw from.
    pub fn items(&self) -> usize {
        self.items
    }

    /// The seed.
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// The item at a place of a row, computed alone; `None` beyond the end of the row.
    ///
    /// It takes constant time, or in a stationary series as many steps as the block has items
    /// before the place, and with clusters as many as there are clusters before it.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Bootstrap;
    ///
    /// let bootstrap = Bootstrap::new(1_000_000, 42)?;
    /// let mut row = Vec::new();
    /// bootstrap.indexes(123, &mut row)?;
    /// assert_eq!(bootstrap.get(123, 456), Some(row[456]));
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn get(&self, row: u64, place: usize) -> Option<usize> {
        self.plan.get(self.keys().draws, row, self.items, place)
    }

    /// Replaces a vector's contents with the items of a row.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory, and [`Error::TooManyDraws`] if a row has
    /// 2^31 items, or with clusters could have.
    pub fn indexes(&self, row: u64, out: &mut Vec<usize>) -> Result<(), Error> {
        self.indexes_by(self.keys(), row, out)
    }

    fn indexes_by(&self, keys: BootstrapKeys, row: u64, out: &mut Vec<usize>) -> Result<(), Error> {
        out.clear();
        check::try_reserve(out, self.most_draws()?)?;
        self.plan.pass(keys.draws, row, self.items, &mut ItemList(out));
        Ok(())
    }

    /// Writes the number of times that each item is in a row.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if there is not one place for each item, and [`Error::TooManyDraws`] if
    /// a row has 2^31 items, or with clusters could have.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Bootstrap;
    ///
    /// let (bootstrap, mut counts) = (Bootstrap::new(4, 42)?, [0; 4]);
    /// bootstrap.counts(7, &mut counts)?;
    /// assert_eq!(counts.iter().sum::<u32>(), 4);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn counts(&self, row: u64, out: &mut [u32]) -> Result<(), Error> {
        self.check_count(out.len())?;
        self.counts_by(self.keys(), row, out)
    }

    fn counts_by(&self, keys: BootstrapKeys, row: u64, out: &mut [u32]) -> Result<(), Error> {
        self.most_draws()?;
        out.fill(0);
        self.plan.pass(keys.draws, row, self.items, &mut ItemCounts(out));
        Ok(())
    }

    /// Writes the weights of a row of the Bayesian bootstrap: they are uniform over all weights
    /// from 0 on whose sum is 1, by exponential numbers that are divided by their sum.
    ///
    /// The exponential numbers are those of
    /// [`Fill::fill_exponential_f64`](bijective_shuffle::rng::Fill::fill_exponential_f64), which
    /// use no library's logarithm, so weights have the same bits everywhere. They do not depend on
    /// strata, clusters or blocks.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if there is not one place for each item.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Bootstrap;
    ///
    /// let (bootstrap, mut weights) = (Bootstrap::new(100, 42)?, [0.0; 100]);
    /// bootstrap.weights(7, &mut weights)?;
    /// assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn weights(&self, row: u64, out: &mut [f64]) -> Result<(), Error> {
        self.check_count(out.len())?;
        Self::weights_by(self.keys(), row, out);
        Ok(())
    }

    fn weights_by(keys: BootstrapKeys, row: u64, out: &mut [f64]) {
        let mut rng = Philox4x32Rng::<10>::from_key(keys.weights, row);
        // In pieces, each of which the calling thread draws.
        for piece in out.chunks_mut(draws::CHUNK) {
            rng.fill_exponential_f64(piece);
        }
        // A sum of 0 has a probability of 2^-52 for each item.
        let sum = statistic::sum(out).max(f64::MIN_POSITIVE);
        out.iter_mut().for_each(|weight| *weight /= sum);
    }

    /// The values of a statistic of the items of each row, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::RowRange`] if the rows end before they begin, and the errors of
    /// [`indexes`](Self::indexes).
    pub fn distribution(
        &self,
        rows: Range<u64>,
        statistic: impl Fn(&[usize]) -> f64 + Sync,
    ) -> Result<Vec<f64>, Error> {
        self.each_row(rows, 1, |row, indexes: &mut RowMemory<usize>, out| {
            self.indexes_by(indexes.keys, row, &mut indexes.memory)?;
            out[0] = statistic(&indexes.memory);
            Ok(())
        })
    }

    /// The values of a statistic of the counts of each row, on all cores.
    ///
    /// # Errors
    ///
    /// [`Error::RowRange`] if the rows end before they begin, and the errors of
    /// [`counts`](Self::counts).
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::Bootstrap;
    ///
    /// // How many different items a row has: 63 of 100, in the mean.
    /// let different = |counts: &[u32]| counts.iter().filter(|&&count| count > 0).count() as f64;
    /// let values = Bootstrap::new(100, 42)?.distribution_of_counts(0..1000, different)?;
    /// assert!((values.iter().sum::<f64>() / 1000.0 - 63.4).abs() < 0.5);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn distribution_of_counts(
        &self,
        rows: Range<u64>,
        statistic: impl Fn(&[u32]) -> f64 + Sync,
    ) -> Result<Vec<f64>, Error> {
        self.each_row(rows, 1, |row, counts: &mut RowMemory<u32>, out| {
            self.counts_by(counts.keys, row, counts.of(self.items)?)?;
            out[0] = statistic(&counts.memory);
            Ok(())
        })
    }

    /// The values of some statistics, one row after another and in each row one statistic after
    /// another, on all cores. All statistics of a row see the same draws.
    ///
    /// Besides the values, each thread has memory for one row.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if a statistic is of another number of items, and otherwise as
    /// [`distribution_of_counts`](Self::distribution_of_counts).
    pub fn statistics(
        &self,
        rows: Range<u64>,
        statistics: &[&RowStatistic<'_>],
    ) -> Result<Vec<f64>, Error> {
        statistics.iter().try_for_each(|statistic| self.check_count(statistic.items()))?;
        self.each_row(rows, statistics.len(), |row, counts: &mut RowMemory<u32>, out| {
            self.counts_by(counts.keys, row, counts.of(self.items)?)?;
            for (statistic, out) in statistics.iter().zip(out) {
                *out = statistic.of_counts(&counts.memory);
            }
            Ok(())
        })
    }

    /// The same for the weights of the Bayesian bootstrap.
    ///
    /// # Errors
    ///
    /// As [`statistics`](Self::statistics).
    pub fn bayesian_statistics(
        &self,
        rows: Range<u64>,
        statistics: &[&RowStatistic<'_>],
    ) -> Result<Vec<f64>, Error> {
        statistics.iter().try_for_each(|statistic| self.check_count(statistic.items()))?;
        self.each_row(rows, statistics.len(), |row, weights: &mut RowMemory<f64>, out| {
            let keys = weights.keys;
            Self::weights_by(keys, row, weights.of(self.items)?);
            for (statistic, out) in statistics.iter().zip(out) {
                *out = statistic.of_weights(&weights.memory);
            }
            Ok(())
        })
    }

    /// Calls a function for each row, on all cores, with `width` places for its values.
    fn each_row<T: Send>(
        &self,
        rows: Range<u64>,
        width: usize,
        each: impl Fn(u64, &mut RowMemory<T>, &mut [f64]) -> Result<(), Error> + Sync,
    ) -> Result<Vec<f64>, Error> {
        let wrong = Error::RowRange { first: rows.start, end: rows.end };
        let count = rows.end.checked_sub(rows.start).and_then(|count| usize::try_from(count).ok());
        let len = count.and_then(|count| count.checked_mul(width)).ok_or(wrong)?;
        let mut values = check::try_with_capacity(len)?;
        values.resize(len, 0.0);
        let keys = self.keys();
        let values_of_rows = values.par_chunks_mut(width.max(1)).enumerate();
        values_of_rows.try_for_each_init(
            || RowMemory { memory: Vec::new(), keys },
            |memory, (number, out)| each(rows.start + number as u64, memory, out),
        )?;
        Ok(values)
    }

    /// The largest number of draws that a row can have.
    fn most_draws(&self) -> Result<usize, Error> {
        let draws = self.plan.most_draws();
        if draws < MOST_DRAWS { Ok(draws) } else { Err(Error::TooManyDraws { draws }) }
    }

    fn keys(&self) -> BootstrapKeys {
        let [draws, weights] =
            [DRAWS, WEIGHTS].map(|of| self.seed.key_stream(KeyDomain::Resample(of)).next_u64());
        BootstrapKeys { draws, weights }
    }

    fn check_count(&self, given: usize) -> Result<(), Error> {
        if given == self.items {
            Ok(())
        } else {
            Err(Error::ItemCount { items: self.items, given })
        }
    }
}

impl<T: Copy + Default> RowMemory<T> {
    /// The memory for a number for each item.
    fn of(&mut self, items: usize) -> Result<&mut [T], Error> {
        if self.memory.is_empty() {
            self.memory = check::try_with_capacity(items)?;
            self.memory.resize(items, T::default());
        }
        Ok(&mut self.memory)
    }
}
