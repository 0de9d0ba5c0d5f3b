//! Arrays permuted by affine maps.

use super::{Mode, Runner, blocks};
use crate::affine::BitMatrix;
use crate::affine::tiles::{Tile, Tiling, combinations};
use crate::bijection::Affine;
use crate::compact::cuda::device::failed;
use crate::compact::cuda::kernels::{self, AffineShape};
use crate::compact::cuda::movement::{Array, LARGEST_ITEM, word_type};
use crate::compact::cuda::tuning;
use crate::error::Error;

/// `MOST_STEPS` in gpu/affine.cuh.
const MOST_STEPS: usize = 54;

impl Runner {
    /// Permutes an array: `out[A x ^ c] = source[x]`.
    ///
    /// # Safety
    ///
    /// The array's addresses are of as many items as the map has points on the device, which the stream may read and write,
    /// and which do not overlap.
    pub(in crate::compact::cuda) unsafe fn permute(
        &mut self,
        map: &Affine,
        array: Array,
    ) -> Result<(), Error> {
        let Array { source, out, item } = array;
        if item > LARGEST_ITEM {
            return Err(Error::ItemTooLarge { bytes: item, most: LARGEST_ITEM });
        }
        if item == 0 {
            return Ok(());
        }
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        let (unit, units) = (array.unit(), item / array.unit());
        // An item of 2^k words is as many items whose k lowest index bits stay.
        let words = units.is_power_of_two().then(|| widened(map, units.ilog2())).flatten();
        if let Some(words) = &words {
            let whole = (source | out).is_multiple_of(16);
            let shape = tuning::affine(unit, whole);
            if words.bits() >= shape.tile_bits() {
                return self.permute_tiles(words, array, unit, shape);
            }
        }
        let ready =
            self.kernel(None, kernels::permute_rows(word_type(unit)), tuning::THREADS, 0)?;
        let all = (units as u64).checked_shl(map.bits()).unwrap_or(u64::MAX);
        let grid = self.resident(&ready, all.div_ceil(u64::from(tuning::THREADS)));
        let map = map_argument(map);
        let numbers = [source, out, units as u64].map(u64::to_le_bytes);
        let arguments: [&[u8]; 4] = [&map, &numbers[0], &numbers[1], &numbers[2]];
        self.launch(&ready, (grid, 1), tuning::THREADS, 0, &arguments)
    }

    fn permute_tiles(
        &mut self,
        map: &Affine,
        array: Array,
        word: usize,
        shape: AffineShape,
    ) -> Result<(), Error> {
        let threads = 1 << shape.thread_bits;
        let shared = word << shape.tile_bits();
        let text = kernels::permute_tiles(word_type(word), shape);
        let ready = self.kernel(None, text, threads, shared)?;
        let tiling = tiling(map, word, shape);
        let held = u64::from(ready.blocks * self.device.limits.multiprocessors);
        let block_bits = (tiling.tiles() / held).checked_ilog2().unwrap_or(0).min(shape.block_bits);
        let grid = blocks(tiling.tiles() >> block_bits)?;
        let tiles = tiles_argument(&tiling, shape, block_bits);
        let (source, out) = (array.source.to_le_bytes(), array.out.to_le_bytes());
        self.launch(&ready, (grid, 1), threads, shared, &[&tiles, &source, &out])
    }

