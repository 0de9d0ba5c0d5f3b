//! Arrays permuted by affine maps.

mod arguments;

use cudarc::driver::sys;

use self::arguments::{map_argument, row_argument, tiles_argument, tiling, unit_bits, widened};
use super::{Mode, Ready, Runner, blocks};
use crate::affine::Affine;
use crate::affine::BitMatrix;
use crate::cuda::device::failed;
use crate::cuda::kernels::{self, AffineShape};
use crate::cuda::movement::{Array, LARGEST_ITEM, word_type};
use crate::cuda::tuning;
use crate::cuda::tuning::affine::{LONG_ITEM, shape_for};
use crate::error::Error;

/// How an array is moved, which its items and its addresses decide: of any map of so many bits, the kernel is the same.
enum Mover {
    /// Tile by tile: words of so many bytes, of which an item has `units`.
    Tiles { ready: Ready, shape: AffineShape, word: usize, units: u64 },
    /// Item by item, of so many units.
    Rows { ready: Ready, units: u64 },
}

impl Runner {
    /// Permutes an array: `out[A x ^ c] = source[x]`.
    ///
    /// # Safety
    ///
    /// The array's addresses are of as many items as the map has points on the device, which the stream may read and write,
    /// and which do not overlap.
    pub(in crate::cuda) unsafe fn permute(
        &mut self,
        map: &Affine,
        array: Array,
    ) -> Result<(), Error> {
        let bytes = array_bytes(array.item, map.bits())?;
        if bytes == 0 {
            return Ok(());
        }
        self.bind()?;
        if map.is_identity() {
            // SAFETY: the caller promises an item for each of the map's points at both addresses,
            // which are these bytes.
            return unsafe { self.copy(array.source, array.out, bytes) };
        }
        let mover = self.mover(map.bits(), array)?;
        // SAFETY: the mover was got for this array and for the map's bits. The caller promises what
        // `move_by` asks of the array.
        unsafe { self.move_by(&mover, map, array) }
    }

    /// Permutes an array within its memory, by way of a copy.
    ///
    /// # Safety
    ///
    /// As [`permute`](Self::permute), where `array.source` and `array.out` are the same.
    pub(in crate::cuda) unsafe fn permute_in_place(
        &mut self,
        map: &Affine,
        array: Array,
    ) -> Result<(), Error> {
        let bytes = array_bytes(array.item, map.bits())?;
        if bytes == 0 || map.is_identity() {
            return Ok(());
        }
        self.bind()?;
        let copy = self.scratch(bytes)?;
        // SAFETY: the caller promises as many items as the map has points at the array's address.
        // The scratch memory has room for their bytes, is the stream's alone, and so does not
        // overlap with them.
        unsafe { self.permute(map, Array { out: copy, ..array }) }?;
        // SAFETY: the array's `bytes` are at both addresses: in the scratch memory by the kernel
        // before this in the stream, and where they were by the caller's promise.
        unsafe { self.copy(copy, array.out, bytes) }
    }

