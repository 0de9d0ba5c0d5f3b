//! The rows of the table: generators, and how their streams are made.

use bijective_shuffle::rng::{
    Generator, GeneratorError, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc,
    Philox4x32Rng, Streams, XorShift1024Weyl, Xorwow,
};

use crate::checkerboard::Checkerboard;
use crate::failure::Failure;
use crate::simulation::{Setup, Simulation};
use crate::words::TileWords;

/// Who updates the double checkerboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// All cores.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// A generator, and how its streams are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Method {
    /// One sequence, of which thread i of n takes words i, i + n, ...
    Lcg32,
    /// A random start for each thread.
    Lcg32Random,
    /// One sequence, of which thread i of n takes words i, i + n, ...
    Lcg64,
    /// A random start for each thread.
    Lcg64Random,
    /// Random starts, one multiplier.
    Mwc,
    /// Random starts, a multiplier for each thread.
    MwcDifferent,
    /// A state for each tile.
    Fibonacci521,
    /// A state for each tile.
    Fibonacci1279,
    /// Ours is that of Marsaglia; the paper's is cuRAND's, with other starts.
    Xorwow,
    /// A state for each warp.
    XorshiftWeyl,
    /// A counter for each thread, 7 rounds.
    Philox7,
    /// A counter for each thread, 10 rounds.
    Philox10,
}

impl Method {
    pub(crate) const ALL: [Self; 12] = [
        Self::Lcg32,
        Self::Lcg32Random,
        Self::Lcg64,
        Self::Lcg64Random,
        Self::Mwc,
        Self::MwcDifferent,
        Self::Fibonacci521,
        Self::Fibonacci1279,
        Self::Xorwow,
        Self::XorshiftWeyl,
        Self::Philox7,
        Self::Philox10,
    ];

    /// The name in the paper's table.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Lcg32 => "LCG32",
            Self::Lcg32Random => "LCG32, random",
            Self::Lcg64 => "LCG64",
            Self::Lcg64Random => "LCG64, random",
            Self::Mwc => "MWC, same a",
            Self::MwcDifferent => "MWC, different a",
            Self::Fibonacci521 => "Fibonacci, r = 521",
            Self::Fibonacci1279 => "Fibonacci, r = 1279",
            Self::Xorwow => "XORWOW",
            Self::XorshiftWeyl => "XORShift/Weyl",
            Self::Philox7 => "Philox4x32_7",
            Self::Philox10 => "Philox4x32_10",
        }
    }

    /// A simulation with this generator.
    ///
    /// # Errors
    ///
    /// If the generator does not fit tiles of this size, or the engine is not there.
    pub(crate) fn simulation(
        self,
        engine: Engine,
        setup: Setup,
    ) -> Result<Box<dyn Simulation>, Failure> {
        let seed = setup.seed;
        match self {
            Self::Lcg32 => start(engine, setup, |n| all(Streams::<Lcg32>::leapfrog(seed, n))),
            Self::Lcg64 => start(engine, setup, |n| all(Streams::<Lcg64>::leapfrog(seed, n))),
            Self::Lcg32Random => start::<Lcg32>(engine, setup, |n| streams(seed, n)),
            Self::Lcg64Random => start::<Lcg64>(engine, setup, |n| streams(seed, n)),
            Self::Mwc => start::<Mwc>(engine, setup, |n| streams(seed, n)),
            Self::MwcDifferent => start(engine, setup, |n| all(Streams::<Mwc>::different(seed, n))),
            Self::Fibonacci521 => start::<LaggedFibonacci521>(engine, setup, |n| streams(seed, n)),
            Self::Fibonacci1279 => {
                start::<LaggedFibonacci1279>(engine, setup, |n| streams(seed, n))
            }
            Self::Xorwow => start::<Xorwow>(engine, setup, |n| streams(seed, n)),
            Self::XorshiftWeyl => start::<XorShift1024Weyl>(engine, setup, |n| streams(seed, n)),
            Self::Philox7 => start::<Philox4x32Rng<7>>(engine, setup, |n| streams(seed, n)),
            Self::Philox10 => start::<Philox4x32Rng<10>>(engine, setup, |n| streams(seed, n)),
        }
    }
}

/// The first streams of a seed.
fn streams<G: Generator>(seed: u64, count: usize) -> Result<Vec<G>, Failure> {
    all(Streams::new(seed, 0..count as u64))
}

fn all<G: Generator>(streams: Result<Streams<G>, GeneratorError>) -> Result<Vec<G>, Failure> {
    Ok(streams?.generators().to_vec())
}

/// A simulation with as many streams as it takes.
fn start<G: TileWords>(
    engine: Engine,
    setup: Setup,
    streams: impl FnOnce(usize) -> Result<Vec<G>, Failure>,
) -> Result<Box<dyn Simulation>, Failure> {
    let geometry = setup.geometry;
    if !G::fits(geometry.tile) {
        return Err(format!("the generator does not fit tiles of side {}", geometry.tile).into());
    }
    let streams = streams(G::states(geometry) * geometry.pairs())?;
    match engine {
        Engine::Cpu => Ok(Box::new(Checkerboard::new(setup, streams)?)),
        #[cfg(feature = "cuda")]
        Engine::Cuda => Ok(Box::new(crate::gpu::Gpu::new(setup, streams)?)),
        #[cfg(not(feature = "cuda"))]
        Engine::Cuda => Err("built without the feature `cuda`".into()),
    }
}
