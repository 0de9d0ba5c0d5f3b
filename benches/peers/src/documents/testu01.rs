//! `docs/results/rng.md`: how many statistics of each battery were run, and failed. The tables
//! beside the paper's, with every statistic that did not pass, are made by `benches/testu01`.

use std::collections::BTreeMap;

use super::computed::Computed;
use super::markdown::table;
use super::results::Results;

/// The batteries, their files, and how many statistics each has.
const BATTERIES: [(&str, &str, usize); 3] =
    [("SmallCrush", "small", 15), ("Crush", "crush", 144), ("BigCrush", "big", 160)];
/// A statistic fails if it is nearer than this to 0 or to 1.
const FAILED: f64 = 1e-10;
/// The rows of BigCrush that the paper has.
const IN_THE_PAPER: [&str; 8] = [
    "lcg64/streams",
    "fibonacci1279/sequence",
    "xorwow/sequence",
    "xorshift/warp",
    "philox7/sequence",
    "philox10/sequence",
    "curand/xorwow",
    "curand/mtgp32",
];

/// The statistics of a generator in a battery, by the test and the number in it.
type Statistics = BTreeMap<(usize, usize), f64>;

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let folder = results.folder.join("../testu01/results");
    let mut found: Vec<(String, [Statistics; BATTERIES.len()])> = Vec::new();
    for (place, (battery, file, _)) in BATTERIES.into_iter().enumerate() {
        let path = folder.join(format!("{file}.csv"));
        let text = std::fs::read_to_string(&path);
        let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
        let failed = |why: String| format!("{}: {why}", path.display());
        for (generator, statistics) in first_seed(&text, battery).map_err(failed)? {
            let known = found.iter().position(|(known, _)| *known == generator);
            let at = known.unwrap_or_else(|| {
                found.push((generator, Default::default()));
                found.len() - 1
            });
            found[at].1[place] = statistics;
        }
    }
    let generators = found.iter().map(|(name, all)| {
        let cells = all.iter().zip(BATTERIES).map(|(statistics, (_, _, of))| cell(statistics, of));
        (format!("`{name}`"), cells.collect())
    });
    let rows = together(generators);
    let head = ["generator", "SmallCrush, 15 statistics", "Crush, 144", "BigCrush, 160"];
    computed.block("testu01 in short", table(&head, &rows));
    let (big, of) = (BATTERIES.len() - 1, BATTERIES[BATTERIES.len() - 1].2);
    let complete = found.iter().filter(|(_, all)| all[big].len() == of).count();
    computed.text("BigCrush, complete", complete.to_string());
    computed.text("BigCrush, generators", found.len().to_string());
    let run = found.iter().filter(|(name, _)| IN_THE_PAPER.contains(&name.as_str()));
    let run: usize = run.map(|(_, all)| all[big].len()).sum();
    computed.text("BigCrush, statistics of the paper's rows", run.to_string());
    computed.text("BigCrush, all of them", (of * IN_THE_PAPER.len()).to_string());
    Ok(())
}

/// Rows of a name and cells. Those with the same cells are one row, with all of their names.
fn together(rows: impl Iterator<Item = (String, Vec<String>)>) -> Vec<Vec<String>> {
    let mut merged: Vec<(String, Vec<String>)> = Vec::new();
    for (name, cells) in rows {
        match merged.iter_mut().find(|(_, known)| *known == cells) {
            Some((names, _)) => *names += &format!(", {name}"),
            None => merged.push((name, cells)),
        }
    }
    merged.into_iter().map(|(names, cells)| [vec![names], cells].concat()).collect()
}

/// How many statistics failed, and how many were run if that is not all.
fn cell(statistics: &Statistics, of: usize) -> String {
    let failed = statistics.values().filter(|&&p| p < FAILED || 1.0 - p < FAILED).count();
    let failed = if failed == 0 { "none".into() } else { failed.to_string() };
    match statistics.len() {
        0 => "not run".into(),
        run if run < of => format!("{failed} of the {run} that were run"),
        _ => failed,
    }
}

/// The statistics of each generator with the seed with which most of them were run; other seeds are
/// of tests that were run again.
fn first_seed(text: &str, battery: &str) -> Result<Vec<(String, Statistics)>, String> {
    let mut names: Vec<String> = Vec::new();
    let mut by_seed: BTreeMap<(String, u64), Statistics> = BTreeMap::new();
    for (line, number) in text.lines().zip(1..).skip(1) {
        let bad = || format!("line {number} is no statistic");
        // The name of the test is in quotes where it has a comma.
        let (begin, rest) = match line.split_once(",\"") {
            Some((begin, rest)) => (begin, rest.split_once("\",").ok_or_else(bad)?.1),
            None => {
                let at = line.match_indices(',').nth(5).ok_or_else(bad)?.0;
                (&line[..at], line[at + 1..].split_once(',').ok_or_else(bad)?.1)
            }
        };
        let cells: Vec<&str> = begin.split(',').collect();
        let [generator, order, of, seed, test, statistic] = cells[..] else { return Err(bad()) };
        if of != battery {
            continue;
        }
        let p = rest.split(',').next().and_then(|p| p.parse().ok()).ok_or_else(bad)?;
        let read = |cell: &str| cell.parse().map_err(|_| bad());
        let name = format!("{generator}/{order}");
        if !names.contains(&name) {
            names.push(name.clone());
        }
        let seed = seed.parse().map_err(|_| bad())?;
        let statistics = by_seed.entry((name, seed)).or_default();
        statistics.insert((read(test)?, read(statistic)?), p);
    }
    let mut all = Vec::new();
    for name in names {
        let seeds = by_seed.iter().filter(|((known, _), _)| *known == name);
        // Of equal ones the lowest seed, which is the last here.
        let most = seeds.rev().map(|(_, statistics)| statistics).max_by_key(|all| all.len());
        all.push((name, most.expect("a row named it").clone()));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_with_the_same_results_are_one_row() {
        let rows = [("a", "1"), ("b", "2"), ("c", "1")];
        let rows = rows.map(|(name, cell)| (name.to_owned(), vec![cell.to_owned()]));
        assert_eq!(together(rows.into_iter()), [["a, c", "1"], ["b", "2"]]);
    }

    #[test]
    fn the_seed_with_most_statistics_counts_and_a_part_says_so() {
        let text = "generator,order,battery,seed,test,statistic,name,p,seconds\n\
            a,warp,Crush,1,1,1,\"SerialOver, r = 0\",0.0,3\na,warp,Crush,1,2,1,Gap,0.5,3\n\
            a,warp,Crush,2,1,1,\"SerialOver, r = 0\",0.5,3\nb,lane,Crush,1,1,1,Gap,1.0,3\n";
        let all = first_seed(text, "Crush").unwrap();
        let cells: Vec<String> = all.iter().map(|(_, one)| cell(one, 2)).collect();
        assert_eq!(cells, ["1", "1 of the 1 that were run"]);
        assert_eq!(cell(&Statistics::new(), 2), "not run");
        assert!(first_seed("head\na,b\n", "Crush").is_err());
    }
}
