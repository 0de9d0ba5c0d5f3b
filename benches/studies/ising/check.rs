//! What the example checks of itself when it is run without a command.

use bijective_shuffle::rng::Mwc;

use crate::failure::Failure;
use crate::geometry::Geometry;
use crate::methods::{Engine, Method};
use crate::run::{Findings, Length, measure};
use crate::simulation::Setup;
use crate::statistics::Estimate;

/// A correct generator is further off once in 1.7 million runs.
const SIGMAS: f64 = 5.0;

/// A short simulation of a small lattice, which must give the exact energy and specific heat.
pub(crate) fn small_lattice(engine: Engine, method: Method, seed: u64) -> Result<(), Failure> {
    let setup = Setup {
        geometry: Geometry::new(32, 16)?,
        beta: 0.4,
        hits: 1,
        seed,
        multiplier: Mwc::MULTIPLIER,
    };
    let length = Length { equilibration: 500, sweeps: 8000, every: 2 };
    let Findings { observables, exact, .. } =
        measure(&mut *method.simulation(engine, setup)?, setup, length)?;
    println!("{}, 32 x 32 spins, beta = 0.4, {} sweeps:", method.title(), length.sweeps);
    let quantities = [
        ("energy", observables.energy, exact.energy),
        ("specific heat", observables.specific_heat, exact.specific_heat),
    ];
    for (name, estimate, exact) in quantities {
        println!(
            "  {name:13} {:12} exact {exact:.6}, deviation {:+.2} standard errors",
            estimate.rounded(),
            estimate.deviation(exact)
        );
        within(name, estimate, exact)?;
    }
    Ok(())
}

fn within(name: &str, estimate: Estimate, exact: f64) -> Result<(), Failure> {
    let deviation = estimate.deviation(exact);
    // A deviation that is no number is none that is small.
    if deviation.abs() < SIGMAS { Ok(()) } else { Err(format!("{name}: {deviation:+.2}").into()) }
}

/// Runs a lattice on two engines: measured energies and spins must be the same, bit for bit.
pub(crate) fn agreement(engines: [Engine; 2], method: Method, hits: u32) -> Result<(), Failure> {
    let setup = Setup {
        geometry: Geometry::new(128, 32)?,
        beta: 0.43,
        hits,
        seed: 7,
        multiplier: Mwc::MULTIPLIER,
    };
    let run = |engine| -> Result<_, Failure> {
        let mut simulation = method.simulation(engine, setup)?;
        // A second call goes on where the first ended.
        simulation.advance(2)?;
        let energies = simulation.measure(5, 3)?;
        simulation.advance(1)?;
        Ok((energies, simulation.spins()?))
    };
    let (first, second) = (run(engines[0])?, run(engines[1])?);
    if first == second {
        return Ok(());
    }
    let differ = first.1.iter().zip(&second.1).filter(|(a, b)| a != b).count();
    let what = format!("{}, k = {hits}: {differ} spins differ", method.title());
    Err(format!("{what}; energies {:?} and {:?}", first.0, second.0).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::energy_of;

    #[test]
    #[cfg_attr(debug_assertions, ignore = "takes long where it is not optimised")]
    fn good_generators_give_the_exact_values() {
        small_lattice(Engine::Cpu, Method::Philox10, 1).unwrap();
        small_lattice(Engine::Cpu, Method::Philox7, 2).unwrap();
        small_lattice(Engine::Sequential, Method::Philox10, 3).unwrap();
        small_lattice(Engine::Sparing, Method::Philox10, 4).unwrap();
    }

    /// What the whole example is for: a bad generator shows.
    #[test]
    fn leapfrog_in_a_small_sequence_is_caught() {
        let setup = Setup {
            geometry: Geometry::new(128, 32).unwrap(),
            beta: 0.4,
            hits: 1,
            seed: 1,
            multiplier: Mwc::MULTIPLIER,
        };
        let length = Length { equilibration: 500, sweeps: 10_000, every: 1 };
        let mut simulation = Method::Lcg32.simulation(Engine::Cpu, setup).unwrap();
        let found = measure(&mut *simulation, setup, length).unwrap();
        let deviation = found.observables.energy.deviation(found.exact.energy);
        assert!(deviation.abs() > SIGMAS, "{deviation}");
    }

    #[test]
    fn generators_do_not_take_tiles_that_their_states_do_not_cover() {
        for (method, tile, fits) in [
            (Method::Fibonacci521, 32, true),
            (Method::Fibonacci521, 64, false),
            (Method::Fibonacci1279, 64, false),
            (Method::Philox10, 64, true),
            (Method::XorshiftWeyl, 16, true),
            (Method::XorshiftWeyl, 4, false),
        ] {
            let geometry = Geometry::new(128, tile).unwrap();
            let setup =
                Setup { geometry, beta: 0.4, hits: 1, seed: 1, multiplier: Mwc::MULTIPLIER };
            assert_eq!(method.simulation(Engine::Cpu, setup).is_ok(), fits, "{method:?}, {tile}");
        }
    }

    #[test]
    fn energies_are_those_of_the_spins() {
        let geometry = Geometry::new(128, 32).unwrap();
        for engine in [Engine::Sequential, Engine::Sparing, Engine::Cpu] {
            for method in Method::ALL {
                let setup =
                    Setup { geometry, beta: 0.4, hits: 2, seed: 5, multiplier: Mwc::MULTIPLIER };
                let mut simulation = method.simulation(engine, setup).unwrap();
                let energies = simulation.measure(3, 2).unwrap();
                let spins = simulation.spins().unwrap();
                let what = format!("{engine:?}, {method:?}");
                assert!(spins.iter().all(|spin| spin.abs() == 1), "{what}");
                assert_eq!(energies[2], energy_of(&spins, geometry), "{what}");
                assert_ne!(energies[2], 2 * 128 * 128, "nothing has moved: {what}");
            }
        }
    }

    #[test]
    fn threads_do_not_matter() {
        let spins = |threads| {
            let pool = bijective_shuffle::rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let geometry = Geometry::new(128, 32).unwrap();
                let setup =
                    Setup { geometry, beta: 0.4, hits: 3, seed: 5, multiplier: Mwc::MULTIPLIER };
                let mut simulation = Method::Fibonacci1279.simulation(Engine::Cpu, setup).unwrap();
                simulation.advance(3).unwrap();
                simulation.spins().unwrap()
            })
        };
        assert_eq!(spins(1), spins(3));
    }
}
