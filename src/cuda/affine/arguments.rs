//! The arguments of the kernels for affine maps: twins of the structs in gpu/affine.cuh.

use super::tuning::{self, AffineShape};
use crate::Error;
use crate::affine::engine::tiles::{Tile, Tiling, combinations};
use crate::affine::{Affine, BitMatrix};
use crate::cuda::runtime::kernel::device_struct;
use crate::cuda::runtime::word_type::WordType;

/// `MOST_STEPS` in gpu/affine.cuh.
const MOST_STEPS: usize = 54;

/// The number of bits that number the units of an item.
pub(super) fn unit_bits(units: u64) -> u32 {
    units.next_power_of_two().ilog2()
}

/// The map of an array's words, where an item has `2^more` words: the lowest bits of an index,
/// which number the words of an item, stay as they are.
///
/// # Errors
///
/// [`BijectionError::BitsOutOfRange`](crate::error::BijectionError::BitsOutOfRange) if the map
/// would have too many bits.
pub(super) fn widened(map: &Affine, more: u32) -> Result<Affine, Error> {
    if more == 0 {
        return Ok(map.clone());
    }
    let matrix = map.matrix();
    let items = matrix.columns().iter().map(|column| column << more);
    let columns: Vec<u64> = (0..more).map(|j| 1 << j).chain(items).collect();
    Ok(Affine::new(&BitMatrix::from_columns(&columns)?, map.offset() << more)?)
}

/// The tiles of a shape, without bank conflicts. Shared memory has 32 banks of 4 bytes, so words of
/// 8 and 16 bytes are accessed by half a warp and a quarter of a warp at a time.
pub(super) fn tiling(map: &Affine, word: WordType, shape: AffineShape) -> Tiling {
    let bits = shape.tile_bits();
    let mut tiling = Tiling::new(map, bits / 2, bits);
    if tuning::by_source(word) {
        tiling.in_order_of_source(map);
    }
    let log = word.bytes().ilog2();
    tiling.avoid_conflicts(shape.item_bits, 7 - log.max(2), 2_u32.saturating_sub(log));
    tiling
}

device_struct! {
    /// `Side` in gpu/affine.cuh: what each bit of a thread's number, and each round, adds to an
    /// index and to a slot.
    struct SideArgument {
        thread: [u64; 10],
        round: [u64; 16],
        thread_slot: [u32; 10],
        round_slot: [u32; 16],
        item_slot: [u32; 16],
    }
}

impl SideArgument {
    fn new(basis: &[u64], slots: &[u32], shape: AffineShape) -> Self {
        let (item, thread) = (shape.item_bits as usize, shape.thread_bits as usize);
        let (lanes, rounds) = (item..item + thread, item + thread..);
        Self {
            thread: padded(&basis[lanes.clone()]),
            round: padded(&combinations(&basis[rounds.clone()])),
            thread_slot: padded(&slots[lanes]),
            round_slot: padded(&combinations(&slots[rounds])),
            item_slot: padded(&combinations(&slots[..item])),
        }
    }
}

/// An array that begins with these numbers, and is 0 after them. There must be no more of them
/// than the array has.
fn padded<N: Copy + Default, const LEN: usize>(numbers: &[N]) -> [N; LEN] {
    let mut all = [N::default(); LEN];
    all[..numbers.len()].copy_from_slice(numbers);
    all
}

device_struct! {
    /// `TileStep` in gpu/affine.cuh.
    #[derive(Default)]
    struct StepArgument {
        source: u64,
        target: u64,
        shift: u64,
    }
}

impl From<Tile> for StepArgument {
    fn from(Tile { source, target, shift }: Tile) -> Self {
        Self { source, target, shift: shift.into() }
    }
}

device_struct! {
    /// `Tiles` in gpu/affine.cuh.
    pub(super) struct TilesArgument {
        source: SideArgument,
        target: SideArgument,
        block_bits: u64,
        start: StepArgument,
        steps: [StepArgument; MOST_STEPS],
    }
}

impl TilesArgument {
    /// For blocks that take one tile each; [`with_block_bits`](Self::with_block_bits) changes that.
    pub(super) fn new(tiling: &Tiling, shape: AffineShape) -> Self {
        let (start, steps) = tiling.start_and_steps();
        let steps: Vec<StepArgument> = steps.iter().map(|&step| step.into()).collect();
        Self {
            source: SideArgument::new(&tiling.source, &tiling.source_slots, shape),
            target: SideArgument::new(&tiling.target, &tiling.target_slots, shape),
            block_bits: 0,
            start: start.into(),
            steps: padded(&steps),
        }
    }

