//! What the paper found: [RNG], table 2.
//!
//! [RNG]: https://doi.org/10.1140/epjst/e2012-01637-8

/// A battery that they did not run.
pub(crate) const NOT_RUN: &str = "—";

/// A line of the table: failures in SmallCrush, Crush and BigCrush, as printed there.
#[derive(Debug)]
pub(crate) struct Line {
    /// Of the table.
    pub(crate) name: &'static str,
    /// What we call it: the generator and its order, or two that it can be.
    pub(crate) ours: &'static [&'static str],
    /// [`NOT_RUN`], or in brackets, results that are suspicious only.
    pub(crate) failures: [&'static str; 3],
}

/// The table. The paper does not say in which order it used the words of cuRAND's generators.
pub(crate) const TABLE: [Line; 12] = [
    Line { name: "LCG32", ours: &["lcg32/sequence"], failures: ["12", NOT_RUN, NOT_RUN] },
    Line { name: "LCG32, random", ours: &["lcg32/streams"], failures: ["3", "14", NOT_RUN] },
    Line { name: "LCG64", ours: &["lcg64/sequence"], failures: ["None", "6", NOT_RUN] },
    Line { name: "LCG64, random", ours: &["lcg64/streams"], failures: ["None", "2", "8"] },
    Line { name: "MWC", ours: &["mwc/sequence"], failures: ["1", "29", NOT_RUN] },
    Line {
        name: "Fibonacci, r = 521",
        ours: &["fibonacci521/sequence"],
        failures: ["None", "2", NOT_RUN],
    },
    Line {
        name: "Fibonacci, r = 1279",
        ours: &["fibonacci1279/sequence"],
        failures: ["None", "(1)", "2"],
    },
    Line {
        name: "XORWOW (cuRAND)",
        ours: &["xorwow/sequence", "curand/xorwow"],
        failures: ["None", "None", "1/3"],
    },
    Line {
        name: "MTGP (cuRAND)",
        ours: &["curand/mtgp32", "curand/mtgp32-stream"],
        failures: ["None", "2", "2"],
    },
    Line { name: "XORShift/Weyl", ours: &["xorshift/warp"], failures: ["None", "None", "None"] },
    Line { name: "Philox4x32 7", ours: &["philox7/sequence"], failures: ["None", "None", "None"] },
    Line {
        name: "Philox4x32 10",
        ours: &["philox10/sequence"],
        failures: ["None", "None", "None"],
    },
];

/// The line of what we call so.
pub(crate) fn line(ours: &str) -> Option<&'static Line> {
    TABLE.iter().find(|line| line.ours.contains(&ours))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contenders;

    #[test]
    fn every_line_has_a_generator() {
        for line in &TABLE {
            for ours in line.ours {
                assert!(contenders::find(ours).is_some(), "{ours}");
            }
        }
    }
}
