//! One site after another, row by row, with one stream of random numbers: how a simulation on a CPU
//! would go without anything parallel ("sequential update" of [RNG], table 1).

use bijective_shuffle::rand_core::Rng;
use bijective_shuffle::rng::{Buffered, Fill, Generator, Streams};

use crate::failure::Failure;
use crate::metropolis::Metropolis;
use crate::simulation::{Setup, Simulation};

/// The lattice row by row.
pub(crate) struct Sequential<G: Generator> {
    setup: Setup,
    spins: Vec<i8>,
    words: Words<G>,
}

/// How sites get their words.
enum Words<G: Generator> {
    /// One each: these are for some rows.
    EverySite(Streams<G>, Vec<u32>),
    /// Those whose flip costs energy get the next one.
    Sparing(Box<Buffered<G>>),
}

/// Words are drawn about so many at a time.
const WORDS: usize = 4096;

impl<G: Generator> Sequential<G> {
    pub(crate) fn new(setup: Setup, stream: G, sparing: bool) -> Result<Self, Failure> {
        let side = setup.geometry.side;
        let words = if sparing {
            Words::Sparing(Box::new(Buffered::new(stream)))
        } else {
            let words = vec![0; side * (WORDS / side).max(1)];
            Words::EverySite(Streams::from_generators(vec![stream])?, words)
        };
        let spins = vec![1; setup.geometry.sites()];
        Ok(Self { setup, spins, words })
    }

    fn sweep(&mut self) {
        let side = self.setup.geometry.side;
        let metropolis = self.setup.metropolis();
        match &mut self.words {
            Words::EverySite(stream, words) => {
                for first in (0..side).step_by(words.len() / side) {
                    stream.fill_u32(words);
                    for (row, words) in (first..side).zip(words.chunks_exact(side)) {
                        update_row(&mut self.spins, side, row, metropolis, words);
                    }
                }
            }
            Words::Sparing(stream) => {
                for row in 0..side {
                    update_row_sparing(&mut self.spins, side, row, metropolis, &mut **stream);
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

/// Where the rows above and below a row begin, and it itself.
fn rows_around(side: usize, row: usize) -> [usize; 3] {
    [(row + side - 1) % side * side, (row + 1) % side * side, row * side]
}

/// Updates a row, with a word for each site.
fn update_row(spins: &mut [i8], side: usize, row: usize, metropolis: Metropolis, words: &[u32]) {
    let [above, below, row] = rows_around(side, row);
    // The left neighbour of the first is the last.
    let mut left = spins[row + side - 1];
    for (column, &word) in words.iter().enumerate() {
        let right = if column + 1 < side { column + 1 } else { 0 };
        let others = spins[above + column] + spins[below + column] + spins[row + right];
        // What follows from either left neighbour is known before the neighbour is: a site waits
        // for the one before it only to choose.
        let spin = spins[row + column];
        let after_up = metropolis.next(spin, others + 1, word);
        let after_down = metropolis.next(spin, others - 1, word);
        let down = left >> 7;
        left = after_up & !down | after_down & down;
        spins[row + column] = left;
    }
}

/// Updates a row, with words for the sites whose flip costs energy.
fn update_row_sparing(
    spins: &mut [i8],
    side: usize,
    row: usize,
    metropolis: Metropolis,
    words: &mut impl Rng,
) {
    let [above, below, row] = rows_around(side, row);
    let mut left = spins[row + side - 1];
    for column in 0..side {
        let right = if column + 1 < side { column + 1 } else { 0 };
        let sum = left + spins[above + column] + spins[below + column] + spins[row + right];
        let spin = spins[row + column];
        let word = if spin * sum > 0 { words.next_u32() } else { 0 };
        left = metropolis.next(spin, sum, word);
        spins[row + column] = left;
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
