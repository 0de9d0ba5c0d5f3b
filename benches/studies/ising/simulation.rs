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
    /// How often each tile is updated before the next colour's turn: k of [RNG]. Sweeps one site
    /// after another do without tiles.
    pub(crate) hits: u32,
    pub(crate) seed: u64,
    /// The multiplier of [`Method::Mwc`](crate::methods::Method::Mwc).
    pub(crate) multiplier: u32,
}

impl Setup {
    pub(crate) fn metropolis(&self) -> Metropolis {
        Metropolis::new(self.beta)
    }
}

/// A lattice that moves on by *rounds*, from all spins up. A round is k sweeps: both colours, k
/// hits each.
pub(crate) trait Simulation {
    /// Makes rounds, or lets a device make them.
    fn advance(&mut self, rounds: u64) -> Result<(), Failure>;

    /// Waits until they are made.
    fn wait(&mut self) -> Result<(), Failure> {
        Ok(())
    }

    /// Sweeps in a round.
    fn sweeps(&self) -> u64;

    /// Sets k, where there are tiles.
    fn set_hits(&mut self, hits: u32);

    /// Makes `count` times `every` rounds. Gives the sum over bonds of the products of their spins
    /// after every so many.
    fn measure(&mut self, count: usize, every: u64) -> Result<Vec<i32>, Failure>;

    /// The spins, 1 or -1, in the order of [`Geometry::index`].
    fn spins(&mut self) -> Result<Vec<i8>, Failure>;
}

/// The sum over bonds, from the spins alone.
#[cfg(test)]
pub(crate) fn energy_of(spins: &[i8], geometry: Geometry) -> i32 {
    let side = geometry.side;
    let spin =
        |row: usize, column: usize| i32::from(spins[geometry.index(row % side, column % side)]);
    let site = |(row, column)| spin(row, column) * (spin(row + 1, column) + spin(row, column + 1));
    (0..side * side).map(|k| site((k / side, k % side))).sum()
}
