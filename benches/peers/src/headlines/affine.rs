//! `docs/results/affine.md`.

use super::{Computed, Results, number, table};
use crate::sheet::Sheet;

const OURS: &str = "ours";
/// The same kernel, with the matrices of the paper's kernels.
const OURS_BESIDE: &str = "ours, beside the paper";
const MATRICES: [&str; 3] = ["bit reversal", "random BPC", "random BMMC"];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), String> {
    let (gpu, before) = (results.sheet("affine-gpu")?, results.sheet("affine-gpu-before")?);
    computed.block("affine gpu", sizes(&gpu, &before)?);
    computed.block("affine gpu beside the paper", beside_the_paper(&gpu)?);
    computed.block("affine cpu", super::ising::verbatim(&results.sheet("affine-cpu")?));
    Ok(())
}

/// The parts of a copy that were measured of items and a length, with a matrix and a kernel.
fn parts(sheet: &Sheet, [item, length, matrix, kernel]: [&str; 4]) -> Result<Vec<f64>, String> {
    let column = |name| sheet.column(name);
    let places = [column("item")?, column("length")?, column("matrix")?, column("kernel")?];
    let part = column("part_of_copy")?;
    let wanted = [item, length, matrix, kernel];
    let same = |row: &&Vec<String>| places.iter().zip(wanted).all(|(&at, text)| row[at] == text);
    let rows = sheet.rows.iter().filter(same);
    rows.map(|row| row[part].parse().map_err(|_| format!("`{}` is no number", row[part]))).collect()
}

/// The middle one.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Items and lengths, what they are aimed at, and the columns that all have.
fn sizes(gpu: &Sheet, before: &Sheet) -> Result<String, String> {
    let aims = [
        ("1 byte", "2^32", "0.80"),
        ("2 bytes", "2^31", "0.80"),
        ("4 bytes", "2^30", "0.92"),
        ("8 bytes", "2^29", "0.92"),
        ("16 bytes", "2^28", "0.92"),
        ("3 bytes", "2^30", ""),
        ("12 bytes", "2^28", ""),
        ("24 bytes", "2^27", ""),
    ];
    let list = |sheet, item, length, matrix, digits| -> Result<String, String> {
        let parts = parts(sheet, [item, length, matrix, OURS])?;
        let texts: Result<Vec<_>, _> = parts.into_iter().map(|part| number(part, digits)).collect();
        Ok(texts?.join(", "))
    };
    let mut rows = Vec::new();
    for (item, length, aim) in aims {
        let mut cells = vec![format!("{item}, {length}")];
        for matrix in MATRICES {
            cells.push(list(gpu, item, length, matrix, 3)?);
        }
        let one_by_one = parts(gpu, [item, length, "random BMMC", "item by item"])?;
        cells.extend([number(median(one_by_one), 3)?, aim.to_owned()]);
        for matrix in MATRICES {
            cells.push(list(before, item, length, matrix, 2)?);
        }
        rows.push(cells);
    }
    let head = [
        &["items"][..],
        &MATRICES,
        &["item by item, BMMC", "aimed at"],
        &["before: bit reversal", "before: BPC", "before: BMMC"],
    ];
    let origins = gpu.origins().into_iter().map(|origin| format!("* {origin}\n"));
    let conditions = origins.chain(gpu.comments.iter().map(|line| match line.strip_prefix("$ ") {
        Some(command) => format!("* `{command}`\n"),
        None => format!("* {line}\n"),
    }));
    Ok(conditions.collect::<String>() + "\n" + &table(&head.concat(), &rows))
}

/// Figures 9 to 11 of the paper.
fn beside_the_paper(gpu: &Sheet) -> Result<String, String> {
    let cases = [("4 bytes", "2^30"), ("8 bytes", "2^29"), ("4 bytes", "2^24")];
    let bits = ["naive", "tile", "tile + banks", "tile + iters", "tile + banks + iters"];
    let matrices = ["naive, two passes", "tile", "tile + banks"];
    let of_bits = "naive; tile; + banks; + iterations; + both";
    let [reversal, bpc, bmmc] = MATRICES;
    let kinds = [
        (reversal, format!("bit reversal: {of_bits}"), &bits[..], "ours"),
        (bpc, format!("random BPC (the median of three): {of_bits}"), &bits[..], "ours"),
        (
            bmmc,
            "random BMMC (the median of three): naive, two passes; tile; + banks".to_owned(),
            &matrices[..],
            "ours, one pass",
        ),
    ];
    let of = |case: (&str, &str), matrix, kernel: &str| -> Result<f64, String> {
        Ok(median(parts(gpu, [case.0, case.1, matrix, kernel])?))
    };
    let mut rows = Vec::new();
    for (matrix, what, kernels, ours) in kinds {
        let (mut theirs, mut own) = (vec![what], vec![ours.to_owned()]);
        for case in cases {
            let mut cells = Vec::new();
            for kernel in kernels {
                cells.push(two_digits(of(case, matrix, &format!("paper: {kernel}"))?)?);
            }
            theirs.push(cells.join("; "));
            own.push(two_digits(of(case, matrix, OURS_BESIDE)?)?);
        }
        rows.extend([theirs, own]);
    }
    let mut last = vec!["ours / theirs in two passes (aimed at: 3)".to_owned()];
    for case in cases {
        let ratio = of(case, bmmc, OURS_BESIDE)? / of(case, bmmc, "paper: tile + banks")?;
        last.push(number(ratio, 1)?);
    }
    rows.push(last);
    let heads = cases.map(|(item, length)| format!("{item}, {length}"));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    Ok(table(&[&[""][..], &heads].concat(), &rows))
}

/// A part with two digits that mean something.
fn two_digits(part: f64) -> Result<String, String> {
    number(part, if part < 0.0995 { 3 } else { 2 })
}
