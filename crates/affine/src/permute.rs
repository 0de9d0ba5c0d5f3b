//! Permutes arrays by affine maps, on the threads of the current rayon pool.

use crate::MatrixError;
use core::mem::MaybeUninit;
use core::ptr;

use super::blocks::TileSquares;
use super::mover::Mover;
use super::shares::TileShares;
use super::tiles::Tiling;
use super::tuning;
use crate::Affine;
use bijective_shuffle_core::Bijection;
use bijective_shuffle_engine::memory::{Buffer, SharedPtr};

/// Permutes an array into another by an affine map: `out[A x ^ c] = source[x]`.
///
/// Every matrix takes one pass, in tiles that are read and written in whole cache lines. The
/// direction is a scatter: `Compactor::shuffle` by the same bijection
/// is [`permute`] by its inverse.
///
/// # Errors
///
/// [`MatrixError::LengthMismatch`] if the slices do not have `2^bits` items, and
/// [`MatrixError::OutOfMemory`]. `out` is then unchanged.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::{BitMatrix, permute};
/// use bijective_shuffle::affine::Affine;
/// use bijective_shuffle::prelude::*;
///
/// // Two rows of four, transposed.
/// let transpose = Affine::new(&BitMatrix::array_transpose(1, 2)?, 0)?;
/// let mut out = [' '; 8];
/// permute(&transpose, &['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], &mut out)?;
/// assert_eq!(out, ['a', 'e', 'b', 'f', 'c', 'g', 'd', 'h']);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub fn permute<T: Copy + Send + Sync>(
    map: &Affine,
    source: &[T],
    out: &mut [T],
) -> Result<(), MatrixError> {
    check_length(map, source.len())?;
    check_length(map, out.len())?;
    let (copy, mut memory) = (Copying::new::<T>(map), Buffer::default());
    let memory = memory.room(copy.room())?;
    // SAFETY: both slices have as many items as the map has points. They do not overlap, since
    // `out` is borrowed for writing, and only items are written to it.
    unsafe { copy.run(source.as_ptr(), out.as_mut_ptr(), memory) };
    Ok(())
}

/// Returns a permuted copy of an array: item `x` of the source becomes item `A x ^ c` of the
/// result.
///
/// # Errors
///
/// [`MatrixError::LengthMismatch`] if the slice does not have `2^bits` items, and
/// [`MatrixError::OutOfMemory`].
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::permuted;
/// use bijective_shuffle::affine::Affine;
/// use bijective_shuffle::prelude::*;
///
/// assert_eq!(permuted(&Affine::reversal(2)?, &[1, 2, 3, 4])?, [4, 3, 2, 1]);
/// # Ok::<(), bijective_shuffle::Error>(())
/// ```
pub fn permuted<T: Copy + Send + Sync>(map: &Affine, source: &[T]) -> Result<Vec<T>, MatrixError> {
    check_length(map, source.len())?;
    let mut out = bijective_shuffle_engine::check::try_with_capacity(source.len())?;
    let (copy, mut memory) = (Copying::new::<T>(map), Buffer::default());
    let memory = memory.room(copy.room())?;
    // SAFETY: `out` has room for as many items as the map has points, in memory of its own.
    unsafe { copy.run(source.as_ptr(), out.as_mut_ptr(), memory) };
    // SAFETY: the vector has room for them, and the copy has written an item to every place, since
    // the map is a bijection.
    unsafe { out.set_len(source.len()) };
    Ok(out)
}

/// Checks that an array has as many items as the map has points.
pub fn check_length(map: &Affine, len: usize) -> Result<(), MatrixError> {
    let (last, actual) = (map.last(), len as u64);
    if actual.checked_sub(1) == Some(last) {
        return Ok(());
    }
    Err(MatrixError::LengthMismatch { expected: last.saturating_add(1), actual })
}

/// A plan for copying an array into a map's order.
pub(super) struct Copying {
    way: PermuteWay,
    /// Shares of tiles, or of pieces if nothing moves.
    shares: TileShares,
}

#[allow(clippy::large_enum_variant, reason = "only one exists at a time")]
enum PermuteWay {
    /// Nothing moves: copies pieces of `piece` items; the last may be shorter.
    Plain {
        piece: usize,
        len: usize,
    },
    Blocks(Tiling, TileSquares),
    Slots(Mover),
}