    /// Runs a network on an array of `2^bits` items: its maps, and after each but the last the pairs put in order, as numbers
    /// of a device type, whose size is a power of two. The array goes to and fro between its memory and scratch memory.
    ///
    /// # Safety
    ///
    /// As [`permute`](Self::permute) for each of the maps, where `array.source` and `array.out` are the same; its items are
    /// such numbers.
    pub(in crate::cuda) unsafe fn order_by_network<'a>(
        &mut self,
        maps: impl Iterator<Item = &'a Affine>,
        array: Array,
        number: &str,
        bits: u32,
    ) -> Result<(), Error> {
        let bytes = array_bytes(array.item, bits)?;
        let pairs = (bytes >> array.item.ilog2()) / 2;
        let maps: Vec<_> = maps.collect();
        self.bind()?;
        // All that it takes comes first, so that nothing is half done.
        let ready = self.kernel(None, kernels::order_pairs(number), tuning::THREADS, 0)?;
        let grid = self.resident(&ready, pairs.div_ceil(u64::from(tuning::THREADS)).max(1));
        let mut here = array.out;
        let mut there =
            if maps.iter().all(|map| map.is_identity()) { here } else { self.scratch(bytes)? };
        let mover = self.mover(bits, Array { out: there, ..array })?;
        let last = maps.len() - 1;
        for (k, map) in maps.into_iter().enumerate() {
            if !map.is_identity() {
                let array = Array { source: here, out: there, item: array.item };
                // SAFETY: the array goes from its memory to scratch memory of as many bytes or
                // back, and the mover was got for these two addresses, whichever is the source. The
                // caller promises an item for each of the map's points.
                unsafe { self.move_by(&mover, map, array) }?;
                core::mem::swap(&mut here, &mut there);
            }
            if k < last {
                let arguments = [here, pairs].map(u64::to_le_bytes);
                let arguments: [&[u8]; 2] = [&arguments[0], &arguments[1]];
                // So many pairs are all items, which the caller promises to be such numbers.
                self.launch(&ready, (grid, 1), tuning::THREADS, 0, &arguments)?;
            }
        }
        if here == array.out {
            return Ok(());
        }
        // SAFETY: the array is in the scratch memory, which was got for its `bytes`, and comes back
        // to where it was, of which the caller promises as many.
        unsafe { self.copy(here, array.out, bytes) }
    }

    fn bind(&self) -> Result<(), Error> {
        let bound = self.stream.context().bind_to_thread();
        bound.map_err(|error| failed(error, "use the device"))
    }

    /// Gets the kernel for an array of `2^bits` items, of at least one byte.
    fn mover(&mut self, bits: u32, array: Array) -> Result<Mover, Error> {
        let word = array.unit();
        let units = (array.item / word) as u64;
        let gaps = !units.is_power_of_two();
        let whole = (array.source | array.out).is_multiple_of(16) && !gaps;
        let bits = bits + unit_bits(units);
        let shape = if (gaps && array.item >= LONG_ITEM) || bits > BitMatrix::MAX_BITS {
            None
        } else {
            shape_for(word, whole, bits, &self.device.limits)
        };
        if let Some(shape) = shape {
            let text = kernels::permute_tiles(word_type(word), shape, gaps);
            let ready = self.kernel(None, text, shape.threads(), word << shape.tile_bits())?;
            return Ok(Mover::Tiles { ready, shape, word, units });
        }
        let text = kernels::permute_rows(word_type(word));
        Ok(Mover::Rows { ready: self.kernel(None, text, tuning::THREADS, 0)?, units })
    }

    /// Puts a mover's kernel in the stream: `out[A x ^ c] = source[x]`.
    ///
    /// # Safety
    ///
    /// The array is one that [`permute`](Self::permute) may be called with. The mover was got for a map of as many bits, for an
    /// item of the same size, and for both addresses, whichever of them is the source.
    unsafe fn move_by(&mut self, mover: &Mover, map: &Affine, array: Array) -> Result<(), Error> {
        let (source, out) = (array.source.to_le_bytes(), array.out.to_le_bytes());
        match mover {
            &Mover::Tiles { ref ready, shape, word, units } => {
                let tiling = tiling(&widened(map, unit_bits(units))?, word, shape);
                let held = u64::from(ready.blocks * self.device.limits.multiprocessors);
                let each = (tiling.tiles() / held).checked_ilog2().unwrap_or(0);
                let block_bits = each.min(shape.block_bits);
                let grid = blocks(tiling.tiles() >> block_bits)?;
                let tiles = tiles_argument(&tiling, shape, block_bits);
                let arguments: [&[u8]; 4] = [&tiles, &row_argument(units), &source, &out];
                let shared = word << shape.tile_bits();
                self.launch(ready, (grid, 1), shape.threads(), shared, &arguments)
            }
            Mover::Rows { ready, units } => {
                // Of the array's bytes it is known that they can be counted, and units are fewer.
                let all = units << map.bits();
                let grid = self.resident(ready, all.div_ceil(u64::from(tuning::THREADS)));
                let map = map_argument(map);
                let arguments: [&[u8]; 4] = [&map, &source, &out, &units.to_le_bytes()];
                self.launch(ready, (grid, 1), tuning::THREADS, 0, &arguments)
            }
        }
    }

    /// Copies in the stream's order, wherever the addresses are: raw ones may be of the host's memory.
    ///
    /// # Safety
    ///
    /// There are so many bytes at both addresses, the stream's to read and to write.
    unsafe fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        if self.mode != Mode::Run {
            return Ok(());
        }
        let len = usize::try_from(bytes).map_err(|_| Error::DeviceMemory)?;
        // SAFETY: the caller promises that there are so many bytes at both addresses, the stream's
        // to read and to write, which is all that the driver asks for: it finds out by itself whose
        // memory they are in.
        unsafe { sys::cuMemcpyAsync(to, from, len, self.stream.cu_stream()) }
            .result()
            .map_err(|error| failed(error, "copy on the device"))
    }
}

/// How many bytes `2^bits` items have.
///
/// # Errors
///
/// [`Error::ItemTooLarge`]; [`Error::DeviceMemory`] if an address has no room for the number.
pub(in crate::cuda) fn array_bytes(item: usize, bits: u32) -> Result<u64, Error> {
    if item > LARGEST_ITEM {
        return Err(Error::ItemTooLarge { bytes: item, most: LARGEST_ITEM });
    }
    u64::try_from((item as u128) << bits).map_err(|_| Error::DeviceMemory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_counted_without_overflow() {
        let most = LARGEST_ITEM;
        assert_eq!(array_bytes(12, 40), Ok(12 << 40));
        assert_eq!(array_bytes(1, 63), Ok(1 << 63));
        assert_eq!(array_bytes(most, 47), Ok(1 << 63));
        // Shifted within 64 bits, all of these would be 0 or less than there is.
        for (item, bits) in [(1, 64), (3, 63), (16, 60), (24, 61), (most, 48), (most, 64)] {
            assert_eq!(array_bytes(item, bits), Err(Error::DeviceMemory), "{item} << {bits}");
        }
        assert_eq!(array_bytes(0, 64), Ok(0));
        let large = Error::ItemTooLarge { bytes: most + 1, most };
        assert_eq!(array_bytes(most + 1, 64), Err(large));
    }

    #[test]
    fn units_are_numbered_by_as_few_bits_as_they_need() {
        let bits = [1, 2, 3, 4, 5, 7, 8, 9, 16].map(unit_bits);
        assert_eq!(bits, [0, 1, 2, 2, 3, 3, 3, 4, 4]);
    }
}
