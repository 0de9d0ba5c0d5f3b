//! [`Tiling`]: divides an array so that any affine map reads and writes it in whole runs.
//!
//! A tile is a coset of `V = <e_0, .., e_(s-1)> + A^-1 <e_0, .., e_(t-1)>`, where `e_j` is the
//! vector with bit `j` alone. With an index `x` the coset contains all indexes that differ from `x`
//! only in the lowest `s` bits, so it consists of runs of `2^s` items. Its image is a coset of
//! `A V`. With an index it contains all those that differ only in the lowest `t` bits, so it
//! consists of runs of `2^t` items. `V` has at most `s + t` dimensions, so a tile fits a core's
//! first-level cache or a GPU's shared memory.
//!
//! This holds for every invertible `A`, since `V` contains both summands by construction. The
//! kernel of Bouverot-Dupuis and Sheeran (2023, section 5.1) tiles by bits of the index. That needs
//! a matrix that maps `t` unit vectors to the lowest `t`; all others they factor in two, which
//! takes two passes. Here there is one pass, no factorisation, and nothing to compile for a matrix.
//!
//! Within a tile, an item's place is its *slot*, a linear function of its coordinates. From tile to
//! tile it is shifted by a constant, since the low bits of the coset's image may differ. Tiles are
//! numbered by the vectors of a complement of `V`, in the order of the Gray code, so each step from
//! a tile to the next adds a single vector.
//!
//! A tile's number begins with bits that are adjacent in the source and in the target in turn, so
//! tiles that are processed at the same time continue each other's runs on both sides.

// Only the GPU engine uses some of this: CPUs have no memory banks, are faster with the order of
// both sides, and need no kernel arguments.

use super::BitMatrix;
use super::subspace::Echelon;
use crate::Affine;
use bijective_shuffle_core::Word;

/// The tiling of an affine map.
#[derive(Clone, Debug)]
pub struct Tiling {
    /// The number of lowest index bits that a run covers, in the source and in the target.
    pub source_run: u32,
    pub target_run: u32,
    /// A basis of `V`: the unit vectors of a run, then others in which those bits are zero. It has
    /// one vector for each bit of a tile.
    pub source: Vec<u64>,
    /// A basis of `A V` of the same kind.
    pub target: Vec<u64>,
    /// The slots of the source's basis vectors, and of the target's.
    pub source_slots: Vec<u32>,
    pub target_slots: Vec<u32>,
    /// The first tile.
    start: Tile,
    /// What each bit of a tile's number adds.
    steps: Vec<Tile>,
}

/// The position of a tile. For a combination `v` of the source's basis, the item at
/// `tile.source ^ v` goes to the slot `tile.shift ^ (the same combination of the source's slots)`.
/// From a slot, a combination of the target's slots, it goes to
/// `tile.target ^ (the same combination of the target's basis)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// An index whose lowest bits, those of a run of the source, are zero.
    pub source: u64,
    /// The same for the target.
    pub target: u64,
    pub shift: u32,
}

impl Tile {
    /// The difference that a vector makes to a tile, where slots are the target's coordinates and
    /// `low` masks the bits of a run.
    fn step(a: &BitMatrix, source: u64, low: u64) -> Self {
        let image = a.apply(source);
        Self { source, target: image & !low, shift: (image & low) as u32 }
    }

    fn plus(self, other: Self) -> Self {
        Self {
            source: self.source ^ other.source,
            target: self.target ^ other.target,
            shift: self.shift ^ other.shift,
        }
    }
}

