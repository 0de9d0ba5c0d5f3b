//! The rows of the table: generators, orders of update, and what [RNG] found.

use bijective_shuffle::rng::{
    Generator, GeneratorError, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc,
    Philox4x32Rng, Streams, XorShift1024Weyl, Xorwow,
};

use crate::checkerboard::Checkerboard;
use crate::failure::Failure;
use crate::sequential::Sequential;
use crate::simulation::{Setup, Simulation};
use crate::words::TileWords;

/// How the lattice is updated, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    /// One site after another, by one core: a word for each.
    Sequential,
    /// The same with a word only for a flip that costs energy.
    Sparing,
    /// The double checkerboard on all cores.
    Cpu,
    /// The double checkerboard on an NVIDIA GPU.
    Cuda,
}

impl Engine {
    /// Whether one site is updated after another, without tiles.
    pub(crate) fn is_sequential(self) -> bool {
        matches!(self, Self::Sequential | Self::Sparing)
    }
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
    /// Ours is that of Marsaglia; the paper's is cuRAND's, of which the starts are others.
    Xorwow,
    /// A state for each warp.
    XorshiftWeyl,
    /// A counter for each thread, 7 rounds.
    Philox7,
    /// A counter for each thread, 10 rounds.
    Philox10,
}

/// A row of table 1 of [RNG]: 10^7 sweeps of 1024 x 1024 spins at beta = 0.4, on a GTX 480 where it
/// is of a GPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Published {
    /// The energy, with its error, and its deviation in standard errors.
    pub(crate) energy: (&'static str, f64),
    /// The specific heat, likewise.
    pub(crate) specific_heat: (&'static str, f64),
    /// Nanoseconds an update, for k = 1 and k = 100.
    pub(crate) times: Option<(f64, f64)>,
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

    /// Those that the paper has of sequential updates.
    pub(crate) const SEQUENTIAL: [Self; 3] = [Self::Lcg32, Self::Lcg64, Self::Fibonacci521];

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

    /// What the paper found.
    pub(crate) fn published(self, engine: Engine) -> Option<Published> {
        let row = |energy, specific_heat, times| Some(Published { energy, specific_heat, times });
        if engine.is_sequential() {
            return match self {
                Self::Lcg32 => row(("1.1060788(15)", -0.26), ("0.83286(45)", -63.45), None),
                Self::Lcg64 => row(("1.1060801(17)", 0.49), ("0.86102(60)", -1.14), None),
                // The paper says r = 512 there, which it says nowhere else.
                Self::Fibonacci521 => row(("1.1060789(17)", -0.18), ("0.86132(59)", -0.64), None),
                _ => None,
            };
        }
        let (energy, specific_heat, times) = match self {
            Self::Lcg32 => {
                (("1.0944121(14)", -8259.05), ("0.80316(48)", -121.05), (0.2221, 0.0402))
            }
            Self::Lcg32Random => {
                (("1.1060775(18)", -0.97), ("0.86175(56)", 0.09), (0.2221, 0.0402))
            }
            Self::Lcg64 => (("1.1061058(19)", 13.72), ("0.86179(67)", 0.14), (0.2311, 0.0471)),
            Self::Lcg64Random => (("1.1060803(18)", 0.62), ("0.86215(63)", 0.71), (0.2311, 0.0471)),
            Self::Mwc => (("1.1060800(18)", 0.45), ("0.86161(60)", -0.15), (0.2293, 0.0435)),
            Self::MwcDifferent => {
                (("1.1060797(18)", 0.28), ("0.86168(62)", -0.03), (0.2336, 0.0438))
            }
            Self::Fibonacci521 => {
                (("1.1060890(15)", 6.43), ("0.86099(66)", -1.09), (0.2601, 0.0661))
            }
            Self::Fibonacci1279 => {
                (("1.1060800(19)", 0.40), ("0.86084(53)", -1.64), (0.2904, 0.0700))
            }
            Self::Xorwow => (("1.1060654(15)", -9.13), ("0.86167(65)", 0.04), (0.7956, 0.0576)),
            Self::XorshiftWeyl => {
                (("1.1060788(18)", -0.23), ("0.86184(53)", 0.27), (0.2613, 0.0721))
            }
            Self::Philox7 => (("1.1060778(18)", -0.79), ("0.86109(65)", -0.93), (0.2399, 0.0523)),
            Self::Philox10 => (("1.1060777(17)", -0.85), ("0.86188(61)", 0.30), (0.2577, 0.0622)),
        };
        row(energy, specific_heat, Some(times))
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
            Self::Mwc => start(engine, setup, |n| {
                let start = |stream| Mwc::from_multiplier(setup.multiplier, seed, stream);
                Ok((0..n as u64).map(start).collect::<Result<_, _>>()?)
            }),
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
    if engine.is_sequential() {
        let stream = streams(1)?.remove(0);
        return Ok(Box::new(Sequential::new(setup, stream, engine == Engine::Sparing)?));
    }
    if !G::fits(geometry.tile) {
        return Err(format!("the generator does not fit tiles of side {}", geometry.tile).into());
    }
    let streams = streams(G::states(geometry) * geometry.pairs())?;
    match engine {
        #[cfg(all(
            feature = "cuda",
            target_pointer_width = "64",
            any(target_os = "linux", target_os = "windows")
        ))]
        Engine::Cuda => Ok(Box::new(crate::gpu::Gpu::new(setup, streams)?)),
        #[cfg(not(all(
            feature = "cuda",
            target_pointer_width = "64",
            any(target_os = "linux", target_os = "windows")
        )))]
        Engine::Cuda => Err("built without the feature `cuda`".into()),
        _ => Ok(Box::new(Checkerboard::new(setup, streams)?)),
    }
}
