//! Experiments for lengths at which the single pass waited for the look-back.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;

use super::computed::Computed;
use super::markdown::{self, conditions_of, table};
use super::results::Results;
use crate::measure::median;
use crate::sheet::Sheet;

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let sheet = results.sheet("gpu-between")?;
    let head = ["items", "gather", "single pass", "counts at once", "the same in clusters"];
    let rows = fastest(&sheet)?.into_iter().map(|(length, [gather, single, all, clusters])| {
        let time =
            |time: Option<f64>| time.map_or(String::new(), |time| format!("{:.1}", time * 1e6));
        let mut row = vec![length.to_string()];
        row.extend([gather, single, all, clusters].map(time));
        row
    });
    computed.block("gpu between", conditions_of(&sheet) + &table(&head, &rows.collect::<Vec<_>>()));
    let widths = results.sheet("gpu-widths")?;
    computed.block("gpu widths", conditions_of(&widths) + &markdown::rows(&widths));
    computed.block("gpu few tiles", by_name(&results.sheet("gpu-few-tiles")?)?);
    computed.block("gpu calls between", by_name(&results.sheet("gpu-calls-between")?)?);
    computed.block("gpu calls", calls(&results.sheet("gpu-calls")?)?);
    computed.block("gpu calls later", calls(&results.sheet("gpu-calls-later")?)?);
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
    Ok(conditions_of(sheet) + &table(&head, &lines))
}

/// A peer's name in the rows of calls of few items.
const THRUST: &str = "thrust::shuffle_copy";

/// Microseconds of calls of few items, medians, and how many of those in a row fit a call of the
/// peer.
fn calls(sheet: &Sheet) -> Result<String, String> {
    let column = |name| sheet.column(name);
    let (name, length) = (column("name")?, column("length")?);
    let (what, seconds) = (column("what")?, column("seconds")?);
    let mut all: BTreeMap<(&str, &str), BTreeMap<u64, Vec<f64>>> = BTreeMap::new();
    for row in &sheet.rows {
        let wrong = |cell: &str| format!("{cell} is no number");
        let at: u64 = row[length].parse().map_err(|_| wrong(&row[length]))?;
        let time: f64 = row[seconds].parse().map_err(|_| wrong(&row[seconds]))?;
        let of = all.entry((&row[name], &row[what])).or_default();
        of.entry(at).or_default().push(time * 1e6);
    }
    let median_at = |times: &BTreeMap<u64, Vec<f64>>, at: u64| times.get(&at).cloned().map(median);
    let lengths: Vec<u64> = all.values().flat_map(|times| times.keys().copied()).collect();
    let lengths: BTreeSet<u64> = lengths.into_iter().collect();
    let thrust = all.get(&(THRUST, "in a row"));
    let mut lines = Vec::new();
    for (&(name, what), times) in &all {
        let mut line = vec![name.to_string(), what.to_string()];
        let cells = lengths.iter().map(|&at| median_at(times, at));
        line.extend(cells.map(|time| time.map_or(String::new(), |time| format!("{time:.2}"))));
        lines.push(line);
    }
    for (&(name, _), times) in
        all.iter().filter(|((name, what), _)| *what == "in a row" && *name != THRUST)
    {
        let mut line = vec![format!("Thrust / {name}"), "in a row".into()];
        let ratio = |at| Some(median_at(thrust?, at)? / median_at(times, at)?);
        let ratios: Vec<Option<f64>> = lengths.iter().map(|&at| ratio(at)).collect();
        if ratios.iter().all(Option::is_none) {
            continue;
        }
        line.extend(ratios.into_iter().map(|of| of.map_or(String::new(), |of| format!("{of:.1}"))));
        lines.push(line);
    }
    let head = lengths.iter().map(|&at| if at == 0 { "no items".into() } else { at.to_string() });
    let head: Vec<String> = ["a call", "timed"].map(String::from).into_iter().chain(head).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    Ok(conditions_of(sheet) + &table(&head, &lines))
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
    fn calls_are_medians_beside_the_peer() {
        let rows =
            ["ours,8,257,in a row,4e-6", "ours,8,257,in a row,2e-6", "ours,8,257,in a row,9e-6"];
        let rows = rows.into_iter().chain(["thrust::shuffle_copy,8,257,in a row,2e-5"]);
        let rows: String = rows.map(|row| format!("2026-11-23,0123abc,m,{row}\n")).collect();
        let text = "date,revision,machine,name,item_bytes,length,what,seconds\n".to_owned() + &rows;
        let text = calls(&Sheet::parse(&text).unwrap()).unwrap();
        assert!(text.contains("| ours | in a row | 4.00 |"), "{text}");
        assert!(text.contains("| Thrust / ours | in a row | 5.0 |"), "{text}");
    }

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