impl Tiling {
    /// The tiling with runs of `2^run` items on both sides and tiles of at least `2^least` items,
    /// or as many as there are. The slots are the target's coordinates, so slots are numbered along
    /// the target's runs.
    ///
    /// If the runs need fewer dimensions than that, tiles grow by the next bits of both sides in
    /// turn, which makes the runs longer. The same order numbers the tiles.
    #[inline]
    pub fn new(map: &Affine, run: u32, least: u32) -> Self {
        let run = run.min(map.bits());
        let (a, inverse) = (map.matrix(), map.inverse_matrix());
        let mut span = Echelon::default();
        let mut source = Vec::new();
        let low = u64::low_mask(run);
        for vector in (0..run).map(|j| 1 << j).chain((0..run).map(|j| inverse.apply(1 << j))) {
            if span.insert(vector) {
                // The runs' own vectors come first, so these bits can be cleared in all later
                // vectors.
                source.push(if source.len() < run as usize { vector } else { vector & !low });
            }
        }
        let mut steps = Vec::new();
        for vector in (run..map.bits()).flat_map(|j| [1 << j, inverse.apply(1 << j)]) {
            if !span.insert(vector) {
                continue;
            }
            if source.len() < least as usize {
                source.push(vector & !low);
            } else {
                steps.push(Tile::step(&a, vector & !low, low));
            }
        }
        let mut span = Echelon::default();
        let images = source.iter().map(|&vector| a.apply(vector) & !low);
        let target: Vec<u64> =
            (0..run).map(|j| 1 << j).chain(images).filter(|&vector| span.insert(vector)).collect();
        let coordinates = Coordinates::new(&target);
        let source_slots = source.iter().map(|&x| coordinates.of(a.apply(x))).collect();
        let target_slots = (0..target.len()).map(|j| 1 << j).collect();
        let start =
            Tile { source: 0, target: map.offset() & !low, shift: (map.offset() & low) as u32 };
        Self {
            source_run: run,
            target_run: run,
            source,
            target,
            source_slots,
            target_slots,
            start,
            steps,
        }
    }

    /// Numbers the tiles in the order of the source alone, which was faster for words of 2 and 4
    /// bytes on a GPU. The slots must still be those of [`new`](Self::new).
    #[inline]
    pub fn in_order_of_source(&mut self, map: &Affine) {
        let (a, low) = (map.matrix(), u64::low_mask(self.source_run));
        let mut span = Echelon::span(self.source.iter().copied());
        let bits = (self.source_run..map.bits()).map(|j| 1 << j);
        let steps = bits.filter(|&vector| span.insert(vector));
        self.steps = steps.map(|vector| Tile::step(&a, vector, low)).collect();
    }

    /// Changes the slots so that shared memory is read and written without bank conflicts.
    ///
    /// In one phase of an access, `2^lanes` threads each use a bank, whose number is the slot's
    /// bits from `word` on. On both sides, the threads of a phase differ in the bits from `first`
    /// on of their coordinates. The slots of bank 0 must therefore be a complement both of a
    /// subspace `P` of the source and of a subspace `Q` of the target, which have the same
    /// dimension. Such a common complement always exists: with `P = (P & Q) + <p_i>` and
    /// `Q = (P & Q) + <q_i>`, the `p_i ^ q_i` and a complement of `P + Q` span one. Bouverot-Dupuis
    /// and Sheeran shift the rows of a tile by a sum instead. The change costs one exclusive or for
    /// each item.
    ///
    /// # Panics
    ///
    /// If a tile has fewer than `first + lanes` coordinates.
    #[inline]
    pub fn avoid_conflicts(&mut self, first: u32, lanes: u32, word: u32) {
        let phase = first as usize..(first + lanes) as usize;
        let wide = |slots: &[u32]| slots[phase.clone()].iter().map(|&slot| slot.into()).collect();
        let (p, q): (Vec<u64>, Vec<u64>) = (wide(&self.source_slots), wide(&self.target_slots));
        let complement = common_complement(&p, &q, self.tile_bits());
        let (below, above) = complement.split_at(word as usize);
        let basis: Vec<u64> = below.iter().chain(&p).chain(above).copied().collect();
        self.change_slots(&basis);
    }

    /// Makes the slots the source's coordinates, so that slots are numbered along the source's
    /// runs. A tile's items then enter the slots in order, provided that the tile's shift is added
    /// when items leave the slots, not when they enter.
    pub fn count_by_source(&mut self) {
        let basis: Vec<u64> = self.source_slots.iter().map(|&slot| slot.into()).collect();
        self.change_slots(&basis);
    }

    /// Replaces each slot with its coordinates in a basis.
    fn change_slots(&mut self, basis: &[u64]) {
        let coordinates = Coordinates::new(basis);
        let renew = |slot: &mut u32| *slot = coordinates.of((*slot).into());
        self.source_slots.iter_mut().for_each(renew);
        self.target_slots.iter_mut().for_each(renew);
        renew(&mut self.start.shift);
        self.steps.iter_mut().for_each(|step| renew(&mut step.shift));
    }

