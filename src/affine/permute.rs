//! Arrays permuted by affine maps, on the threads of the current rayon pool.

use core::mem::MaybeUninit;
use core::ptr;

use rayon::prelude::*;

use super::subspace::Echelon;
use super::tiles::{Tile, Tiling, combinations};
use super::tuning;
use crate::bijection::{Affine, Bijection};
use crate::compact::cpu::memory::{Base, Buffer};
use crate::compact::cpu::stream;
use crate::error::Error;

/// Copies an array in the order of an affine map: `out[A x ^ c] = source[x]`.
///
/// Every matrix takes one pass, in tiles that are read and written by whole lines of the cache. The direction is that of
/// scattering: [`Compactor::shuffle`](crate::Compactor::shuffle) by the same bijection is [`permute`] by its inverse.
///
/// # Errors
///
/// [`Error::LengthMismatch`] if the slices are not of `2^bits` items, and [`Error::OutOfMemory`], after which `out` holds
/// unspecified items.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::{BitMatrix, permute};
/// use bijective_shuffle::prelude::*;
///
/// // Two rows of four, transposed.
/// let transpose = Affine::new(&BitMatrix::array_transpose(1, 2)?, 0)?;
/// let mut out = [' '; 8];
/// permute(&transpose, &['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'], &mut out)?;
/// assert_eq!(out, ['a', 'e', 'b', 'f', 'c', 'g', 'd', 'h']);
/// # Ok::<(), Error>(())
/// ```
pub fn permute<T: Copy + Send + Sync>(
    map: &Affine,
    source: &[T],
    out: &mut [T],
) -> Result<(), Error> {
    check_length(map, source.len())?;
    check_length(map, out.len())?;
    // SAFETY: there are as many places as the map has points, and the source is elsewhere. Only items are written.
    unsafe { copy(map, source.as_ptr(), out.as_mut_ptr()) }
}

/// A copy of an array in the order of an affine map: item `x` of the source is item `A x ^ c` of the result.
///
/// # Errors
///
/// [`Error::LengthMismatch`] if the slice is not of `2^bits` items, and [`Error::OutOfMemory`].
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::permuted;
/// use bijective_shuffle::prelude::*;
///
/// assert_eq!(permuted(&Affine::reversal(2)?, &[1, 2, 3, 4])?, [4, 3, 2, 1]);
/// # Ok::<(), Error>(())
/// ```
pub fn permuted<T: Copy + Send + Sync>(map: &Affine, source: &[T]) -> Result<Vec<T>, Error> {
    check_length(map, source.len())?;
    let mut out = crate::compact::try_with_capacity(source.len())?;
    // SAFETY: there is room for as many items as the map has points, apart from the source.
    unsafe { copy(map, source.as_ptr(), out.as_mut_ptr()) }?;
    // SAFETY: an item has been written to every place.
    unsafe { out.set_len(source.len()) };
    Ok(out)
}

/// Brings an array into the order of an affine map: item `x` comes to place `A x ^ c`.
///
/// A map that is an involution exchanges tiles, and takes no memory to speak of. Any other one goes through a copy of the
/// items.
///
/// # Errors
///
/// [`Error::LengthMismatch`] if the slice is not of `2^bits` items; [`Error::OutOfMemory`], after which the items are
/// where they were, or for an involution in no particular order.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::affine::{BitMatrix, permute_in_place};
/// use bijective_shuffle::prelude::*;
///
/// let mut items: Vec<u32> = (0..8).collect();
/// permute_in_place(&Affine::new(&BitMatrix::bit_reversal(3)?, 0)?, &mut items)?;
/// assert_eq!(items, [0, 4, 2, 6, 1, 5, 3, 7]);
/// # Ok::<(), Error>(())
/// ```
pub fn permute_in_place<T: Copy + Send + Sync>(map: &Affine, items: &mut [T]) -> Result<(), Error> {
    check_length(map, items.len())?;
    if size_of::<T>() == 0 {
        return Ok(());
    }
    if map.is_involution() {
        return exchange(map, items);
    }
    let mut scratch = Buffer::default();
    let scratch = scratch.room::<T>(items.len())?;
    // SAFETY: there is room for as many items as the map has points, apart from the items.
    unsafe { copy(map, items.as_ptr(), scratch.as_mut_ptr().cast()) }?;
    // SAFETY: an item has been written to every place.
    let copies = unsafe { crate::compact::cpu::memory::assume_init(scratch) };
    if tuning::is_sequential::<T>(items.len()) {
        items.copy_from_slice(copies);
    } else {
        let pieces = items.par_chunks_mut(tuning::COPY_CHUNK);
        pieces
            .zip(copies.par_chunks(tuning::COPY_CHUNK))
            .for_each(|(to, from)| to.copy_from_slice(from));
    }
    Ok(())
}

