//! Rows of many items on a GPU, each moved by a permutation of its own.

use super::computed::Computed;
use super::markdown::{conditions_of, number, table};
use super::results::Results;
use crate::sheet::Sheet;

/// Names in the rows, and the heads of their columns.
const CONTENDERS: [(&str, &str); 6] = [
    ("a copy", "a copy"),
    ("one call", "one call"),
    ("back, one call", "back"),
    ("a call for each row", "a call for each row"),
    ("torch gather, permutations given", "PyTorch, permutations given"),
    ("torch rand, argsort and gather", "PyTorch"),
];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let sheet = results.sheet("gpu-batch")?;
    computed.block("gpu batch", conditions_of(&sheet) + &speeds(&sheet)?);
    Ok(())
}

/// G items a second, a line for each length and size of items.
fn speeds(sheet: &Sheet) -> Result<String, String> {
    let columns = ["name", "length", "item_bytes", "rows", "seconds"];
    let [name, length, bytes, rows, seconds] = columns.map(|column| sheet.column(column));
    let (name, length, bytes, rows, seconds) = (name?, length?, bytes?, rows?, seconds?);
    let value = |cell: &String| cell.parse::<f64>().map_err(|_| format!("{cell} is no number"));
    let mut lines: Vec<([&str; 3], [Option<f64>; CONTENDERS.len()])> = Vec::new();
    for row in &sheet.rows {
        let key = [&*row[length], &*row[bytes], &*row[rows]];
        let contender = CONTENDERS.iter().position(|(known, _)| *known == row[name]);
        let contender = contender.ok_or_else(|| format!("no contender is called {}", row[name]))?;
        let line = lines.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
            lines.push((key, [None; CONTENDERS.len()]));
            lines.len() - 1
        });
        let items = value(&row[length])? * value(&row[rows])?;
        lines[line].1[contender] = Some(items / value(&row[seconds])? / 1e9);
    }
    let mut head = vec!["length", "bytes an item", "rows"];
    head.extend(CONTENDERS.map(|(_, head)| head));
    head.push("one call / PyTorch");
    let cells = lines.into_iter().map(|(key, speeds)| {
        let ratio = speeds[1].zip(speeds[5]).map(|(ours, theirs)| ours / theirs);
        let mut cells = key.map(String::from).to_vec();
        for speed in speeds.into_iter().chain([ratio]) {
            cells.push(speed.map_or(Ok(String::new()), |speed| number(speed, 1))?);
        }
        Ok(cells)
    });
    Ok(table(&head, &cells.collect::<Result<Vec<_>, String>>()?))
}
