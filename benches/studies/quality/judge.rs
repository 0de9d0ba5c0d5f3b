//! All the tests of [`bijective_shuffle_stats`] on whole shuffles.

use bijective_shuffle::prelude::*;
use bijective_shuffle_stats::run;

use crate::battery::{ALL_ORDERS, Battery, Judged};
use crate::shufflers::SHUFFLERS;

/// A p-value below this is a finding. A run of all shufflers at all lengths makes some two thousand
/// tests.
const SIGNIFICANCE: f64 = 1e-6;

/// The lengths that are judged: those short enough that all orders can be counted, those of the
/// paper's figures, and around powers of two on both sides of where the default stops drawing
/// exactly.
const LENGTHS: [usize; 22] = [
    2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 100, 128, 255, 256, 257, 511, 512, 513, 1000, 1023, 1024, 1025,
];

/// How many samples are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Samples {
    /// Where all orders can be counted.
    pub(crate) short: u64,
    /// At the other lengths.
    pub(crate) long: u64,
}

/// Prints a table of what was found from a length on; returns whether the default passed
/// everything.
pub(crate) fn print_table(
    samples: Samples,
    from: usize,
    seed: u64,
    only: Option<&str>,
    all: bool,
) -> bool {
    println!("| shuffle | verdict | lengths at which it fails | smallest p-value |");
    println!("| --- | --- | --- | --- |");
    let mut default_passes = true;
    for shuffler in
        SHUFFLERS.iter().filter(|shuffler| only.is_none_or(|name| shuffler.name == name))
    {
        let mut findings = Vec::new();
        for len in LENGTHS.into_iter().filter(|&len| len >= from) {
            let samples = if len <= ALL_ORDERS { samples.short } else { samples.long };
            let fill = |sample, out: &mut [u32]| (shuffler.fill)(Seed::new(seed), sample, out);
            let battery = run(samples, len, || Battery::new(len), fill);
            for Judged { name, outcome, .. } in battery.judged() {
                if all {
                    println!(
                        "{} | {len} | {name} | {} samples | p {:.2e}",
                        shuffler.name, outcome.samples, outcome.p_value
                    );
                }
                findings.push((outcome.p_value, name, len));
            }
        }
        let count = findings.len();
        let mut failed: Vec<usize> = findings
            .iter()
            .filter(|finding| finding.0 < SIGNIFICANCE)
            .map(|finding| finding.2)
            .collect();
        let found = failed.len();
        failed.dedup();
        let failed: Vec<String> = failed.iter().map(usize::to_string).collect();
        let worst = findings.into_iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let (p, name, len) = worst.expect("tests were made");
        let verdict = if found == 0 {
            format!("passes all {count}")
        } else {
            format!("**fails** {found} of {count}")
        };
        println!(
            "| {} | {verdict} | {} | {p:.1e}: {name}, {len} |",
            shuffler.name,
            failed.join(" ")
        );
        default_passes &= found == 0 || !shuffler.name.starts_with("default");
    }
    default_passes
}
