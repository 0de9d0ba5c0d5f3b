//! [`PermutationTest`]: draws arrangements, in batches on all threads, and counts extreme values.

use core::fmt;

use bijective_shuffle::Seed;
use bijective_shuffle_engine::check::try_reserve;

use super::alternative::{Alternative, TailCounts};
use super::plan::{DrawPlan, resize};
use super::result::TestResult;
use super::statistic::Statistic;
use super::stop::{Boundaries, EarlyStop};
use crate::{Design, Error};

/// Between two looks at whether to go on, arrangements of so many items are seen, and no fewer
/// arrangements than this. It changes no result.
const ROUND_ITEMS: u64 = 1 << 22;
const ROUND_ROWS: u64 = 1 << 10;

/// A permutation test: how often is a statistic of arranged data as extreme as that of the data as
/// they are?
///
/// By default it looks at 9999 arrangements of seed 0, for two sides. If the design has no more
/// arrangements than that, it enumerates all of them instead, and the p-value is exact. Memory does
/// not grow with the number of arrangements unless the test [keeps](Self::keep_null) their values.
///
/// # One answer
///
/// Value `k` is a function of the data, the design, the seed and `k`: its sums are computed in an
/// order that depends on nothing else. Values are counted in the order of `k`. So a result is the
/// same bit for bit on any number of threads, however often the test was stopped and resumed, and
/// wherever it ends early.
///
/// # Ties
///
/// A value counts as equal to the observed one if they differ by no more than the statistic's
/// [rounding](Statistic::rounding). By default that is SciPy's rule, 100 times the distance of 1
/// from the next number in relation to the observed value. The statistics of this package know how
/// far their sums round, so ties at 0 and next to it are ties too.
///
/// # Data that make no sense
///
/// NaN and infinite values are errors when a statistic is made ([`Error::NotFinite`]): a missing
/// value is to be left out, with its row. So are constant data where a statistic divides by their
/// spread ([`Error::Constant`]), and groups that are too small ([`Error::SmallSample`]). A value of
/// NaN ends the test with [`Error::NotANumber`]; infinite values are compared like others.
///
/// # Examples
///
/// ```
/// use bijective_shuffle_resample::{Design, PermutationTest, TwoSamples};
///
/// let heights: Vec<f64> = (0..40).map(|k| f64::from(k * k % 41) + f64::from(k / 20 * 12)).collect();
/// let statistic = TwoSamples::welch_t(&heights, 20)?;
/// let design = Design::groups(&[20, 20])?;
/// let result = PermutationTest::new(&design, &statistic).permutations(10_000).seed(42).run()?;
/// assert!(result.p_value() < 0.01);
/// let (low, high) = result.interval(0.99);
/// assert!(low < result.p_value() && result.p_value() < high);
/// # Ok::<(), bijective_shuffle_resample::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct PermutationTest<'a> {
    design: &'a Design,
    statistic: &'a dyn Statistic,
    seed: Seed,
    permutations: u64,
    alternative: Alternative,
    stop: EarlyStop,
    keeps_null: bool,
}

impl fmt::Debug for PermutationTest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermutationTest")
            .field("design", &self.design)
            .field("seed", &self.seed)
            .field("permutations", &self.permutations)
            .field("alternative", &self.alternative)
            .field("stop", &self.stop)
            .field("keeps_null", &self.keeps_null)
            .finish_non_exhaustive()
    }
}

impl<'a> PermutationTest<'a> {
    /// The test of a statistic, whose null hypothesis is that all arrangements of the design are
    /// equally likely.
    pub fn new(design: &'a Design, statistic: &'a dyn Statistic) -> Self {
        let (alternative, stop) = (Alternative::default(), EarlyStop::default());
        let (seed, permutations) = (Seed::new(0), 9999);
        Self { design, statistic, seed, permutations, alternative, stop, keeps_null: false }
    }

    /// The largest number of arrangements to look at.
    #[must_use]
    pub fn permutations(self, permutations: u64) -> Self {
        Self { permutations, ..self }
    }

    /// The seed of the arrangements. Its epoch is not used.
    #[must_use]
    pub fn seed(self, seed: impl Into<Seed>) -> Self {
        Self { seed: seed.into(), ..self }
    }

    /// Which values are extreme.
    #[must_use]
    pub fn alternative(self, alternative: Alternative) -> Self {
        Self { alternative, ..self }
    }

    /// A rule by which the test may end early. All arrangements, if they are enumerated, are always
    /// looked at.
    #[must_use]
    pub fn stop(self, stop: EarlyStop) -> Self {
        Self { stop, ..self }
    }