/// Checks that an array has as many items as a map has points.
pub(crate) fn check_length(map: &Affine, len: usize) -> Result<(), Error> {
    let (last, actual) = (map.last(), len as u64);
    if actual.checked_sub(1) == Some(last) {
        return Ok(());
    }
    Err(Error::LengthMismatch { expected: last.saturating_add(1), actual })
}

/// Runs something for ranges of tiles that together are all tiles, each with a buffer for `tiles_held` of them and a run.
fn for_tiles<T: Send>(
    tiling: &Tiling,
    tiles_held: usize,
    len: usize,
    run: impl Fn(core::ops::Range<u64>, &mut [MaybeUninit<T>]) + Sync,
) -> Result<(), Error> {
    let room = (tiles_held << tiling.tile_bits()) + (1 << tiling.target_run);
    if tuning::is_sequential::<T>(len) {
        run(0..tiling.tiles(), Buffer::default().room(room)?);
        return Ok(());
    }
    let share = tuning::tiles_at_a_time::<T>(tiling.tile_bits()).min(tiling.tiles());
    let shares = (0..tiling.tiles() / share).into_par_iter();
    shares.try_for_each_init(Buffer::default, |buffer, k| {
        run(k * share..(k + 1) * share, buffer.room(room)?);
        Ok(())
    })
}

/// Copies items in a map's order.
///
/// # Safety
///
/// At both addresses there is room for as many items as the map has points, which do not overlap; those of the source are
/// initialised, and nobody writes to either meanwhile.
unsafe fn copy<T: Send>(map: &Affine, source: *const T, out: *mut T) -> Result<(), Error> {
    if size_of::<T>() == 0 {
        return Ok(());
    }
    let run = tuning::run_bits::<T>();
    let mover = Mover::new(Tiling::new(map, run, 2 * run));
    // Only read through.
    let (source, out) = (Base::new(source.cast_mut()), Base::new(out));
    for_tiles::<T>(&mover.tiling, 1, 1 << map.bits(), |tiles, buffer| {
        let (buffer, stage) = buffer.split_at_mut(1 << mover.tiling.tile_bits());
        let mut tile = mover.tiling.tile(tiles.start);
        for number in tiles {
            let next = mover.tiling.next(tile, number);
            // SAFETY: the tile is one of the map's, and there is room for it in the buffer.
            unsafe { mover.fetch(tile, Some(next), &source, buffer) };
            // SAFETY: the same. No other tile has these places, and the tile's slots are all filled.
            unsafe { mover.stream(tile, buffer, stage, &out) };
            tile = next;
        }
        stream::publish();
    })
}

/// Exchanges the tiles of an involution: its `V` is its own image, so that each tile belongs to one place, whose items
/// belong where the tile is.
fn exchange<T: Copy + Send>(map: &Affine, items: &mut [T]) -> Result<(), Error> {
    // No more than the runs, since more bits would have to come in pairs.
    let mover = Mover::new(Tiling::new(map, tuning::run_bits::<T>(), 0));
    let span = Echelon::span(mover.tiling.source.iter().copied());
    let base = Base::new(items.as_mut_ptr());
    for_tiles::<T>(&mover.tiling, 2, items.len(), |tiles, buffer| {
        let (ours, rest) = buffer.split_at_mut(1 << mover.tiling.tile_bits());
        let theirs = &mut rest[..ours.len()];
        let mut tile = mover.tiling.tile(tiles.start);
        for number in tiles {
            let next = mover.tiling.next(tile, number);
            let (here, there) = (span.reduce(tile.source), span.reduce(tile.target));
            if here <= there {
                // SAFETY: the tile is one of the map's, and there is room for it in the buffer. Nobody else touches the
                // two tiles, as they are each other's image, and only the lower one's thread gets here.
                unsafe { mover.fetch(tile, None, &base, ours) };
                if here < there {
                    let back = mover.tile_at(map, tile.target);
                    // SAFETY: as above.
                    unsafe { mover.fetch(back, None, &base, theirs) };
                    // SAFETY: as above, and all of this tile's items are in the other buffer.
                    unsafe { mover.put(back, theirs, &base) };
                }
                // SAFETY: as above, and all of the other tile's items have been fetched.
                unsafe { mover.put(tile, ours, &base) };
            }
            tile = next;
        }
    })
}

