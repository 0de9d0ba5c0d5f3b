//! [`TestResult`]: what a test has found.

use statrs::function::beta::inv_beta_reg;

use super::alternative::Alternative;

/// The p-value of a test, how well it is known, and what it was computed from.
#[derive(Clone, Debug, PartialEq)]
pub struct TestResult {
    pub(super) observed: f64,
    pub(super) alternative: Alternative,
    pub(super) extreme: u64,
    pub(super) arrangements: u64,
    pub(super) is_exact: bool,
    pub(super) has_stopped: bool,
    pub(super) decision: Option<bool>,
    pub(super) null: Option<Vec<f64>>,
}

impl TestResult {
    /// The statistic of the data as they are.
    pub fn observed(&self) -> f64 {
        self.observed
    }

    /// The p-value: the share of arrangements whose value is as extreme as the observed one.
    ///
    /// With `b` such values among `m` arrangements it is `(b + 1) / (m + 1)` for arrangements that
    /// were drawn, which counts the identity; `b / m` if these are all arrangements, of which the
    /// identity is one, and after [`EarlyStop::Exceedances`](crate::EarlyStop::Exceedances) has
    /// ended the test. So it is never 0 (Phipson and Smyth, *Permutation p-values should never be
    /// zero*, Statistical Applications in Genetics and Molecular Biology 9, 2010).
    pub fn p_value(&self) -> f64 {
        let (b, m) = (self.extreme as f64, self.arrangements as f64);
        let is_plain = self.is_exact || self.has_ended_by_count();
        self.alternative.of_tail(if is_plain { b / m } else { (b + 1.0) / (m + 1.0) })
    }

    /// The interval that covers the p-value of all arrangements with a probability of at least
    /// `level`, by the method of Clopper and Pearson (*The use of confidence or fiducial limits
    /// illustrated in the case of the binomial*, Biometrika 26, 1934), or the one for a fixed
    /// number of extreme values after [`EarlyStop::Exceedances`](crate::EarlyStop::Exceedances).
    ///
    /// It is a point if all arrangements were enumerated. The limits of a two-sided p-value are
    /// those of the smaller tail, doubled. After a decision by
    /// [`EarlyStop::Decision`](crate::EarlyStop::Decision), which depends on the values, it covers
    /// less often than that.
    ///
    /// # Panics
    ///
    /// Unless `level` is above 0 and below 1.
    #[track_caller]
    pub fn interval(&self, level: f64) -> (f64, f64) {
        assert!(level > 0.0 && level < 1.0, "a confidence level is between 0 and 1, not {level}");
        if self.is_exact {
            return (self.p_value(), self.p_value());
        }
        let (b, m) = (self.extreme as f64, self.arrangements as f64);
        let tail = (1.0 - level) / 2.0;
        let low = if b == 0.0 { 0.0 } else { inv_beta_reg(b, m - b + 1.0, tail) };
        // The last value was extreme for certain if the test has ended with it.
        let more = if self.has_ended_by_count() { 0.0 } else { 1.0 };
        let high = if b == m { 1.0 } else { inv_beta_reg(b + more, m - b, 1.0 - tail) };
        (self.alternative.of_tail(low), self.alternative.of_tail(high))
    }

    /// The standard error of the p-value, which comes from drawing arrangements instead of
    /// enumerating them: 0 if all were.
    pub fn standard_error(&self) -> f64 {
        if self.is_exact || self.arrangements == 0 {
            return 0.0;
        }
        let (b, m) = (self.extreme as f64, self.arrangements as f64);
        let p = (b + 1.0) / (m + 1.0);
        let error = (p * (1.0 - p) / m).sqrt();
        if self.alternative == Alternative::TwoSided { 2.0 * error } else { error }
    }

    /// The number of values as extreme as the observed one: for two sides, that of the smaller
    /// tail.
    pub fn extreme(&self) -> u64 {
        self.extreme
    }

    /// The number of arrangements that were looked at.
    pub fn arrangements(&self) -> u64 {
        self.arrangements
    }

    /// Whether these were all arrangements of the design.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// Whether the test has ended early.
    pub fn has_stopped(&self) -> bool {
        self.has_stopped
    }

    /// Whether the p-value is at most the threshold of
    /// [`EarlyStop::Decision`](crate::EarlyStop::Decision); `None` without that rule, or if it was
    /// not clear after all arrangements.
    pub fn decision(&self) -> Option<bool> {
        self.decision
    }

    /// The value of each arrangement, in the order of their numbers, if the test keeps them.
    pub fn null(&self) -> Option<&[f64]> {
        self.null.as_deref()
    }

    fn has_ended_by_count(&self) -> bool {
        self.has_stopped && self.decision.is_none()
    }
}
