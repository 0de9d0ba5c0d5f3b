//! Figures 9 to 11 of Bouverot-Dupuis and Sheeran (FHPNC 2023), of what `cuda/affine` measured on a
//! GPU.

use std::error::Error;
use std::fmt::Write;

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::affine_rows::AffineRows;

const TIMES: &str = "figures/bmmc-figure-9-times.svg";
const BANDWIDTHS: &str = "figures/bmmc-figure-10-bandwidths.svg";
const SPEEDUPS: &str = "figures/bmmc-figure-11-speedups.svg";

const MEMCPY: &str = "cudaMemcpy";
const COPY: &str = "paper: copy";
const OURS: &str = "ours, beside the paper";
/// The map of the copies.
const NO_MAP: &str = "-";

/// A kind of maps, and what the paper compares of it.
struct Kind {
    map: &'static str,
    naive: &'static str,
    best: &'static str,
    /// The same factors with cheaper arithmetic, which the paper does not have.
    improved: Option<&'static str>,
    /// How often the paper's kernels read and write the array.
    passes: f64,
    color: RGBColor,
}

const KINDS: [Kind; 3] = [
    Kind {
        map: "random BPC",
        naive: "paper: naive",
        best: "paper: tile + banks + iters",
        improved: None,
        passes: 1.0,
        color: RGBColor(0, 90, 200),
    },
    Kind {
        map: "bit reversal",
        naive: "paper: naive",
        best: "paper: tile + banks + iters",
        improved: None,
        passes: 1.0,
        color: RGBColor(44, 160, 44),
    },
    Kind {
        map: "random BMMC",
        naive: "paper: naive, two passes",
        best: "paper: tile + banks",
        improved: Some("two passes: 32 bits, columns, iters"),
        passes: 2.0,
        color: RGBColor(214, 39, 40),
    },
];

const SIZE: (u32, u32) = (1080, 640);

/// What was measured on what, the figures, and a table of all kernels.
pub(crate) fn report(rows: &AffineRows) -> Result<String, Box<dyn Error>> {
    let mut text = format!("* {}\n", rows.origin);
    for comment in &rows.comments {
        match comment.strip_prefix("$ ") {
            Some(command) => writeln!(text, "* `{command}`")?,
            None => writeln!(text, "* {comment}")?,
        }
    }
    for (file, number) in [TIMES, BANDWIDTHS, SPEEDUPS].iter().zip(9..) {
        writeln!(text, "\n![Figure {number} of the paper, on this machine]({file})")?;
    }
    write!(text, "\n{}", table(rows)?)?;
    Ok(text)
}

