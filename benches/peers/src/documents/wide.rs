//! Explicit vectors beside the evaluators' loops, in `benches/notes/cpu.md`.

use super::computed::Computed;
use super::markdown::{conditions, number, numbers, table};
use super::results::Results;
use crate::rows::Source;
use crate::sheet::Sheet;

/// The file with the rows, which the bench `wide` prints.
const FILE: &str = "cpu-wide";

const COLUMNS: [&str; 8] = [
    "family",
    "bits",
    "direction",
    "loops, M/s",
    "vectors, M/s",
    "vectors / loops",
    "the fastest vectors",
    "others / loops",
];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let sheet = results.sheet(FILE)?;
    let rows = rows(&sheet).map_err(|why| format!("{FILE}.csv: {why}"))?;
    let (origins, comments) = (sheet.origins(), sheet.comments);
    let source = Source { file: FILE.to_owned(), origins, comments };
    computed.block("wide", conditions(&[source]) + &table(&COLUMNS, &rows));
    Ok(())
}

/// All runs of one evaluator that is written with vectors.
struct Shape {
    /// The family, its bits, and the direction.
    contest: [String; 3],
    vectors: String,
    /// Millions of points a second of the loops and of the vectors, and their ratio.
    runs: [Vec<f64>; 3],
}

impl Shape {
    fn width(&self) -> [String; 2] {
        let [family, bits, _] = &self.contest;
        [family.clone(), bits.clone()]
    }

    /// The medians over the runs.
    fn medians(&self) -> [f64; 3] {
        self.runs.each_ref().map(|runs| {
            let mut runs = runs.clone();
            runs.sort_by(f64::total_cmp);
            runs[runs.len() / 2]
        })
    }
}

/// The shapes in the order in which they were measured.
fn shapes(sheet: &Sheet) -> Result<Vec<Shape>, String> {
    let at = |name| sheet.column(name);
    let contest = [at("family")?, at("bits")?, at("direction")?];
    let (vectors, figures) = (at("vectors")?, [at("ours")?, at("wide")?, at("ratio")?]);
    let mut shapes: Vec<Shape> = Vec::new();
    for row in &sheet.rows {
        let contest = contest.map(|column| row[column].clone());
        let same = |shape: &Shape| shape.contest == contest && shape.vectors == row[vectors];
        let place = shapes.iter().position(same).unwrap_or_else(|| {
            let vectors = row[vectors].clone();
            shapes.push(Shape { contest, vectors, runs: [const { Vec::new() }; 3] });
            shapes.len() - 1
        });
        for (runs, column) in shapes[place].runs.iter_mut().zip(figures) {
            let figure = &row[column];
            runs.push(figure.parse().map_err(|_| format!("`{figure}` is no number"))?);
        }
    }
    Ok(shapes)
}

/// A row for each contest, with the fastest vectors.
fn rows(sheet: &Sheet) -> Result<Vec<Vec<String>>, String> {
    let mut shapes = shapes(sheet)?;
    let widths: Vec<[String; 2]> = shapes.iter().map(Shape::width).collect();
    // Both directions of a map one after the other.
    shapes.sort_by_key(|shape| widths.iter().position(|width| *width == shape.width()));
    let mut rows = Vec::new();
    for contest in shapes.chunk_by(|one, next| one.contest == next.contest) {
        let mut ranked: Vec<&Shape> = contest.iter().collect();
        ranked.sort_by(|one, other| other.medians()[2].total_cmp(&one.medians()[2]));
        let [ours, wide, ratio] = ranked[0].medians();
        let [family, bits, direction] = &ranked[0].contest;
        let others = ranked[1..].iter().map(|shape| shape.medians()[2]);
        rows.push(vec![
            format!("`{family}`"),
            bits.clone(),
            direction.clone(),
            number(ours, 0)?,
            number(wide, 0)?,
            number(ratio, 2)?,
            ranked[0].vectors.clone(),
            numbers(others, 2, "; ")?,
        ]);
    }
    Ok(rows)
}
