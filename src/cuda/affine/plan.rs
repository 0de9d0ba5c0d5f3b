//! Planning which kernels permute an array by an affine map.

use super::arguments::{MapArgument, RowArgument, TilesArgument, tiling, unit_bits, widened};
use super::kernels;
use super::tuning::{AffineShape, LONG_ITEM, Tiled, shape_for};
use crate::Error;
use crate::affine::Affine;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::kernels::THREADS;
use crate::cuda::runtime::plan::{DevicePlan, Grid, Launch};
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::movement::{LARGEST_ITEM, MovedArray};
use crate::error::GpuError;

/// Permutes an array: `out[A x ^ c] = source[x]`.
///
/// # Errors
///
/// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge),
/// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory),
/// [`GpuError::DomainTooWide`](crate::error::GpuError::DomainTooWide).
pub(crate) fn permute(
    map: &Affine,
    array: MovedArray,
    limits: &GpuLimits,
) -> Result<DevicePlan<'static>, Error> {
    let bytes = array_bytes(array.item, map.bits())?;
    let mut plan = DevicePlan::new();
    if bytes > 0 {
        scatter(&mut plan, map, array, bytes, limits)?;
    }
    Ok(plan)
}

/// How an array of `2^bits` items is moved through tiles, and with which shape; `None` if it is
/// moved item by item. The size of the items, the addresses and the number of bits decide that, and
/// not the map.
fn tiled(bits: u32, array: MovedArray, limits: &GpuLimits) -> Option<(Tiled, AffineShape)> {
    let word = array.unit();
    let units = array.item / word.bytes();
    let bits_of_addresses = array.source.alignment_bits() | array.out.alignment_bits();
    let aligned_to = |bytes: usize| bits_of_addresses.is_multiple_of(bytes as u64);
    let (tiled, bits) = if units == 3 && word.bytes() <= 2 && aligned_to(4 * word.bytes()) {
        (Tiled::Triples { word }, bits)
    } else {
        let gaps = !units.is_power_of_two();
        if gaps && array.item >= LONG_ITEM {
            return None;
        }
        let whole = aligned_to(16) && !gaps;
        (Tiled::Words { word, whole }, bits + unit_bits(units as u64))
    };
    if bits > u64::BITS {
        return None;
    }
    Some((tiled, shape_for(tiled, bits, limits)?))
}

/// Adds the step that moves an array of `bytes` bytes, at least one: `out[A x ^ c] = source[x]`.
fn scatter(
    plan: &mut DevicePlan<'static>,
    map: &Affine,
    array: MovedArray,
    bytes: u64,
    limits: &GpuLimits,
) -> Result<(), Error> {
    if map.is_identity() {
        plan.copy(array.source, array.out, bytes);
        return Ok(());
    }
    plan.launch(match tiled(map.bits(), array, limits) {
        Some((Tiled::Words { word, .. }, shape)) => by_words(map, array, word, shape)?,
        Some((Tiled::Triples { word }, shape)) => by_triples(map, array, word, shape),
        None => by_rows(map, array),
    });
    Ok(())
}

fn by_words(
    map: &Affine,
    array: MovedArray,
    word: WordType,
    shape: AffineShape,
) -> Result<Launch<'static>, Error> {
    let units = (array.item / word.bytes()) as u64;
    let tiling = tiling(&widened(map, unit_bits(units))?, word, shape);
    let grid = Grid::Shared(tiling.tiles(), shape.block_bits);
    let (tiles, row) = (TilesArgument::new(&tiling, shape), RowArgument::new(units));
    let kernel = kernels::permute_tiles(word, shape, !units.is_power_of_two());
    let launch = Launch::new(kernel, grid, move |at| kernels::PermuteTiles {
        tiles: tiles.with_block_bits(at.block_bits),
        row,
        source: at.at(array.source),
        out: at.at(array.out),
    });
    Ok(launch.with_shared(word.bytes() << shape.tile_bits()))
}

