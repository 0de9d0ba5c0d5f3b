//! The table of benches/notes/testu01.md, ours beside those of the paper, and every statistic that
//! did not pass.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;

use crate::arguments::Files;
use crate::battery::Battery;
use crate::contenders::{self, Contender};
use crate::paper;
use crate::rows::{self, Row};
use crate::verdict::{Verdict, verdict};

/// Between these lines the table is put.
const MARKERS: [&str; 2] = ["<!-- testu01 begin -->", "<!-- testu01 end -->"];

/// Reads results, prints the tables, and writes the first one into a file if asked.
pub(crate) fn run(files: &Files) -> Result<(), Box<dyn Error>> {
    let mut rows = Vec::new();
    for file in &files.csv {
        rows.extend(rows::read_file(file)?);
    }
    let text = summary(&rows);
    println!("{text}\n{}", findings(&rows));
    if let Some(file) = &files.write {
        let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let document = fs::read_to_string(file).map_err(|error| failed(&error))?;
        let document = between_markers(&document, &text).map_err(|error| failed(&error))?;
        fs::write(file, document).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// A line a generator: failures in each battery, ours and those of the paper.
fn summary(rows: &[Row]) -> String {
    let mut text = String::from(
        "| generator | in the paper | SmallCrush | paper | Crush | paper | BigCrush | paper |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for contender in contenders::all() {
        let line = paper::line(&contender.name());
        let _ = write!(text, "| `{}` | {} |", contender.name(), line.map_or("", |line| line.name));
        for battery in Battery::ALL {
            let theirs = line.map_or("", |line| line.failures[battery as usize]);
            let _ = write!(text, " {} | {theirs} |", Tally::new(rows, contender, battery).cell());
        }
        text.push('\n');
    }
    text
}

/// What a battery found, with the seed that it was run with.
#[derive(Debug, Default, PartialEq)]
struct Tally {
    run: usize,
    failed: usize,
    suspicious: usize,
    of: usize,
}

impl Tally {
    fn new(rows: &[Row], contender: &Contender, battery: Battery) -> Self {
        let rows = main_seed(rows, contender, battery);
        let count = |wanted| rows.iter().filter(|row| verdict(row.p) == wanted).count();
        Self {
            run: rows.len(),
            failed: count(Verdict::Failed),
            suspicious: count(Verdict::Suspicious),
            of: battery.statistics(),
        }
    }

    /// As in the paper: failures, and in brackets what is suspicious only; a partial battery says
    /// so.
    fn cell(&self) -> String {
        if self.run == 0 {
            return "—".into();
        }
        let counts = match (self.failed, self.suspicious) {
            (0, 0) => "none".into(),
            (failed, 0) => failed.to_string(),
            (0, suspicious) => format!("({suspicious})"),
            (failed, suspicious) => format!("{failed} + ({suspicious})"),
        };
        if self.run < self.of {
            format!("{counts}, {} of {} run", self.run, self.of)
        } else {
            counts
        }
    }
}

/// The rows of a battery with the seed that most of it was run with, the lowest of several: the
/// others are of tests run again. Each statistic once.
fn main_seed<'a>(rows: &'a [Row], contender: &Contender, battery: Battery) -> Vec<&'a Row> {
    let mut by_seed: BTreeMap<u32, BTreeMap<(usize, usize), &Row>> = BTreeMap::new();
    for row in rows {
        if (row.generator.as_str(), row.order.as_str(), row.battery) == key(contender, battery) {
            by_seed.entry(row.seed).or_default().insert((row.test, row.statistic), row);
        }
    }
    // Of equal ones `max_by_key` takes the last.
    let most = by_seed.into_values().rev().max_by_key(BTreeMap::len);
    most.map(|rows| rows.into_values().collect()).unwrap_or_default()
}

fn key(contender: &Contender, battery: Battery) -> (&'static str, &'static str, Battery) {
    (contender.generator, contender.order, battery)
}

