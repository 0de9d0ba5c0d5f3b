//! What all ways to simulate the lattice have in common.

use crate::failure::Failure;
use crate::geometry::Geometry;
use crate::metropolis::Metropolis;

/// What is simulated, by any processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) geometry: Geometry,
    /// The inverse temperature, with J = k_B = 1.
    pub(crate) beta: f64,
    /// How often each tile is updated before the next colour's turn: k of [RNG].
    pub(crate) hits: u32,
    pub(crate) seed: u64,
}

impl Setup {
    pub(crate) fn metropolis(&self) -> Metropolis {
        Metropolis::new(self.beta)
    }
}

/// A lattice that moves on by *rounds*, from all spins up. A round is k sweeps: both colours, k
/// hits each.
pub(crate) trait Simulation {
    /// Makes rounds, or puts them in a device's stream.
    fn advance(&mut self, rounds: u64) -> Result<(), Failure>;

    /// Makes `count` times `every` rounds. After each `every` rounds, gives the sum over bonds of
    /// the products of their spins.
    fn measure(&mut self, count: usize, every: u64) -> Result<Vec<i32>, Failure>;

    /// The spins, 1 or -1: the tiles of colour 0 one after another, then those of colour 1.
    fn spins(&mut self) -> Result<Vec<i8>, Failure>;
}
