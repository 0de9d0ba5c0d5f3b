//! [`TileSquares`]: brings tiles into the target's order by transposing squares of 8 lines of 8
//! items.
//!
//! A line is 8 consecutive items. Suppose that the items of a line of the target come from 8
//! different lines of the source, and vice versa. Then these 8 lines of the source become 8 whole
//! lines of the target, in some order and with their items exchanged. If `l_k` denotes the lowest
//! bits of the index that item `k` of the first line comes from, then item `k` of line `j` is item
//! `j ^ l_k` of the `k`-th of the source's lines. A square is therefore loaded with each line's
//! items permuted by the exclusive or with `l_k`, transposed, and stored with its items permuted
//! again. Where a vector holds a line, that takes one instruction for each item, and copying items
//! one by one takes four.
//!
//! Each line is read once, straight from the source, so a tile needs no slots.

use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use super::ahead::PrefetchAhead;
use super::subspace::Echelon;
use super::tiles::{Coordinates, Tiling, combinations};
use crate::Affine;
use bijective_shuffle_core::Bijection;
use bijective_shuffle_engine::memory::SharedPtr;
use bijective_shuffle_engine::simd::{SimdKernel, SimdLevel};
use bijective_shuffle_engine::stream;

/// The number of items in a side of a square, and its logarithm.
const SIDE: usize = 8;
const SIDE_BITS: usize = SIDE.ilog2() as usize;

/// The positions of the squares in every tile of a tiling. Offsets are combined by exclusive or.
pub(super) struct TileSquares {
    map: Affine,
    /// The offsets that the items of one of the target's lines come from.
    line: [u64; SIDE],
    /// Where the lines of a square go on the stage, which holds the runs of a group one after
    /// another; and the exclusive or that exchanges the items within each line.
    lines: [(u32, u32); SIDE],
    /// The squares of a group: where their first lines go on the stage, and the offsets that they
    /// come from.
    squares: Vec<(u32, u64)>,
    /// The groups of a tile: the offsets that they go to, and those that they come from.
    groups: Vec<(u64, u64)>,
    /// The offsets of a group's runs.
    runs: Vec<u64>,
    target_run: u32,
    ahead: PrefetchAhead,
    level: SimdLevel,
}

impl TileSquares {
    /// The squares of a tiling, or `None` unless all of its tiles consist of squares.
    #[inline]
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
        // Finds where the items of the source's lines go. The lines of a square may lie in up to 8
        // runs.
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
        // The remaining dimensions of a tile: first those of squares along a group's runs, then
        // those of groups.
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
            ahead: PrefetchAhead::new(tiling),
            level: SimdLevel::current(),
        })
    }

    /// The working memory that a thread needs, in items.
    pub(super) fn room(&self) -> usize {
        self.runs.len() << self.target_run
    }

    /// Copies the items of some tiles to their places with non-temporal stores.
    ///
    /// # Safety
    ///
    /// `tiling` is the one that these squares were made for, and `tiles` are numbers of its tiles.
    /// `source` has an item, and `out` a place, for every point of the map. Nobody writes to the
    /// source, and nobody else uses the places of these tiles.
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
        // SAFETY: the index is that of a tile of the tiling, the caller promises an item for every
        // point of the map, and part 0 of one part is the whole tile.
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
                    // SAFETY: the exclusive or of the tile's image, a group and a run is a point of
                    // the map, where a run of the image begins. The caller promises a place for
                    // every point.
                    let run = unsafe { out.at((tile.target ^ to ^ run) as usize) };
                    // SAFETY: a run has `2^target_run` places, which is the stage's length here.
                    // They belong to this tile's image, and the caller promises that nobody else
                    // uses them.
                    let run = unsafe { core::slice::from_raw_parts_mut(run.cast(), stage.len()) };
                    stream::stream(stage, run);
                }
            }
            tile = next;
        }
        stream::publish();
    }
}

/// The squares of a group. Only [`TileSquares::copy`] makes them, so all sums of their offsets are
/// points of the map, for which there are items at `source`, or places of the stage.
struct Squares<'a, T> {
    blocks: &'a TileSquares,
    /// The number of the first square in the tile.
    first: usize,
    from: u64,
    /// The index of the tile to be prefetched meanwhile.
    next: u64,
    source: &'a SharedPtr<T>,
    stage: &'a mut [MaybeUninit<T>],
}

