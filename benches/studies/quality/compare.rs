//! Comparing what a family shows with what the reference shows.

use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

use crate::keys::Histogram;

/// How surprising a difference from the reference is.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) name: String,
    pub(crate) p_value: f64,
}

/// The most surprising of some findings, its p-value corrected for the number of findings.
pub(crate) fn worst(findings: Vec<Finding>) -> Finding {
    let count = findings.len();
    let worst = findings.into_iter().min_by(|a, b| a.p_value.total_cmp(&b.p_value));
    let worst = worst.expect("at least one test is made");
    Finding { p_value: corrected(worst.p_value, count), ..worst }
}

/// A p-value of one of `tests` tests, valid however they depend on each other (Bonferroni).
pub(crate) fn corrected(p_value: f64, tests: usize) -> f64 {
    (p_value * tests as f64).min(1.0)
}

/// Two samples of counts: Pearson's test of homogeneity, for samples of one size.
pub(crate) fn histograms(candidate: &Histogram, reference: &Histogram) -> Finding {
    let (mut statistic, mut used) = (0.0, 0);
    for (&a, &b) in candidate.counts.iter().zip(&reference.counts) {
        // A cell that both leave empty says nothing; one that is nearly empty would spoil the
        // approximation, unless only one side leaves it empty, which is what is looked for.
        if a + b >= 10 {
            let difference = a.abs_diff(b) as f64;
            statistic += difference * difference / (a + b) as f64;
            used += 1;
        }
    }
    let p_value = ChiSquared::new(f64::from(used.max(2) - 1)).map_or(1.0, |chi| chi.sf(statistic));
    Finding { name: candidate.name.clone(), p_value }
}

/// The values that a statistic had over many members of a family.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sample {
    values: Vec<f64>,
}

impl FromIterator<f64> for Sample {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        Self { values: values.into_iter().collect() }
    }
}

impl Sample {
    fn mean_and_variance(&self) -> (f64, f64) {
        let count = self.values.len() as f64;
        let mean = self.values.iter().sum::<f64>() / count;
        let squares: f64 = self.values.iter().map(|x| (x - mean).powi(2)).sum();
        (mean, squares / (count - 1.0))
    }

    /// Whether the mean is another than the reference's: Welch's test, for samples large enough to
    /// be normal.
    pub(crate) fn mean_differs(&self, reference: &Self, name: &str) -> Finding {
        let ((a, a_variance), (b, b_variance)) =
            (self.mean_and_variance(), reference.mean_and_variance());
        let variance =
            a_variance / self.values.len() as f64 + b_variance / reference.values.len() as f64;
        let p_value = if variance == 0.0 {
            f64::from(u8::from(a == b))
        } else {
            2.0 * Normal::standard().sf((a - b).abs() / variance.sqrt())
        };
        Finding { name: format!("mean of {name}"), p_value }
    }

    /// Whether some keys are weak: members whose statistic is larger than any that the reference
    /// would show. The reference's tail is carried on as an exponential beyond its highest values
    /// (peaks over threshold: Pickands, *Statistical inference using extreme order statistics*,
    /// Annals of Statistics 3, 1975), its slope made flatter by two standard errors.
    pub(crate) fn largest_differs(&self, reference: &Self, name: &str) -> Finding {
        let mut sorted = reference.values.clone();
        sorted.sort_by(f64::total_cmp);
        let peaks = (sorted.len() / 10).clamp(1, 200);
        let threshold = sorted[sorted.len() - peaks - 1];
        let excess = sorted[sorted.len() - peaks..].iter().map(|x| x - threshold).sum::<f64>();
        let slope = excess / peaks as f64 * (1.0 + 2.0 / (peaks as f64).sqrt());
        let largest = self.values.iter().copied().fold(f64::MIN, f64::max);
        let above = peaks as f64 / sorted.len() as f64;
        let p_value = if slope > 0.0 && largest > threshold {
            (self.values.len() as f64 * above * (-(largest - threshold) / slope).exp()).min(1.0)
        } else {
            f64::from(u8::from(largest <= threshold))
        };
        Finding { name: format!("largest {name}"), p_value }
    }
}