/// A tiling's offsets, written out. Slots count through the source's runs: to fetch a tile is to copy runs, and each run of the
/// target is picked from the slots. (The other way round, with slots that count through the target's runs, a thread puts
/// 1.1 to 1.4 G items a second of 8 bytes in cache, and like this 2.2 to 2.5: a core loads from more places than it stores to.)
struct Mover {
    tiling: Tiling,
    /// The source's runs: what is added to a tile's index.
    source_runs: Vec<u64>,
    /// The target's runs: what is added to the image's index, and to its slots.
    target_runs: Vec<(u64, u32)>,
    /// The slots of a target's run.
    slots: Vec<u32>,
}

impl Mover {
    fn new(mut tiling: Tiling) -> Self {
        tiling.count_by_source();
        let (run, out) = (tiling.source_run as usize, tiling.target_run as usize);
        let indexes = combinations(&tiling.target[out..]);
        let bases = combinations(&tiling.target_slots[out..]);
        Self {
            source_runs: combinations(&tiling.source[run..]),
            target_runs: indexes.into_iter().zip(bases).collect(),
            slots: combinations(&tiling.target_slots[..out]),
            tiling,
        }
    }

    /// The tile that has an index, whose lowest bits are zero.
    fn tile_at(&self, map: &Affine, source: u64) -> Tile {
        let image = map.forward(source);
        let low = image & ((1 << self.tiling.target_run) - 1);
        Tile { source, target: image ^ low, shift: self.tiling.shift(low) }
    }

    /// Copies a tile's runs to a buffer, and asks for those that come later, in the tile or in the next one.
    ///
    /// # Safety
    ///
    /// The tiles are the map's, of whose points there are items at `source`, which nobody writes to.
    #[inline]
    unsafe fn fetch<T>(
        &self,
        tile: Tile,
        next: Option<Tile>,
        source: &Base<T>,
        slots: &mut [MaybeUninit<T>],
    ) {
        let len = 1 << self.tiling.source_run;
        let runs = self.source_runs.len();
        let ahead = (tuning::AHEAD_BYTES / (len * size_of::<T>())).clamp(1, runs);
        for (k, (&index, slots)) in
            self.source_runs.iter().zip(slots.chunks_exact_mut(len)).enumerate()
        {
            let (of, ahead) = match k + ahead {
                later if later < runs => (tile, later),
                later => (next.unwrap_or(tile), later - runs),
            };
            // SAFETY: a point of the map.
            let later = unsafe { source.at((of.source ^ self.source_runs[ahead]) as usize) };
            stream::prefetch_lines(later.cast(), size_of_val(slots).div_ceil(stream::LINE));
            // SAFETY: a point of the map.
            let run = unsafe { source.at((tile.source ^ index) as usize) };
            // SAFETY: a run has as many items as these slots, all of them the map's points; the buffer is elsewhere.
            unsafe { ptr::copy_nonoverlapping(run, slots.as_mut_ptr().cast(), len) };
        }
    }

    /// Copies the items of one of the target's runs, in their order, from the slots.
    ///
    /// # Safety
    ///
    /// `base` is a sum of the tiling's slots. The slots are all filled.
    #[inline(always)]
    unsafe fn pick<T>(&self, base: u32, slots: &[MaybeUninit<T>], run: &mut [MaybeUninit<T>]) {
        assert_eq!(slots.len(), 1 << self.tiling.tile_bits());
        for (place, slot) in run.iter_mut().zip(&self.slots) {
            // SAFETY: sums of slots are slots, of which there are as many as in `slots`.
            let item = unsafe { slots.get_unchecked((base ^ slot) as usize) };
            // SAFETY: a place and a slot, which are apart.
            unsafe { ptr::copy_nonoverlapping(item, place, 1) };
        }
    }

