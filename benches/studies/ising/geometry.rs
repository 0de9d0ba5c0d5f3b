//! The double checkerboard (Weigel, Comput. Phys. Commun. 182, 2011, 1833): which site is where,
//! and who updates it.
//!
//! The lattice is cut into square tiles, coloured like a checkerboard. Tiles of one colour are no
//! neighbours, so all of them are updated at the same time, each by the threads of one block.
//! Within a tile the sites are a checkerboard again, and the sites of one parity are no neighbours.
//!
//! A tile and its right neighbour are a *pair*: tile p of colour 0 and tile p of colour 1. They are
//! updated by the same streams of random numbers, one after the other. Nothing of this depends on
//! the machine, so a seed gives one history of the lattice on every CPU and GPU.

use crate::failure::Failure;

/// A square lattice, cut into tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Sites on a side of the lattice.
    pub(crate) side: usize,
    /// Sites on a side of a tile.
    pub(crate) tile: usize,
}

/// A site's place: the tile's colour, its number among those of the colour, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) colour: usize,
    pub(crate) pair: usize,
    pub(crate) site: usize,
}

/// The four neighbours of a tile, all of the other colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Neighbours {
    pub(crate) above: usize,
    pub(crate) below: usize,
    pub(crate) left: usize,
    pub(crate) right: usize,
}

impl Geometry {
    /// # Errors
    ///
    /// If the tiles are not a checkerboard: an even number of them on a side, and an even number of
    /// sites on a side of a tile.
    pub(crate) fn new(side: usize, tile: usize) -> Result<Self, Failure> {
        let fits = tile > 0 && tile.is_multiple_of(2) && side.is_multiple_of(2 * tile);
        if !fits || side == 0 {
            return Err(format!(
                "a lattice of side {side} is no checkerboard of tiles of even side {tile}"
            )
            .into());
        }
        // The sum over bonds, two a site if all are alike, has to fit in 32 bits.
        if side >= 1 << 15 {
            return Err(format!("a lattice of side {side} is too large: up to 32767").into());
        }
        Ok(Self { side, tile })
    }

    /// Sites of the lattice.
    pub(crate) fn sites(self) -> usize {
        self.side * self.side
    }

    /// Sites of a tile, and so the random numbers that it takes to try each of them once.
    pub(crate) fn tile_sites(self) -> usize {
        self.tile * self.tile
    }

    /// Tiles on a side of the lattice.
    fn tiles(self) -> usize {
        self.side / self.tile
    }

    /// Pairs of tiles: the blocks of a launch.
    pub(crate) fn pairs(self) -> usize {
        self.tiles() * self.tiles() / 2
    }

    /// The row and column of a tile. Colour 0 has the tiles whose row and column add up to an even
    /// number.
    fn tile_at(self, colour: usize, pair: usize) -> (usize, usize) {
        let in_a_row = self.tiles() / 2;
        let row = pair / in_a_row;
        (row, 2 * (pair % in_a_row) + (row + colour) % 2)
    }

    /// Which pair the tile at a row and column belongs to; both wrap.
    fn pair_at(self, row: usize, column: usize) -> usize {
        let tiles = self.tiles();
        row % tiles * (tiles / 2) + column % tiles / 2
    }

    /// The pairs of the neighbours of a tile.
    pub(crate) fn neighbours(self, colour: usize, pair: usize) -> Neighbours {
        let (row, column) = self.tile_at(colour, pair);
        let before = self.tiles() - 1;
        Neighbours {
            above: self.pair_at(row + before, column),
            below: self.pair_at(row + 1, column),
            left: self.pair_at(row, column + before),
            right: self.pair_at(row, column + 1),
        }
    }

    /// Where the site at a row and column of the lattice is kept.
    pub(crate) fn place(self, row: usize, column: usize) -> Place {
        let tile = self.tile;
        let (tile_row, tile_column) = (row / tile, column / tile);
        Place {
            colour: (tile_row + tile_column) % 2,
            pair: self.pair_at(tile_row, tile_column),
            site: row % tile * tile + column % tile,
        }
    }

    /// Where the site is in a vector of all of them: the tiles of colour 0 one after another, then
    /// those of colour 1.
    pub(crate) fn index(self, row: usize, column: usize) -> usize {
        let Place { colour, pair, site } = self.place(row, column);
        (colour * self.pairs() + pair) * self.tile_sites() + site
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_site_has_its_own_place() {
        for (side, tile) in [(4, 2), (8, 4), (24, 4), (64, 16)] {
            let geometry = Geometry::new(side, tile).unwrap();
            let mut seen = vec![false; side * side];
            for (row, column) in (0..side * side).map(|k| (k / side, k % side)) {
                let index = geometry.index(row, column);
                assert!(!std::mem::replace(&mut seen[index], true));
                let Place { colour, pair, .. } = geometry.place(row, column);
                assert_eq!(geometry.tile_at(colour, pair), (row / tile, column / tile));
            }
        }
    }

    #[test]
    fn neighbours_are_next_to_the_tile_and_of_the_other_colour() {
        let geometry = Geometry::new(24, 4).unwrap();
        for (row, column) in (0..36).map(|k| (4 * (k / 6), 4 * (k % 6))) {
            let place = |row: usize, column: usize| geometry.place(row % 24, column % 24);
            let Place { colour, pair, .. } = place(row, column);
            let Neighbours { above, below, left, right } = geometry.neighbours(colour, pair);
            let beside = [(20, 0, above), (4, 0, below), (0, 20, left), (0, 4, right)];
            for (down, across, neighbour) in beside {
                let place = place(row + down, column + across);
                assert_eq!((place.colour, place.pair), (1 - colour, neighbour));
            }
        }
    }

    #[test]
    fn what_is_no_checkerboard_is_refused() {
        for (side, tile) in [(0, 2), (32, 0), (32, 3), (32, 32), (48, 16), (1 << 16, 32)] {
            assert!(Geometry::new(side, tile).is_err(), "{side}, {tile}");
        }
    }
}
