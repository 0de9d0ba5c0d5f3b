//! [`RowStatistic`]: statistics of counts or weights.

use core::cmp::Ordering;

use bijective_shuffle_engine::check;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};

use crate::Error;

/// How many sums are added up side by side: two vectors of AVX-512. It decides which values a row
/// gives, as it is the order in which numbers are added.
const LANES: usize = 16;

/// A statistic of data whose items have counts or weights: one pass over the data for each row, in
/// order and without copies.
///
/// A value is NaN where it is undefined: a correlation of values that are all equal, a mean by
/// weights that are all 0, anything that involves a NaN.
#[derive(Clone, Debug)]
pub struct RowStatistic<'a>(StatisticKind<'a>);

#[derive(Clone, Debug)]
enum StatisticKind<'a> {
    Mean(&'a [f64]),
    WeightedMean {
        products: Vec<f64>,
        weights: &'a [f64],
    },
    /// The values in order, NaN last, and the item of each.
    Quantile {
        sorted: Vec<f64>,
        items: Vec<usize>,
        q: f64,
    },
    /// Less their means.
    Correlation {
        x: Vec<f64>,
        y: Vec<f64>,
    },
}

impl<'a> RowStatistic<'a> {
    /// The mean.
    pub fn mean(values: &'a [f64]) -> Self {
        Self(StatisticKind::Mean(values))
    }

    /// The mean by weights, which multiply the counts of the row.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if there is not one weight for each value, [`Error::NotAWeight`] if a
    /// weight is negative, infinite or NaN, and [`Error::Shuffle`] if there is too little memory.
    pub fn weighted_mean(values: &'a [f64], weights: &'a [f64]) -> Result<Self, Error> {
        check_count(values, weights)?;
        if let Some(index) =
            weights.iter().position(|&weight| !(0.0..f64::INFINITY).contains(&weight))
        {
            return Err(Error::NotAWeight { index });
        }
        let mut products = check::try_with_capacity(values.len())?;
        products.extend(values.iter().zip(weights).map(|(value, weight)| value * weight));
        Ok(Self(StatisticKind::WeightedMean { products, weights }))
    }

    /// The median: the [`quantile`](Self::quantile) of 0.5.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory.
    pub fn median(values: &[f64]) -> Result<Self, Error> {
        Self::quantile(values, 0.5)
    }

