//! `benches/notes/ising.md`.

use super::computed::Computed;
use super::markdown::verbatim;
use super::results::Results;
use crate::sheet::ORIGIN;

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let main = results.sheet("ising")?;
    computed.block("ising", verbatim(&main));
    computed.block("ising one multiplier", verbatim(&results.sheet("ising-multipliers")?));
    computed.block("ising sequential", verbatim(&results.sheet("ising-sequential")?));
    computed.block("ising small", verbatim(&results.sheet("ising-small")?));
    // The places of deviations of the energy, with k = 1 and 100, and in the paper.
    let deviations: Vec<usize> =
        (0..main.head.len()).filter(|&at| main.head[at].contains("deviation")).collect();
    let [one, _, hundred, _, paper, ..] = deviations[..] else {
        return Err("ising.csv has other columns".into());
    };
    let mut figure = |name: &str, generator: &str, at: usize| {
        let row = main.rows.iter().find(|row| row[ORIGIN.len()] == generator);
        let row = row.ok_or_else(|| format!("ising.csv has no {generator}"))?;
        computed.text(name, row[at].clone());
        Ok::<(), String>(())
    };
    figure("ising XORWOW", "XORWOW", one)?;
    figure("ising XORWOW e", "XORWOW", one - 1)?;
    figure("ising XORWOW in the paper", "XORWOW", paper)?;
    figure("ising MWC k = 100", "MWC, same a", hundred)?;
    figure("ising Fibonacci in the paper", "Fibonacci, r = 521", paper)?;
    figure("ising MWC, different a", "MWC, different a", one)?;
    longest_of_one_core(results, computed)
}

/// What the text says of the row of LCG32 with the most sweeps in the sparing order: its specific
/// heat, and how far that is from the exact value and from the paper's, in standard errors.
fn longest_of_one_core(results: &Results, computed: &mut Computed) -> Result<(), String> {
    const PAPER: f64 = 0.83286;
    let sheet = results.sheet("ising-sequential")?;
    let at = |head| sheet.column(head);
    let (generator, words, sweeps, heat) =
        (at("generator")?, at("words")?, at("sweeps")?, at("C_V")?);
    let row = sheet.rows.iter().find(|row| {
        (&*row[generator], &*row[words], &*row[sweeps]) == ("LCG32", "sparing", "4 10^4")
    });
    let row = row.ok_or("ising-sequential.csv has no LCG32 of 4 10^4 sparing sweeps")?;
    let text = &row[heat];
    // As in 0.888(10): a value, and its standard error in units of the last digit.
    let (value, error) =
        text.trim_end_matches(')').split_once('(').ok_or_else(|| format!("{text} has no error"))?;
    let digits = value.split_once('.').map_or(0, |(_, digits)| digits.len());
    let read = |text: &str| text.parse::<f64>().map_err(|error| error.to_string());
    let error = read(error)? / 10_f64.powi(digits as i32);
    let from_paper = (read(value)? - PAPER) / error;
    computed.text("ising sparing C_V", text.clone());
    computed.text("ising sparing C_V from the paper", format!("{from_paper:.1}"));
    computed.text("ising sparing C_V from exact", row[heat + 1].trim_start_matches('+').into());
    Ok(())
}
