//! The two-dimensional Ising ferromagnet as a test of random numbers, and of what they cost: energy
//! and specific heat are known exactly on finite lattices, so a generator that is not random enough
//! is off. After Manssen, Weigel, Hartmann, *Random number generators for massively parallel
//! simulations on GPU* (Eur. Phys. J. Special Topics 210, 2012; \[RNG\]), table 1; what came of it
//! is in docs/results/rng.md.
//!
//! ```console
//! cargo run --release -p bijective-shuffle-studies --bin ising
//! cargo run --release -p bijective-shuffle-studies --bin ising -- run --generator philox10 --engine cuda --sweeps 1e6
//! cargo run --release -p bijective-shuffle-studies --bin ising -- table --engine cuda --sweeps 1e7
//! ```
//!
//! Without a command it checks itself on a small lattice, and on a GPU if there is one.

mod check;
mod checkerboard;
mod exact;
mod failure;
mod geometry;
#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
mod gpu;
mod methods;
mod metropolis;
mod picture;
mod run;
mod sequential;
mod simulation;
mod statistics;
mod table;
mod words;

use std::path::PathBuf;

use bijective_shuffle::rng::Mwc;
use clap::{Args, Parser, Subcommand};

use crate::exact::Exact;
use crate::failure::Failure;
use crate::geometry::Geometry;
use crate::methods::{Engine, Method};
use crate::run::{Findings, Length};
use crate::simulation::Setup;

/// Simulates the two-dimensional Ising ferromagnet, and compares with the exact solution.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Checks the example itself; this is what is done without a command.
    Check {
        /// The engine that must agree with the CPU, bit for bit: `cuda`. Without it: a GPU, if
        /// there is one.
        #[arg(long)]
        engine: Option<Engine>,
    },
    /// The exact energy and specific heat.
    Exact(Model),
    /// One run.
    Run {
        #[arg(long, value_enum)]
        generator: Method,
        #[command(flatten)]
        work: Work,
    },
    /// Table 1 of [RNG].
    Table {
        /// Only these.
        #[arg(long, value_enum, num_args = 1..)]
        only: Vec<Method>,
        /// Leave out how long an update takes.
        #[arg(long)]
        no_times: bool,
        #[command(flatten)]
        work: Work,
    },
    /// A picture of a lattice at the critical point, and one of the energy against sweeps.
    Picture {
        /// Where the pictures go.
        #[arg(long, default_value = "docs/results/ising")]
        folder: PathBuf,
        /// Sweeps of the lattice at the critical point, from all spins up.
        #[arg(long, default_value = "1e5", value_parser = count)]
        critical_sweeps: u64,
        #[command(flatten)]
        work: Work,
    },
}

#[derive(Clone, Copy, Debug, Args)]
struct Model {
    /// Spins on a side.
    #[arg(long, default_value_t = 1024)]
    side: usize,
    /// The inverse temperature, with J = k_B = 1.
    #[arg(long, default_value_t = 0.4)]
    beta: f64,
}

#[derive(Clone, Copy, Debug, Args)]
struct Work {
    #[command(flatten)]
    model: Model,
    #[arg(long, value_enum, default_value_t = Engine::Cpu)]
    engine: Engine,
    /// Sites on a side of a tile.
    #[arg(long, default_value_t = 32)]
    tile: usize,
    /// How often a tile is updated before the other colour's turn: k of [RNG].
    #[arg(long, default_value_t = 100)]
    hits: u32,
    #[arg(long, default_value_t = 20_261_122)]
    seed: u64,
    /// The multiplier of `mwc`, which is the largest good one otherwise.
    #[arg(long, default_value_t = Mwc::MULTIPLIER)]
    multiplier: u32,
    /// Sweeps that are measured, such as 1e6.
    #[arg(long, default_value = "1e5", value_parser = count)]
    sweeps: u64,
    /// Sweeps before them; a tenth of them unless said otherwise.
    #[arg(long, value_parser = count)]
    equilibration: Option<u64>,
    /// The fewest sweeps from one measurement to the next.
    #[arg(long, default_value = "1", value_parser = count)]
    every: u64,
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

impl Model {
    fn exact(self) -> Result<Exact, Failure> {
        if !(self.beta > 0.0 && self.beta.is_finite()) {
            return Err(format!("no inverse temperature: {}", self.beta).into());
        }
        let side = u32::try_from(self.side)?;
        if side == 0 { Err("no spins".into()) } else { Ok(Exact::new(side, side, self.beta)) }
    }
}

impl Work {
    fn setup(self) -> Result<Setup, Failure> {
        let Model { side, beta } = self.model;
        self.model.exact()?;
        if self.hits == 0 {
            return Err("a tile is updated at least once".into());
        }
        let geometry = Geometry::new(side, self.tile)?;
        Ok(Setup { geometry, beta, hits: self.hits, seed: self.seed, multiplier: self.multiplier })
    }

