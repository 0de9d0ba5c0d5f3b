//! Programs that shuffle files, in `docs/results/lines.md`.

use super::computed::Computed;
use super::markdown::{conditions_of, number, table};
use super::results::Results;
use crate::sheet::Sheet;

/// How the names of the files begin: one for each kind of input and amount of memory.
const FILES: &str = "files-";

/// The file of data sets.
const SETS: &str = "files-sets";

/// How the name of what all others are compared with begins.
pub(super) const OURS: &str = "bshuf";

/// The output to which nothing is written.
pub(super) const NOTHING: &str = "/dev/null";

const HEAD: [&str; 8] =
    ["items", "bytes", "memory", "output", "program", "seconds", "/ ours", "peak, MiB"];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let mut tables = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        let rows = rows(&sheet).map_err(|why| format!("{name}.csv: {why}"))?;
        tables.push(conditions_of(&sheet) + &table(&HEAD, &rows));
    }
    computed.block("files", tables.join("\n"));
    computed.block("files in short", in_short(results)?);
    of_sets(results, computed)
}

/// How many times as long one program takes for a data set as another.
fn set_ratio(results: &Results, item: &str, name: &str, other: &str) -> Result<f64, String> {
    let mut sheet = results.sheet(SETS)?;
    let column = sheet.column("item")?;
    sheet.rows.retain(|row| row[column] == item);
    let seconds =
        |name| cell(&sheet, "shards", name, "seconds").map_err(|why| format!("{SETS}.csv: {why}"));
    Ok(seconds(name)? / seconds(other)?)
}

/// Compressed lines: what the codec leaves to gain.
fn of_sets(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let ratio = |name, other| set_ratio(results, "lines of JSON, zstd", name, other);
    for (figure, name, other) in [
        ("the codec over the pipe", "the codec alone", "shuf in a pipe"),
        ("the pipe over the codec", "shuf in a pipe", "the codec alone"),
        ("the pipe over ours in memory", "shuf in a pipe", OURS),
        ("DuckDB over ours in memory", "duckdb", OURS),
    ] {
        computed.figure(&format!("sets, {figure}"), ratio(name, other)?, 2)?;
    }
    Ok(())
}

/// What was aimed at, and what the rows say.
fn in_short(results: &Results) -> Result<String, String> {
    const LIMITED: &str = "bshuf, limited";
    const NEW: &str = "new file";
    let of = |file: &str, output, name, column| -> Result<f64, String> {
        let sheet = results.sheet(file)?;
        cell(&sheet, output, name, column).map_err(|why| format!("{file}.csv: {why}"))
    };
    let over = |file, output, name, other| -> Result<String, String> {
        let (all, one) = (of(file, output, name, "seconds")?, of(file, output, other, "seconds")?);
        number(all / one, 2)
    };
    let both = |file, name| -> Result<String, String> {
        let [new, null] = [NEW, NOTHING].map(|output| over(file, output, name, OURS));
        Ok(format!("{}; {}", new?, null?))
    };
    let [to_file, to_nothing] = [NEW, NOTHING].map(|output| {
        of("files-peak", output, LIMITED, "peak_mib").and_then(|peak| number(peak, 0))
    });
    let of_set = |item, name, other| number(set_ratio(results, item, name, other)?, 2);
    let [lines, samples] = ["lines of JSON, zstd", "samples of tar"];
    let rows = [
        [
            "lines of 1 GiB in memory, to a file; to /dev/null: `shuf` / ours",
            "3; 5 or more",
            &both("files-memory", "shuf")?,
        ],
        ["the same: uutils `shuf` / ours", "3 or more", &both("files-uutils", "uutils shuf")?],
        ["the same: terashuf / ours", "3 or more", &both("files-memory", "terashuf")?],
        ["the same: `sort -R` / ours", "50 or more", &both("files-sort", "sort -R")?],
        [
            "lines of 8 GiB in 1 GiB of memory, to a file: ours / two runs of `cat`",
            "2.2 or less",
            &over("files-disk", NEW, LIMITED, "two cats")?,
        ],
        [
            "the same: terashuf, in as much memory / ours",
            "2 or more",
            &over("files-disk", NEW, "terashuf", LIMITED)?,
        ],
        [
            "peak for lines of 8 GiB in 256 MiB, to a file; to /dev/null, MiB",
            "320 or less",
            &format!("{}; {}", to_file?, to_nothing?),
        ],
        [
            "10^9 records of 8 bytes, to a file: in 1 GiB / without a limit",
            "2 or less",
            &over("files-records", NEW, LIMITED, OURS)?,
        ],
        [
            "Parquet of 2 GiB in 512 MiB: ours / pyarrow's reading and writing",
            "2 or less",
            &over("files-table", NEW, LIMITED, "pyarrow, read and write")?,
        ],
        [
            "a folder of 4 GiB of compressed lines to shards, in 1 GiB, all in a tmpfs: ours / the codec alone",
            "1.5 or less",
            &of_set(lines, LIMITED, "the codec alone")?,
        ],
        [
            "the same: `shuf` in a pipe / ours",
            "3 or more",
            &of_set(lines, "shuf in a pipe", LIMITED)?,
        ],
        [
            "the same: DuckDB, in eight times the memory / ours",
            "2 or more",
            &of_set(lines, "duckdb", LIMITED)?,
        ],
        [
            "a folder of lines to shards, in memory: Polars, which writes one file / ours",
            "2 or more",
            &of_set("lines of JSON", "polars", OURS)?,
        ],
        [
            "a folder of 4 GiB of Parquet to a folder, in 1 GiB, all in a tmpfs: ours / pyarrow's reading and writing",
            "1.5 or less",
            &of_set("rows of Parquet", LIMITED, "pyarrow, read and write")?,
        ],
        [
            "100 000 samples of tar to 16 archives, in memory: ours / two runs of `cat`",
            "2.5 or less",
            &of_set(samples, OURS, "two cats")?,
        ],
    ];
    Ok(table(&["", "aimed at", "measured"], &rows.map(|row| row.map(str::to_owned))))
}

/// A number in the row of a program and an output.
pub(super) fn cell(sheet: &Sheet, output: &str, name: &str, column: &str) -> Result<f64, String> {
    let [of_output, of_name, column] =
        [sheet.column("output")?, sheet.column("name")?, sheet.column(column)?];
    let row = sheet.rows.iter().find(|row| row[of_output] == output && row[of_name] == name);
    let row = row.ok_or_else(|| format!("no row of {name} to {output}"))?;
    row[column].parse().map_err(|_| format!("`{}` is no number", row[column]))
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
