//! Programs that shuffle files, in `docs/results/lines.md`.

use super::{Computed, Results, conditions, number, table};
use crate::rows::Source;
use crate::sheet::Sheet;

/// How the names of the files begin: one for each kind of input and amount of memory.
const FILES: &str = "files-";

/// How the name of what all others are compared with begins.
const OURS: &str = "bshuf";

const HEAD: [&str; 8] =
    ["items", "bytes", "memory", "output", "program", "seconds", "/ ours", "peak, MiB"];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let mut tables = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        let (origins, comments) = (sheet.origins(), sheet.comments.clone());
        let rows = rows(&sheet).map_err(|why| format!("{name}.csv: {why}"))?;
        let source = Source { file: name, origins, comments };
        tables.push(conditions(&[source]) + &table(&HEAD, &rows));
    }
    computed.block("files", tables.join("\n"));
    Ok(())
}

/// The rows of a file, each beside ours of the same input and output.
fn rows(sheet: &Sheet) -> Result<Vec<[String; HEAD.len()]>, String> {
    const NAMES: [&str; 7] = ["item", "bytes", "memory", "output", "name", "seconds", "peak_mib"];
    let mut places = [0; NAMES.len()];
    for (place, name) in places.iter_mut().zip(NAMES) {
        *place = sheet.column(name)?;
    }
    let cells = |row: &[String]| places.map(|place| row[place].clone());
    let seconds = |row: &[String; NAMES.len()]| {
        row[5].parse::<f64>().map_err(|_| format!("`{}` is no number", row[5]))
    };
    let all: Vec<_> = sheet.rows.iter().map(|row| cells(row)).collect();
    let of_ours = |row: &[String; NAMES.len()]| {
        // The first of ours is the one that keeps within a limit, if there is one.
        let ours = all.iter().find(|other| {
            other[4].starts_with(OURS)
                && [0, 1, 3].iter().all(|&column| other[column] == row[column])
        });
        ours.map_or(Err(format!("{OURS} is missing beside {}", row[4])), seconds)
    };
    let rows = all.iter().map(|row| {
        let ratio = number(seconds(row)? / of_ours(row)?, 2)?;
        let [item, bytes, memory, output, name, seconds, peak] = row.clone();
        Ok([item, bytes, memory, output, name, seconds, ratio, peak])
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_ours_of_the_same_input() {
        let head = "date,revision,machine,name,bytes,item,memory,output,samples,seconds,peak_mib\n";
        let row = |rest: &str| format!("2026-01-02,0123abc,made up,{rest}\n");
        let text = [
            row("\"bshuf, limited\",8,lines,4,new file,3,2.0,1"),
            row("bshuf,8,lines,all,new file,3,1.0,9"),
            row("shuf,8,lines,all,new file,3,5.0,9"),
        ];
        let of = |text: &str| Sheet::parse(&format!("{head}{text}")).unwrap();
        let found = rows(&of(&text.concat())).unwrap();
        let ratios: Vec<&str> = found.iter().map(|row| row[6].as_str()).collect();
        assert_eq!(ratios, ["1.00", "0.50", "2.50"]);
        assert!(rows(&of(&text[2])).is_err());
    }
}
