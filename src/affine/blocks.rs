//! [`Blocks`]: tiles brought into the target's order by squares of 8 lines of 8 items, as arrays are transposed.
//!
//! Let a line be 8 consecutive items. If the items of a line of the target come from 8 different lines of the source, and so the
//! other way round, these 8 lines of the source are 8 whole lines of the target, in some order and with their items exchanged:
//! with `l_k` the lowest bits of the index that item `k` of the first one comes from, item `k` of line `j` is item `j ^ l_k` of
//! the `k`-th of the source's lines. So a square takes its lines by the exclusive or with `l_k`, is transposed, and has its
//! items exchanged again. Where vectors are as long as lines that is an instruction an item, and item by item it is four.
//!
//! Each line is read once, and so straight from the source: a tile needs no slots.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::ahead::Ahead;
use super::subspace::Echelon;
use super::tiles::{Coordinates, Tiling, combinations};
use crate::affine::Affine;
use crate::base::memory::SharedPtr;
use crate::base::simd::{SimdKernel, SimdLevel};
use crate::base::stream;
use crate::bijection::Bijection;

/// Items of a square's side, and their bits.
const SIDE: usize = 8;
const SIDE_BITS: usize = SIDE.ilog2() as usize;

/// How the squares of every tile of a tiling lie. Indexes are added to each other.
pub(super) struct Blocks {
    map: Affine,
    /// Where the items of one of the target's lines come from.
    line: [u64; SIDE],
    /// Where the lines of a square belong on the stage, the runs of a group one after the other; and by what the places of
    /// their items are exchanged.
    lines: [(u32, u32); SIDE],
    /// The squares of a group: where their first lines belong on the stage, and where they come from.
    squares: Vec<(u32, u64)>,
    /// The groups of a tile: where they belong, and where they come from.
    groups: Vec<(u64, u64)>,
    /// The runs of a group.
    runs: Vec<u64>,
    target_run: u32,
    ahead: Ahead,
    level: SimdLevel,
}

impl Blocks {
    /// The squares of a tiling, if all of its tiles consist of such.
    pub(super) fn new(map: &Affine, tiling: &Tiling) -> Option<Self> {
        let run = tiling.target_run as usize;
        if run < SIDE_BITS || (tiling.source_run as usize) < SIDE_BITS {
            return None;
        }
        let (a, inverse) = (map.matrix(), map.inverse_matrix());
        let units = [1, 2, 4];
        let line = units.map(|unit| inverse.apply(unit));
        let mut span = Echelon::default();
        if !units.into_iter().chain(line).all(|vector| span.insert(vector)) {
            return None;
        }
        // What the items of the source's lines belong to. A square's lines may lie in several runs, at most 8.
        let (low, in_run) = (SIDE as u64 - 1, (1 << run) - 1);
        let images = units.map(|unit| a.apply(unit));
        let mut apart = Echelon::default();
        let runs: Vec<u64> =
            images.map(|image| image & !in_run).into_iter().filter(|&v| apart.insert(v)).collect();
        let which = Coordinates::new(&runs);
        let place = |image: u64| {
            let run = which.of(image & !in_run) << run | (image & in_run & !low) as u32;
            (run, (image & low) as u32)
        };
        // What else a tile has: first the squares along a group's runs, and then the groups.
        let (in_group, others) = tiling.target[SIDE_BITS..].split_at(run - SIDE_BITS);
        let mut new = |vectors: &[u64]| -> Vec<(u64, u64)> {
            let vectors = vectors.iter().copied();
            let new: Vec<u64> = vectors.filter(|&v| span.insert(inverse.apply(v))).collect();
            combinations(&new).into_iter().map(|v| (v, inverse.apply(v))).collect()
        };
        Some(Self {
            map: map.clone(),
            line: combinations(&line).try_into().ok()?,
            lines: combinations(&images)
                .into_iter()
                .map(place)
                .collect::<Vec<_>>()
                .try_into()
                .ok()?,
            squares: new(in_group).into_iter().map(|(to, from)| (to as u32, from)).collect(),
            groups: new(others),
            runs: combinations(&runs),
            target_run: tiling.target_run,
            ahead: Ahead::new(tiling),
            level: SimdLevel::current(),
        })
    }

    /// How many items of working memory a thread needs.
    pub(super) fn room(&self) -> usize {
        self.runs.len() << self.target_run
    }

