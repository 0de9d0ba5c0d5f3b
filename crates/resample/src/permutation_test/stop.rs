//! [`EarlyStop`]: when enough arrangements have been seen.

use bijective_shuffle_engine::check::{try_reserve, try_with_capacity};

use crate::Error;

/// A rule by which a test ends before it has seen all its arrangements. It looks at them in the
/// order of their numbers, so where it ends does not depend on the number of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum EarlyStop {
    /// Never.
    #[default]
    Never,
    /// After this number `h` of values as extreme as the observed one. If that takes `l` values,
    /// the p-value is `h / l`, which is exact too.
    ///
    /// Source: Besag and Clifford, *Sequential Monte Carlo p-values*, Biometrika 78, 1991.
    Exceedances(u64),
    /// As soon as it is clear on which side of a threshold the p-value is. The probability of the
    /// wrong side is at most `risk`, whatever the p-value is.
    ///
    /// Source: Gandy, *Sequential implementation of Monte Carlo tests with uniformly bounded
    /// resampling risk*, Journal of the American Statistical Association 104, 2009, with the
    /// spending sequence `risk * n / (1000 + n)`.
    Decision {
        /// The threshold, above 0 and below 1.
        threshold: f64,
        /// The largest probability of a wrong decision, above 0 and below 1/2.
        risk: f64,
    },
}

impl EarlyStop {
    pub(super) fn check(&self) -> Result<(), Error> {
        let is_valid = match *self {
            Self::Never => true,
            Self::Exceedances(count) => count > 0,
            Self::Decision { threshold, risk } => {
                threshold > 0.0 && threshold < 1.0 && risk > 0.0 && risk < 0.5
            }
        };
        if is_valid { Ok(()) } else { Err(Error::StopRule) }
    }
}

/// The arrangements after which the expected share of the risk is half spent.
const HALF_SPENT: f64 = 1000.0;

/// The numbers of extreme values at which a decision is made, one arrangement after another.
///
/// If the p-value is the threshold, both boundaries are reached with a probability of at most the
/// risk. So the probability of each number of extreme values is kept, for runs that have reached
/// neither, and as much of either end is cut off as the risk allows that may be spent by then.
#[derive(Clone, Debug)]
pub(super) struct Boundaries {
    threshold: f64,
    risk: f64,
    seen: u64,
    /// The smallest number that has not led to a decision.
    first: u64,
    /// The probabilities of the numbers from `first` on.
    chances: Vec<f64>,
    /// The probabilities with which the lower and the upper boundary have been reached.
    spent: [f64; 2],
}

impl Boundaries {
    pub(super) fn new(threshold: f64, risk: f64) -> Result<Self, Error> {
        let mut chances = try_with_capacity(64)?;
        chances.push(1.0);
        Ok(Self { threshold, risk, seen: 0, first: 0, chances, spent: [0.0; 2] })
    }

    /// Goes on to the next arrangement.
    pub(super) fn step(&mut self) -> Result<(), Error> {
        try_reserve(&mut self.chances, 1)?;
        self.chances.push(0.0);
        let mut before = 0.0;
        for chance in &mut self.chances {
            let own = *chance;
            *chance = own * (1.0 - self.threshold) + before * self.threshold;
            before = own;
        }
        self.seen += 1;
        let seen = self.seen as f64;
        let allowed = self.risk * seen / (HALF_SPENT + seen);
        let [lower, upper] = &mut self.spent;
        while let Some(&chance) = self.chances.last()
            && *upper + chance <= allowed
        {
            *upper += chance;
            self.chances.pop();
        }
        let cut = self.chances.iter().take_while(|&&chance| {
            let is_cut = *lower + chance <= allowed;
            *lower += if is_cut { chance } else { 0.0 };
            is_cut
        });
        let cut = cut.count();
        self.chances.drain(..cut);
        self.first += cut as u64;
        Ok(())
    }

    /// Whether the p-value is at most the threshold, if that is clear after so many extreme values.
    pub(super) fn decision(&self, extreme: u64) -> Option<bool> {
        if extreme < self.first {
            Some(true)
        } else {
            (extreme - self.first >= self.chances.len() as u64).then_some(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The decision for p-values, by the exact law of the number of extreme values.
    fn wrong(p: f64, threshold: f64, risk: f64, most: u64) -> (f64, f64) {
        let mut boundaries = Boundaries::new(threshold, risk).unwrap();
        let mut chances = vec![1.0];
        let mut decided = [0.0; 2];
        for _ in 0..most {
            chances.push(0.0);
            let mut before = 0.0;
            for chance in &mut chances {
                (*chance, before) = (*chance * (1.0 - p) + before * p, *chance);
            }
            boundaries.step().unwrap();
            for (extreme, chance) in (0..).zip(&mut chances) {
                if let Some(is_below) = boundaries.decision(extreme) {
                    decided[usize::from(is_below)] += core::mem::take(chance);
                }
            }
        }
        (decided[0], decided[1])
    }

    #[test]
    fn wrong_decisions_are_as_rare_as_asked() {
        for (threshold, risk) in [(0.05, 0.001), (0.01, 0.01), (0.3, 0.1)] {
            for factor in [0.3, 0.9, 1.0] {
                let (above, below) = wrong(threshold * factor, threshold, risk, 3000);
                assert!(above <= risk, "{threshold} {factor}: {above}");
                assert!(factor > 0.5 || below > 0.9, "{threshold} {factor}: {below}");
            }
            for factor in [1.0, 1.1, 2.5] {
                let (above, below) = wrong(threshold * factor, threshold, risk, 3000);
                assert!(below <= risk, "{threshold} {factor}: {below}");
                assert!(factor < 2.0 || above > 0.9, "{threshold} {factor}: {above}");
            }
        }
    }
}