impl<T> Squares<'_, T> {
    /// Calls `square` with the stage offset, the source index and the stage of each square, and
    /// prefetches a part of the next tile each time.
    #[inline(always)]
    fn each(&mut self, mut square: impl FnMut(u32, u64, &mut [MaybeUninit<T>])) {
        let all = (self.blocks.groups.len() * self.blocks.squares.len()).ilog2();
        for (number, &(to, from)) in self.blocks.squares.iter().enumerate() {
            // SAFETY: `next` is the index of a tile of the tiling, for whose points there are items
            // at `source`. The square's number in the tile is below the number of squares, which is
            // `2^all` and at most the number of items.
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
                    // SAFETY: the square's index, a line and an item of the line add up to a point
                    // of the map, and there is an item at `source` for each.
                    let item = unsafe { source.at((from ^ j ^ of_line) as usize) };
                    let place = &mut line[(k ^ flip as usize) % SIDE];
                    // SAFETY: the source has an item there, which nobody writes to, and the place
                    // is on the stage, which is separate memory.
                    unsafe { ptr::copy_nonoverlapping(item.cast(), place, 1) };
                }
            }
        });
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn run_avx512(self) {
        if size_of::<T>() == size_of::<u64>() {
            // SAFETY: the caller promises AVX-512, and the items have 8 bytes, as was just checked.
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

    /// The permutation of a line's places for each exclusive or.
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

    /// The permutation of places by the exclusive or with `flip`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn places(flip: u32) -> __m512i {
        let places = &FLIPS.0[flip as usize % SIDE];
        // SAFETY: `places` is an array of 64 bytes, and it is aligned to them, since `Flips` is and
        // each of its rows has that size.
        unsafe { _mm512_load_si512(places.as_ptr().cast()) }
    }

    /// Loads a line and exchanges its items. It is assembly, since an intrinsic would form a vector
    /// of items that may have uninitialised bytes.
    ///
    /// # Safety
    ///
    /// A line may be read at the address, and the machine has AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load<T>(from: *const T, flip: u32) -> __m512i {
        let places = places(flip);
        let line;
        // SAFETY: the instruction reads the 64 bytes at `from`, which the caller promises may be
        // read, and needs AVX-512F, which the caller promises, too. It writes only the output
        // register.
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

    /// Exchanges the items of a line and stores it.
    ///
    /// # Safety
    ///
    /// A line may be written at the address, and the machine has AVX-512F.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store<T>(line: __m512i, flip: u32, to: *mut T) {
        let line = _mm512_permutexvar_epi64(places(flip), line);
        // SAFETY: the instruction writes the 64 bytes at `to`, which the caller promises may be
        // written, and needs AVX-512F, which the caller promises, too. It changes no register.
        unsafe {
            asm!(
                "vmovdqu64 [{to}], {line}",
                line = in(zmm_reg) line,
                to = in(reg) to,
                options(nostack, preserves_flags),
            );
        }
    }

    /// Does the same as [`Squares::run`](super::SimdKernel::run).
    ///
    /// # Safety
    ///
    /// The machine has AVX-512F, and items have 8 bytes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn transpose<T>(mut squares: Squares<'_, T>) {
        let Squares { blocks, source, .. } = squares;
        squares.each(|to, from, stage| {
            let rows = blocks.line.map(|of_line| {
                let item = from ^ of_line;
                // SAFETY: `item` is a point of the map. Arrays consist of whole lines, so the first
                // point of its line is one as well, and there is an item for it.
                let line = unsafe { source.at((item & !(SIDE as u64 - 1)) as usize) };
                // SAFETY: all 8 points of the line are points of the map, with items of 8 bytes,
                // and the caller promises AVX-512F.
                unsafe { load(line.cast_const(), item as u32) }
            });
            for (column, (line, flip)) in transposed(rows).into_iter().zip(blocks.lines) {
                let line = &mut stage[(to ^ line) as usize..][..SIDE];
                // SAFETY: `line` is a slice of 8 places of 8 bytes, and the caller promises
                // AVX-512F.
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
    use crate::BitMatrix;

    /// Returns whether the tiles consist of squares. If so, asserts that they do what the map says,
    /// at every level.
    fn check<T: Copy + PartialEq>(matrix: &BitMatrix, run: u32, item: impl Fn(u64) -> T) -> bool {
        let map = Affine::new(matrix, 0x2B ^ 0x55 << (matrix.bits() / 2)).unwrap();
        let tiling = Tiling::new(&map, run, 2 * run);
        let Some(mut blocks) = TileSquares::new(&map, &tiling) else { return false };
        let source: Vec<T> = (0..1 << map.bits()).map(&item).collect();
        for level in SimdLevel::all() {
            blocks.level = level;
            let mut out = vec![item(0); source.len()];
            let mut memory = vec![MaybeUninit::uninit(); blocks.room()];
            let (from, to) =
                (SharedPtr::new(source.as_ptr().cast_mut()), SharedPtr::new(out.as_mut_ptr()));
            // SAFETY: the tiling is the one that the squares were made for, its tiles are all used
            // once, and both arrays are as long as the map has points.
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
        // A Gray code maps each line to a line, so it has no squares.
        assert!(!check(&BitMatrix::gray_code(12).unwrap(), 6, |x| x));
        assert!(check(&BitMatrix::bit_reversal(12).unwrap(), 6, |x| x));
    }
}