    /// The quantile `q`, from 0 to 1. Between two values of a row it is interpolated: of `m`
    /// values, it is at the place `q (m - 1)` among them in order, as `numpy.quantile` has it. By
    /// weights, it is the smallest value that has, with all smaller ones, at least the part `q` of
    /// the weight.
    ///
    /// # Errors
    ///
    /// [`Error::NotBetweenZeroAndOne`], and [`Error::Shuffle`] if there is too little memory.
    pub fn quantile(values: &[f64], q: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&q) {
            return Err(Error::NotBetweenZeroAndOne { given: q });
        }
        let mut items: Vec<usize> = check::try_with_capacity(values.len())?;
        items.extend(0..values.len());
        // NaN of either sign comes last.
        let order = |a: f64, b: f64| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(&b));
        items.sort_unstable_by(|&a, &b| order(values[a], values[b]).then(a.cmp(&b)));
        let mut sorted = check::try_with_capacity(values.len())?;
        sorted.extend(items.iter().map(|&item| values[item]));
        Ok(Self(StatisticKind::Quantile { sorted, items, q }))
    }

    /// Pearson's correlation of two values of each item.
    ///
    /// # Errors
    ///
    /// [`Error::ItemCount`] if there are not as many of both, and [`Error::Shuffle`] if there is
    /// too little memory.
    pub fn correlation(x: &[f64], y: &[f64]) -> Result<Self, Error> {
        check_count(x, y)?;
        let centred = |values: &[f64]| {
            let mean = sum(values) / values.len() as f64;
            let mut centred = check::try_with_capacity(values.len())?;
            centred.extend(values.iter().map(|value| value - mean));
            Ok::<_, Error>(centred)
        };
        Ok(Self(StatisticKind::Correlation { x: centred(x)?, y: centred(y)? }))
    }

    /// The number of items.
    pub fn items(&self) -> usize {
        match &self.0 {
            StatisticKind::Mean(values) => values.len(),
            StatisticKind::WeightedMean { weights, .. } => weights.len(),
            StatisticKind::Quantile { sorted, .. } => sorted.len(),
            StatisticKind::Correlation { x, .. } => x.len(),
        }
    }

    /// The statistic of the data themselves: each item once.
    pub fn observed(&self) -> f64 {
        match &self.0 {
            StatisticKind::Quantile { sorted, .. } if nans(sorted) > 0 => f64::NAN,
            StatisticKind::Quantile { sorted, q, .. } => {
                quantile_of(sorted.len(), *q, |place| sorted[place])
            }
            _ => self.of(EachOnce(self.items())),
        }
    }

    /// The statistic of items that come as often as the counts say.
    ///
    /// # Panics
    ///
    /// If there is not one count for each item.
    pub fn of_counts(&self, counts: &[u32]) -> f64 {
        assert_eq!(counts.len(), self.items(), "one count for each item");
        let StatisticKind::Quantile { sorted, items, q } = &self.0 else {
            return self.of(counts);
        };
        let total = counts.iter().map(|&count| count as usize).sum();
        // The places are looked up in ascending order.
        let (mut next, mut before) = (0, 0);
        let mut at = |place| {
            while before + counts[items[next]] as usize <= place {
                before += counts[items[next]] as usize;
                next += 1;
            }
            sorted[next]
        };
        let value = quantile_of(total, *q, &mut at);
        let mut last = items.iter().rev().take(nans(sorted));
        if last.any(|&item| counts[item] > 0) { f64::NAN } else { value }
    }

    /// The statistic of items with weights.
    ///
    /// # Panics
    ///
    /// If there is not one weight for each item.
    pub fn of_weights(&self, weights: &[f64]) -> f64 {
        assert_eq!(weights.len(), self.items(), "one weight for each item");
        let StatisticKind::Quantile { sorted, items, q } = &self.0 else {
            return self.of(weights);
        };
        let bound = q * sum(weights);
        let mut below = 0.0;
        let at = items.iter().position(|&item| {
            below += weights[item];
            below >= bound
        });
        match (at, sorted.last()) {
            (_, Some(last)) if last.is_nan() => f64::NAN,
            // Sums in another order may differ in their last bits.
            (at, Some(last)) => at.map_or(*last, |at| sorted[at]),
            (_, None) => f64::NAN,
        }
    }

    /// The statistics of all items but one, for each item: the jackknife values that
    /// [`bca_interval`](crate::bca_interval) takes. All together they take time in proportion to
    /// the number of items.
    ///
    /// # Errors
    ///
    /// [`Error::Shuffle`] if there is too little memory.
    pub fn leave_one_out(&self) -> Result<Vec<f64>, Error> {
        let len = self.items();
        let mut values = check::try_with_capacity(len)?;
        match &self.0 {
            StatisticKind::Mean(data) => {
                let all = sum(data);
                values.extend(data.iter().map(|value| (all - value) / (len as f64 - 1.0)));
            }
            StatisticKind::WeightedMean { products, weights } => {
                let [all, weight] = [sum(products), sum(weights)];
                let pairs = products.iter().zip(*weights);
                values.extend(pairs.map(|(product, own)| (all - product) / (weight - own)));
            }
            StatisticKind::Quantile { sorted, items, q } => {
                values.resize(len, f64::NAN);
                let nans = nans(sorted);
                for (left_out, &item) in items.iter().enumerate() {
                    if nans == usize::from(sorted[left_out].is_nan()) {
                        let at = |place: usize| sorted[place + usize::from(place >= left_out)];
                        values[item] = quantile_of(len - 1, *q, at);
                    }
                }
            }
            StatisticKind::Correlation { x, y } => {
                let all: [f64; 6] = sums(EachOnce(len), Moments(x, y));
                values.extend(x.iter().zip(y).map(|(x, y)| {
                    let own = [1.0, *x, *y, x * x, y * y, x * y];
                    correlation_of(core::array::from_fn(|k| all[k] - own[k]))
                }));
            }
        }
        Ok(values)
    }

    /// A statistic that is made of sums.
    fn of<W: RowWeights>(&self, weights: W) -> f64 {
        match &self.0 {
            StatisticKind::Mean(values) => {
                let [sum, total] = sums(weights, ValueTerms(values));
                sum / total
            }
            StatisticKind::WeightedMean { products, weights: own } => {
                let [sum, total] = sums(weights, Pairs(products, own));
                sum / total
            }
            StatisticKind::Correlation { x, y } => correlation_of(sums(weights, Moments(x, y))),
            StatisticKind::Quantile { .. } => unreachable!("a quantile is made of no sums"),
        }
    }
}