impl Copying {
    /// The plan for arrays with an item of the size of `T` for each of the map's points.
    pub(super) fn new<T>(map: &Affine) -> Self {
        let len = map.last() as usize + 1;
        if map.is_identity() || size_of::<T>() == 0 {
            // Large pieces, since `memcpy` is faster on those.
            let piece = tuning::piece::<T>().max(len.div_ceil(rayon_core::current_num_threads()));
            let shares = TileShares::new::<T>(len.div_ceil(piece) as u64, piece.min(len), 0);
            return Self { way: PermuteWay::Plain { piece, len }, shares };
        }
        let run = tuning::run_bits::<T>();
        let tiling = Tiling::new(map, run, 2 * run);
        let (tiles, items) = (tiling.tiles(), 1 << tiling.tile_bits());
        let blocks = tuning::has_blocks::<T>().then(|| TileSquares::new(map, &tiling));
        if let Some(blocks) = blocks.flatten() {
            let shares = TileShares::new::<T>(tiles, items, blocks.room());
            return Self { way: PermuteWay::Blocks(tiling, blocks), shares };
        }
        let mover = Mover::new(tiling);
        let shares = TileShares::new::<T>(tiles, items, mover.room(1));
        Self { way: PermuteWay::Slots(mover), shares }
    }

    /// The working memory that it takes, in items.
    pub(super) fn room(&self) -> usize {
        self.shares.room()
    }

