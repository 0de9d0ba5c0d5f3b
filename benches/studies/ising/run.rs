//! A run: equilibration, measurements, and how long an update takes.

use std::time::{Duration, Instant};

use crate::exact::Exact;
use crate::failure::Failure;
use crate::simulation::{Setup, Simulation};
use crate::statistics::Observables;

/// How long a run is, in sweeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Length {
    /// Before the first measurement.
    pub(crate) equilibration: u64,
    /// From then on.
    pub(crate) sweeps: u64,
    /// At least so many between measurements.
    pub(crate) every: u64,
}

/// What a run has found.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub(crate) observables: Observables,
    pub(crate) exact: Exact,
    /// Sweeps from one measurement to the next.
    pub(crate) interval: u64,
    /// Sweeps that were made after equilibration.
    pub(crate) sweeps: u64,
    pub(crate) seconds: f64,
}

/// The energies of a run, and the sweeps between them.
pub(crate) fn energies(
    simulation: &mut dyn Simulation,
    length: Length,
) -> Result<(Vec<i32>, u64), Failure> {
    let a_round = simulation.sweeps();
    let every = length.every.div_ceil(a_round).max(1);
    simulation.advance(length.equilibration.div_ceil(a_round))?;
    let interval = every * a_round;
    let count = usize::try_from(length.sweeps / interval)?;
    Ok((simulation.measure(count, every)?, interval))
}

/// Makes a run and evaluates it.
pub(crate) fn measure(
    simulation: &mut dyn Simulation,
    setup: Setup,
    length: Length,
) -> Result<Findings, Failure> {
    let start = Instant::now();
    let (energies, interval) = energies(simulation, length)?;
    let side = u32::try_from(setup.geometry.side)?;
    Ok(Findings {
        observables: Observables::new(&energies, setup.geometry.sites(), setup.beta)?,
        exact: Exact::new(side, side, setup.beta),
        interval,
        sweeps: energies.len() as u64 * interval,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Updates are timed for at least so long.
const TIMED: Duration = Duration::from_millis(500);

/// Nanoseconds that an update of a spin takes, without measurements.
pub(crate) fn time(simulation: &mut dyn Simulation, setup: Setup) -> Result<f64, Failure> {
    let mut rounds = 1;
    loop {
        simulation.wait()?;
        let start = Instant::now();
        simulation.advance(rounds)?;
        simulation.wait()?;
        let elapsed = start.elapsed();
        if elapsed >= TIMED {
            let updates =
                rounds as f64 * simulation.sweeps() as f64 * setup.geometry.sites() as f64;
            return Ok(elapsed.as_secs_f64() * 1e9 / updates);
        }
        rounds *= 2;
    }
}
