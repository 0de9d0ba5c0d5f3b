//! The tests of [`Battery`] on permutations that another program made.

use std::io::BufRead;

use bijective_shuffle_stats::{Test, run};

use crate::battery::{Battery, Judged};
use crate::compare;
use crate::input::{Fault, Permutations};

/// A corrected p-value below this is a finding: one perfect shuffle in a thousand has one.
const SIGNIFICANCE: f64 = 1e-3;

/// The fewest items for which few samples do for every test. Of fewer, all orders are counted.
const FEW: usize = 5;

/// About how many numbers are held at once.
const HELD: usize = 1 << 24;

/// What came of it.
#[derive(Debug)]
pub(crate) struct Verdict {
    samples: u64,
    len: usize,
    /// The smallest number of a permutation.
    first: u64,
    made: Vec<Judged>,
    /// The tests that were left out, and why.
    left_out: Vec<(&'static str, String)>,
}

impl Verdict {
    /// Whether nothing was found; nothing is said if no test was made.
    pub(crate) fn passed(&self) -> Option<bool> {
        self.worst().map(|worst| self.corrected(worst) >= SIGNIFICANCE)
    }

    fn worst(&self) -> Option<&Judged> {
        self.made.iter().min_by(|a, b| a.outcome.p_value.total_cmp(&b.outcome.p_value))
    }

    fn corrected(&self, judged: &Judged) -> f64 {
        compare::corrected(judged.outcome.p_value, self.made.len())
    }

    pub(crate) fn print(&self) {
        let numbers = self.first + self.len as u64 - 1;
        println!(
            "{} permutations of {} items, numbered {} to {numbers}\n",
            self.samples, self.len, self.first
        );
        println!("| test | p-value | corrected for {} tests |", self.made.len());
        println!("| --- | --- | --- |");
        for judged in &self.made {
            let corrected = self.corrected(judged);
            let mark = if corrected < SIGNIFICANCE { "**" } else { "" };
            let (name, p_value) = (judged.name, judged.outcome.p_value);
            println!("| {name} | {p_value:.1e} | {mark}{corrected:.1e}{mark} |");
        }
        println!();
        for (name, why) in &self.left_out {
            println!("Left out: {name}, {why}.");
        }
        match self.worst() {
            None => println!("No verdict: there are too few permutations for any test."),
            Some(worst) => println!(
                "Verdict: {}. The smallest corrected p-value is {:.1e} ({}); below {SIGNIFICANCE} \
                 is a finding.",
                if self.passed() == Some(true) { "passed" } else { "FAILED" },
                self.corrected(worst),
                worst.name
            ),
        }
    }
}

/// Judges all permutations of an input.
pub(crate) fn judge<R: BufRead>(mut input: Permutations<R>) -> Result<Verdict, Fault> {
    let len = input.len();
    // An even number, since one test compares each two samples in a row.
    let held = (HELD / len).clamp(2, 1 << 16) / 2 * 2;
    let mut battery = Battery::new(len);
    let mut samples = 0;
    loop {
        let mut numbers = Vec::new();
        while numbers.len() < held * len && input.read(&mut numbers)? {}
        let count = (numbers.len() / len) as u64;
        let fill = |k: u64, out: &mut [u32]| {
            out.copy_from_slice(&numbers[k as usize * len..][..len]);
        };
        if count == 0 {
            break;
        }
        battery.merge(run(count, len, || Battery::new(len), fill));
        samples += count;
    }
    if samples == 0 {
        return Err("the input has no permutation".into());
    }
    let (mut made, mut left_out) = (Vec::new(), Vec::new());
    for judged in battery.judged() {
        let (name, fewest) = (judged.name, judged.fewest);
        if len < FEW && name != "all orders" {
            left_out.push((name, format!("which needs {FEW} items; all orders are counted")));
        } else if samples < fewest {
            left_out.push((name, format!("which needs {fewest} permutations")));
        } else {
            made.push(judged);
        }
    }
    if len > crate::battery::ALL_ORDERS {
        let most = crate::battery::ALL_ORDERS;
        left_out.push(("all orders", format!("which are counted up to {most} items")));
    }
    Ok(Verdict { samples, len, first: input.first(), made, left_out })
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;
    use crate::input::Format;
    use crate::shufflers::SHUFFLERS;
    use bijective_shuffle::prelude::Seed;

    /// What a shuffle here writes, one permutation to a line.
    fn text(name: &str, len: usize, samples: u64) -> String {
        let shuffler = SHUFFLERS.iter().find(|shuffler| shuffler.name == name).unwrap();
        let mut text = String::new();
        let mut out = vec![0; len];
        for sample in 0..samples {
            (shuffler.fill)(Seed::new(3), sample, &mut out);
            out.iter().for_each(|number| write!(text, "{number} ").unwrap());
            text.push('\n');
        }
        text
    }

    fn verdict(text: &str) -> Verdict {
        judge(Permutations::new(text.as_bytes(), Format::Text, None).unwrap()).unwrap()
    }

    #[test]
    fn good_ones_pass_and_bad_ones_fail() {
        for (name, passes) in [("default", true), ("rand, Fisher-Yates", true), ("Lcg", false)] {
            for len in [5, 100] {
                let verdict = verdict(&text(name, len, 1000));
                assert_eq!(verdict.passed(), Some(passes), "{name}, {len}: {verdict:?}");
                assert_eq!((verdict.samples, verdict.len), (1000, len));
                assert_eq!(verdict.made.len(), if len == 5 { 11 } else { 10 });
            }
        }
        let two = verdict(&text("default", 2, 100));
        assert_eq!((two.made.len(), two.passed()), (1, Some(true)));
        let same = "0 3 1 4 2 5\n".repeat(300);
        assert_eq!(verdict(&same).passed(), Some(false));
    }

    #[test]
    fn what_comes_by_a_pipe_is_judged_as_what_is_drawn_here() {
        // More than are held at once, and an odd number.
        let (len, samples) = (400, (HELD / 400 + 3) as u64);
        let shuffler = &SHUFFLERS[0];
        let fill = |k, out: &mut [u32]| (shuffler.fill)(Seed::new(3), k, out);
        let bytes: Vec<u8> = (0..samples)
            .flat_map(|k| {
                let mut out = vec![0; len];
                fill(k, &mut out);
                out.into_iter().flat_map(u32::to_le_bytes)
            })
            .collect();
        let input = Permutations::new(&*bytes, Format::Binary(4), Some(len)).unwrap();
        let verdict = judge(input).unwrap();
        let drawn = run(samples, len, || Battery::new(len), fill).judged();
        assert_eq!(verdict.made.len(), drawn.len());
        for (a, b) in verdict.made.iter().zip(drawn) {
            let (p, q) = (a.outcome.p_value, b.outcome.p_value);
            assert!((p / q - 1.0).abs() < 1e-6, "{}: {p} and {q}", a.name);
            assert_eq!(a.outcome.samples, samples);
        }
    }

    #[test]
    fn tests_that_need_more_samples_are_left_out() {
        let few = verdict(&text("default", 100, 60));
        let left_out: Vec<_> = few.left_out.iter().map(|(name, _)| *name).collect();
        let expected = ["MMD by pairs", "MMD against the identity", "places", "all orders"];
        assert_eq!(left_out, expected);
        assert_eq!(few.passed(), Some(true));
        assert_eq!(verdict("0 2 1 3 4\n").passed(), None, "one says nothing");
        let short = verdict(&text("default", 3, 100));
        assert_eq!(short.made.len(), 1, "all orders");
        assert_eq!(short.left_out.len(), 10);
    }
}
