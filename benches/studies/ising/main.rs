//! The two-dimensional Ising ferromagnet as a test of random numbers: energy and specific heat are
//! known exactly on finite lattices, so a generator that is not random enough is off. After
//! Manssen, Weigel, Hartmann, *Random number generators for massively parallel simulations on GPU*
//! (Eur. Phys. J. Special Topics 210, 2012; \[RNG\]), table 1; docs/results/rng.md has the results.
//!
//! ```console
//! cargo run --release -p bijective-shuffle-studies --bin ising
//! cargo run --release -p bijective-shuffle-studies --bin ising -- table --engine cuda --sweeps 1e7
//! ```
//!
//! Without a command it checks itself on a small lattice, and on a GPU if there is one.

mod check;
mod checkerboard;
mod failure;
mod geometry;
#[cfg(feature = "cuda")]
mod gpu;
mod methods;
mod metropolis;
mod run;
mod simulation;
mod statistics;
mod words;

use clap::{Args, Parser, Subcommand};

use crate::failure::Failure;
use crate::geometry::Geometry;
use crate::methods::{Engine, Method};
use crate::run::{Findings, Length};
use crate::simulation::Setup;
use crate::statistics::Estimate;

/// Simulates the two-dimensional Ising ferromagnet, and compares with the exact solution.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks the program itself; this is what is done without a command.
    Check {
        /// The engine that must agree with the CPU, bit for bit: `cuda`. Without it: a GPU, if
        /// there is one.
        #[arg(long)]
        engine: Option<Engine>,
    },
    /// Table 1 of [RNG]: 1024 x 1024 spins.
    Table(Work),
}

#[derive(Debug, Args)]
struct Work {
    /// Only these generators.
    #[arg(long, value_enum, num_args = 1..)]
    only: Vec<Method>,
    #[arg(long, value_enum, default_value_t = Engine::Cpu)]
    engine: Engine,
    /// How often a tile is updated before the other colour's turn: k of [RNG].
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..))]
    hits: u32,
    #[arg(long, default_value_t = 20_261_122)]
    seed: u64,
    /// Sweeps that are measured, such as 1e6; a tenth as many are made before them.
    #[arg(long, default_value = "1e5", value_parser = count)]
    sweeps: u64,
}

/// A whole number, also in the form 1e6.
fn count(text: &str) -> Result<u64, String> {
    let number: f64 = text.parse().map_err(|_| "not a number".to_owned())?;
    // Whole numbers up to there are exact.
    if number < 0.0 || number > 2_f64.powi(53) || number.fract() != 0.0 {
        return Err("not a whole number from 0 to 2^53".into());
    }
    Ok(number as u64)
}

fn main() -> Result<(), Failure> {
    match Arguments::parse().command.unwrap_or(Command::Check { engine: None }) {
        Command::Check { engine } => check_all(engine),
        Command::Table(work) => print_table(&work),
    }
}

fn check_all(engine: Option<Engine>) -> Result<(), Failure> {
    check::small_lattice(Method::Philox10, 42)?;
    if engine != Some(Engine::Cuda) && !has_gpu() {
        return Ok(());
    }
    for method in Method::ALL {
        for hits in [1, 100] {
            check::agreement(method, hits)?;
        }
    }
    println!("A GPU and the CPU agree bit for bit, with all {} generators.", Method::ALL.len());
    Ok(())
}

#[cfg(feature = "cuda")]
fn has_gpu() -> bool {
    let found = bijective_shuffle::cuda::Cuda::new();
    found.inspect_err(|error| println!("Not compared with a GPU: {error}")).is_ok()
}

#[cfg(not(feature = "cuda"))]
fn has_gpu() -> bool {
    false
}

/// Prints a row for each method as soon as it is there.
fn print_table(work: &Work) -> Result<(), Failure> {
    let setup =
        Setup { geometry: Geometry::new(1024, 32)?, beta: 0.4, hits: work.hits, seed: work.seed };
    let length = Length { equilibration: work.sweeps / 10, sweeps: work.sweeps, every: 1 };
    println!("| generator | e | deviation | C_V | deviation |\n| --- | --- | --- | --- | --- |");
    for &method in if work.only.is_empty() { &Method::ALL[..] } else { &work.only } {
        let mut simulation = method.simulation(work.engine, setup)?;
        let Findings { observables, exact } = run::measure(&mut *simulation, setup, length)?;
        let [energy, heat] = [
            cells(observables.energy, exact.energy),
            cells(observables.specific_heat, exact.specific_heat),
        ];
        println!("| {} | {energy} | {heat} |", method.title());
    }
    Ok(())
}

fn cells(estimate: Estimate, exact: f64) -> String {
    let deviation = estimate.deviation(exact);
    // Chance gives more than this in one of some 15,000 values.
    let mark = if deviation.abs() >= 4.0 { "**" } else { "" };
    format!("{} | {mark}{deviation:+.2}{mark}", estimate.rounded())
}