/// The figures, each with the name of its file.
pub(crate) fn drawings(rows: &AffineRows) -> Result<[(&'static str, String); 3], Box<dyn Error>> {
    let times = bars(rows, "Time, milliseconds (the scale is logarithmic)", &times(rows)?)?;
    let bandwidths = bars(rows, "Bytes read and written, GB/s", &bandwidths(rows)?)?;
    Ok([(TIMES, times), (BANDWIDTHS, bandwidths), (SPEEDUPS, speedups(rows)?)])
}

/// The longest arrays, which figures 9 and 10 are about.
fn longest(rows: &AffineRows) -> u32 {
    rows.lengths().into_iter().max().expect("there are rows")
}

/// The time of a copy, by which all is divided.
fn copy(rows: &AffineRows, log2_items: u32) -> Result<f64, String> {
    let seconds = rows.seconds(MEMCPY, NO_MAP, log2_items);
    seconds.ok_or_else(|| format!("`{MEMCPY}` was not measured at 2^{log2_items} items"))
}

/// All kernels with the longest arrays, as parts of the copy.
fn table(rows: &AffineRows) -> Result<String, Box<dyn Error>> {
    let at = longest(rows);
    let copy = copy(rows, at)?;
    let bytes = rows.item_bytes();
    let mut text = format!(
        "2^{at} items of {bytes} bytes; of several matrices the median:\n\n\
         | map | kernel | milliseconds | part of a copy |\n| --- | --- | --- | --- |\n"
    );
    for map in [NO_MAP].into_iter().chain(KINDS.iter().map(|kind| kind.map)) {
        for kernel in rows.kernels(map, at) {
            let seconds = rows.seconds(kernel, map, at).expect("a kernel that has rows");
            writeln!(text, "| {map} | {kernel} | {:.3} | {:.3} |", seconds * 1e3, copy / seconds)?;
        }
    }
    Ok(text)
}

/// A bar: what it is called, how long it is on the paper, and its colour.
struct Bar {
    name: String,
    value: f64,
    /// The part of the width that it takes.
    part: f64,
    color: RGBColor,
}

/// Figure 9: the time of each kernel, beside that of a copy.
fn times(rows: &AffineRows) -> Result<Vec<Bar>, String> {
    let at = longest(rows);
    let mut bars = vec![(MEMCPY.to_owned(), copy(rows, at)? * 1e3, BLACK)];
    for kind in &KINDS {
        for kernel in rows.kernels(kind.map, at) {
            let seconds = rows.seconds(kernel, kind.map, at).expect("a kernel that has rows");
            bars.push((format!("{}, {kernel}", kind.map), seconds * 1e3, kind.color));
        }
    }
    let (least, most) = range(bars.iter().map(|bar| bar.1));
    let part = |value: f64| ((value / least * 2.0).ln() / (most / least * 2.0).ln()).min(1.0);
    Ok(bars
        .into_iter()
        .map(|(name, value, color)| Bar { name, value, part: part(value), color })
        .collect())
}

/// Figure 10: the traffic of the naive kernels, and of those with all that makes them faster.
fn bandwidths(rows: &AffineRows) -> Result<Vec<Bar>, String> {
    let at = longest(rows);
    let gigabytes = 2.0 * rows.item_bytes() as f64 * 2_f64.powi(at.cast_signed()) / 1e9;
    let mut bars = vec![(MEMCPY.to_owned(), gigabytes / copy(rows, at)?, BLACK)];
    bars.extend(rows.seconds(COPY, NO_MAP, at).map(|s| (COPY.to_owned(), gigabytes / s, BLACK)));
    for kind in &KINDS {
        let theirs = [Some(kind.naive), Some(kind.best), kind.improved].into_iter().flatten();
        for (kernel, passes) in theirs.map(|kernel| (kernel, kind.passes)).chain([(OURS, 1.0)]) {
            if let Some(seconds) = rows.seconds(kernel, kind.map, at) {
                let name = format!("{}, {kernel}", kind.map);
                bars.push((name, passes * gigabytes / seconds, kind.color));
            }
        }
    }
    let (_, most) = range(bars.iter().map(|bar| bar.1));
    Ok(bars
        .into_iter()
        .map(|(name, value, color)| Bar { name, value, part: value / most, color })
        .collect())
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::MAX, 0.0), |(least, most), value| (least.min(value), most.max(value)))
}

/// Where bars begin and end, and where the first one is.
const LEFT: i32 = 380;
const RIGHT: i32 = 990;
const TOP: i32 = 76;