fn check_count(values: &[f64], others: &[f64]) -> Result<(), Error> {
    if values.len() == others.len() {
        Ok(())
    } else {
        Err(Error::ItemCount { items: values.len(), given: others.len() })
    }
}

/// How many of some values in order are NaN.
fn nans(sorted: &[f64]) -> usize {
    sorted.iter().rev().take_while(|value| value.is_nan()).count()
}

/// The quantile of some values in order, of which the closure is asked for one or two, the smaller
/// one first.
pub(super) fn quantile_of(len: usize, q: f64, mut at: impl FnMut(usize) -> f64) -> f64 {
    let Some(last) = len.checked_sub(1) else {
        return f64::NAN;
    };
    let place = q * last as f64;
    let below = (place as usize).min(last);
    let (part, low) = (place - below as f64, at(below));
    match part.partial_cmp(&0.0) {
        Some(Ordering::Greater) if below < last => {
            let high = at(below + 1);
            // Equal values give just that, also infinite ones.
            if low == high { low } else { low + (high - low) * part }
        }
        _ => low,
    }
}

/// The correlation, given the sums of weights, x, y, x x, y y and x y.
fn correlation_of([w, x, y, xx, yy, xy]: [f64; 6]) -> f64 {
    let (x_part, y_part) = (xx - x * x / w, yy - y * y / w);
    // What is left of equal values is rounding errors.
    let is_constant = |part: f64, all: f64| part <= all * (64.0 * f64::EPSILON);
    if is_constant(x_part, xx) || is_constant(y_part, yy) {
        return f64::NAN;
    }
    ((xy - x * y / w) / (x_part.sqrt() * y_part.sqrt())).clamp(-1.0, 1.0)
}

/// The weights of a row: counts, numbers, or 1 for each item.
trait RowWeights: Copy {
    fn len(self) -> usize;

    /// The weights of items from `first` on; those after the last item are 0.
    fn lanes(self, first: usize) -> SumLanes;
}

type SumLanes = [f64; LANES];

impl RowWeights for &[u32] {
    #[inline(always)]
    fn len(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn lanes(self, first: usize) -> SumLanes {
        let (counts, mut weights) = (lanes(self, first), [0.0; LANES]);
        for lane in 0..LANES {
            // Signed numbers convert faster, and no count has 32 bits.
            weights[lane] = f64::from(counts[lane] as i32);
        }
        weights
    }
}

impl RowWeights for &[f64] {
    #[inline(always)]
    fn len(self) -> usize {
        self.len()
    }

    #[inline(always)]
    fn lanes(self, first: usize) -> SumLanes {
        lanes(self, first)
    }
}

/// This many items, each once.
#[derive(Clone, Copy)]
struct EachOnce(usize);

impl RowWeights for EachOnce {
    #[inline(always)]
    fn len(self) -> usize {
        self.0
    }

