//! Figures 6 to 9 of the paper, regenerated: chi-squared and MMD against the number of rounds.

use std::error::Error;
use std::path::Path;

use bijective_shuffle::bijection::Lcg;
use bijective_shuffle::prelude::*;
use bijective_shuffle_stats::{Mmd, Orders, Test, run};
use plotters::prelude::*;
use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::families::{Draw, FAMILIES, Family};
use crate::shufflers::fisher_yates;

/// The significance of the acceptance lines: the paper's.
const ALPHA: f64 = 0.05;

/// Draws all four figures into a folder, and prints their numbers.
pub(crate) fn draw_all(folder: &Path, samples: u64, seed: u64) -> Result<(), Box<dyn Error>> {
    std::fs::create_dir_all(folder)?;
    let seed = Seed::new(seed);
    figure_6(&folder.join("figure-6-chi-squared-n-5.svg"), samples, seed)?;
    // Thrust, and so the paper, never takes fewer than 4 bits.
    for (number, len, bits) in [(7, 5, 4), (8, 100, 7), (9, 1000, 10)] {
        figures_mmd(folder, number, len, bits, samples, seed)?;
    }
    Ok(())
}

/// Chi-squared over the orders of 5 items, for several widths of the domain that they are compacted
/// from.
fn figure_6(file: &Path, samples: u64, seed: Seed) -> Result<(), Box<dyn Error>> {
    let statistic = |draw: Draw, bits: u32| {
        let fill = |k, out: &mut [u32]| compacted(draw, bits, seed.with_epoch(k), out);
        run(samples, 5, || Orders::new(5), fill).outcome().statistic
    };
    let [philox, chain, grid] = &FAMILIES;
    let mut curves = Vec::new();
    for bits in 3..=7 {
        curves.push(Curve::by_rounds(philox, bits, |draw| statistic(draw, bits)));
    }
    curves.push(Curve::by_rounds(chain, 4, |draw| statistic(draw, 4)));
    curves.push(Curve::by_rounds(grid, 3, |draw| statistic(draw, 3)));
    let fair = run(samples, 5, || Orders::new(5), fisher_yates).outcome().statistic;
    curves.push(Curve::level("Fisher-Yates", fair));
    let accepted = ChiSquared::new(119.0)?.inverse_cdf(1.0 - ALPHA);
    Figure {
        title: format!("Chi-squared over the 120 orders of 5 items, {samples} samples"),
        label: "chi-squared",
        curves,
        accepted: vec![("accepted below (5 %)", accepted)],
    }
    .draw(file)
}

/// The MMD of permutations of some length, for all families and the LCG: in one figure by pairs of
/// samples, as in the published paper, and in another of the same samples against the identity, as
/// in its preprint.
fn figures_mmd(
    folder: &Path,
    number: usize,
    len: usize,
    bits: u32,
    samples: u64,
    seed: Seed,
) -> Result<(), Box<dyn Error>> {
    let test = |fill: &(dyn Fn(u64, &mut [u32]) + Sync)| {
        let (pairs, identity) = run(samples, len, || (Mmd::pairs(len), Mmd::identity(len)), fill);
        [pairs, identity]
    };
    let by_draw = |draw: Draw| test(&|k, out| compacted(draw, bits, seed.with_epoch(k), out));
    let judged = FAMILIES.each_ref().map(|family| {
        family.rounds.iter().map(|&(rounds, draw)| (rounds, by_draw(draw))).collect::<Vec<_>>()
    });
    let lcg = by_draw(|len, seed| Box::new(Lcg::from_seed(len, seed)));
    let fair = test(&fisher_yates);
    for (design, name, against) in
        [(0, "mmd", "by pairs"), (1, "mmd-identity", "against the identity")]
    {
        let statistic = |tests: &[Mmd; 2]| tests[design].outcome().statistic.abs();
        let mut curves: Vec<Curve> = FAMILIES
            .iter()
            .zip(&judged)
            .map(|(family, judged)| Curve {
                name: format!("{}, {bits} bits", family.name),
                points: judged.iter().map(|(rounds, t)| (*rounds as f64, statistic(t))).collect(),
            })
            .collect();
        curves.push(Curve::level("Lcg", statistic(&lcg)));
        curves.push(Curve::level("Fisher-Yates", statistic(&fair)));
        Figure {
            title: format!("MMD of permutations of {len} items, {against}, {samples} samples"),
            label: "|MMD^2|",
            curves,
            accepted: vec![
                ("accepted below (5 %, Hoeffding)", fair[design].hoeffding_threshold(ALPHA)),
                ("accepted below (5 %, normal)", fair[design].normal_threshold(ALPHA)),
            ],
        }
        .draw(&folder.join(format!("figure-{number}-{name}-n-{len}.svg")))?;
    }
    Ok(())
}

