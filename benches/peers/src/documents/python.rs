//! The Python package beside others, in `docs/results/python.md`.

use super::computed::Computed;
use super::markdown::{conditions_of, number, table};
use super::results::Results;
use crate::sheet::Sheet;

/// The file with the rows, which `python/benches/shows.py` writes.
pub(super) const FILE: &str = "python";

/// What training loops draw, by `python/benches/loaders.py`.
const LOADERS: &str = "python-loaders";

/// Short calls on a GPU, what they took before they ran in the caller's stream, and what they take
/// where short arrays are moved within their own memory.
const SHORT_CALLS: [&str; 3] =
    ["python-gpu-small", "python-gpu-small-before", "python-gpu-small-in-place"];

const COLUMNS: [&str; 4] = ["what", "ours", "theirs", "theirs / ours"];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let sheet = results.sheet(FILE)?;
    let failed = |why| format!("{FILE}.csv: {why}");
    let rows = rows(&sheet).map_err(failed)?;
    let in_short = in_short(&sheet).map_err(failed)?;
    computed.block("python", conditions_of(&sheet) + &table(&COLUMNS, &rows));
    computed.block("python in short", in_short);
    for file in SHORT_CALLS.into_iter().chain([LOADERS]) {
        let sheet = results.sheet(file)?;
        let rows = self::rows(&sheet).map_err(|why| format!("{file}.csv: {why}"))?;
        computed.block(file, conditions_of(&sheet) + &table(&COLUMNS, &rows));
    }
    Ok(())
}

/// Every row, with seconds and bytes as they were measured.
fn rows(sheet: &Sheet) -> Result<Vec<Vec<String>>, String> {
    let case = sheet.column("case")?;
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        *place = sheet.column(name)?;
    }
    let cells = |row: &Vec<String>| {
        let mut cells: Vec<String> = places.iter().map(|&place| row[place].clone()).collect();
        cells[0] = format!("{}: {}", row[case], cells[0]);
        cells
    };
    Ok(sheet.rows.iter().map(cells).collect())
}

/// What was aimed at, and what the rows say.
fn in_short(sheet: &Sheet) -> Result<String, String> {
    let of = |case: &str, what: &str, column: &str| cell(sheet, case, what, column);
    let ratio = |case: &str, what: &str| -> Result<String, String> {
        number(of(case, what, "theirs")? / of(case, what, "ours")?, 2)
    };
    let over = |what: &str| -> Result<f64, String> {
        Ok(of("eighth-torch", what, "theirs")? / of("eighth-ours", what, "ours")?)
    };
    let first = |what: &str| -> Result<String, String> {
        number(of("first-batch", what, "ours")? * 1e3, 3)
    };
    let first_batch = format!("{}; {}", first("first batch")?, first("resumed")?);
    let share = |case: &str| -> Result<String, String> {
        number(of(case, "10000000 rows", "ours")? / of(case, "10000000 rows", "theirs")?, 2)
    };
    let clusters = format!("{}; {}; {}", share("dask")?, share("ray")?, share("spark")?);
    let rows = [
        [
            "first batch of a rank of 10^12 items; resumed in the middle, ms",
            "less than 1",
            &first_batch,
        ],
        [
            "the memory for that above Python's, NumPy included, MB",
            "less than 60",
            &number(of("first-batch", "memory", "ours")? / 1e6, 0)?,
        ],
        [
            "a rank's eighth of 10^8 indexes: `DistributedSampler` / ours",
            "100 or more",
            &number(over("all indexes")?, 0)?,
        ],
        ["the same in memory", "50 or more", &number(over("memory")?, 0)?],
        [
            "10^7 indexes through a `DataLoader`: `RandomSampler` / ours",
            "1 or more",
            &ratio("loader", "loader")?,
        ],
        ["`p[i]`: grain's `index_shuffle` / ours", "20 or more", &ratio("index-shuffle", "p[i]")?],
        [
            "2^26 `int64` in place: `Generator.shuffle` / ours",
            "3 or more",
            &ratio("arrays", "67108864 int64")?,
        ],
        [
            "2^21 rows of 100 `float32` in place: `Generator.shuffle` / ours",
            "3 or more",
            &ratio("arrays", "2097152 rows of 100 float32")?,
        ],
        [
            "`choice(10**12, 1000)`, ms",
            "less than 0.1",
            &number(of("choice", "1000 of 10^12", "ours")? * 1e3, 3)?,
        ],
        [
            "10^7 rows by Dask, Ray and Spark, on two cores: ours / their own shuffle",
            "1.3 or less",
            &clusters,
        ],
        [
            "`randperm(2**29)` in `int32` on the GPU: PyTorch's / ours",
            "20 or more",
            &ratio("gpu", "randperm of 536870912 int32")?,
        ],
        [
            "2^29 `float32` on the GPU: `x[randperm]` / `shuffled(x)`",
            "6 or more",
            &ratio("gpu", "536870912 float32 to another tensor")?,
        ],
    ];
    Ok(table(&["", "aimed at", "measured"], &rows.map(|row| row.map(str::to_owned))))
}

/// A number in the first row of a case whose description begins so.
pub(super) fn cell(sheet: &Sheet, case: &str, what: &str, column: &str) -> Result<f64, String> {
    let [of_case, of_what, column] =
        [sheet.column("case")?, sheet.column("what")?, sheet.column(column)?];
    let row = sheet.rows.iter().find(|row| row[of_case] == case && row[of_what].starts_with(what));
    let row = row.ok_or_else(|| format!("no row of {case}: {what}"))?;
    row[column].parse().map_err(|_| format!("{case}: {what}: `{}` is no number", row[column]))
}