    /// Runs a network on an array: its maps, and after each but the last the pairs put in order, as numbers of a device
    /// type. The array goes to and fro between its memory and scratch memory.
    ///
    /// # Safety
    ///
    /// As [`permute`](Self::permute) for each of the maps, where `array.source` and `array.out` are the same; its items are
    /// such numbers.
    pub(in crate::compact::cuda) unsafe fn order_by_network<'a>(
        &mut self,
        maps: impl ExactSizeIterator<Item = &'a Affine>,
        array: Array,
        number: &str,
        len: u64,
    ) -> Result<(), Error> {
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        let bytes = len.checked_mul(array.item as u64).ok_or(Error::DeviceMemory)?;
        let ready = self.kernel(None, kernels::order_pairs(number), tuning::THREADS, 0)?;
        let grid = self.resident(&ready, (len / 2).div_ceil(u64::from(tuning::THREADS)).max(1));
        let (mut here, mut there) = (array.out, self.scratch(bytes)?);
        let last = maps.len() - 1;
        for (k, map) in maps.enumerate() {
            // SAFETY: both are of so many items, and apart.
            unsafe { self.permute(map, Array { source: here, out: there, item: array.item }) }?;
            core::mem::swap(&mut here, &mut there);
            if k < last {
                let arguments = [here, len / 2].map(u64::to_le_bytes);
                let arguments: [&[u8]; 2] = [&arguments[0], &arguments[1]];
                self.launch(&ready, (grid, 1), tuning::THREADS, 0, &arguments)?;
            }
        }
        if here == array.out {
            return Ok(());
        }
        // SAFETY: both are of so many bytes.
        unsafe { self.copy(here, array.out, bytes) }
    }

    /// Copies on the device, in the stream's order.
    ///
    /// # Safety
    ///
    /// There are so many bytes at both addresses, the stream's to read and to write.
    unsafe fn copy(&self, from: u64, to: u64, bytes: u64) -> Result<(), Error> {
        if self.mode != Mode::Run {
            return Ok(());
        }
        let len = usize::try_from(bytes).map_err(|_| Error::DeviceMemory)?;
        // SAFETY: the caller's word.
        unsafe { cudarc::driver::result::memcpy_dtod_async(to, from, len, self.stream.cu_stream()) }
            .map_err(|error| failed(error, "copy on the device"))
    }

    /// Permutes an array within its memory, by way of a copy.
    ///
    /// # Safety
    ///
    /// As [`permute`](Self::permute), where `array.source` and `array.out` are the same.
    pub(in crate::compact::cuda) unsafe fn permute_in_place(
        &mut self,
        map: &Affine,
        array: Array,
    ) -> Result<(), Error> {
        let bytes = (array.item as u64).checked_shl(map.bits()).ok_or(Error::DeviceMemory)?;
        if bytes == 0 {
            return Ok(());
        }
        let context = self.stream.context();
        context.bind_to_thread().map_err(|error| failed(error, "use the device"))?;
        let copy = self.scratch(bytes)?;
        // SAFETY: the array is the caller's word, and the scratch memory has room for it.
        unsafe { self.permute(map, Array { out: copy, ..array }) }?;
        // SAFETY: both are of so many bytes.
        unsafe { self.copy(copy, array.out, bytes) }
    }
}

/// The map of words, of which an item has `2^more`; `None` if they are too many.
fn widened(map: &Affine, more: u32) -> Option<Affine> {
    let columns = (0..more).map(|j| 1 << j);
    let matrix = map.matrix();
    if more == 0 {
        return Some(map.clone());
    }
    if map.bits() + more > BitMatrix::MAX_BITS {
        return None;
    }
    let columns: Vec<u64> =
        columns.chain(matrix.columns().iter().map(|column| column << more)).collect();
    Affine::new(&BitMatrix::from_columns(&columns).ok()?, map.offset() << more).ok()
}

/// The tiles of a shape, without conflicts of banks: of which there are 32 with 4 bytes, so that words of 8 and 16 bytes take
/// turns, half a warp and a quarter.
fn tiling(map: &Affine, word: usize, shape: AffineShape) -> Tiling {
    let bits = shape.tile_bits();
    let mut tiling = Tiling::new(map, bits / 2, bits);
    let log = word.ilog2();
    tiling.avoid_conflicts(shape.item_bits, 7 - log.max(2), 2_u32.saturating_sub(log));
    tiling
}