    /// Keeps the value of each arrangement, 8 bytes for each.
    #[must_use]
    pub fn keep_null(self, keeps_null: bool) -> Self {
        Self { keeps_null, ..self }
    }

    /// Runs the test.
    ///
    /// # Errors
    ///
    /// [`Error::RowCount`] if the design and the data have different numbers of rows,
    /// [`Error::SignsUnused`] if the design flips signs and the statistic does not take them,
    /// [`Error::StopRule`] for a rule whose numbers are out of range, or that is to end a test of
    /// two sides ([`Alternative::Absolute`] can end), [`Error::TooManyRows`] for 2^32 rows or more,
    /// [`Error::NotANumber`], [`Error::Shuffle`] if there is too little memory, and those of the
    /// statistic.
    pub fn run(&self) -> Result<TestResult, Error> {
        let mut tally = Tally::new();
        self.run_while(&mut tally, |_| true)?;
        self.result(tally)
    }

    /// Runs the test from where a tally ends, and asks now and then whether to go on. It returns
    /// whether the test is complete. If not, a later call goes on with the tally, as if there had
    /// been no interruption.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`Error::Tally`] if the tally has more arrangements than the
    /// test, or lacks their values. After an error the tally is as it was when it was last asked
    /// whether to go on.
    ///
    /// # Examples
    ///
    /// ```
    /// use bijective_shuffle_resample::{Design, OneSampleMean, PermutationTest, Tally};
    ///
    /// let differences: Vec<f64> = (0..50).map(|k| f64::from(k * k % 53) - 22.0).collect();
    /// let statistic = OneSampleMean::new(&differences)?;
    /// let design = Design::signs(50)?;
    /// let test = PermutationTest::new(&design, &statistic).permutations(1_000_000).seed(42);
    ///
    /// let mut tally = Tally::new();
    /// let is_complete = test.run_while(&mut tally, |tally| tally.arrangements() < 100_000)?;
    /// assert!(!is_complete); // cancelled
    ///
    /// // Later, or elsewhere: the numbers of a tally can be saved as text.
    /// let mut tally: Tally = tally.to_string().parse()?;
    /// assert!(test.run_while(&mut tally, |_| true)?);
    /// assert_eq!(test.result(tally)?, test.run()?);
    /// # Ok::<(), bijective_shuffle_resample::Error>(())
    /// ```
    pub fn run_while(
        &self,
        tally: &mut Tally,
        mut go_on: impl FnMut(&Tally) -> bool,
    ) -> Result<bool, Error> {
        let plan = self.plan()?;
        let observed = self.observed(&plan)?;
        let rounding = self.rounding(observed);
        let mut rule = Rule::new(self.stop, self.alternative, &plan)?;
        if tally.seen > plan.count || self.keeps_null && tally.null.len() as u64 != tally.seen {
            return Err(Error::Tally);
        }
        if tally.has_ended {
            return Ok(true);
        }
        rule.skip(tally.seen)?;
        let most = (ROUND_ITEMS / self.design.len()).max(ROUND_ROWS);
        // A test that may end soon begins with few arrangements.
        let mut round = if rule.can_end() { ROUND_ROWS.min(most) } else { most };
        let mut values = Vec::new();
        while tally.seen < plan.count && !tally.has_ended {
            if !go_on(tally) {
                return Ok(false);
            }
            // At most ROUND_ITEMS, so it fits a usize.
            let rows = round.min(plan.count - tally.seen) as usize;
            resize(&mut values, rows)?;
            plan.write(tally.seen, &mut values, |batch, values| {
                self.statistic.evaluate(batch, values)
            })?;
            if let Some(nan) = values.iter().position(|value| value.is_nan()) {
                return Err(Error::NotANumber { arrangement: Some(tally.seen + nan as u64) });
            }
            if self.keeps_null {
                try_reserve(&mut tally.null, rows)?;
            }
            for &value in &values {
                tally.seen += 1;
                tally.counts.add(value, observed, rounding);
                if self.keeps_null {
                    tally.null.push(value);
                }
                if rule.ends(&tally.counts)? {
                    tally.has_ended = true;
                    break;
                }
            }
            round = (2 * round).min(most);
        }
        Ok(true)
    }