    /// A multiplier of one's own is for `mwc` alone.
    fn check_multiplier(self, methods: &[Method]) -> Result<(), Failure> {
        if self.multiplier != Mwc::MULTIPLIER && methods != [Method::Mwc] {
            return Err("--multiplier is for `--generator mwc` or `--only mwc`".into());
        }
        Ok(())
    }

    fn length(self) -> Length {
        let equilibration = self.equilibration.unwrap_or(self.sweeps / 10);
        Length { equilibration, sweeps: self.sweeps, every: self.every }
    }
}

fn main() -> Result<(), Failure> {
    match Arguments::parse().command.unwrap_or(Command::Check { engine: None }) {
        Command::Check { engine } => check_all(engine),
        Command::Exact(model) => {
            let Exact { energy, specific_heat } = model.exact()?;
            println!("e = {energy:.12}, C_V = {specific_heat:.12}");
            Ok(())
        }
        Command::Run { generator, work } => {
            work.check_multiplier(&[generator])?;
            run_one(generator, work)
        }
        Command::Table { only, no_times, work } => {
            let methods = match work.engine {
                _ if !only.is_empty() => only,
                engine if engine.is_sequential() => Method::SEQUENTIAL.to_vec(),
                _ => Method::ALL.to_vec(),
            };
            work.check_multiplier(&methods)?;
            let Exact { energy, specific_heat } = work.model.exact()?;
            println!("Exact: e = {energy:.9}, C_V = {specific_heat:.10}; k = {}\n", work.hits);
            table::print(&methods, work.engine, work.setup()?, work.length(), !no_times)
        }
        Command::Picture { folder, critical_sweeps, work } => {
            let methods = [Method::Lcg32, Method::Lcg64, Method::Philox10];
            std::fs::create_dir_all(&folder)?;
            let setup = work.setup()?;
            picture::lattice(&folder.join("lattice.svg"), work.engine, work.seed, critical_sweeps)?;
            picture::energy(&folder.join("energy.svg"), &methods, work.engine, setup, work.length())
        }
    }
}

fn check_all(engine: Option<Engine>) -> Result<(), Failure> {
    check::small_lattice(Engine::Cpu, Method::Philox10, 42)?;
    let other = match engine {
        Some(Engine::Cuda) => Engine::Cuda,
        Some(engine) => {
            return Err(format!("{engine:?} has no lattice to compare bit for bit").into());
        }
        None if has_gpu() => Engine::Cuda,
        None => return Ok(()),
    };
    for method in Method::ALL {
        for hits in [1, 100] {
            check::agreement([Engine::Cpu, other], method, hits)?;
        }
    }
    println!("{other:?} and the CPU agree bit for bit, with all {} generators.", Method::ALL.len());
    Ok(())
}

#[cfg(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
))]
fn has_gpu() -> bool {
    match bijective_shuffle::cuda::Cuda::new() {
        Ok(_) => true,
        Err(error) => {
            println!("Not compared with a GPU: {error}");
            false
        }
    }
}

#[cfg(not(all(
    feature = "cuda",
    target_pointer_width = "64",
    any(target_os = "linux", target_os = "windows")
)))]
fn has_gpu() -> bool {
    false
}

fn run_one(method: Method, work: Work) -> Result<(), Failure> {
    let setup = work.setup()?;
    let mut simulation = method.simulation(work.engine, setup)?;
    let found = run::measure(&mut *simulation, setup, work.length())?;
    let Findings { observables, exact, interval, sweeps, seconds } = found;
    println!("{}: {sweeps} sweeps, measured every {interval}, in {seconds:.2} s", method.title());
    let quantities = [
        ("e  ", observables.energy, exact.energy),
        ("C_V", observables.specific_heat, exact.specific_heat),
    ];
    for (name, estimate, exact) in quantities {
        let (rounded, deviation) = (estimate.rounded(), estimate.deviation(exact));
        println!("{name} = {rounded}, exact {exact:.9}, deviation {deviation:+.2}");
    }
    let correlation = observables.correlation * interval as f64;
    println!("integrated autocorrelation time of e: {correlation:.3} sweeps");
    Ok(())
}