    /// Copies a tile's items from their slots to its image, past the caches, by way of a run's `stage`.
    ///
    /// # Safety
    ///
    /// The tile is one of the map's, of whose points there are places at `out`, and nobody else uses those of its image. The
    /// slots are all filled.
    #[inline]
    unsafe fn stream<T>(
        &self,
        tile: Tile,
        slots: &[MaybeUninit<T>],
        stage: &mut [MaybeUninit<T>],
        out: &Base<T>,
    ) {
        if size_of_val(stage) < stream::LINE {
            // SAFETY: the caller's word.
            return unsafe { self.put(tile, slots, out) };
        }
        for &(index, base) in &self.target_runs {
            // SAFETY: the caller's word.
            unsafe { self.pick(base ^ tile.shift, slots, stage) };
            // SAFETY: a run of the image.
            stream::stream(stage, unsafe { self.run_at(tile.target ^ index, out) });
        }
    }

    /// Copies a tile's items from their slots to its image.
    ///
    /// # Safety
    ///
    /// As [`stream`](Self::stream).
    #[inline]
    unsafe fn put<T>(&self, tile: Tile, slots: &[MaybeUninit<T>], out: &Base<T>) {
        for &(index, base) in &self.target_runs {
            // SAFETY: a run of the image.
            let run = unsafe { self.run_at(tile.target ^ index, out) };
            // SAFETY: the caller's word.
            unsafe { self.pick(base ^ tile.shift, slots, run) };
        }
    }

    /// The places of one of the target's runs.
    ///
    /// # Safety
    ///
    /// It begins at a point of the map, of which there are places at `out`; nobody else uses the run's.
    #[inline(always)]
    unsafe fn run_at<'a, T>(&self, index: u64, out: &Base<T>) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: a point of the map.
        let start = unsafe { out.at(index as usize) };
        // SAFETY: as many items as a run has from there on are the map's points, and the run's alone.
        unsafe { core::slice::from_raw_parts_mut(start.cast(), 1 << self.tiling.target_run) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::BitMatrix;

    /// Maps of a width: involutions and others, with tiles of all sizes.
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
        // A conjugate of a bit reversal is an involution of no particular form.
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
        let source: Vec<T> = (0..1 << bits).map(&item).collect();
        for map in maps(bits) {
            let mut expected = source.clone();
            for (x, &item) in source.iter().enumerate() {
                expected[map.forward(x as u64) as usize] = item;
            }
            let what = format!("{map:?}, items of {} bytes", size_of::<T>());
            let mut out = vec![item(0); source.len() + 3];
            // At every distance from a line's beginning, by and by.
            let shift = bits as usize % 4;
            permute(&map, &source, &mut out[shift..][..source.len()]).unwrap();
            assert!(out[shift..][..source.len()] == expected[..], "{what}");
            assert!(out[..shift].iter().all(|&other| other == item(0)), "{what}");
            assert!(out[shift + source.len()..].iter().all(|&other| other == item(0)), "{what}");
            assert!(permuted(&map, &source).unwrap() == expected, "{what}");
            let mut items = source.clone();
            permute_in_place(&map, &mut items).unwrap();
            assert!(items == expected, "in place: {what}");
        }
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

    #[test]
    fn arrays_that_are_shared_among_threads() {
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                check(17, |x| x);
                check(20, |x| (x ^ x >> 8 ^ x >> 16) as u8);
            });
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_refused() {
        let map = Affine::reversal(3).unwrap();
        let error = |actual| Err(Error::LengthMismatch { expected: 8, actual });
        assert_eq!(permute(&map, &[0; 8], &mut [0; 7]), error(7));
        assert_eq!(permute(&map, &[0; 9], &mut [0; 8]), error(9));
        assert_eq!(permuted(&map, &[0; 0]).map(|_| ()), error(0));
        let mut items = [1, 2, 3];
        assert_eq!(permute_in_place(&map, &mut items), error(3));
        assert_eq!(items, [1, 2, 3]);
        let all = Affine::reversal(64).unwrap();
        let error = Error::LengthMismatch { expected: u64::MAX, actual: 3 };
        assert_eq!(permute_in_place(&all, &mut items), Err(error));
    }
}
