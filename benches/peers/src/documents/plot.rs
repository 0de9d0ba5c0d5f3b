//! The picture on the first page: speeds beside others, on a CPU and on a GPU; and bars for the
//! README, which is shown where no picture is.

use std::error::Error;
use std::fmt::Write;

use super::cold::{Calls, LATER, PARTITIONED};
use super::computed::{Computed, DOCS};
use super::gpu;
use super::results::Results;
use crate::bounds;
use crate::ours::WHOLE_CALL;
use crate::peers::RIP_PARALLEL;
use crate::rows::Length;

const RIP_SEQUENTIAL: &str = "rip_shuffle, sequential";
/// Below the folder of the documents.
const FILE: &str = "figures/speed.svg";
/// The machine of the rows.
const CALLS: &str = "cpu-cold-zen5";

/// A curve: its name, its colour, and the logarithm to base 2 of each length with its speed.
type Curve = (&'static str, &'static str, Vec<(f64, f64)>);

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let cpu = cpu(&Calls(results.sheet(CALLS)?))?;
    computed.block("speed in bars", bars(&cpu));
    computed.drawings.push((
        DOCS,
        FILE,
        svg(&[
            ("CPU, 2 cores of an AMD EPYC: million items of 8 bytes a second", cpu),
            ("GPU, NVIDIA H200: billion items of 8 bytes a second", gpu(results)?),
        ]),
    ));
    Ok(())
}

fn cpu(calls: &Calls) -> Result<Vec<Curve>, String> {
    let curve = |name, label, color| {
        let mut points = Vec::new();
        for len in calls.distinct("length")? {
            let length: f64 = len.parse().map_err(|_| format!("`{len}` is no length"))?;
            let speed = calls.of(name, "u64", len, LATER)? / 1e6;
            points.extend((!speed.is_nan()).then_some((length.log2(), speed)));
        }
        Ok::<Curve, String>((label, color, points))
    };
    Ok(vec![
        curve(PARTITIONED, "Workspace", OURS)?,
        curve(WHOLE_CALL, "par_bijective_shuffle", ALSO_OURS)?,
        curve(RIP_PARALLEL, "rip_shuffle, parallel", THEIRS)?,
        curve(RIP_SEQUENTIAL, "rip_shuffle, one thread", ALSO_THEIRS)?,
    ])
}

fn gpu(results: &Results) -> Result<Vec<Curve>, String> {
    let measured = results.measured(&["gpu-ours", "gpu-peers", "gpu-torch"])?;
    let lengths = measured.lengths("8").into_iter();
    let lengths: Vec<Length> = lengths.filter(|at| matches!(at, Length::Above(_))).collect();
    let curve = |name: &str| {
        let points = lengths.iter().map(|at| {
            let speed = measured.speed(name, "8", at.items()) / 1e9;
            ((at.items() as f64).log2(), speed)
        });
        points.filter(|(_, speed)| !speed.is_nan()).collect::<Vec<_>>()
    };
    Ok(vec![
        ("CudaWorkspace", OURS, curve("Auto, default")),
        ("thrust::shuffle_copy", THEIRS, curve(gpu::THRUST)),
        ("x[randperm], PyTorch", ALSO_THEIRS, curve(gpu::PYTORCH)),
        ("gather by a given index", BOUND, curve(bounds::GATHER)),
    ])
}

const OURS: &str = "#c02020";
const ALSO_OURS: &str = "#e08030";
const THEIRS: &str = "#2060b0";
const ALSO_THEIRS: &str = "#70a0d0";
const BOUND: &str = "#808080";

/// The speeds at the length 2^26 + 1 as bars of text.
fn bars(curves: &[Curve]) -> String {
    const WIDTH: f64 = 40.0;
    let at =
        |curve: &Curve| curve.2.iter().find(|point| point.0.round() == 26.0).map(|point| point.1);
    let speeds: Vec<(&str, f64)> =
        curves.iter().filter_map(|curve| Some((curve.0, at(curve)?))).collect();
    let most = speeds.iter().map(|&(_, speed)| speed).fold(0.0, f64::max);
    let mut text = String::from("```text\n");
    for (name, speed) in speeds {
        let bar = "█".repeat((speed / most * WIDTH).round() as usize);
        writeln!(text, "{name:<24} {bar} {speed:.0}").expect("a string");
    }
    text + "```\n"
}

