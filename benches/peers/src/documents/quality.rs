//! What families and generators answer to the reports about others, their worst slots and their
//! avalanche, in `docs/quality.md`.

use std::fmt::Write;

use super::computed::{Computed, DOCS};
use super::markdown::{conditions_of, table};
use super::results::Results;
use crate::sheet::Sheet;

/// The rows that `quality reports`, `slots` and `avalanche` print.
const REPORTS: &str = "quality-reports";
const SLOTS: &str = "quality-slots";
const AVALANCHE: &str = "quality-avalanche";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let sheet = results.sheet(REPORTS)?;
    let failed = |why| format!("{REPORTS}.csv: {why}");
    let text = reports(&sheet).map_err(failed)?;
    computed.block("quality reports", conditions_of(&sheet) + &text);

    let sheet = results.sheet(SLOTS)?;
    let text = slots(&sheet).map_err(|why| format!("{SLOTS}.csv: {why}"))?;
    computed.block("quality slots", conditions_of(&sheet) + &text);

    let sheet = results.sheet(AVALANCHE)?;
    let maps = maps(&sheet).map_err(|why| format!("{AVALANCHE}.csv: {why}"))?;
    computed.block("quality avalanche", conditions_of(&sheet) + &mixing(&maps));
    computed.drawings.push((DOCS, "figures/avalanche.svg", drawn(&maps)));
    Ok(())
}

fn read(cell: &str) -> Result<f64, String> {
    cell.parse().map_err(|_| format!("`{cell}` is no number"))
}

/// Values without those that came before.
fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

/// What stands in tables for a p-value, or for several.
fn p_value(p: f64) -> String {
    if p < 0.001 { format!("{p:.0e}") } else { format!("{p:.3}") }
}

/// A table of families, one of generators, and the smallest p-value of all.
fn reports(sheet: &Sheet) -> Result<String, String> {
    let at = |name| sheet.column(name);
    let (report, subject, test) = (at("report")?, at("subject")?, at("test")?);
    let (seen, p, corrected) = (at("seen")?, at("p")?, at("corrected")?);
    let (parities, places): (Vec<_>, Vec<_>) =
        sheet.rows.iter().partition(|row| row[report].starts_with("parity"));
    // The smallest p-value of some rows, for their number.
    let smallest = |rows: &mut dyn Iterator<Item = &&Vec<String>>| -> Result<String, String> {
        let all: Vec<f64> = rows.map(|row| read(&row[p])).collect::<Result<_, _>>()?;
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        Ok(match all.len() {
            1 => p_value(least),
            count => format!("{} of {count}", p_value(least)),
        })
    };
    let kinds = distinct(places.iter().map(|row| &*row[report]));
    let mut families = Vec::new();
    for family in distinct(places.iter().map(|row| &*row[subject])) {
        let mut cells = vec![format!("`{family}`")];
        for kind in &kinds {
            let of = |row: &&&Vec<String>| row[report] == *kind && row[subject] == family;
            cells.push(smallest(&mut places.iter().filter(of))?);
        }
        families.push(cells);
    }
    let mut generators = Vec::new();
    for generator in distinct(parities.iter().map(|row| &*row[subject])) {
        let mut cells = vec![format!("`{generator}`")];
        for over in ["seeds", "streams"] {
            let of = |row: &&&Vec<String>| row[subject] == generator && row[test].ends_with(over);
            let rows = || parities.iter().filter(of);
            let odd = rows().find_map(|row| row[seen].split_once(';'));
            let (odd, _) = odd.ok_or("a generator has no counts")?;
            cells.push(odd.into());
            cells.push(smallest(&mut rows())?);
        }
        generators.push(cells);
    }
    let all: Vec<f64> =
        sheet.rows.iter().map(|row| read(&row[corrected])).collect::<Result<_, _>>()?;
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let mut head = vec!["smallest p-value of how many"];
    head.extend(kinds);
    let of_words = ["generator", "odd, over seeds", "p-value", "odd, over streams", "p-value"];
    Ok(format!(
        "{}\n{}\nOf all {} tests the smallest p-value, corrected for their number, is {}.\n",
        table(&head, &families),
        table(&of_words, &generators),
        all.len(),
        p_value(least)
    ))
}

/// A p-value below this is a finding at a pair of slots.
const FOUND: f64 = 1e-6;

/// For each width and family the most rounds that are found out, and what the rounds in use show.
fn slots(sheet: &Sheet) -> Result<String, String> {
    let at = |name| sheet.column(name);
    let (family, bits, rounds) = (at("family")?, at("bits")?, at("rounds")?);
    let (slots, view, p) = (at("slots")?, at("view")?, at("p")?);
    let distance = at("log2 of the distance")?;
    let mut rows = Vec::new();
    for width in distinct(sheet.rows.iter().map(|row| &*row[bits])) {
        for name in distinct(sheet.rows.iter().map(|row| &*row[family])) {
            let of = |row: &&Vec<String>| row[bits] == width && row[family] == name;
            let all: Vec<_> = sheet.rows.iter().filter(of).collect();
            let in_use = all.last().ok_or("a family has no rows")?;
            let mut found = None;
            for row in &all {
                if read(&row[p])? < FOUND {
                    found = Some(*row);
                }
            }
            let with_distance = |row: &Vec<String>| match &*row[distance] {
                "" => Ok(p_value(read(&row[p])?)),
                log2 => Ok::<_, String>(format!("{} (2^{log2})", p_value(read(&row[p])?))),
            };
            let [most, pair, by, there] = match found {
                None => ["none", "", "", ""].map(String::from),
                Some(row) => [
                    row[rounds].clone(),
                    row[slots].clone(),
                    row[view].clone(),
                    with_distance(row)?,
                ],
            };
            let used = format!("{}: {}", in_use[rounds], with_distance(in_use)?);
            rows.push(vec![width.into(), format!("`{name}`"), most, pair, by, there, used]);
        }
    }
    let head =
        ["bits", "family", "rounds found out", "slots", "by", "p-value", "rounds in use: p-value"];
    Ok(table(&head, &rows))
}