    /// The result of what a tally has seen: of the whole test, if it is complete. The first
    /// arrangements of an enumeration are all similar to the identity, so before its end this is no
    /// p-value.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and [`Error::Tally`].
    pub fn result(&self, tally: Tally) -> Result<TestResult, Error> {
        let plan = self.plan()?;
        let observed = self.observed(&plan)?;
        if tally.seen > plan.count {
            return Err(Error::Tally);
        }
        let extreme = tally.counts.extreme(self.alternative);
        let decision = match self.stop {
            EarlyStop::Decision { threshold, .. } if tally.has_ended => {
                Some(extreme as f64 <= threshold * tally.seen as f64)
            }
            _ => None,
        };
        Ok(TestResult {
            observed,
            alternative: self.alternative,
            extreme,
            arrangements: tally.seen,
            is_exact: plan.is_exact && tally.seen == plan.count,
            has_stopped: tally.has_ended,
            decision,
            null: self.keeps_null.then_some(tally.null),
        })
    }

    fn plan(&self) -> Result<DrawPlan<'a>, Error> {
        let (expected, actual) = (self.design.len(), self.statistic.rows());
        if expected != actual {
            return Err(Error::RowCount { expected, actual });
        }
        if self.design.is_signed() && !self.statistic.takes_signs() {
            return Err(Error::SignsUnused);
        }
        let plan = DrawPlan::new(self.design, self.seed, self.permutations);
        let ends = self.statistic.sample_ends();
        Ok(DrawPlan {
            sorts_groups: !ends.is_some_and(|ends| self.design.splits_at(&ends)),
            ..plan
        })
    }

    fn observed(&self, plan: &DrawPlan<'_>) -> Result<f64, Error> {
        let mut observed = [0.0];
        plan.identity(|batch| self.statistic.evaluate(batch, &mut observed))?;
        match observed {
            [value] if value.is_nan() => Err(Error::NotANumber { arrangement: None }),
            [value] => Ok(value),
        }
    }

    fn rounding(&self, observed: f64) -> f64 {
        // An infinite value is equal to itself only.
        if observed.is_finite() { self.statistic.rounding(observed) } else { 0.0 }
    }
}

/// When a test ends.
enum Rule {
    Never,
    Exceedances(u64, Alternative),
    Decision(Box<Boundaries>, Alternative),
}

impl Rule {
    fn new(stop: EarlyStop, alternative: Alternative, plan: &DrawPlan<'_>) -> Result<Self, Error> {
        stop.check()?;
        if stop != EarlyStop::Never && alternative == Alternative::TwoSided {
            return Err(Error::StopRule);
        }
        Ok(match stop {
            _ if plan.is_exact => Self::Never,
            EarlyStop::Never => Self::Never,
            EarlyStop::Exceedances(count) => Self::Exceedances(count, alternative),
            EarlyStop::Decision { threshold, risk } => {
                Self::Decision(Box::new(Boundaries::new(threshold, risk)?), alternative)
            }
        })
    }

    fn can_end(&self) -> bool {
        !matches!(self, Self::Never)
    }

    /// Goes on to where a tally ends.
    fn skip(&mut self, seen: u64) -> Result<(), Error> {
        if let Self::Decision(boundaries, _) = self {
            for _ in 0..seen {
                boundaries.step()?;
            }
        }
        Ok(())
    }

    /// Whether the test ends with the value that was counted last.
    fn ends(&mut self, counts: &TailCounts) -> Result<bool, Error> {
        Ok(match self {
            Self::Never => false,
            Self::Exceedances(count, alternative) => counts.extreme(*alternative) >= *count,
            Self::Decision(boundaries, alternative) => {
                boundaries.step()?;
                boundaries.decision(counts.extreme(*alternative)).is_some()
            }
        })
    }
}

/// How far a test has come: how many arrangements it has seen, and how many of them were extreme.
///
/// It is a few numbers, which `Display` writes and `FromStr` reads, without the values of a test
/// that keeps them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    seen: u64,
    counts: TailCounts,
    has_ended: bool,
    null: Vec<f64>,
}

impl Tally {
    /// The tally of a test that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of arrangements that the test has seen.
    pub fn arrangements(&self) -> u64 {
        self.seen
    }

    /// The values that a test keeps, in the order of the arrangements.
    pub fn null(&self) -> &[f64] {
        &self.null
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TailCounts { greater, less, absolute } = self.counts;
        let end = if self.has_ended { " ended" } else { "" };
        write!(f, "{} {greater} {less} {absolute}{end}", self.seen)
    }
}

impl core::str::FromStr for Tally {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (text, has_ended) = match text.strip_suffix(" ended") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let mut words = text.split(' ');
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = words.next().and_then(|word| word.parse().ok()).ok_or(Error::Tally)?;
        }
        let [seen, greater, less, absolute] = numbers;
        if words.next().is_some() || [greater, less, absolute].iter().any(|&count| count > seen) {
            return Err(Error::Tally);
        }
        let counts = TailCounts { greater, less, absolute };
        Ok(Self { seen, counts, has_ended, null: Vec::new() })
    }
}
