//! [`Verdict`]: what a p-value says.

/// Nearer than this to 0 or 1 a test has failed: what [TU01], section 3.1, calls a clear failure.
///
/// [TU01]: https://doi.org/10.1145/1268776.1268777
const FAILED: f64 = 1e-10;

/// Nearer than this to 0 or 1 a result is suspicious: TestU01 prints it (`gofw_Suspectp`).
const SUSPICIOUS: f64 = 1e-3;

/// What a p-value says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Passed,
    /// Two of a thousand p-values are, by chance.
    Suspicious,
    Failed,
    /// TestU01 gives a negative number where a statistic has no value, and leaves it out of its own
    /// reports.
    Absent,
}

/// What a p-value says: those near 0 and those near 1 are bad. No number at all is a failure.
pub(crate) fn verdict(p: f64) -> Verdict {
    let side = p.min(1.0 - p);
    if p < 0.0 {
        Verdict::Absent
    } else if p.is_nan() || side < FAILED {
        Verdict::Failed
    } else if side < SUSPICIOUS {
        Verdict::Suspicious
    } else {
        Verdict::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_bad() {
        for (p, expected) in [
            (0.5, Verdict::Passed),
            (0.001, Verdict::Passed),
            (0.9989, Verdict::Passed),
            (0.0009, Verdict::Suspicious),
            (0.9991, Verdict::Suspicious),
            (1e-10, Verdict::Suspicious),
            (9e-11, Verdict::Failed),
            (1.0 - 1e-11, Verdict::Failed),
            (0.0, Verdict::Failed),
            (1.0, Verdict::Failed),
            (f64::NAN, Verdict::Failed),
            (-1.0, Verdict::Absent),
        ] {
            assert_eq!(verdict(p), expected, "{p}");
        }
    }
}
