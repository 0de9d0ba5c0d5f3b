//! What one rank of many does, in `docs/distributed.md`.

use super::{Computed, Results, conditions, number, range, table};
use crate::exchange::COLUMNS;
use crate::rows::Source;
use crate::sheet::Sheet;

/// How the names of the files begin: one for each machine and number of threads.
const FILES: &str = "exchange";

const HEAD: [&str; 9] = [
    "ranks",
    "items of each",
    "threads of each",
    "census",
    "plan",
    "pack",
    "place",
    "a shuffle in one process",
    "a copy",
];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let mut tables = Vec::new();
    // Nanoseconds of all steps, and of packing and placing, by the number of ranks.
    let mut steps: Vec<(String, f64, f64)> = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        let (origins, comments) = (sheet.origins(), sheet.comments.clone());
        let rows = rows(&sheet).map_err(|why| format!("{name}.csv: {why}"))?;
        for row in &rows {
            let step =
                |column: usize| row[column].parse::<f64>().map_err(|error| error.to_string());
            let moved = step(5)? + step(6)?;
            steps.push((row[0].clone(), step(4)? + moved, moved));
        }
        let source = Source { file: name, origins, comments };
        tables.push(conditions(&[source]) + &table(&HEAD, &rows));
    }
    computed.block("exchange", tables.join("\n"));
    let of_many = steps.iter().filter(|(ranks, ..)| ranks != "1");
    computed.text("exchange, pack and place", range(of_many.map(|(_, _, moved)| *moved), 1)?);
    let all = |ranks: &str| {
        let row = steps.iter().find(|(of, ..)| of == ranks);
        row.map(|(_, all, _)| *all).ok_or_else(|| format!("{ranks} ranks were not measured"))
    };
    computed.figure("exchange, 256 ranks over 8", all("256")? / all("8")?, 2)?;

    computed.block("weak scaling", weak_scaling(&results.sheet("weak-scaling")?)?);

    let mpi = results.sheet("mpi-speed")?;
    computed.block("mpi", super::ising::verbatim(&mpi));
    let (column, tags) = (mpi.column("in all / one process")?, mpi.column("tags")?);
    for (has_tags, figure) in
        [("yes", "mpi, with tags over one process"), ("no", "mpi, without tags over one process")]
    {
        let rows = mpi.rows.iter().filter(|row| row[tags] == has_tags);
        let ratios = rows.map(|row| row[column].parse::<f64>());
        let ratios = ratios.collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
        computed.text(figure, range(ratios, 1)?);
    }
    Ok(())
}

/// How much longer the steps take when more processes take them at the same time.
fn weak_scaling(sheet: &Sheet) -> Result<String, String> {
    const STEPS: [&str; 4] = ["census_ns", "plan_ns", "pack_ns", "place_ns"];
    let number = |row: &[String], column: &str| {
        let cell = &row[sheet.column(column)?];
        cell.parse::<f64>().map_err(|_| format!("`{cell}` is no number"))
    };
    let processes = sheet.column("processes")?;
    // The steps together, and a copy, of each process, by the number of processes.
    let mut times: Vec<(&str, Vec<f64>, Vec<f64>)> = Vec::new();
    for row in &sheet.rows {
        let steps: f64 = STEPS.iter().map(|step| number(row, step)).sum::<Result<f64, String>>()?;
        if times.last().is_none_or(|(of, ..)| *of != row[processes]) {
            times.push((&row[processes], Vec::new(), Vec::new()));
        }
        let (_, all, copies) = times.last_mut().expect("one was added");
        all.push(steps);
        copies.push(number(row, "copy_ns")?);
    }
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let slowest = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
    let (_, alone, copy) = times.first().ok_or("there are no rows")?;
    let (alone, copy) = (mean(alone), mean(copy));
    let rows: Vec<[String; 5]> = times
        .iter()
        .map(|(processes, all, copies)| {
            [
                (*processes).to_owned(),
                format!("{:.1}", mean(all)),
                format!("{:.2}", alone / mean(all)),
                format!("{:.2}", alone / slowest(all)),
                format!("{:.2}", copy / mean(copies)),
            ]
        })
        .collect();
    let head = ["processes", "all steps", "rate of each", "of the slowest", "of a copy"];
    let (origins, comments) = (sheet.origins(), sheet.comments.clone());
    let source = Source { file: "weak-scaling".into(), origins, comments };
    Ok(conditions(&[source]) + &table(&head, &rows))
}

fn rows(sheet: &Sheet) -> Result<Vec<[String; HEAD.len()]>, String> {
    let mut places = [0; COLUMNS.len()];
    for (place, column) in places.iter_mut().zip(COLUMNS) {
        *place = sheet.column(column)?;
    }
    let rows = sheet.rows.iter().map(|row| {
        let mut cells = places.map(|place| row[place].clone());
        for cell in &mut cells[3..] {
            let value = cell.parse().map_err(|_| format!("`{cell}` is no number"))?;
            *cell = number(value, 2)?;
        }
        Ok(cells)
    });
    rows.collect()
}