    /// Copies the items of some tiles to their places, past the caches.
    ///
    /// # Safety
    ///
    /// The tiling is that of these squares, and there are as many items at `source`, and places at `out`, as the map has
    /// points; the source is not written to, and nobody else uses the places of these tiles.
    pub(super) unsafe fn copy<T>(
        &self,
        tiling: &Tiling,
        tiles: Range<u64>,
        source: &SharedPtr<T>,
        out: &SharedPtr<T>,
        memory: &mut [MaybeUninit<T>],
    ) {
        let stage = &mut memory[..self.room()];
        let mut tile = tiling.tile(tiles.start);
        // SAFETY: one of the tiles.
        unsafe { self.ahead.ask(tile.source, 0, 0, source) };
        for number in tiles {
            let next = tiling.next(tile, number);
            let from = self.map.inverse(tile.target);
            for (group, &(to, of_group)) in self.groups.iter().enumerate() {
                let squares = Squares {
                    blocks: self,
                    first: group * self.squares.len(),
                    from: from ^ of_group,
                    next: next.source,
                    source,
                    stage,
                };
                self.level.run(squares);
                for (stage, run) in stage.chunks_exact(1 << self.target_run).zip(&self.runs) {
                    // SAFETY: a point of the map, where a run of the tile's image begins.
                    let run = unsafe { out.at((tile.target ^ to ^ run) as usize) };
                    // SAFETY: so many places are the run's, and this tile's alone.
                    let run = unsafe { core::slice::from_raw_parts_mut(run.cast(), stage.len()) };
                    stream::stream(stage, run);
                }
            }
            tile = next;
        }
        stream::publish();
    }
}

/// The squares of a group. Made in [`Blocks::copy`] alone, so that all that its indexes add up to are points of the map, of
/// which there are items at `source`, and places of the stage.
struct Squares<'a, T> {
    blocks: &'a Blocks,
    /// The number of the first square in the tile.
    first: usize,
    from: u64,
    /// The index of the tile that is asked for meanwhile.
    next: u64,
    source: &'a SharedPtr<T>,
    stage: &'a mut [MaybeUninit<T>],
}

impl<T> Squares<'_, T> {
    /// The squares' places and where they come from; with each, a part of the next tile is asked for.
    #[inline(always)]
    fn each(&mut self, mut square: impl FnMut(u32, u64, &mut [MaybeUninit<T>])) {
        let all = (self.blocks.groups.len() * self.blocks.squares.len()).ilog2();
        for (number, &(to, from)) in self.blocks.squares.iter().enumerate() {
            // SAFETY: the index of one of the tiling's tiles.
            unsafe { self.blocks.ahead.ask(self.next, self.first + number, all, self.source) };
            square(to, self.from ^ from, self.stage);
        }
    }
}