/// The map of a family with some rounds.
struct Map {
    title: String,
    slots: String,
    p: f64,
    /// A row for each bit of the slot, in it each bit of the value.
    shares: Vec<Vec<f64>>,
}

fn maps(sheet: &Sheet) -> Result<Vec<Map>, String> {
    let at = |name| sheet.column(name);
    let (family, rounds, slots) = (at("family")?, at("rounds")?, at("slots")?);
    let (p, bit, shares) = (at("p")?, at("slot bit")?, at("shares")?);
    let mut maps: Vec<Map> = Vec::new();
    for row in &sheet.rows {
        let title = format!("{}, {} rounds", row[family], row[rounds]);
        if maps.last().is_none_or(|map| map.title != title) {
            let (slots, p) = (row[slots].clone(), read(&row[p])?);
            maps.push(Map { title, slots, p, shares: Vec::new() });
        }
        let map = maps.last_mut().ok_or("no map")?;
        if row[bit] != map.shares.len().to_string() {
            return Err(format!("{}: bit {} is not the next one", map.title, row[bit]));
        }
        map.shares.push(row[shares].split(' ').map(read).collect::<Result<_, _>>()?);
    }
    for map in &maps {
        let bits = map.shares.len();
        if map.shares.iter().any(|row| row.len() != bits) {
            return Err(format!("{} is not a square", map.title));
        }
    }
    Ok(maps)
}

/// The shares that are furthest from one half.
fn mixing(maps: &[Map]) -> String {
    let rows = maps.iter().map(|map| {
        let all = || map.shares.iter().flatten().copied();
        let (least, most) = (all().fold(1.0, f64::min), all().fold(0.0, f64::max));
        let range = format!("{least:.3} to {most:.3}");
        vec![map.title.clone(), map.slots.clone(), range, p_value(map.p)]
    });
    let head = ["map", "slots", "shares", "corrected p-value of the furthest"];
    table(&head, &rows.collect::<Vec<_>>())
}

/// The side of a cell, and what is around maps.
const CELL: usize = 6;
const GAP: usize = 28;
const BELOW: usize = 22;

/// All maps, a family's below each other. A cell is white if a bit of the value
/// changes half of the time, the redder the more seldom it does, and the bluer the more often.
fn drawn(maps: &[Map]) -> String {
    let side = maps.iter().map(|map| map.shares.len() * CELL).max().unwrap_or(0);
    let family = |map: &Map| map.title.split(',').next().map(str::to_owned);
    let families: Vec<&[Map]> = maps.chunk_by(|a, b| family(a) == family(b)).collect();
    let columns = families.len().max(1);
    let (width, height) = (columns * (side + GAP) + GAP, 2 * (side + GAP + BELOW) + GAP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    let cells = families.iter().enumerate().flat_map(|(column, maps)| {
        // Few rounds above, those in use below.
        maps.iter().rev().zip([1, 0]).map(move |(map, row)| (column, row, map))
    });
    for (column, row, map) in cells {
        let (x, y) = (GAP + column * (side + GAP), GAP + row * (side + GAP + BELOW));
        let title = &map.title;
        writeln!(svg, "<g transform=\"translate({x} {y})\"><text y=\"-8\">{title}</text>")
            .expect("a string");
        for (row, shares) in map.shares.iter().enumerate() {
            // Cells of one colour in a row are one rectangle.
            let mut end = 0;
            for run in shares.chunk_by(|a, b| level(*a) == level(*b)) {
                let (first, level) = (end, level(run[0]));
                end += run.len();
                if level == 0 {
                    continue;
                }
                writeln!(
                    svg,
                    "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{CELL}\" fill=\"{}\"/>",
                    first * CELL,
                    row * CELL,
                    run.len() * CELL,
                    colour(level)
                )
                .expect("a string");
            }
        }
        writeln!(
            svg,
            "<rect width=\"{side}\" height=\"{side}\" fill=\"none\" stroke=\"#888888\"/></g>"
        )
        .expect("a string");
    }
    svg + "</svg>\n"
}

/// How far a share is from one half, in steps of 1/20.
fn level(share: f64) -> i32 {
    ((share - 0.5) * 20.0).round() as i32
}

fn colour(level: i32) -> String {
    let pale = 255 - level.unsigned_abs().min(10) * 22;
    if level < 0 { format!("#ff{pale:02x}{pale:02x}") } else { format!("#{pale:02x}{pale:02x}ff") }
}