    #[inline(always)]
    fn lanes(self, first: usize) -> SumLanes {
        let mut lanes = [1.0; LANES];
        lanes[LANES.min(self.0 - first)..].fill(0.0);
        lanes
    }
}

#[inline(always)]
fn lanes<T: Copy + Default>(all: &[T], first: usize) -> [T; LANES] {
    let rest = &all[first..];
    if let Some(lanes) = rest.first_chunk() {
        return *lanes;
    }
    let mut lanes = [T::default(); LANES];
    lanes[..rest.len()].copy_from_slice(rest);
    lanes
}

/// The sum of some numbers.
pub(super) fn sum(values: &[f64]) -> f64 {
    sums(EachOnce(values.len()), ValueTerms(values))[0]
}

fn sums<W: RowWeights, T: Terms<N>, const N: usize>(weights: W, terms: T) -> [f64; N] {
    SimdLevel::current().run(Sums::<W, T, N> { weights, terms })
}

/// What is added up for each item.
trait Terms<const N: usize>: Copy {
    /// The terms of items from `first` on, which have these weights.
    fn lanes(self, first: usize, weights: SumLanes) -> [SumLanes; N];
}

/// The value, and 1.
#[derive(Clone, Copy)]
struct ValueTerms<'a>(&'a [f64]);

impl Terms<2> for ValueTerms<'_> {
    #[inline(always)]
    fn lanes(self, first: usize, weights: SumLanes) -> [SumLanes; 2] {
        [products(&weights, &lanes(self.0, first)), weights]
    }
}

/// Two values.
#[derive(Clone, Copy)]
struct Pairs<'a>(&'a [f64], &'a [f64]);

impl Terms<2> for Pairs<'_> {
    #[inline(always)]
    fn lanes(self, first: usize, weights: SumLanes) -> [SumLanes; 2] {
        [products(&weights, &lanes(self.0, first)), products(&weights, &lanes(self.1, first))]
    }
}

/// 1, x, y, x x, y y and x y.
#[derive(Clone, Copy)]
struct Moments<'a>(&'a [f64], &'a [f64]);

impl Terms<6> for Moments<'_> {
    #[inline(always)]
    fn lanes(self, first: usize, weights: SumLanes) -> [SumLanes; 6] {
        let [x, y] = [lanes(self.0, first), lanes(self.1, first)];
        let [wx, wy] = [products(&weights, &x), products(&weights, &y)];
        [weights, wx, wy, products(&wx, &x), products(&wy, &y), products(&wx, &y)]
    }
}

#[inline(always)]
fn products(a: &SumLanes, b: &SumLanes) -> SumLanes {
    let mut products = [0.0; LANES];
    for lane in 0..LANES {
        products[lane] = a[lane] * b[lane];
    }
    products
}

/// Sums of terms. Lane `l` has items `l`, `l + LANES`, and so on, and then the upper half of the
/// lanes is added to the lower one until there is one sum. A sum's bits depend on this order, so it
/// is the same for all vectors.
struct Sums<W, T, const N: usize> {
    weights: W,
    terms: T,
}

impl<W: RowWeights, T: Terms<N>, const N: usize> SimdKernel for Sums<W, T, N> {
    type Output = [f64; N];

    #[inline(always)]
    fn run(self) -> [f64; N] {
        let mut sums = [[0.0; LANES]; N];
        let mut first = 0;
        while first < self.weights.len() {
            let terms = self.terms.lanes(first, self.weights.lanes(first));
            // An iterator over arrays would keep them in memory.
            for k in 0..N {
                for lane in 0..LANES {
                    sums[k][lane] += terms[k][lane];
                }
            }
            first += LANES;
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lanes in &mut sums {
                for lane in 0..half {
                    lanes[lane] += lanes[lane + half];
                }
            }
            half /= 2;
        }
        sums.map(|lanes| lanes[0])
    }
}