fn by_triples(
    map: &Affine,
    array: MovedArray,
    word: WordType,
    shape: AffineShape,
) -> Launch<'static> {
    let slot = Tiled::Triples { word }.slot();
    let tiling = tiling(map, slot, shape);
    let grid = Grid::Shared(tiling.tiles(), shape.block_bits);
    let tiles = TilesArgument::new(&tiling, shape);
    let kernel = kernels::permute_triples(word, shape);
    let launch = Launch::new(kernel, grid, move |at| kernels::PermuteTriples {
        tiles: tiles.with_block_bits(at.block_bits),
        source: at.at(array.source),
        out: at.at(array.out),
    });
    launch.with_shared(slot.bytes() << shape.tile_bits())
}

fn by_rows(map: &Affine, array: MovedArray) -> Launch<'static> {
    let word = array.unit();
    let units = (array.item / word.bytes()) as u64;
    // This does not overflow: the number of bytes fits 64 bits, and there are no more units than
    // bytes.
    let all = units << map.bits();
    let map = MapArgument::new(map);
    let grid = Grid::Resident(all.div_ceil(u64::from(THREADS)));
    Launch::new(kernels::permute_rows(word), grid, move |at| kernels::PermuteRows {
        map,
        source: at.at(array.source),
        out: at.at(array.out),
        units,
    })
}

/// The number of bytes of `2^bits` items.
///
/// # Errors
///
/// [`GpuError::ItemTooLarge`](crate::error::GpuError::ItemTooLarge);
/// [`GpuError::OutOfMemory`](crate::error::GpuError::OutOfMemory) if the number does not fit 64
/// bits.
pub(crate) fn array_bytes(item: usize, bits: u32) -> Result<u64, Error> {
    if item > LARGEST_ITEM {
        return Err(Error::Gpu(GpuError::ItemTooLarge { bytes: item, most: LARGEST_ITEM }));
    }
    u64::try_from((item as u128) << bits).map_err(|_| Error::Gpu(GpuError::OutOfMemory))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::tuning;
    use super::*;
    use crate::cuda::runtime::kernel::Instance;

    /// Every kernel, for all words.
    pub(crate) fn kernels() -> Vec<Instance> {
        let mut all = Vec::new();
        for word in WordType::ALL {
            all.push(kernels::permute_rows(word).erase());
        }
        for (tiled, shape) in tuning::all() {
            match tiled {
                Tiled::Words { word, .. } => {
                    all.push(kernels::permute_tiles(word, shape, false).erase());
                    if shape.item_bits == 0 {
                        all.push(kernels::permute_tiles(word, shape, true).erase());
                    }
                }
                Tiled::Triples { word } => {
                    all.push(kernels::permute_triples(word, shape).erase());
                }
            }
        }
        all
    }

    #[test]
    fn bytes_are_counted_without_overflow() {
        let most = LARGEST_ITEM;
        assert_eq!(array_bytes(12, 40), Ok(12 << 40));
        assert_eq!(array_bytes(1, 63), Ok(1 << 63));
        assert_eq!(array_bytes(most, 47), Ok(1 << 63));
        // A 64-bit shift would give 0 or too small a number for all of these.
        for (item, bits) in [(1, 64), (3, 63), (16, 60), (24, 61), (most, 48), (most, 64)] {
            assert_eq!(
                array_bytes(item, bits),
                Err(Error::Gpu(GpuError::OutOfMemory)),
                "{item} << {bits}"
            );
        }
        assert_eq!(array_bytes(0, 64), Ok(0));
        let large = Error::Gpu(GpuError::ItemTooLarge { bytes: most + 1, most });
        assert_eq!(array_bytes(most + 1, 64), Err(large));
    }

    #[test]
    fn units_are_numbered_by_as_few_bits_as_they_need() {
        let bits = [1, 2, 3, 4, 5, 7, 8, 9, 16].map(unit_bits);
        assert_eq!(bits, [0, 1, 2, 2, 3, 3, 3, 4, 4]);
    }
}