/// The size of a panel, and of the space around its plot.
const SIZE: (f64, f64) = (560.0, 300.0);
const LEFT: f64 = 60.0;
const RIGHT: f64 = 175.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 40.0;

/// Panels below each other: speeds on a logarithmic scale against lengths.
fn svg(panels: &[(&str, Vec<Curve>)]) -> String {
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {} {}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        SIZE.0,
        SIZE.1 * panels.len() as f64
    );
    for ((title, curves), number) in panels.iter().zip(0..) {
        let y = SIZE.1 * f64::from(number);
        writeln!(svg, "<g transform=\"translate(0 {y})\">\n{}</g>", panel(title, curves))
            .expect("a string");
    }
    svg + "</svg>\n"
}

fn panel(title: &str, curves: &[Curve]) -> String {
    let points = || curves.iter().flat_map(|curve| &curve.2);
    let least = |part: fn(&(f64, f64)) -> f64| points().map(part).fold(f64::INFINITY, f64::min);
    let most = |part: fn(&(f64, f64)) -> f64| points().map(part).fold(0.0, f64::max);
    let (from, to) = (least(|point| point.0), most(|point| point.0));
    let (low, high) =
        (least(|point| point.1).log10().floor(), most(|point| point.1).log10().ceil());
    let (right, bottom) = (SIZE.0 - RIGHT, SIZE.1 - BOTTOM);
    let x = |w: f64| LEFT + (w - from) / (to - from) * (right - LEFT);
    let y = |speed: f64| bottom - (speed.log10() - low) / (high - low) * (bottom - TOP);
    let mut svg = format!("<text x=\"{LEFT}\" y=\"20\" font-weight=\"bold\">{title}</text>\n");
    for power in low as i32..=high as i32 {
        let speed = 10_f64.powi(power);
        let (at, beside) = (y(speed), LEFT - 6.0);
        writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/>\
             <text x=\"{beside}\" y=\"{:.1}\" text-anchor=\"end\">{speed}</text>",
            at + 4.0
        )
        .expect("a string");
    }
    let mut lengths: Vec<i32> = points().map(|point| point.0.round() as i32).collect();
    lengths.sort_unstable();
    lengths.dedup();
    for w in lengths {
        let (at, below) = (x(f64::from(w)), bottom + 18.0);
        writeln!(svg, "<text x=\"{at:.1}\" y=\"{below}\" text-anchor=\"middle\">2^{w}</text>")
            .expect("a string");
    }
    writeln!(
        svg,
        "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">items</text>",
        (LEFT + right) / 2.0,
        bottom + 34.0
    )
    .expect("a string");
    // Names stand beside the ends of their curves, and are moved apart.
    let mut ends: Vec<(f64, &Curve)> =
        curves.iter().filter_map(|curve| Some((y(curve.2.last()?.1), curve))).collect();
    ends.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut above = f64::NEG_INFINITY;
    for (end, (name, color, points)) in ends {
        let line: Vec<String> =
            points.iter().map(|&(w, speed)| format!("{:.1},{:.1}", x(w), y(speed))).collect();
        above = end.max(above + 16.0);
        writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"2.5\"/>\
             <text x=\"{}\" y=\"{:.1}\" fill=\"{color}\">{name}</text>",
            line.join(" "),
            right + 8.0,
            above + 4.0
        )
        .expect("a string");
    }
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_speed() {
        let curve = |name, speed| (name, OURS, vec![(26.0, speed), (28.0, 1.0)]);
        let text = bars(&[curve("a", 400.0), curve("b", 100.0)]);
        let count = |line: &str| line.matches('█').count();
        assert_eq!(text.lines().map(count).collect::<Vec<_>>(), [0, 40, 10, 0]);
        let svg = svg(&[("title", vec![curve("a", 400.0), curve("b", 100.0)])]);
        assert_eq!((svg.matches("<polyline").count(), svg.matches("2^26").count()), (2, 1));
    }
}
