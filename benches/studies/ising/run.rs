//! A run: equilibration, measurements, and what they should give.

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
    /// The least number of rounds between measurements.
    pub(crate) every: u64,
}

/// What the canonical ensemble of a finite lattice gives, a spin, with J = k_B = 1.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exact {
    /// The mean of the sum over bonds of the products of their spins: minus the internal energy,
    /// the sign of [RNG].
    pub(crate) energy: f64,
    /// The specific heat, beta^2 (<E^2> - <E>^2) / N.
    pub(crate) specific_heat: f64,
}

/// Square lattices at beta = 0.4, by their sides: Kaufman's partition function (Phys. Rev. 76,
/// 1949, 1232) and its derivatives (Ferdinand and Fisher, Phys. Rev. 185, 1969, 832). Those of the
/// largest agree with Onsager's integral in 40 digits.
const EXACT: [(usize, Exact); 3] = [
    (32, Exact { energy: 1.107_291_660_978, specific_heat: 0.885_812_501_066 }),
    (128, Exact { energy: 1.106_079_203_804, specific_heat: 0.861_698_361_758 }),
    (1024, Exact { energy: 1.106_079_203_746, specific_heat: 0.861_698_356_831 }),
];

/// What a run has found, and should have.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    pub(crate) observables: Observables,
    pub(crate) exact: Exact,
}

/// Makes a run and evaluates it.
///
/// # Errors
///
/// If the exact values of the lattice are not known here, or the run is too short.
pub(crate) fn measure(
    simulation: &mut dyn Simulation,
    setup: Setup,
    length: Length,
) -> Result<Findings, Failure> {
    let known = |(side, _): &&_| *side == setup.geometry.side && setup.beta == 0.4;
    let (_, exact) = EXACT.iter().find(known).ok_or("no exact values of this lattice")?;
    let a_round = u64::from(setup.hits);
    let every = length.every.div_ceil(a_round).max(1);
    simulation.advance(length.equilibration.div_ceil(a_round))?;
    let count = usize::try_from(length.sweeps / (every * a_round))?;
    let energies = simulation.measure(count, every)?;
    let observables = Observables::new(&energies, setup.geometry.sites(), setup.beta)?;
    Ok(Findings { observables, exact: *exact })
}