    /// Copies the items.
    ///
    /// # Safety
    ///
    /// `source` and `out` each point to room for as many items as the map has points, and the two
    /// do not overlap. The source's items are initialised. Nobody writes to either while this runs.
    ///
    /// # Panics
    ///
    /// If the memory does not have [`room`](Self::room) items.
    pub(super) unsafe fn run<T: Copy + Send>(
        &self,
        source: *const T,
        out: *mut T,
        memory: &mut [MaybeUninit<T>],
    ) {
        // The source is only read through this pointer.
        let (source, out) = (SharedPtr::new(source.cast_mut()), SharedPtr::new(out));
        self.shares.run(memory, |tiles, memory| match &self.way {
            PermuteWay::Plain { piece, len } => {
                let (start, end) = (tiles.start as usize * piece, tiles.end as usize * piece);
                // SAFETY: `tiles` are numbers of pieces, so `start` is below the length, and the
                // source has that many items.
                let from = unsafe { source.at(start) };
                // SAFETY: `start` is below the length, and the target has as many places as the
                // source has items.
                let to = unsafe { out.at(start) };
                // SAFETY: the piece ends at the length or before, so it is within both arrays,
                // which do not overlap. No other thread has this piece.
                unsafe { ptr::copy_nonoverlapping(from, to, end.min(*len) - start) };
            }
            // SAFETY: the caller promises items and places for all points of the map. No two
            // threads have the same tile, so no two write to the same image.
            PermuteWay::Blocks(tiling, blocks) => unsafe {
                blocks.copy(tiling, tiles, &source, &out, memory);
            },
            // SAFETY: the caller promises items and places for all points of the map. No two
            // threads have the same tile, so no two write to the same image.
            PermuteWay::Slots(mover) => unsafe { mover.copy(tiles, &source, &out, memory) },
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BitMatrix, permute_in_place};

    /// Maps of a width: involutions and other maps, with tiles of all sizes.
    fn maps(bits: u32) -> Vec<Affine> {
        let families = [
            BitMatrix::identity(bits),
            BitMatrix::bit_reversal(bits),
            BitMatrix::array_transpose(bits / 2, bits - bits / 2),
            BitMatrix::rotation(bits, 1),
            BitMatrix::gray_code(bits),
            BitMatrix::random(bits, 1),
        ];
        let random = BitMatrix::random(bits, 2).unwrap();
        // A conjugate of a bit reversal is an involution without any special form.
        let conjugate = random
            .product(&BitMatrix::bit_reversal(bits).unwrap())
            .and_then(|a| a.product(&random.inverse().unwrap()))
            .unwrap();
        let mut all = vec![Affine::new(&conjugate, conjugate.apply(0x1234) ^ 0x1234).unwrap()];
        assert!(all[0].is_involution());
        for family in families {
            let matrix = family.unwrap();
            all.push(Affine::new(&matrix, 0).unwrap());
            all.push(Affine::new(&matrix, 0x9E37_79B9_7F4A_7C15).unwrap());
        }
        all
    }

    fn check<T: Copy + Send + Sync + PartialEq>(bits: u32, item: impl Fn(u64) -> T) {
        check_in(&[], bits, item);
    }

    /// In each of some pools, or without any.
    fn check_in<T: Copy + Send + Sync + PartialEq>(
        pools: &[rayon_core::ThreadPool],
        bits: u32,
        item: impl Fn(u64) -> T,
    ) {
        let source: Vec<T> = (0..1 << bits).map(&item).collect();
        let nothing = item(0);
        for map in maps(bits) {
            let mut expected = source.clone();
            for (x, &item) in source.iter().enumerate() {
                expected[map.forward(x as u64) as usize] = item;
            }
            if pools.is_empty() {
                check_map(&map, &source, &expected, nothing);
            }
            for pool in pools {
                pool.install(|| check_map(&map, &source, &expected, nothing));
            }
        }
    }

    fn check_map<T: Copy + Send + Sync + PartialEq>(
        map: &Affine,
        source: &[T],
        expected: &[T],
        nothing: T,
    ) {
        let what = format!("{map:?}, items of {} bytes", size_of::<T>());
        let mut out = vec![nothing; source.len() + 3];
        // Over all widths, arrays start at every offset from a line.
        let shift = source.len().trailing_zeros() as usize % 4;
        permute(map, source, &mut out[shift..][..source.len()]).unwrap();
        assert!(out[shift..][..source.len()] == *expected, "{what}");
        assert!(out[..shift].iter().all(|&other| other == nothing), "{what}");
        assert!(out[shift + source.len()..].iter().all(|&other| other == nothing), "{what}");
        assert!(permuted(map, source).unwrap() == expected, "{what}");
        let mut items = source.to_vec();
        permute_in_place(map, &mut items).unwrap();
        assert!(items == expected, "in place: {what}");
    }

    #[test]
    fn small_arrays_of_all_kinds_of_items() {
        for bits in 0..=13 {
            check(bits, |x| x as u8 ^ (x >> 8) as u8);
            check(bits, |x| x as u16);
            check(bits, |x| [x as u8, (x >> 8) as u8, 7]);
            check(bits, |x| x as u32);
            check(bits, |x| x);
            check(bits, |x| [x as u32, 1, 2]);
            check(bits, u128::from);
        }
        for bits in 0..=8 {
            check(bits, |x| [x; 9]);
            check(bits, |x| [x as u8; 700]);
            check(bits, |x| (x as u8, x as u32));
            check(bits, |_| ());
        }
    }

    /// The number of shares of an array's copy in the current pool.
    fn shares<T>(bits: u32) -> u64 {
        let map = Affine::new(&BitMatrix::bit_reversal(bits).unwrap(), 0).unwrap();
        Copying::new::<T>(&map).shares.count()
    }

    #[test]
    fn threads_share_the_tiles_of_a_permuted_array() {
        let pools = [1, 3, 16].map(|threads| {
            rayon_core::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
        });
        for pool in &pools {
            let several = if pool.current_num_threads() == 1 { 1 } else { 4 };
            pool.install(|| {
                assert!(shares::<u64>(19) >= several && shares::<u8>(22) >= several);
            });
        }
        check_in(&pools, 19, |x| x);
        // Bytes are shared from 2^22 on, where one thread has nothing new to show.
        check_in(&pools[1..], 22, |x| (x ^ x >> 8 ^ x >> 16) as u8);
        check_in(&pools, 18, |x| [x as u32, 1, 2]);
    }

    #[test]
    fn places_that_nothing_moves_from_are_copied() {
        let nothing = Affine::translation(18, 0).unwrap();
        assert!(matches!(Copying::new::<u64>(&nothing).way, PermuteWay::Plain { .. }));
    }

    #[test]
    fn permuting_refuses_other_lengths() {
        let map = Affine::reversal(3).unwrap();
        let error = |actual| Err(MatrixError::LengthMismatch { expected: 8, actual });
        assert_eq!(permute(&map, &[0; 8], &mut [0; 7]), error(7));
        assert_eq!(permute(&map, &[0; 9], &mut [0; 8]), error(9));
        assert_eq!(permuted(&map, &[0; 0]).map(|_| ()), error(0));
        let mut items = [1, 2, 3];
        assert_eq!(permute_in_place(&map, &mut items), error(3));
        assert_eq!(items, [1, 2, 3]);
        let all = Affine::reversal(64).unwrap();
        let error = MatrixError::LengthMismatch { expected: u64::MAX, actual: 3 };
        assert_eq!(permute_in_place(&all, &mut items), Err(error));
    }
}
