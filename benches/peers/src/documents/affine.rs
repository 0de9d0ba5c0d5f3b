//! `benches/notes/affine.md`.

use std::error::Error;

use super::computed::{Computed, NOTES};
use super::markdown::{NOT_MEASURED, number, table, verbatim};
use super::results::Results;
use crate::affine_figures;
use crate::affine_rows::AffineRows;
use crate::sheet::Sheet;

const OURS: &str = "ours";
/// The same kernel, with the matrices of the paper's kernels.
pub(super) const OURS_BESIDE: &str = "ours, beside the paper";
const MATRICES: [&str; 3] = ["bit reversal", "random BPC", "random BMMC"];

/// Forms of two passes that the paper does not have, as far as they were measured.
const WITHOUT_COUNTS: [&str; 3] =
    ["two passes: 32 bits", "two passes: 32 bits, columns", "two passes: 32 bits, columns, iters"];

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let (gpu, before) = (results.sheet("affine-gpu")?, results.sheet("affine-gpu-before")?);
    computed.block("affine gpu", sizes(&gpu, &before)?);
    computed.block("affine gpu beside the paper", beside_the_paper(&gpu)?);
    let ratio = over_two_passes(&gpu, ("4 bytes", "2^30"), "paper: tile + banks")?;
    computed.figure("affine BMMC, 2^30, over the paper's two passes", ratio, 1)?;
    let best = *WITHOUT_COUNTS.last().expect("three");
    let ratio = over_two_passes(&gpu, ("4 bytes", "2^30"), best)?;
    computed.figure("affine BMMC, 2^30, over two passes at their best", ratio, 1)?;
    computed.block("affine cpu", verbatim(&results.sheet("affine-cpu")?));
    let mut figures = NOT_MEASURED.to_owned();
    if let Some(sheet) = results.sheet_if_any("affine-gpu-figures")? {
        let rows = AffineRows::new(&sheet)?;
        figures = affine_figures::report(&rows)?;
        let drawings = affine_figures::drawings(&rows)?.into_iter();
        computed.drawings.extend(drawings.map(|(file, svg)| (NOTES, file, svg)));
    }
    computed.block("affine figures", figures);
    let profile = results.sheet_if_any("affine-gpu-profile")?;
    let profile = profile.map_or_else(|| NOT_MEASURED.into(), |sheet| verbatim(&sheet));
    computed.block("affine gpu profile", profile);
    Ok(())
}

/// Ours over the same matrix in two passes, a dense random one.
pub(super) fn over_two_passes(
    gpu: &Sheet,
    case: (&str, &str),
    kernel: &str,
) -> Result<f64, String> {
    let of = |kernel| parts(gpu, [case.0, case.1, MATRICES[2], kernel]).map(median);
    Ok(of(OURS_BESIDE)? / of(kernel)?)
}

/// The parts of a copy that were measured of items and a length, with a matrix and a kernel.
pub(super) fn parts(
    sheet: &Sheet,
    [item, length, matrix, kernel]: [&str; 4],
) -> Result<Vec<f64>, String> {
    let column = |name| sheet.column(name);
    let places = [column("item")?, column("length")?, column("matrix")?, column("kernel")?];
    let part = column("part_of_copy")?;
    let wanted = [item, length, matrix, kernel];
    let same = |row: &&Vec<String>| places.iter().zip(wanted).all(|(&at, text)| row[at] == text);
    let rows = sheet.rows.iter().filter(same);
    rows.map(|row| row[part].parse().map_err(|_| format!("`{}` is no number", row[part]))).collect()
}

/// The middle one.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
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
        ("6 bytes", "2^29", ""),
        ("12 bytes", "2^28", ""),
        ("24 bytes", "2^27", ""),
    ];
    let list = |sheet, item, length, matrix, kernel, digits| -> Result<String, String> {
        let parts = parts(sheet, [item, length, matrix, kernel])?;
        let texts: Result<Vec<_>, _> = parts.into_iter().map(|part| number(part, digits)).collect();
        Ok(texts?.join(", "))
    };
    let mut rows = Vec::new();
    for (item, length, aim) in aims {
        let mut cells = vec![format!("{item}, {length}")];
        for matrix in MATRICES {
            cells.push(list(gpu, item, length, matrix, OURS, 3)?);
        }
        let one_by_one = parts(gpu, [item, length, "random BMMC", "item by item"])?;
        cells.extend([number(median(one_by_one), 3)?, aim.to_owned()]);
        // Items of three short words were moved word by word, as the others still are if they are
        // not aligned.
        let (earlier, kernel) = match item {
            "3 bytes" | "6 bytes" => (gpu, "ours, word by word"),
            _ => (before, OURS),
        };
        for matrix in MATRICES {
            cells.push(list(earlier, item, length, matrix, kernel, 2)?);
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
    let mut ratios = vec![("theirs in two passes (aimed at: 3)".to_owned(), "paper: tile + banks")];
    // All of them or none: a file has them if the program that wrote it did.
    if of(cases[0], bmmc, WITHOUT_COUNTS[0])?.is_finite() {
        let mut cells = vec![
            "random BMMC in two passes, not as published: 32 bits; columns; + iterations".into(),
        ];
        for case in cases {
            let parts = WITHOUT_COUNTS.map(|kernel| two_digits(of(case, bmmc, kernel)?));
            cells.push(parts.into_iter().collect::<Result<Vec<_>, _>>()?.join("; "));
        }
        rows.push(cells);
        ratios.push(("two passes at their best".into(), WITHOUT_COUNTS[2]));
    }
    for (other, kernel) in ratios {
        let mut cells = vec![format!("ours / {other}")];
        for case in cases {
            cells.push(number(over_two_passes(gpu, case, kernel)?, 1)?);
        }
        rows.push(cells);
    }
    let heads = cases.map(|(item, length)| format!("{item}, {length}"));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    Ok(table(&[&[""][..], &heads].concat(), &rows))
}

/// A part with two digits that mean something.
fn two_digits(part: f64) -> Result<String, String> {
    number(part, if part < 0.0995 { 3 } else { 2 })
}
