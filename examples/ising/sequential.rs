//! One site after another, row by row, with one stream of random numbers: how a simulation on a CPU would go without
//! anything parallel ("sequential update" of [RNG], table 1).

use bijective_shuffle::rng::{Fill, Generator, Streams};

use crate::Failure;
use crate::simulation::{Setup, Simulation};

/// The lattice row by row.
pub(crate) struct Sequential<G: Generator> {
    setup: Setup,
    spins: Vec<i8>,
    stream: Streams<G>,
    /// The words for some rows.
    words: Vec<u32>,
}

/// Words are drawn about so many at a time. A multiple of every generator's block.
const WORDS: usize = 4096;

impl<G: Generator> Sequential<G> {
    pub(crate) fn new(setup: Setup, stream: G) -> Result<Self, Failure> {
        let side = setup.geometry.side;
        let words = vec![0; side * (WORDS / side).max(1)];
        let spins = vec![1; setup.geometry.sites()];
        Ok(Self { setup, spins, stream: Streams::from_generators(vec![stream])?, words })
    }

    fn sweep(&mut self) {
        let side = self.setup.geometry.side;
        let metropolis = self.setup.metropolis();
        for first in (0..side).step_by(self.words.len() / side) {
            self.stream.fill_u32(&mut self.words);
            for (row, words) in (first..side).zip(self.words.chunks_exact(side)) {
                let (above, below) = ((row + side - 1) % side * side, (row + 1) % side * side);
                let row = row * side;
                // The left neighbour of the first is the last.
                let mut left = self.spins[row + side - 1];
                for (column, &word) in words.iter().enumerate() {
                    let right = if column + 1 < side { column + 1 } else { 0 };
                    let others = self.spins[above + column]
                        + self.spins[below + column]
                        + self.spins[row + right];
                    // What follows from either left neighbour is known before the neighbour is: a site waits for the
                    // one before it only to choose.
                    let spin = self.spins[row + column];
                    let after_up = metropolis.next(spin, others + 1, word);
                    let after_down = metropolis.next(spin, others - 1, word);
                    let down = left >> 7;
                    left = after_up & !down | after_down & down;
                    self.spins[row + column] = left;
                }
            }
        }
    }

    fn bonds(&self) -> i32 {
        let side = self.setup.geometry.side;
        let dot =
            |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(&a, &b)| i32::from(a * b)).sum::<i32>();
        let row = |number: usize| &self.spins[number % side * side..][..side];
        (0..side)
            .map(|number| {
                let row_here = row(number);
                let around = i32::from(row_here[side - 1] * row_here[0]);
                dot(&row_here[1..], &row_here[..side - 1]) + around + dot(row_here, row(number + 1))
            })
            .sum()
    }
}

impl<G: Generator> Simulation for Sequential<G> {
    fn advance(&mut self, rounds: u64) -> Result<(), Failure> {
        for _ in 0..rounds {
            self.sweep();
        }
        Ok(())
    }

    /// A round is one sweep.
    fn sweeps(&self) -> u64 {
        1
    }

    /// There are no tiles.
    fn set_hits(&mut self, _hits: u32) {}

    fn measure(&mut self, count: usize, every: u64) -> Result<Vec<i32>, Failure> {
        let mut energies = Vec::with_capacity(count);
        for _ in 0..count {
            self.advance(every)?;
            energies.push(self.bonds());
        }
        Ok(energies)
    }

    fn spins(&mut self) -> Result<Vec<i8>, Failure> {
        let geometry = self.setup.geometry;
        let mut spins = vec![0; geometry.sites()];
        for (site, &spin) in self.spins.iter().enumerate() {
            spins[geometry.index(site / geometry.side, site % geometry.side)] = spin;
        }
        Ok(spins)
    }
}
