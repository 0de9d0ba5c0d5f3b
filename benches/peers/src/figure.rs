//! [`Figure`]: speed by length, as in figures 10 and 13 of Mitchell et al.

use std::error::Error;

use plotters::coord::Shift;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::contender::Side;
use crate::standings::{Row, Standings, Unit};

const SIZE: (u32, u32) = (1080, 640);
/// The width of the part with the curves; the rest is for their names.
const PLOT: u32 = 800;
/// Where the names begin, and the height of a line of them, unless there are so many that it has to
/// be less.
const NAMES: u32 = 60;
const LINE: u32 = 24;

/// Colours of dashed lines.
const BOUND_COLORS: [RGBColor; 4] =
    [RGBColor(0, 0, 0), RGBColor(140, 140, 140), RGBColor(90, 90, 140), RGBColor(140, 110, 80)];

/// Colours that can be told from each other and from white. The first ones are ours.
const COLORS: [RGBColor; 14] = [
    RGBColor(214, 39, 40),
    RGBColor(0, 90, 200),
    RGBColor(44, 160, 44),
    RGBColor(255, 127, 14),
    RGBColor(148, 103, 189),
    RGBColor(140, 86, 75),
    RGBColor(227, 66, 180),
    RGBColor(0, 150, 160),
    RGBColor(150, 150, 0),
    RGBColor(90, 60, 20),
    RGBColor(100, 140, 255),
    RGBColor(0, 90, 50),
    RGBColor(190, 120, 150),
    RGBColor(70, 0, 110),
];

/// A figure among the documents.
#[derive(Debug)]
pub(crate) struct Figure {
    /// Below the folder of its documents.
    pub(crate) file: &'static str,
    pub(crate) title: &'static str,
}

impl Figure {
    /// The figure as text.
    pub(crate) fn svg(&self, standings: &Standings) -> Result<String, Box<dyn Error>> {
        let mut svg = String::new();
        {
            let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
            area.fill(&WHITE)?;
            let (plot, names) = area.split_horizontally(PLOT);
            let curves = curves(standings);
            draw_curves(&plot, &curves, self.title, standings.unit)?;
            draw_names(&names, &curves)?;
            area.present()?;
        }
        Ok(svg)
    }
}

/// Speeds by length: the best of all contenders that share the curve.
struct Curve {
    name: String,
    side: Side,
    color: RGBColor,
    /// The logarithm to base 2 of the length, and the speed.
    points: Vec<(f64, f64)>,
}

impl Curve {
    fn style(&self) -> ShapeStyle {
        self.color.stroke_width(if self.side == Side::Ours { 4 } else { 2 })
    }
}

fn curves(standings: &Standings) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for label in &standings.labels {
        if curves.iter().any(|curve| curve.name == label.curve) {
            continue;
        }
        let point = |row: &Row| {
            let same = standings.labels.iter().zip(&row.speeds);
            let same = same.filter(|(other, _)| other.curve == label.curve);
            let measured = same.map(|(_, &speed)| speed).filter(|speed| !speed.is_nan());
            let best = measured.reduce(f64::max)?;
            Some(((row.len as f64).log2(), standings.unit.of(best)))
        };
        let bounds = curves.iter().filter(|curve| curve.side == Side::Bound).count();
        let color = match label.side {
            Side::Bound => BOUND_COLORS[bounds % BOUND_COLORS.len()],
            _ => COLORS[(curves.len() - bounds) % COLORS.len()],
        };
        let points = standings.rows.iter().filter_map(point).collect();
        curves.push(Curve { name: label.curve.clone(), side: label.side, color, points });
    }
    curves
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw_curves(
    area: &Area<'_>,
    curves: &[Curve],
    title: &str,
    unit: Unit,
) -> Result<(), Box<dyn Error>> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let range = |part: fn(&(f64, f64)) -> f64| {
        let values = points().map(part);
        values.fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)))
    };
    let ((left, right), (low, high)) = (range(|point| point.0), range(|point| point.1));
    if left > right || low > high {
        return Err("nothing was measured that could be drawn".into());
    }
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 22))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .build_cartesian_2d(left - 0.5..right + 0.5, (low / 1.5..high * 1.5).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("w")
        .y_desc(unit.name())
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y}"))
        .label_style(("sans-serif", 14))
        .axis_desc_style(("sans-serif", 16))
        .x_labels(21)
        .light_line_style(WHITE)
        .draw()?;
    for curve in curves {
        let points = curve.points.iter().copied();
        if curve.side == Side::Bound {
            chart.draw_series(DashedLineSeries::new(points, 6, 4, curve.style()))?;
        } else {
            chart.draw_series(LineSeries::new(points, curve.style()).point_size(3))?;
        }
    }
    Ok(())
}

/// The names beside the plot, each with a piece of its line.
fn draw_names(area: &Area<'_>, curves: &[Curve]) -> Result<(), Box<dyn Error>> {
    // In the order in which the curves end, so that a name is not far from its curve.
    let end = |curve: &Curve| curve.points.last().map_or(0.0, |point| point.1);
    let mut curves: Vec<&Curve> = curves.iter().collect();
    curves.sort_by(|a, b| end(b).total_cmp(&end(a)));
    let text = ("sans-serif", 15).into_text_style(area).pos(Pos::new(HPos::Left, VPos::Center));
    let line = LINE.min((SIZE.1 - NAMES) / u32::try_from(curves.len())?.max(1)).max(1);
    for (y, curve) in (NAMES.cast_signed()..).step_by(line as usize).zip(curves) {
        let style = curve.style();
        if curve.side == Side::Bound {
            area.draw(&DashedPathElement::new([(4, y), (34, y)], 6, 4, style))?;
        } else {
            area.draw(&PathElement::new([(4, y), (34, y)], style))?;
        }
        area.draw(&Text::new(curve.name.as_str(), (42, y), text.clone()))?;
    }
    Ok(())
}
