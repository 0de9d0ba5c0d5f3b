//! Two revisions beside each other: what a redesign cost in speed, or a change gained.

use super::computed::Computed;
use super::markdown::{conditions_of, table};
use super::results::Results;
use crate::measure::median;
use crate::sheet::Sheet;

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let medians = [
        ("cpu-redesign", "cpu redesign"),
        ("cpu-crew", "cpu crew"),
        ("cpu-crew-mends", "cpu crew mends"),
        ("cpu-u32", "cpu u32"),
        ("cpu-u32-xeon", "cpu u32 xeon"),
    ];
    for (file, block) in medians {
        let sheet = results.sheet(file)?;
        computed.block(block, conditions_of(&sheet) + &by_contender(&sheet)?);
    }
    let files = [
        ("cpu-walks", "cpu walks"),
        ("cpu-gaps", "cpu gaps"),
        ("cpu-sharing", "cpu sharing"),
        ("cpu-shares", "cpu shares"),
        ("cpu-undo", "cpu undo"),
        ("cpu-lows", "cpu lows"),
        ("cpu-blocks", "cpu blocks"),
        ("gpu-back", "gpu back"),
        ("gpu-back-h200", "gpu back h200"),
        ("gpu-ranks-ends", "gpu ranks ends"),
        ("gpu-in-place-lists", "gpu in place lists"),
    ];
    for (file, block) in files {
        let sheet = results.sheet(file)?;
        computed.block(block, conditions_of(&sheet) + &all_rows(&sheet)?);
    }
    Ok(())
}

/// All columns after the origin, as they are.
fn all_rows(sheet: &Sheet) -> Result<String, String> {
    let first = sheet.column("machine")? + 1;
    let head: Vec<&str> = sheet.head[first..].iter().map(String::as_str).collect();
    let rows: Vec<&[String]> = sheet.rows.iter().map(|row| &row[first..]).collect();
    Ok(table(&head, &rows))
}

/// A line for each contender, in the order in which they come.
fn by_contender(sheet: &Sheet) -> Result<String, String> {
    let (name, part) = (sheet.column("contender")?, sheet.column("after / before")?);
    let mut all: Vec<(&str, Vec<f64>)> = Vec::new();
    for row in &sheet.rows {
        let value: f64 = row[part].parse().map_err(|_| format!("{} is no number", row[part]))?;
        match all.iter_mut().find(|(known, _)| *known == row[name]) {
            Some((_, values)) => values.push(value),
            None => all.push((&row[name], vec![value])),
        }
    }
    let lines = all.into_iter().map(|(name, values)| {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let below = values.iter().filter(|&&value| value < 0.98).count();
        let rows = values.len();
        let middle = median(values);
        [
            name.into(),
            rows.to_string(),
            format!("{middle:.2}"),
            format!("{least:.2}"),
            below.to_string(),
        ]
    });
    let head = ["contender", "rows", "after / before, median", "least", "below 0.98"];
    Ok(table(&head, &lines.collect::<Vec<_>>()))
}
