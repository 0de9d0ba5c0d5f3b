//! Experiments for lengths at which the single pass waited for the look-back.

use std::collections::BTreeMap;
use std::error::Error;

use super::{Computed, Results, table};
use crate::sheet::Sheet;

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let sheet = results.sheet("gpu-between")?;
    let origins = sheet.origins().into_iter().map(|origin| format!("* {origin}\n"));
    let origins: String = origins.collect();
    let head = ["items", "gather", "single pass", "counts at once", "the same in clusters"];
    let rows = fastest(&sheet)?.into_iter().map(|(length, [gather, single, all, clusters])| {
        let time =
            |time: Option<f64>| time.map_or(String::new(), |time| format!("{:.1}", time * 1e6));
        let mut row = vec![length.to_string()];
        row.extend([gather, single, all, clusters].map(time));
        row
    });
    computed
        .block("gpu between", format!("{origins}\n{}", table(&head, &rows.collect::<Vec<_>>())));
    computed.block("gpu widths", super::ising::verbatim(&results.sheet("gpu-widths")?));
    computed.block("gpu few tiles", by_name(&results.sheet("gpu-few-tiles")?)?);
    computed.block("gpu calls between", by_name(&results.sheet("gpu-calls-between")?)?);
    Ok(())
}

/// Microseconds, a line a name, with a column for each length.
fn by_name(sheet: &Sheet) -> Result<String, String> {
    let [name, length, seconds] = ["name", "length", "seconds"].map(|column| sheet.column(column));
    let (name, length, seconds) = (name?, length?, seconds?);
    let distinct = |column: usize| {
        let mut all: Vec<&str> = Vec::new();
        for row in &sheet.rows {
            if !all.contains(&&*row[column]) {
                all.push(&row[column]);
            }
        }
        all
    };
    let lengths = distinct(length);
    let head: Vec<&str> = ["items"].into_iter().chain(lengths.iter().copied()).collect();
    let mut lines = Vec::new();
    for kind in distinct(name) {
        let mut line = vec![kind.to_string()];
        for &wanted in &lengths {
            let row = sheet.rows.iter().find(|row| row[name] == kind && row[length] == wanted);
            let time = row.map(|row| row[seconds].parse::<f64>()).transpose();
            let time = time.map_err(|error| format!("{kind}, {wanted} items: {error}"))?;
            line.push(time.map_or(String::new(), |time| format!("{:.1}", time * 1e6)));
        }
        lines.push(line);
    }
    let origins: String =
        sheet.origins().into_iter().map(|origin| format!("* {origin}\n")).collect();
    Ok(format!("{origins}\n{}", table(&head, &lines)))
}

/// The seconds of each kind of kernel by length, those of its fastest shape.
fn fastest(sheet: &Sheet) -> Result<BTreeMap<u64, [Option<f64>; 4]>, String> {
    let [name, length, seconds] = ["name", "length", "seconds"].map(|column| sheet.column(column));
    let (name, length, seconds) = (name?, length?, seconds?);
    let mut all = BTreeMap::new();
    for row in &sheet.rows {
        let kind = match row[name].as_str() {
            "gather" => 0,
            "single pass" => 1,
            other if other.contains("clusters") => 3,
            _ => 2,
        };
        let length: u64 =
            row[length].parse().map_err(|error| format!("{}: {error}", row[length]))?;
        let time: f64 =
            row[seconds].parse().map_err(|error| format!("{}: {error}", row[seconds]))?;
        let best: &mut Option<f64> = &mut all.entry(length).or_insert([None; 4])[kind];
        *best = Some(best.map_or(time, |best| best.min(time)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fastest_shape_of_a_kind_counts() {
        let rows =
            ["gather,5", "single pass,9", "\"counts at once, 1\",7", "\"counts at once, 2\",6"];
        let rows = rows.map(|row| {
            let (name, time) = row.rsplit_once(',').unwrap();
            format!("2026-11-23,0123abc,m,{name},8,17,{time}\n")
        });
        let text =
            "date,revision,machine,name,item_bytes,length,seconds\n".to_owned() + &rows.concat();
        let fastest = fastest(&Sheet::parse(&text).unwrap()).unwrap();
        assert_eq!(fastest[&17], [Some(5.0), Some(9.0), Some(6.0), None]);
    }
}