/// Every statistic that did not pass, and what came of it with other seeds.
fn findings(rows: &[Row]) -> String {
    let mut text = String::from(
        "| generator | battery | test | statistic | p | verdict | p with other seeds |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for contender in contenders::all() {
        for battery in Battery::ALL {
            for row in main_seed(rows, contender, battery) {
                let said = match verdict(row.p) {
                    Verdict::Passed | Verdict::Absent => continue,
                    Verdict::Suspicious => "suspicious",
                    Verdict::Failed => "failed",
                };
                let again: BTreeMap<u32, String> = rows
                    .iter()
                    .filter(|other| other.seed != row.seed && same_statistic(other, row))
                    .filter(|other| verdict(other.p) != Verdict::Absent)
                    .map(|other| (other.seed, value(other.p)))
                    .collect();
                let again: Vec<String> = again.into_values().collect();
                let (name, test, p) = (contender.name(), row.test, value(row.p));
                let _ = writeln!(
                    text,
                    "| `{name}` | {battery:?} | {test} | {} | {p} | {said} | {} |",
                    row.name,
                    again.join(", ")
                );
            }
        }
    }
    text
}

fn same_statistic(a: &Row, b: &Row) -> bool {
    let key = |row: &Row| {
        (row.generator.clone(), row.order.clone(), row.battery, row.test, row.statistic)
    };
    key(a) == key(b)
}

/// A p-value, by its distance from the nearer end.
fn value(p: f64) -> String {
    match 1.0 - p {
        0.0 => "1".into(),
        above if above < 0.01 => format!("1 - {above:.1e}"),
        _ if p == 0.0 => "0".into(),
        _ if p < 1e-290 => "< 1e-290".into(),
        _ if p < 0.01 => format!("{p:.1e}"),
        _ => format!("{p:.2}"),
    }
}

/// A document with other text between its markers.
fn between_markers(document: &str, text: &str) -> Result<String, String> {
    let [begin, end] = MARKERS;
    let missing = || format!("the lines `{begin}` and `{end}` are not there, in this order");
    let (before, rest) = document.split_once(begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}\n\n{}\n\n{end}{after}", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(test: usize, statistic: usize, p: f64, seed: u32) -> Row {
        Row {
            generator: "mt19937".into(),
            order: "sequence".into(),
            battery: Battery::SmallCrush,
            seed,
            test,
            statistic,
            name: "Gap".into(),
            p,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_battery_is_counted_by_the_seed_of_most_results() {
        let contender = contenders::find("mt19937/sequence").unwrap();
        let tally = |rows: &[Row]| Tally::new(rows, contender, Battery::SmallCrush).cell();
        assert_eq!(tally(&[]), "—");
        assert_eq!(tally(&[row(1, 1, 0.5, 1)]), "none, 1 of 15 run");
        // Twice in the files, and once more with another seed.
        let rows =
            [row(1, 1, 1e-20, 1), row(1, 1, 1e-20, 1), row(2, 1, 1e-4, 1), row(2, 1, 1e-20, 2)];
        assert_eq!(tally(&rows), "1 + (1), 2 of 15 run");
        let mut all: Vec<Row> = (1..=15).map(|statistic| row(1, statistic, 0.5, 2)).collect();
        assert_eq!(tally(&all), "none");
        // One of them again, with a seed that is lower.
        all.push(row(1, 1, 1e-20, 1));
        assert_eq!(tally(&all), "none");
    }

    #[test]
    fn what_did_not_pass_is_listed_with_its_repeats() {
        let rows =
            [row(1, 1, 0.5, 1), row(2, 1, 1e-4, 1), row(2, 1, 0.25, 2), row(2, 1, 0.999999, 3)];
        let text = findings(&rows);
        let line = "| `mt19937/sequence` | SmallCrush | 2 | Gap | 1.0e-4 | suspicious | 0.25, 1 - 1.0e-6 |";
        assert_eq!(text.lines().skip(2).collect::<Vec<_>>(), [line]);
    }

    #[test]
    fn values_keep_their_distance_from_both_ends() {
        for (p, expected) in [
            (0.0, "0"),
            (1.0, "1"),
            (1e-300, "< 1e-290"),
            (2e-12, "2.0e-12"),
            (0.123, "0.12"),
            (1.0 - 1e-3, "1 - 1.0e-3"),
        ] {
            assert_eq!(value(p), expected);
        }
    }

    #[test]
    fn only_what_is_between_the_markers_is_replaced() {
        let document = "a\n<!-- testu01 begin -->\nold\n<!-- testu01 end -->\nb\n";
        let expected = "a\n<!-- testu01 begin -->\n\nnew\n\n<!-- testu01 end -->\nb\n";
        assert_eq!(between_markers(document, "\nnew\n").unwrap(), expected);
        assert!(between_markers("a", "new").is_err());
    }
}