/// Bars one below the other, each with its name and number.
fn bars(rows: &AffineRows, title: &str, bars: &[Bar]) -> Result<String, Box<dyn Error>> {
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (head, small) = (("sans-serif", 22), ("sans-serif", 14));
        let at = |x: HPos| Pos::new(x, VPos::Center);
        let left = small.into_text_style(&area).pos(at(HPos::Left));
        let right = small.into_text_style(&area).pos(at(HPos::Right));
        area.draw(&Text::new(title, (20, 28), head.into_text_style(&area).pos(at(HPos::Left))))?;
        let arrays =
            format!("2^{} items of {} bytes, {}", longest(rows), rows.item_bytes(), rows.origin);
        area.draw(&Text::new(arrays, (20, 52), left.clone()))?;
        let room = SIZE.1.cast_signed() - TOP - 12;
        let step = (room / i32::try_from(bars.len())?.max(1)).clamp(6, 30);
        for (bar, y) in bars.iter().zip((TOP..).step_by(step.cast_unsigned() as usize)) {
            let end = LEFT + (f64::from(RIGHT - LEFT) * bar.part) as i32;
            let middle = y + step / 2;
            let half = (step / 2 - 2).max(2);
            let corners = [(LEFT, middle - half), (end.max(LEFT + 1), middle + half)];
            area.draw(&Rectangle::new(corners, bar.color.filled()))?;
            area.draw(&Text::new(bar.name.as_str(), (LEFT - 8, middle), right.clone()))?;
            let value = if bar.value < 100.0 { 2 } else { 0 };
            let value = format!("{:.value$}", bar.value);
            area.draw(&Text::new(value, (end + 6, middle), left.clone()))?;
        }
        area.present()?;
    }
    Ok(svg)
}

/// A curve of figure 11: how many times as fast as the naive kernel, by length.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
    style: ShapeStyle,
}

fn curves(rows: &AffineRows) -> Vec<Curve> {
    let mut curves = Vec::new();
    for kind in &KINDS {
        let improved = kind.improved.map(|kernel| (kernel, 1));
        for (kernel, width) in [(kind.best, 2), (OURS, 4)].into_iter().chain(improved) {
            let point = |at: u32| {
                let naive = rows.seconds(kind.naive, kind.map, at)?;
                Some((f64::from(at), naive / rows.seconds(kernel, kind.map, at)?))
            };
            let points: Vec<_> = rows.lengths().into_iter().filter_map(point).collect();
            let style = kind.color.stroke_width(width);
            curves.push(Curve { name: format!("{}, {kernel}", kind.map), points, style });
        }
    }
    curves.retain(|curve| !curve.points.is_empty());
    curves
}

/// Figure 11: the speed over that of the naive kernels.
fn speedups(rows: &AffineRows) -> Result<String, Box<dyn Error>> {
    let curves = curves(rows);
    if curves.is_empty() {
        return Err("no kernel was measured beside a naive one".into());
    }
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let (left, right) = range(points().map(|point| point.0));
    let (low, high) = range(points().map(|point| point.1));
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        let (plot, names) = area.split_horizontally(700);
        let mut chart = ChartBuilder::on(&plot)
            .caption("Speed over that of the naive kernels", ("sans-serif", 22))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(60)
            .build_cartesian_2d(
                left - 0.5..right + 0.5,
                (low.min(1.0) / 1.3..high * 1.3).log_scale(),
            )?;
        chart
            .configure_mesh()
            .x_desc("logarithm of the number of items")
            .y_desc("times as fast")
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y}"))
            .label_style(("sans-serif", 14))
            .axis_desc_style(("sans-serif", 16))
            .light_line_style(WHITE)
            .draw()?;
        for curve in &curves {
            let points = curve.points.iter().copied();
            chart.draw_series(LineSeries::new(points, curve.style).point_size(3))?;
        }
        draw_names(&names, &curves, rows)?;
        area.present()?;
    }
    Ok(svg)
}

