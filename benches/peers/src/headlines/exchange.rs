//! What one rank of many does, in `docs/distributed.md`.

use super::{Computed, Results, conditions, number, table};
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
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        let (origins, comments) = (sheet.origins(), sheet.comments.clone());
        let rows = rows(&sheet).map_err(|why| format!("{name}.csv: {why}"))?;
        let source = Source { file: name, origins, comments };
        tables.push(conditions(&[source]) + &table(&HEAD, &rows));
    }
    computed.block("exchange", tables.join("\n"));
    computed.block("mpi", super::ising::verbatim(&results.sheet("mpi-speed")?));
    Ok(())
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