    /// The same for blocks that take `2^block_bits` tiles each.
    pub(super) fn with_block_bits(self, block_bits: u32) -> Self {
        Self { block_bits: block_bits.into(), ..self }
    }
}

device_struct! {
    /// `Row` in gpu/affine.cuh: an item of `units` words, as a row of them.
    pub(super) struct RowArgument {
        bits: u64,
        words: u64,
    }
}

impl RowArgument {
    pub(super) fn new(units: u64) -> Self {
        Self { bits: unit_bits(units).into(), words: units }
    }
}

device_struct! {
    /// `AffineMap` in gpu/affine.cuh.
    pub(super) struct MapArgument {
        bits: u64,
        offset: u64,
        columns: [u64; 64],
    }
}

impl MapArgument {
    pub(super) fn new(map: &Affine) -> Self {
        let columns = padded(map.matrix().columns());
        Self { bits: map.bits().into(), offset: map.offset(), columns }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tuning::Tiled;
    use super::*;
    use crate::affine::engine::subspace::Echelon;
    use crate::cuda::cplusplus;
    use crate::cuda::runtime::kernel::initialiser;
    use crate::{Bijection, FromSeed};

    #[test]
    fn every_thread_of_a_phase_has_a_bank() {
        for (tiled, shape) in tuning::all() {
            let word = tiled.slot();
            for seed in 0..20 {
                let map = Affine::from_seed(1 << 20, seed);
                let tiling = tiling(&map, word, shape);
                let first = shape.item_bits as usize;
                let bytes = word.bytes();
                let lanes = if bytes <= 4 { 5 } else { 7 - bytes.ilog2() as usize };
                for slots in [&tiling.source_slots, &tiling.target_slots] {
                    // The bank of the first 4 bytes that a thread accesses.
                    let bank = |&slot: &u32| (u64::from(slot) * bytes as u64 / 4) % 32;
                    let banks = slots[first..first + lanes].iter().map(bank);
                    assert_eq!(Echelon::span(banks).dimension(), lanes, "{word:?}");
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
        assert!(widened(&Affine::reversal(62).unwrap(), 3).is_err());
    }

    /// What the device text uses of CUDA, for threads that run one after the other.
    const HOST: &str = "
        #include <cstdio>
        #include <cstring>
        #include <vector>
        #define __shared__
        struct Index { unsigned x; };
        static Index threadIdx, blockIdx, blockDim, gridDim;
        struct __attribute__((may_alias, aligned(8))) uint2 { uint32_t x, y; };
        struct __attribute__((may_alias, aligned(16))) uint4 { uint32_t x, y, z, w; };
        inline uint2 make_uint2(uint32_t x, uint32_t y) { return {x, y}; }
        inline uint4 make_uint4(uint32_t x, uint32_t y, uint32_t z, uint32_t w) { return {x, y, z, w}; }
        template <class T> inline T __ldcs(const T* address) { return *address; }
        template <class T> inline void __stcs(T* address, T value) { *address = value; }
        inline void __syncthreads() {}
        inline int __ffsll(long long word) { return __builtin_ffsll(word); }
        inline int __ffs(int word) { return __builtin_ffs(word); }
        namespace bijective_shuffle {
        struct __attribute__((may_alias, aligned(16))) Item16 { uint64_t low, high; };
        uint4 permute_shared[1 << 12];
        }
    ";

    /// `permute_tiles` with the threads one after the other between two barriers, compared with
    /// `AffineMap` applied to every item.
    const CHECK: &str = r#"
        using namespace bijective_shuffle;

        template <class T, unsigned long SIZE>
        static T of(const unsigned char (&bytes)[SIZE]) {
            static_assert(sizeof(T) == SIZE, "the layout that the host assumes");
            T value;
            std::memcpy(&value, bytes, SIZE);
            return value;
        }

        template <class Vector, int I, int T, int R, class Word, class Places>
        static void check(
            const Tiles& tiles, const Places& places, const AffineMap& map, int row_bits, size_t words) {
            using Threads = Permuter<Vector, Places, I, T, R>;
            struct Vectors { Vector all[1 << R]; };
            const size_t bytes = (words << map.bits) * sizeof(Word);
            // Whole vectors, so that their addresses are aligned.
            std::vector<uint4> source(bytes / 16 + 1), out(bytes / 16 + 1);
            unsigned char* random = reinterpret_cast<unsigned char*>(source.data());
            uint64_t state = 1;
            for (size_t k = 0; k < bytes; ++k) {
                state = state * 0x5851f42d4c957f2d + 1;
                random[k] = (unsigned char)(state >> 56);
            }
            const Word* from = reinterpret_cast<const Word*>(source.data());
            Word* to = reinterpret_cast<Word*>(out.data());
            typename Vector::Slot* shared = reinterpret_cast<typename Vector::Slot*>(permute_shared);
            std::vector<Vectors> vectors(1 << T);
            const uint64_t blocks = uint64_t(1) << (map.bits + row_bits) >> (I + T + R) >> tiles.block_bits;
            for (uint64_t block = 0; block < blocks; ++block) {
                TileStep tile = tiles.first(block);
                for (uint32_t number = 0; number < 1u << tiles.block_bits; ++number) {
                    if (number > 0) tile = tiles.plus(tile, __ffs(int(number)) - 1);
                    for (threadIdx.x = 0; threadIdx.x < 1u << T; ++threadIdx.x) {
                        const Threads thread(tiles, places, shared);
                        thread.load(vectors[threadIdx.x].all, from, tile);
                        thread.keep(vectors[threadIdx.x].all, uint32_t(tile.shift));
                    }
                    for (threadIdx.x = 0; threadIdx.x < 1u << T; ++threadIdx.x) {
                        Threads(tiles, places, shared).put(to, tile.target);
                    }
                }
            }
            uint64_t wrong = 0;
            for (uint64_t x = 0; x >> map.bits == 0; ++x) {
                const uint64_t y = map.value(x), size = words * sizeof(Word);
                wrong += std::memcmp(random + x * size, reinterpret_cast<char*>(to) + y * size, size) != 0;
            }
            std::printf("%llu\n", (unsigned long long)wrong);
        }
    "#;

    /// A line of a program that checks a shape with a map of items of `units` words.
    fn case(tiled: Tiled, shape: AffineShape, units: u64) -> String {
        let AffineShape { item_bits: item, thread_bits: thread, round_bits: round, .. } = shape;
        // Eight tiles, in blocks of four.
        let all_bits = shape.tile_bits() + 3;
        let (word, more, vector, places) = match tiled {
            Tiled::Triples { word } => {
                (word, 0, format!("Triples<{}>", word.name()), "TripleRow{}".to_owned())
            }
            Tiled::Words { word, .. } => {
                let name = word.name();
                let vector = if word.bytes() << item == 16 {
                    format!("Pack<{name}, {item}>")
                } else {
                    format!("Single<{name}>")
                };
                let row = initialiser(&RowArgument::new(units));
                let places = format!(
                    "[] {{ static const unsigned char r[] = {{{row}}}; return of<Row<{}>>(r); }}()",
                    !units.is_power_of_two()
                );
                (word, unit_bits(units), vector, places)
            }
        };
        let bits = all_bits - more;
        let map = Affine::from_seed(1 << bits, units + u64::from(shape.tile_bits()));
        let words = widened(&map, more).unwrap();
        let tiling = tiling(&words, tiled.slot(), shape);
        let tiles = TilesArgument::new(&tiling, shape).with_block_bits(2);
        format!(
            "{{ static const unsigned char t[] = {{{}}}, m[] = {{{}}};
            check<{vector}, {item}, {thread}, {round}, {}>(
                of<Tiles>(t), {places}, of<AffineMap>(m), {more}, {units}); }}\n",
            initialiser(&tiles),
            initialiser(&MapArgument::new(&map)),
            word.name(),
        )
    }

    #[test]
    fn the_device_text_does_as_the_map_for_every_shape() {
        let (mut main, mut cases) = (String::new(), 0);
        for (tiled, shape) in tuning::all() {
            let units = match tiled {
                Tiled::Triples { .. } => &[3],
                Tiled::Words { .. } if shape.item_bits == 0 => &[1, 2, 3, 7][..],
                Tiled::Words { .. } => &[1],
            };
            for &units in units {
                main += &case(tiled, shape, units);
                cases += 1;
            }
        }
        let text = include_str!("../../../gpu/affine.cuh");
        let program = [
            crate::cuda::runtime::program::PRELUDE,
            HOST,
            text,
            CHECK,
            "int main() {\n",
            &main,
            "}\n",
        ];
        let Some(output) = cplusplus::run(&program.concat()) else {
            println!("skipped: no C++ compiler");
            return;
        };
        assert_eq!(output.lines().count(), cases);
        assert!(output.lines().all(|wrong| wrong == "0"), "{output}");
    }
}