fn draw_names(
    area: &DrawingArea<SVGBackend<'_>, Shift>,
    curves: &[Curve],
    rows: &AffineRows,
) -> Result<(), Box<dyn Error>> {
    let text = ("sans-serif", 14).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    for (curve, y) in curves.iter().zip((60..).step_by(26)) {
        area.draw(&PathElement::new([(4, y), (34, y)], curve.style))?;
        area.draw(&Text::new(curve.name.as_str(), (42, y), text.clone()))?;
    }
    for (part, y) in rows.origin.split(", ").zip((300..).step_by(22)) {
        area.draw(&Text::new(part.to_owned(), (4, y), text.clone()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sheet::Sheet;

    /// What docs/results/affine.md says, as rows: times from parts of a copy that takes 2 ms.
    fn documented() -> AffineRows {
        let head = "date,revision,machine,item,length,matrix,kernel,milliseconds,part_of_copy";
        let mut text = format!("# $ a command\n{head}\n");
        let mut add = |kernel: &str, map: &str, log2: u32, part: f64| {
            let milliseconds = 2.0 * 2_f64.powi(log2.cast_signed() - 30) / part;
            let row = format!("4 bytes,2^{log2},{map},\"{kernel}\",{milliseconds},{part}");
            writeln!(text, "2026-11-21,0123abc,made up,{row}").unwrap();
        };
        for (log2, reversal, bmmc) in [
            (30, [0.029, 0.26, 0.42, 0.38, 0.82, 0.93], [0.014, 0.12, 0.12, 0.92]),
            (24, [0.045, 0.30, 0.48, 0.40, 0.91, 0.95], [0.022, 0.14, 0.18, 0.94]),
        ] {
            add(MEMCPY, NO_MAP, log2, 1.0);
            let kernels = ["naive", "tile", "tile + banks", "tile + iters", "tile + banks + iters"];
            for (kernel, part) in kernels.iter().zip(reversal) {
                add(&format!("paper: {kernel}"), "bit reversal", log2, part);
            }
            add(OURS, "bit reversal", log2, reversal[5]);
            for (kernel, part) in ["naive, two passes", "tile", "tile + banks"].iter().zip(bmmc) {
                add(&format!("paper: {kernel}"), "random BMMC", log2, part);
            }
            add(OURS, "random BMMC", log2, bmmc[3]);
            // Predicted.
            add("two passes: 32 bits, columns, iters", "random BMMC", log2, 0.4);
        }
        AffineRows::new(&Sheet::parse(&text).unwrap()).unwrap()
    }

    #[test]
    fn figures_and_a_table_are_made_of_the_documented_measurements() {
        let text = report(&documented()).unwrap();
        assert!(text.starts_with("* 2026-11-21, revision 0123abc, made up\n* `a command`\n"));
        assert!(text.contains("| random BMMC | paper: tile + banks | 16.667 | 0.120 |"), "{text}");
        let words = [
            ["bit reversal, paper: tile + iters", "16.67"],
            ["random BMMC, paper: tile + banks", "4295"],
            ["random BMMC, ours, beside the paper", "times as fast"],
        ];
        for ((file, svg), words) in drawings(&documented()).unwrap().iter().zip(words) {
            assert!(text.contains(&format!("]({file})")), "{text}");
            assert!(words.iter().all(|word| svg.contains(word)), "{file}: {svg}");
        }
    }

    #[test]
    fn speedups_are_over_the_naive_kernel_of_the_same_map() {
        let rows = documented();
        let curves = curves(&rows);
        let name = format!("random BMMC, {OURS}");
        let curve = curves.iter().find(|curve| curve.name == name).unwrap();
        let expected = [(24.0, 0.94 / 0.022), (30.0, 0.92 / 0.014)];
        assert_eq!(curve.points.len(), expected.len());
        for (point, expected) in curve.points.iter().zip(expected) {
            assert_eq!(point.0, expected.0);
            assert!((point.1 / expected.1 - 1.0).abs() < 1e-9, "{point:?}");
        }
        // Two passes move the array twice.
        let bars = bandwidths(&rows).unwrap();
        let bar = bars.iter().find(|bar| bar.name == "random BMMC, paper: tile + banks").unwrap();
        let copied = bars.iter().find(|bar| bar.name == MEMCPY).unwrap();
        assert!((bar.value / copied.value - 0.24).abs() < 1e-9);
        let bar = bars.iter().find(|bar| bar.name.ends_with("columns, iters")).unwrap();
        assert!((bar.value / copied.value - 0.8).abs() < 1e-9);
    }
}