    /// The change of the slots for an image whose low bits are `low`: the value of [`Tile::shift`]
    /// there.
    pub fn shift(&self, low: u64) -> u32 {
        let slots = self.target_slots[..self.target_run as usize].iter().enumerate();
        slots.filter(|(j, _)| low >> j & 1 == 1).fold(0, |sum, (_, slot)| sum ^ slot)
    }

    /// The first tile, and what each bit of the Gray code of a tile's number adds.
    pub fn start_and_steps(&self) -> (Tile, &[Tile]) {
        (self.start, &self.steps)
    }

    /// The number of bits in a slot.
    pub fn tile_bits(&self) -> u32 {
        self.source.len() as u32
    }

    /// The number of tiles.
    pub fn tiles(&self) -> u64 {
        1 << self.steps.len()
    }

    /// The tile with the given number.
    pub fn tile(&self, number: u64) -> Tile {
        let gray = number ^ number >> 1;
        let steps = self.steps.iter().enumerate().filter(|(j, _)| gray >> j & 1 == 1);
        steps.fold(self.start, |tile, (_, &step)| tile.plus(step))
    }

    /// The tile after the one with the given number; after the last tile, the same tile again.
    pub fn next(&self, tile: Tile, number: u64) -> Tile {
        let step = self.steps.get((number + 1).trailing_zeros() as usize);
        tile.plus(step.copied().unwrap_or_default())
    }
}

/// All combinations of the vectors. Combination `k` is the sum of the vectors at the set bits of
/// `k`.
#[inline]
pub fn combinations<V: Copy + Default + core::ops::BitXor<Output = V>>(vectors: &[V]) -> Vec<V> {
    let mut all = vec![V::default()];
    for &vector in vectors {
        all.extend_from_within(..);
        let half = all.len() / 2;
        for sum in &mut all[half..] {
            *sum = *sum ^ vector;
        }
    }
    all
}

/// A basis of a common complement of two subspaces of equal dimension, each given by a basis, in
/// the space of vectors of `bits` bits.
#[inline]
fn common_complement(p: &[u64], q: &[u64], bits: u32) -> Vec<u64> {
    // The p_i that are independent of Q, and for the others what they are in Q.
    let q_span = Echelon::span(q.iter().copied());
    let mut rests: Vec<(u64, u64)> = Vec::new();
    let (mut p_only, mut both) = (Vec::new(), Echelon::default());
    for &vector in p {
        let mut rest = (q_span.reduce(vector), vector);
        for &other in &rests {
            if rest.0 >> other.0.ilog2() & 1 == 1 {
                rest = (rest.0 ^ other.0, rest.1 ^ other.1);
            }
        }
        if rest.0 == 0 {
            both.insert(rest.1);
        } else {
            rests.push(rest);
            p_only.push(vector);
        }
    }
    let q_only = q.iter().copied().filter(|&vector| both.insert(vector));
    let mut complement: Vec<u64> = p_only.into_iter().zip(q_only).map(|(p, q)| p ^ q).collect();
    let mut span = Echelon::span(p.iter().chain(&complement).copied());
    complement.extend((0..bits).map(|j| 1 << j).filter(|&unit| span.insert(unit)));
    complement
}

/// Computes the coordinates of vectors in a basis.
pub struct Coordinates {
    /// Vectors in reduced echelon form, each with its coordinates in the basis.
    rows: Vec<(u64, u32)>,
}

impl Coordinates {
    pub fn new(basis: &[u64]) -> Self {
        let mut rows: Vec<(u64, u32)> = basis.iter().copied().zip((0..).map(|j| 1 << j)).collect();
        for pivot in 0..rows.len() {
            let row = rows[pivot];
            for (k, other) in rows.iter_mut().enumerate() {
                if k != pivot && other.0 >> row.0.ilog2() & 1 == 1 {
                    *other = (other.0 ^ row.0, other.1 ^ row.1);
                }
            }
        }
        Self { rows }
    }

