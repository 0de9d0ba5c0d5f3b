//! The double checkerboard on the CPU: the reference that the GPU must agree with, and a fast
//! enough simulation.

use bijective_shuffle::rayon::prelude::*;
use bijective_shuffle::rng::{Fill, Streams};

use crate::failure::Failure;
use crate::geometry::{Geometry, Neighbours};
use crate::metropolis::Metropolis;
use crate::simulation::{Setup, Simulation};
use crate::words::TileWords;

/// The lattice by tiles, with the streams of each pair of them.
pub(crate) struct Checkerboard<G: TileWords> {
    setup: Setup,
    /// The tiles of both colours, rows one after another.
    tiles: [Vec<Vec<i8>>; 2],
    /// Those of each pair.
    streams: Vec<Streams<G>>,
}

impl<G: TileWords> Checkerboard<G> {
    /// With the streams of all pairs, one pair after another.
    pub(crate) fn new(setup: Setup, streams: Vec<G>) -> Result<Self, Failure> {
        let Setup { geometry, .. } = setup;
        let streams = streams.chunks_exact(G::states(geometry));
        let streams: Result<Vec<_>, _> =
            streams.map(|of_pair| Streams::from_generators(of_pair.to_vec())).collect();
        let tiles = vec![vec![1; geometry.tile_sites()]; geometry.pairs()];
        Ok(Self { setup, tiles: [tiles.clone(), tiles], streams: streams? })
    }

    /// Updates all tiles of both colours; returns the sum over bonds if it is asked for.
    fn round(&mut self, measured: bool) -> i32 {
        (0..2).map(|colour| self.update(colour, measured)).sum()
    }

    /// Updates the tiles of a colour. If it is asked for, returns the sum over the bonds within
    /// them, and for colour 1 over those between tiles, each of which has one end there.
    fn update(&mut self, colour: usize, measured: bool) -> i32 {
        let Setup { geometry, hits, .. } = self.setup;
        let metropolis = self.setup.metropolis();
        let [first, second] = &mut self.tiles;
        let (own, others) = if colour == 0 { (first, &*second) } else { (second, &*first) };
        let one = |(pair, (spins, streams)): (usize, (&mut Vec<i8>, &mut Streams<G>))| {
            let mut tile = Framed::new(geometry, spins, others, geometry.neighbours(colour, pair));
            let mut words = vec![0; geometry.tile_sites()];
            for _ in 0..hits {
                streams.fill_u32(&mut words);
                tile.hit::<G>(&metropolis, &words);
            }
            tile.copy_to(spins);
            if measured { tile.bonds(colour == 1) } else { 0 }
        };
        own.par_iter_mut().zip(&mut self.streams).enumerate().map(one).sum()
    }
}

impl<G: TileWords> Simulation for Checkerboard<G> {
    fn advance(&mut self, rounds: u64) -> Result<(), Failure> {
        for _ in 0..rounds {
            self.round(false);
        }
        Ok(())
    }

    fn measure(&mut self, count: usize, every: u64) -> Result<Vec<i32>, Failure> {
        let mut energies = Vec::with_capacity(count);
        for _ in 0..count {
            self.advance(every - 1)?;
            energies.push(self.round(true));
        }
        Ok(energies)
    }

    fn spins(&mut self) -> Result<Vec<i8>, Failure> {
        Ok(self.tiles.iter().flatten().flatten().copied().collect())
    }
}

/// A tile with a frame of its neighbours' spins around it. The corners are not used.
struct Framed {
    tile: usize,
    spins: Vec<i8>,
}

impl Framed {
    fn new(geometry: Geometry, own: &[i8], others: &[Vec<i8>], around: Neighbours) -> Self {
        let tile = geometry.tile;
        let mut framed = Self { tile, spins: vec![0; (tile + 2) * (tile + 2)] };
        for row in 0..tile {
            let inner = framed.at(row, 0);
            framed.spins[inner..inner + tile].copy_from_slice(&own[row * tile..][..tile]);
            framed.spins[inner - 1] = others[around.left][row * tile + tile - 1];
            framed.spins[inner + tile] = others[around.right][row * tile];
        }
        framed.spins[1..=tile].copy_from_slice(&others[around.above][tile * tile - tile..]);
        let last = framed.at(tile, 0);
        framed.spins[last..last + tile].copy_from_slice(&others[around.below][..tile]);
        framed
    }

    /// The index of a site of the tile, or of one below it.
    fn at(&self, row: usize, column: usize) -> usize {
        (row + 1) * (self.tile + 2) + column + 1
    }

    /// Tries each site once, those of even parity first, with the words of one hit.
    ///
    /// Threads have pairs of sites that are neighbours in a row, one of each parity. The pairs are
    /// counted along the rows; thread t has those with numbers t, t + threads, ...
    fn hit<G: TileWords>(&mut self, metropolis: &Metropolis, words: &[u32]) {
        let (tile, width) = (self.tile, self.tile + 2);
        for parity in 0..2 {
            for row in 0..tile {
                let first = self.at(row, (row + parity) % 2);
                for k in 0..tile / 2 {
                    let word = words[G::word(tile, parity, row * (tile / 2) + k)];
                    let at = first + 2 * k;
                    let spin = self.spins[at];
                    let sum = self.spins[at - width]
                        + self.spins[at + width]
                        + self.spins[at - 1]
                        + self.spins[at + 1];
                    self.spins[at] = metropolis.next(spin, sum, word);
                }
            }
        }
    }

    fn copy_to(&self, own: &mut [i8]) {
        for (row, own) in own.chunks_exact_mut(self.tile).enumerate() {
            own.copy_from_slice(&self.spins[self.at(row, 0)..][..self.tile]);
        }
    }

    /// The sum over bonds: those within the tile, and if asked for those to its neighbours.
    fn bonds(&self, with_neighbours: bool) -> i32 {
        let (tile, width) = (self.tile, self.tile + 2);
        let row = |row: usize| &self.spins[row * width + 1..][..tile];
        let dot =
            |a: &[i8], b: &[i8]| a.iter().zip(b).map(|(&a, &b)| i32::from(a * b)).sum::<i32>();
        let mut sum = 0;
        for number in 1..=tile {
            let across = &self.spins[number * width..][..width];
            if with_neighbours {
                sum += dot(&across[1..], &across[..width - 1]);
            } else {
                sum += dot(&across[2..width - 1], &across[1..width - 2]);
            }
            if number > 1 || with_neighbours {
                sum += dot(row(number), row(number - 1));
            }
        }
        if with_neighbours { sum + dot(row(tile), row(tile + 1)) } else { sum }
    }
}