/// The permutation that a member on `2^bits` points compacts to.
fn compacted(draw: Draw, bits: u32, seed: Seed, out: &mut [u32]) {
    let permutation = Permutation::from_bijection(out.len() as u64, draw(1 << bits, seed));
    permutation
        .and_then(|p| p.write_indexes(out))
        .expect("the members are bijections on enough points");
}

/// A statistic by the number of rounds, or a level where there are none.
struct Curve {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn by_rounds(family: &Family, bits: u32, statistic: impl Fn(Draw) -> f64) -> Self {
        let points = family.rounds.iter().map(|&(rounds, draw)| (rounds as f64, statistic(draw)));
        Self { name: format!("{}, {bits} bits", family.name), points: points.collect() }
    }

    fn level(name: &str, value: f64) -> Self {
        Self { name: name.into(), points: vec![(3.0, value), (32.0, value)] }
    }
}

struct Figure {
    title: String,
    label: &'static str,
    curves: Vec<Curve>,
    accepted: Vec<(&'static str, f64)>,
}

impl Figure {
    /// Draws the figure, and prints its numbers as a table.
    fn draw(&self, file: &Path) -> Result<(), Box<dyn Error>> {
        self.print();
        let values = || {
            let points = self.curves.iter().flat_map(|curve| &curve.points).map(|point| point.1);
            points.chain(self.accepted.iter().map(|line| line.1)).filter(|value| *value > 0.0)
        };
        let low = values().fold(f64::MAX, f64::min) / 2.0;
        let high = values().fold(0.0, f64::max) * 2.0;
        let area = SVGBackend::new(file, (960, 600)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut chart = ChartBuilder::on(&area)
            .caption(&self.title, ("sans-serif", 22))
            .margin(12)
            .x_label_area_size(44)
            .y_label_area_size(84)
            .build_cartesian_2d(2.0..33.0, (low..high).log_scale())?;
        chart
            .configure_mesh()
            .x_desc("rounds")
            .y_desc(self.label)
            .x_label_formatter(&|x| format!("{x:.0}"))
            .y_label_formatter(&|y| format!("{y:.0e}"))
            .light_line_style(WHITE)
            .draw()?;
        for (number, curve) in self.curves.iter().enumerate() {
            let color = Palette99::pick(number).to_rgba();
            let points: Vec<(f64, f64)> =
                curve.points.iter().map(|&(x, y)| (x, y.max(low))).collect();
            chart
                .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
                .label(&curve.name)
                .legend(move |(x, y)| {
                    PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2))
                });
        }
        for (number, &(name, level)) in self.accepted.iter().enumerate() {
            let style = BLACK.mix(if number == 0 { 1.0 } else { 0.6 }).stroke_width(1);
            let line = DashedLineSeries::new([(2.0, level), (33.0, level)], 6, 4, style);
            chart
                .draw_series(line)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::MiddleRight)
            .background_style(WHITE.mix(0.85))
            .border_style(BLACK.mix(0.3))
            .draw()?;
        area.present()?;
        Ok(())
    }

    fn print(&self) {
        println!("\n{}", self.title);
        for (name, level) in &self.accepted {
            println!("  {name}: {level:.4e}");
        }
        for curve in &self.curves {
            let points: Vec<String> = curve
                .points
                .iter()
                .map(|(rounds, value)| format!("{rounds}: {value:.3e}"))
                .collect();
            println!("  {}: {}", curve.name, points.join(", "));
        }
    }
}