/// `Tiles` in gpu/affine.cuh.
fn tiles_argument(tiling: &Tiling, shape: AffineShape, block_bits: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (item, thread) = (shape.item_bits as usize, shape.thread_bits as usize);
    for (basis, slots) in
        [(&tiling.source, &tiling.source_slots), (&tiling.target, &tiling.target_slots)]
    {
        let (lanes, rounds) = (item..item + thread, item + thread..);
        let words = |words: &[u64], bytes: &mut Vec<u8>| {
            bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        };
        words(&basis[lanes.clone()], &mut bytes);
        words(&combinations(&basis[rounds.clone()]), &mut bytes);
        for mut slots in
            [slots[lanes].to_vec(), combinations(&slots[rounds]), combinations(&slots[..item])]
        {
            slots.resize(slots.len().next_multiple_of(2), 0);
            bytes.extend(slots.iter().flat_map(|slot| slot.to_le_bytes()));
        }
    }
    bytes.extend(u64::from(block_bits).to_le_bytes());
    let (start, steps) = tiling.start_and_steps();
    assert!(steps.len() <= MOST_STEPS);
    let unused = core::iter::repeat_n(&Tile { source: 0, target: 0, shift: 0 }, MOST_STEPS);
    for tile in [start].iter().chain(steps.iter().chain(unused).take(MOST_STEPS)) {
        let words = [tile.source, tile.target, tile.shift.into()];
        bytes.extend(words.into_iter().flat_map(u64::to_le_bytes));
    }
    bytes
}

/// `AffineMap` in gpu/affine.cuh.
fn map_argument(map: &Affine) -> Vec<u8> {
    let matrix = map.matrix();
    let head = [u64::from(map.bits()), map.offset()];
    let columns = matrix.columns().iter().copied().chain(core::iter::repeat(0)).take(64);
    head.into_iter().chain(columns).flat_map(u64::to_le_bytes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affine::subspace::Echelon;
    use crate::bijection::{Bijection, FromSeed};

    /// How many bytes `Tiles` has, by the sizes of its fields.
    fn tiles_size(shape: AffineShape) -> usize {
        let even = |number: usize| number.next_multiple_of(2);
        let (thread, round) = (shape.thread_bits as usize, 1 << shape.round_bits);
        let side =
            8 * (thread + round) + 4 * (even(thread) + even(round) + even(1 << shape.item_bits));
        2 * side + 8 + 24 * (1 + MOST_STEPS)
    }

    #[test]
    fn arguments_are_as_large_as_the_device_types() {
        for item in [1, 2, 4, 8, 16] {
            for whole in [false, true] {
                let shape = tuning::affine(item, whole);
                for bits in [shape.tile_bits(), 30, 64] {
                    let map = Affine::from_seed(u64::MAX >> (64 - bits), 3);
                    let tiling = tiling(&map, item, shape);
                    assert_eq!(tiling.tile_bits(), shape.tile_bits());
                    let bytes = tiles_argument(&tiling, shape, 2).len();
                    assert_eq!(bytes, tiles_size(shape));
                    assert!(bytes <= 4000);
                }
                // What a block of the largest GPUs that NVRTC still compiles for has without asking for more is 48 KiB.
                assert!(item << shape.tile_bits() <= 48 << 10);
            }
        }
        assert_eq!(map_argument(&Affine::reversal(7).unwrap()).len(), 8 * 66);
    }

    #[test]
    fn every_thread_of_a_phase_has_a_bank() {
        for item in [1_usize, 2, 4, 8, 16] {
            for whole in [false, true] {
                let shape = tuning::affine(item, whole);
                for seed in 0..20 {
                    let map = Affine::from_seed(1 << 20, seed);
                    let tiling = tiling(&map, item, shape);
                    let first = shape.item_bits as usize;
                    let lanes = if item <= 4 { 5 } else { 7 - item.ilog2() as usize };
                    for slots in [&tiling.source_slots, &tiling.target_slots] {
                        // Addresses in units of 4 bytes, of those that start a unit of the access.
                        let bank = |&slot: &u32| (u64::from(slot) * item as u64 / 4) % 32;
                        let banks = slots[first..first + lanes].iter().map(bank);
                        assert_eq!(Echelon::span(banks).dimension(), lanes, "{item} bytes");
                    }
                }
            }
        }
    }

    #[test]
    fn items_of_several_words_keep_them_together() {
        let map = Affine::from_seed(1 << 10, 1);
        let words = widened(&map, 3).unwrap();
        for x in 0..1 << 10 {
            for word in 0..8 {
                assert_eq!(words.forward(x << 3 | word), map.forward(x) << 3 | word);
            }
        }
        assert!(widened(&Affine::reversal(62).unwrap(), 3).is_none());
    }
}
