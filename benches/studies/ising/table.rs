//! Table 1 of [RNG], measured again.

use std::io::Write;

use crate::failure::Failure;
use crate::methods::{Engine, Method, Published};
use crate::run::{self, Findings, Length, measure};
use crate::simulation::Setup;
use crate::statistics::Estimate;

/// Prints a row for each method as soon as it is there: what was found, and below it what the paper
/// has.
pub(crate) fn print(
    methods: &[Method],
    engine: Engine,
    setup: Setup,
    length: Length,
    timed: bool,
) -> Result<(), Failure> {
    println!(
        "| generator | e | deviation | C_V | deviation | ns an update, k = 1 | k = 100 \
         | tau of e, sweeps | sweeps | seconds |"
    );
    // Without tiles there is no k, and one time.
    let timed_ks = match engine {
        _ if !timed => 0,
        engine if engine.is_sequential() => 1,
        _ => KS.len(),
    };
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for &method in methods {
        let mut simulation = method.simulation(engine, setup)?;
        let found = measure(&mut *simulation, setup, length)?;
        let mut times = [String::new(), String::new()];
        for (time, hits) in times.iter_mut().zip(KS).take(timed_ks) {
            simulation.set_hits(hits);
            *time = digits(run::time(&mut *simulation, setup)?);
        }
        println!("{}", row(method, &found, &times));
        if let Some(published) = method.published(engine) {
            println!("{}", published_row(&published));
        }
        std::io::stdout().flush()?;
    }
    Ok(())
}

/// The numbers of hits that are timed.
const KS: [u32; 2] = [1, 100];

/// Three digits that count.
fn digits(x: f64) -> String {
    let decimals = (2 - x.log10().floor() as i32).clamp(0, 12);
    format!("{x:.*}", decimals as usize)
}

fn row(method: Method, found: &Findings, times: &[String; 2]) -> String {
    let Findings { observables, exact, .. } = found;
    let cells = |estimate: Estimate, exact: f64| {
        let deviation = estimate.deviation(exact);
        // A finding: beyond what chance gives in one of some 15,000 values.
        let mark = if deviation.abs() >= CAUGHT { "**" } else { "" };
        format!("{} | {mark}{deviation:+.2}{mark}", estimate.rounded())
    };
    format!(
        "| {} | {} | {} | {} | {} | {:.3} | {:.2e} | {:.1} |",
        method.title(),
        cells(observables.energy, exact.energy),
        cells(observables.specific_heat, exact.specific_heat),
        times[0],
        times[1],
        observables.correlation * found.interval as f64,
        found.sweeps as f64,
        found.seconds,
    )
}

/// From so many standard errors on a deviation is the generator's and not chance.
pub(crate) const CAUGHT: f64 = 4.0;

fn published_row(published: &Published) -> String {
    let Published { energy, specific_heat, times } = published;
    let times = times.map_or([String::new(), String::new()], |(one, many)| {
        [format!("{one:.4}"), format!("{many:.4}")]
    });
    format!(
        "| [RNG] | {} | {:+.2} | {} | {:+.2} | {} | {} | | 1e7 | |",
        energy.0, energy.1, specific_heat.0, specific_heat.1, times[0], times[1]
    )
}
