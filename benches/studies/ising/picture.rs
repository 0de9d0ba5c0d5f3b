//! Two pictures: a lattice near the critical point, and the energy against sweeps.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use bijective_shuffle::rng::Mwc;
use plotters::prelude::*;

use crate::exact::{CRITICAL, Exact};
use crate::failure::Failure;
use crate::geometry::Geometry;
use crate::methods::{Engine, Method};
use crate::run::{Length, energies};
use crate::simulation::Setup;

/// A lattice of a side that a file of some 100 KiB can show.
const SIDE: usize = 256;

/// Draws the lattice at the critical point of the infinite one, after so many sweeps.
pub(crate) fn lattice(file: &Path, engine: Engine, seed: u64, sweeps: u64) -> Result<(), Failure> {
    let geometry = Geometry::new(SIDE, 32)?;
    let setup = Setup { geometry, beta: CRITICAL, hits: 1, seed, multiplier: Mwc::MULTIPLIER };
    let mut simulation = Method::Philox10.simulation(engine, setup)?;
    simulation.advance(sweeps)?;
    let spins = simulation.spins()?;
    // Rectangles of one row each, as one path: so the file is a tenth of what it would be with an
    // element each.
    let mut path = String::new();
    for row in 0..SIDE {
        let down = |column: usize| spins[geometry.index(row, column)] < 0;
        let mut column = 0;
        while column < SIDE {
            let length = (column..SIDE).take_while(|&k| down(k)).count();
            if length > 0 {
                write!(path, "M{column} {row}h{length}v1h-{length}z")?;
            }
            column += length.max(1);
        }
    }
    fs::write(
        file,
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"768\" height=\"768\" viewBox=\"0 0 {SIDE} {SIDE}\" \
             shape-rendering=\"crispEdges\">\n\
             <title>{SIDE} x {SIDE} Ising spins at beta = {CRITICAL:.7} after {sweeps} sweeps; \
             those that are down</title>\n\
             <rect width=\"{SIDE}\" height=\"{SIDE}\" fill=\"#f4f1e8\"/><path fill=\"#1f3a5f\" d=\"{path}\"/>\n</svg>\n"
        ),
    )?;
    Ok(())
}

/// A curve has so many points, each the mean of what was measured in its part of the run.
const POINTS: usize = 100;

/// Of the curves.
const COLOURS: [RGBColor; 3] =
    [RGBColor(200, 30, 60), RGBColor(30, 120, 200), RGBColor(40, 140, 60)];

/// Draws the energy in parts of a run against sweeps, for some methods, with the exact value as a
/// line.
pub(crate) fn energy(
    file: &Path,
    methods: &[Method],
    engine: Engine,
    setup: Setup,
    length: Length,
) -> Result<(), Failure> {
    let mut curves = Vec::new();
    for &method in methods {
        let (energies, interval) = energies(&mut *method.simulation(engine, setup)?, length)?;
        let part = (energies.len() / POINTS).max(1);
        let sites = setup.geometry.sites() as f64;
        let points: Vec<(f64, f64)> = energies
            .chunks_exact(part)
            .enumerate()
            .map(|(k, energies)| {
                let sum: f64 = energies.iter().map(|&e| f64::from(e)).sum();
                let sweeps = (k as f64 + 0.5) * part as f64 * interval as f64;
                (sweeps, sum / part as f64 / sites)
            })
            .collect();
        curves.push((method.title(), points));
    }
    let side = u32::try_from(setup.geometry.side)?;
    let exact = Exact::new(side, side, setup.beta).energy;
    let values = || curves.iter().flat_map(|curve| &curve.1).map(|point| point.1);
    let low = values().fold(exact, f64::min);
    let high = values().fold(exact, f64::max);
    let margin = 0.05 * (high - low);
    let end = length.sweeps as f64;
    draw(file, &curves, exact, setup, (low - margin)..(high + margin), end)
}

fn draw(
    file: &Path,
    curves: &[(&str, Vec<(f64, f64)>)],
    exact: f64,
    setup: Setup,
    range: std::ops::Range<f64>,
    end: f64,
) -> Result<(), Failure> {
    let area = SVGBackend::new(file, (960, 600)).into_drawing_area();
    area.fill(&WHITE)?;
    let Setup { geometry: Geometry { side, .. }, beta, hits, .. } = setup;
    let mut chart = ChartBuilder::on(&area)
        .caption(
            format!("{side} x {side} Ising spins at beta = {beta}, k = {hits}"),
            ("sans-serif", 22),
        )
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(84)
        .build_cartesian_2d(0.0..end, range)?;
    chart
        .configure_mesh()
        .x_desc("sweeps")
        .y_desc("energy a spin, means of parts of the run")
        .x_label_formatter(&|x| format!("{x:.1e}"))
        .y_label_formatter(&|y| format!("{y:.5}"))
        .label_style(("sans-serif", 15))
        .light_line_style(WHITE)
        .draw()?;
    for (number, (name, points)) in curves.iter().enumerate() {
        let style = COLOURS[number % COLOURS.len()].stroke_width(1);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style))?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .draw_series(LineSeries::new([(0.0, exact), (end, exact)], BLACK.stroke_width(2)))?
        .label("exact")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK.stroke_width(2)));
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::MiddleLeft)
        .label_font(("sans-serif", 15))
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
