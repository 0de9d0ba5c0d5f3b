//! Tuples of tests, which judge the same samples.

use super::{Outcome, Test};

/// The joint outcome of several tests: the smallest p-value times their number, but at most 1, with
/// the statistic and the samples of that test. This (Bonferroni's) correction is valid however the
/// tests depend on each other.
fn joint(outcomes: &[Outcome]) -> Outcome {
    let first = outcomes[0];
    let least = outcomes.iter().fold(first, |a, &b| if b.p_value < a.p_value { b } else { a });
    Outcome { p_value: (least.p_value * outcomes.len() as f64).min(1.0), ..least }
}

macro_rules! tuple {
    ($($test:ident $field:tt),+) => {
        /// Several tests of the same samples. The outcome is that of the test with the smallest
        /// p-value, which is multiplied by the number of tests (Bonferroni's correction). Each
        /// test's own outcome can be read from its field. For more tests, nest tuples.
        impl<$($test: Test),+> Test for ($($test,)+) {
            fn record(&mut self, permutation: &[u32]) {
                $(self.$field.record(permutation);)+
            }
            fn merge(&mut self, other: Self) {
                $(self.$field.merge(other.$field);)+
            }
            fn outcome(&self) -> Outcome {
                joint(&[$(self.$field.outcome()),+])
            }
        }
    };
}

tuple!(A 0, B 1);
tuple!(A 0, B 1, C 2);
tuple!(A 0, B 1, C 2, D 3);
tuple!(A 0, B 1, C 2, D 3, E 4);
tuple!(A 0, B 1, C 2, D 3, E 4, F 5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_joint_outcome_is_the_worst_corrected() {
        let outcome = |statistic, p_value| Outcome { statistic, p_value, samples: 7 };
        let worst = joint(&[outcome(1.0, 0.5), outcome(2.0, 0.001), outcome(3.0, 0.2)]);
        assert_eq!(worst, outcome(2.0, 0.003));
        assert_eq!(joint(&[outcome(1.0, 0.5), outcome(2.0, 0.8)]).p_value, 1.0);
    }
}