    /// The coordinates of a vector in the basis's span.
    pub fn of(&self, vector: u64) -> u32 {
        let rows = self.rows.iter().filter(|row| vector >> row.0.ilog2() & 1 == 1);
        rows.fold(0, |sum, row| sum ^ row.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BitMatrix;
    use bijective_shuffle_core::Bijection;

    /// Follows every item through its tile.
    fn check(map: &Affine, run: u32, least: u32) {
        follow(map, run, least, &Tiling::new(map, run, least));
        let mut tiling = Tiling::new(map, run, least);
        tiling.in_order_of_source(map);
        follow(map, run, least, &tiling);
        tiling.count_by_source();
        let units: Vec<u32> = (0..tiling.tile_bits()).map(|j| 1 << j).collect();
        assert_eq!(tiling.source_slots, units, "{map:?}");
        follow(map, run, least, &tiling);
        for (first, lanes, word) in [(0, 3, 0), (2, 2, 1), (1, 3, 2), (2, 5, 0), (4, 5, 2)] {
            let mut tiling = Tiling::new(map, run, least);
            if first + lanes <= tiling.tile_bits() && word + lanes <= tiling.tile_bits() {
                tiling.avoid_conflicts(first, lanes, word);
                follow(map, run, least, &tiling);
                let phase = first as usize..(first + lanes) as usize;
                for slots in [&tiling.source_slots[phase.clone()], &tiling.target_slots[phase]] {
                    let banks = slots.iter().map(|&slot| u64::from(slot >> word) % (1 << lanes));
                    assert_eq!(Echelon::span(banks).dimension(), lanes as usize, "{map:?}");
                }
            }
        }
    }

    fn follow(map: &Affine, run: u32, least: u32, tiling: &Tiling) {
        let len = 1_usize << map.bits();
        let what = format!("{map:?}, runs of {run} bits, tiles of {least}");
        let run = run.min(map.bits());
        assert!(tiling.tile_bits() <= (2 * run).max(least), "{what}");
        assert!(tiling.tile_bits() >= least.min(map.bits()), "{what}");
        assert_eq!(tiling.tiles() << tiling.tile_bits(), len as u64, "{what}");
        let units: Vec<u64> = (0..run).map(|j| 1 << j).collect();
        assert_eq!(tiling.source[..run as usize], units, "{what}");
        assert_eq!(tiling.target[..run as usize], units, "{what}");
        let (sources, targets) = (combinations(&tiling.source), combinations(&tiling.target));
        let from = combinations(&tiling.source_slots);
        let to = combinations(&tiling.target_slots);
        let mut written = vec![false; len];
        let mut tile = tiling.tile(0);
        for number in 0..tiling.tiles() {
            assert_eq!(tile, tiling.tile(number), "{what}");
            assert_eq!((tile.source | tile.target) & u64::low_mask(run), 0, "{what}");
            let mut slots = vec![None; 1 << tiling.tile_bits()];
            for (x, slot) in sources.iter().zip(&from) {
                let place = &mut slots[(tile.shift ^ slot) as usize];
                assert_eq!(place.replace(tile.source ^ x), None, "{what}");
            }
            for (y, &slot) in targets.iter().zip(&to) {
                let x = slots[slot as usize].unwrap();
                let y = tile.target ^ y;
                assert_eq!(map.forward(x), y, "{what}");
                assert!(!core::mem::replace(&mut written[y as usize], true), "{what}");
            }
            tile = tiling.next(tile, number);
        }
        assert!(written.iter().all(|&written| written), "{what}");
    }

    #[test]
    fn tiles_of_every_matrix_of_three_bits() {
        for number in 0..512_u64 {
            let a = BitMatrix::from_columns(&[number & 7, number >> 3 & 7, number >> 6]).unwrap();
            for offset in 0..8 {
                let Ok(map) = Affine::new(&a, offset) else { continue };
                for run in 0..=2 {
                    check(&map, run, 0);
                }
                check(&map, 1, 3);
            }
        }
    }

    #[test]
    fn every_family_of_every_width() {
        for bits in 0..=10 {
            let matrices = [
                BitMatrix::identity(bits),
                BitMatrix::bit_reversal(bits),
                BitMatrix::rotation(bits, 1),
                BitMatrix::rotation(bits, bits / 2),
                BitMatrix::gray_code(bits),
                BitMatrix::partition(bits.max(1), u64::MAX),
                BitMatrix::random(bits, 1),
                BitMatrix::random(bits, 2),
            ];
            for (matrix, k) in matrices.into_iter().zip(0..) {
                let map = Affine::new(&matrix.unwrap(), 0x2A5 * k).unwrap();
                for (run, least) in [(0, 0), (2, 0), (2, 6), (3, 5), (5, 10), (7, 0)] {
                    check(&map, run, least);
                }
            }
        }
    }
}