impl<T> SimdKernel for Squares<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(mut self) {
        let Self { blocks, source, .. } = self;
        self.each(|to, from, stage| {
            for (j, &(line, flip)) in (0..).zip(&blocks.lines) {
                let line = &mut stage[(to ^ line) as usize..][..SIDE];
                for (k, &of_line) in blocks.line.iter().enumerate() {
                    // SAFETY: a point of the map.
                    let item = unsafe { source.at((from ^ j ^ of_line) as usize) };
                    let place = &mut line[(k ^ flip as usize) % SIDE];
                    // SAFETY: an item, and a place that is elsewhere.
                    unsafe { ptr::copy_nonoverlapping(item.cast(), place, 1) };
                }
            }
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        if size_of::<T>() == size_of::<u64>() {
            // SAFETY: the caller's word, and items of 8 bytes.
            unsafe { avx512::transpose(self) }
        } else {
            self.run();
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx512 {
    use core::arch::asm;
    use core::arch::x86_64::{
        __m512i, _mm512_load_si512, _mm512_permutexvar_epi64, _mm512_shuffle_i64x2,
        _mm512_unpackhi_epi64, _mm512_unpacklo_epi64,
    };

    use super::{SIDE, Squares};

    /// Places of items, for each exclusive or.
    #[repr(align(64))]
    struct Flips([[u64; SIDE]; SIDE]);

    static FLIPS: Flips = {
        let mut all = [[0; SIDE]; SIDE];
        let mut flip = 0;
        while flip < SIDE {
            let mut place = 0;
            while place < SIDE {
                all[flip][place] = (place ^ flip) as u64;
                place += 1;
            }
            flip += 1;
        }
        Flips(all)
    };

    /// The places that items are exchanged with.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn places(flip: u32) -> __m512i {
        let places = &FLIPS.0[flip as usize % SIDE];
        // SAFETY: a line, which is aligned.
        unsafe { _mm512_load_si512(places.as_ptr().cast()) }
    }

    /// A line with its items exchanged. Not by an intrinsic, since items may have bytes that are not initialised.
    ///
    /// # Safety
    ///
    /// There is a line at the address, and the machine has AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load<T>(from: *const T, flip: u32) -> __m512i {
        let places = places(flip);
        let line;
        // SAFETY: reads a line.
        unsafe {
            asm!(
                "vpermq {line}, {places}, [{from}]",
                line = lateout(zmm_reg) line,
                places = in(zmm_reg) places,
                from = in(reg) from,
                options(nostack, preserves_flags, readonly),
            );
        }
        line
    }

    /// Writes a line with its items exchanged.
    ///
    /// # Safety
    ///
    /// There is room for a line at the address, and the machine has AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store<T>(line: __m512i, flip: u32, to: *mut T) {
        let line = _mm512_permutexvar_epi64(places(flip), line);
        // SAFETY: writes a line.
        unsafe {
            asm!(
                "vmovdqu64 [{to}], {line}",
                line = in(zmm_reg) line,
                to = in(reg) to,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Does as [`Squares::run`](super::SimdKernel::run).
    ///
    /// # Safety
    ///
    /// The machine has AVX-512F, and items are of 8 bytes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn transpose<T>(mut squares: Squares<'_, T>) {
        let Squares { blocks, source, .. } = squares;
        squares.each(|to, from, stage| {
            let rows = blocks.line.map(|of_line| {
                let item = from ^ of_line;
                // SAFETY: a point of the map: the first of a line of points, as the array has whole lines.
                let line = unsafe { source.at((item & !(SIDE as u64 - 1)) as usize) };
                // SAFETY: all of the line are points.
                unsafe { load(line.cast_const(), item as u32) }
            });
            for (column, (line, flip)) in transposed(rows).into_iter().zip(blocks.lines) {
                let line = &mut stage[(to ^ line) as usize..][..SIDE];
                // SAFETY: of the length of a line.
                unsafe { store(column, flip, line.as_mut_ptr()) };
            }
        });
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    fn transposed(rows: [__m512i; SIDE]) -> [__m512i; SIDE] {
        let [a, b, c, d, e, f, g, h] = rows;
        let quarter = |a, b, c, d| {
            let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
            let (ba, dc) = (_mm512_shuffle_i64x2::<0xDD>(a, b), _mm512_shuffle_i64x2::<0xDD>(c, d));
            [
                _mm512_shuffle_i64x2::<0x88>(ab, cd),
                _mm512_shuffle_i64x2::<0x88>(ba, dc),
                _mm512_shuffle_i64x2::<0xDD>(ab, cd),
                _mm512_shuffle_i64x2::<0xDD>(ba, dc),
            ]
        };
        let even = quarter(
            _mm512_unpacklo_epi64(a, b),
            _mm512_unpacklo_epi64(c, d),
            _mm512_unpacklo_epi64(e, f),
            _mm512_unpacklo_epi64(g, h),
        );
        let odd = quarter(
            _mm512_unpackhi_epi64(a, b),
            _mm512_unpackhi_epi64(c, d),
            _mm512_unpackhi_epi64(e, f),
            _mm512_unpackhi_epi64(g, h),
        );
        [even[0], odd[0], even[1], odd[1], even[2], odd[2], even[3], odd[3]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::BitMatrix;

    /// Whether there are squares; if so, they do what the map says at every level.
    fn check<T: Copy + PartialEq>(matrix: &BitMatrix, run: u32, item: impl Fn(u64) -> T) -> bool {
        let map = Affine::new(matrix, 0x2B ^ 0x55 << (matrix.bits() / 2)).unwrap();
        let tiling = Tiling::new(&map, run, 2 * run);
        let Some(mut blocks) = Blocks::new(&map, &tiling) else { return false };
        let source: Vec<T> = (0..1 << map.bits()).map(&item).collect();
        for level in SimdLevel::all() {
            blocks.level = level;
            let mut out = vec![item(0); source.len()];
            let mut memory = vec![MaybeUninit::uninit(); blocks.room()];
            let (from, to) =
                (SharedPtr::new(source.as_ptr().cast_mut()), SharedPtr::new(out.as_mut_ptr()));
            // SAFETY: all tiles, of arrays that are as long as the map.
            unsafe { blocks.copy(&tiling, 0..tiling.tiles(), &from, &to, &mut memory) };
            let right =
                (0..=map.last()).all(|x| out[map.forward(x) as usize] == source[x as usize]);
            assert!(right, "{matrix:?}, runs of {run} bits, {level:?}");
        }
        true
    }

    #[test]
    fn every_level_does_what_the_map_says() {
        let mut with_squares = 0;
        for bits in 3..=13 {
            let mut all = vec![
                BitMatrix::bit_reversal(bits).unwrap(),
                BitMatrix::gray_code(bits).unwrap(),
                BitMatrix::rotation(bits, bits / 2).unwrap(),
            ];
            all.extend((0..5).map(|seed| BitMatrix::random(bits, seed).unwrap()));
            for matrix in all {
                for run in [3, 4, 6] {
                    let squares = check(&matrix, run, |x| x);
                    assert_eq!(check(&matrix, run, |x| x as u16), squares);
                    assert_eq!(check(&matrix, run, |x| (x as u32, x as u8)), squares);
                    with_squares += u32::from(squares);
                }
            }
        }
        assert!(with_squares > 100, "{with_squares}");
        // No two lines are needed for what stays in one.
        assert!(!check(&BitMatrix::gray_code(12).unwrap(), 6, |x| x));
        assert!(check(&BitMatrix::bit_reversal(12).unwrap(), 6, |x| x));
    }
}
