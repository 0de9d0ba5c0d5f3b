//! The kernels, compiled as plain C++, compared with the host's rows.

use std::fmt::Write as _;

use super::*;
use crate::bijection::Table;
use crate::cuda::cplusplus;
use crate::cuda::runtime::kernel::initialiser;
use crate::cuda::runtime::plan::Address;
use crate::cuda::runtime::program::tests::compile_all;
use crate::cuda::tests::LARGE;
use crate::cuda::tests::emulation::Emulation;
use crate::engine::bijection::{batch, rejected};
use crate::error::Unavailable;
use crate::{Permutations, Seed};

const SEEDS: [fn() -> Seed; 2] =
    [|| Seed::new(0x0123_4567_89AB_CDEF), || Seed::from_bytes([0xA5; 32])];

/// The first and last epochs, and those on both sides of a carry out of the low word.
const EPOCHS: [u64; 4] = [0, (1 << 32) - 1, 1 << 32, u64::MAX];

/// The shared memory of a block, whose size is given at launch.
const SHARED: &str = "extern __shared__ __align__(16) unsigned char memory[];";

/// A program that consists of the device text with emulated threads, and of a main function.
fn program(main: &str) -> String {
    let batch = include_str!("../../../gpu/batch/rows.cuh");
    assert!(batch.contains(SHARED));
    let batch = batch.replace(SHARED, "alignas(16) static unsigned char memory[32 * 256];");
    let unrolled = |text: &str| text.replace("#pragma unroll", "// unroll");
    [
        include_str!("../../../gpu/emulated.hpp"),
        crate::cuda::runtime::program::PRELUDE,
        include_str!("../../../gpu/rng/philox4x32.cuh"),
        include_str!("../../../gpu/batch/draw.cuh"),
        include_str!("../../../gpu/bijection/mul_xorshift.cuh"),
        "namespace bijective_shuffle { constexpr uint32_t FULL_WARP = ~0u; }\n",
        &unrolled(include_str!("../../../gpu/shuffle/items.cuh")),
        &unrolled(&batch),
        "#include <cstdio>\n#include <cstring>\n#include <utility>\nusing namespace bijective_shuffle;\n\
         template <class T, unsigned long SIZE> static T of(const unsigned char (&bytes)[SIZE]) {
             static_assert(sizeof(T) == SIZE, \"the layout that the host assumes\");
             T value;
             std::memcpy(&value, bytes, SIZE);
             return value;
         }
         inline void exact(const Keys& keys, const Shares& shares, uint64_t epoch) {
             uint32_t row[256];
             for (uint32_t k = 0; k < shares.len; ++k) row[k] = k;
             KeyStream stream(keys, epoch);
             draw_exchanges(shares, stream, [&](uint32_t a, uint32_t b) { std::swap(row[a], row[b]); });
             for (uint32_t k = 0; k < shares.len; ++k) std::printf(\"%u \", unsigned(row[k]));
             std::printf(\"\\n\");
         }
         template <class F> static void cipher(const Keys& keys, typename F::Width width, uint64_t epoch) {
             F f = F();
             f.width = width;
             for (int round = 0; round < F::KEYS; ++round) draw_round(keys, uint32_t(round), epoch, f);
             for (uint64_t x = 0; x < 300; ++x) std::printf(\"%llu \", (unsigned long long)f.forward(x));
             std::printf(\"\\n\");
         }
         // Rows, and a word before and after them that has to stay as it is.
         template <class N> struct Words {
             std::vector<N> words;
             explicit Words(uint64_t count) : words(count + 2, N(0xABABABAB)) {}
             N* out() { return words.data() + 1; }
             void print() {
                 if (words.front() != N(0xABABABAB) || words.back() != N(0xABABABAB)) std::abort();
                 for (N* word = out(); word + 1 < words.data() + words.size(); ++word) {
                     std::printf(\"%llu \", (unsigned long long)*word);
                 }
                 std::printf(\"\\n\");
             }
         };
         template <class N>
         static void exact_rows(const Keys& keys, const Shares& shares,
                                uint64_t first, uint64_t rows) {
             Words<N> memory(rows * shares.len);
             launch(2, 32, true, [&] {
                 move_exact_rows<32, false>(keys, shares, first, rows, Indices<N>{memory.out()});
             });
             memory.print();
         }
         template <class Index, int WARPS, int ROW_WARPS, bool DENSE, class F, class N>
         static void cipher_rows(const Keys& keys, typename F::Width width,
                                 Index last, Index most, uint64_t first, uint64_t rows) {
             Words<N> memory(rows * (uint64_t(most) + 1));
             launch(2, 32 * WARPS, true, [&] {
                 move_cipher_rows<Index, WARPS, ROW_WARPS, 4, DENSE, F>(
                     keys, width, last, most, first, rows, Indices<N>{memory.out()});
             });
             memory.print();
         }\n",
        "int main() {\n",
        main,
        "}\n",
    ]
    .concat()
}

/// Compares what a program prints with lines of numbers.
fn check(main: &str, expected: &[Vec<u64>]) {
    let Some(output) = cplusplus::run(&program(main)) else {
        println!("skipped: no C++ compiler");
        return;
    };
    assert_eq!(output.lines().count(), expected.len());
    for (line, expected) in output.lines().zip(expected) {
        let line: Vec<u64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        assert_eq!(&line, expected);
    }
}

/// Whether a row has a rejected word and is drawn again.
fn is_redrawn(len: usize, seed: Seed) -> bool {
    let mut stream = seed.key_stream(Standard::key_domain(len as u64));
    let mut range = len as u64;
    while range > 1 {
        let (count, product) = batch(range);
        if stream.next_u64().wrapping_mul(product) < rejected(product) {
            return true;
        }
        range -= count;
    }
    false
}

#[test]
fn exact_draws_of_the_device_text_are_those_of_the_host() {
    let (mut main, mut expected) = (String::new(), Vec::new());
    for seed in SEEDS.map(|seed| seed()) {
        for len in (0..=256_usize).filter(|len| len % 7 < 2 || *len > 250) {
            let keys = Keys::new(&seed, Standard::key_domain(len as u64).word());
            let (keys, shares) = (initialiser(&keys), initialiser(&Shares::new(len)));
            writeln!(main, "{{ static const unsigned char k[] = {{{keys}}}, s[] = {{{shares}}};")
                .unwrap();
            // One row in fifty of 252 items is drawn again.
            let redrawn = (0..1000).filter(|&epoch| is_redrawn(len, seed.with_epoch(epoch)));
            let redrawn: Vec<u64> = redrawn.take(3).collect();
            assert!(len != 252 || redrawn.len() == 3);
            for epoch in EPOCHS.into_iter().chain(redrawn) {
                writeln!(main, "exact(of<Keys>(k), of<Shares>(s), {epoch}ull);").unwrap();
                let mut row =
                    Table::from_seed(len as u64, seed.with_epoch(epoch)).values().to_vec();
                row.truncate(len);
                expected.push(row);
            }
            main += "}\n";
        }
    }
    check(&main, &expected);
}

#[test]
fn ciphers_of_the_device_text_are_those_of_the_host() {
    let (mut main, mut expected) = (String::new(), Vec::new());
    for seed in SEEDS.map(|seed| seed()) {
        for len in [257, 1000, 1 << 17, (1 << 32) + 1, 1 << 50] {
            let any = StandardCipher::from_seed(len, 0);
            let (source, width) = (any.device_source().unwrap(), Width::new(any.bits()));
            let (f, width) = (source.form().type_name(), initialiser(&width));
            let keys = initialiser(&Keys::new(&seed, StandardCipher::key_domain(len).word()));
            writeln!(main, "{{ static const unsigned char k[] = {{{keys}}}, w[] = {{{width}}};")
                .unwrap();
            for epoch in EPOCHS {
                writeln!(main, "cipher<{f}>(of<Keys>(k), of<{f}::Width>(w), {epoch}ull);").unwrap();
                let f = StandardCipher::from_seed(len, seed.with_epoch(epoch));
                expected.push((0..300).map(|x| f.forward(x)).collect());
            }
            main += "}\n";
        }
    }
    check(&main, &expected);
}

/// Rows of the host, one after the other.
fn rows_of_the_host(len: usize, seed: &Seed, first: u64, rows: usize) -> Vec<u64> {
    let mut expected = vec![0_u64; rows * len];
    let permutations = Permutations::new(u64::MAX, len as u64, *seed);
    permutations.write_rows(first, &mut expected).unwrap();
    expected
}

#[test]
fn rows_that_kernels_write_are_those_of_the_host() {
    let (mut main, mut expected) = (String::new(), Vec::new());
    let seed = SEEDS[1]();
    // More rows than two blocks have at a time.
    for (len, rows) in [(3, 70), (8, 70), (33, 65), (256, 5)] {
        let keys = initialiser(&Keys::new(&seed, Standard::key_domain(len as u64).word()));
        let shares = initialiser(&Shares::new(len));
        writeln!(main, "{{ static const unsigned char k[] = {{{keys}}}, s[] = {{{shares}}};")
            .unwrap();
        for word in ["uint32_t", "uint64_t"] {
            writeln!(main, "exact_rows<{word}>(of<Keys>(k), of<Shares>(s), 9, {rows});").unwrap();
            expected.push(rows_of_the_host(len, &seed, 9, rows));
        }
        main += "}\n";
    }
    for (len, rows) in [(257, 5), (512, 5), (1000, 3), (1024, 3)] {
        let any = StandardCipher::from_seed(len as u64, 0);
        let keys = initialiser(&Keys::new(&seed, StandardCipher::key_domain(len as u64).word()));
        let (last, most, source) = (any.last(), len as u64 - 1, any.device_source().unwrap());
        let (f, width) = (source.form().type_name(), initialiser(&Width::new(any.bits())));
        writeln!(main, "{{ static const unsigned char k[] = {{{keys}}}, w[] = {{{width}}};")
            .unwrap();
        for (index, warps, row_warps, word) in [
            ("uint32_t", 2, 1, "uint32_t"),
            ("uint32_t", 2, 2, "uint64_t"),
            ("uint64_t", 4, 4, "uint32_t"),
        ] {
            // A dense row can be compacted as well.
            for dense in [false, true].into_iter().filter(|&dense| !dense || last == most) {
                writeln!(
                    main,
                    "cipher_rows<{index}, {warps}, {row_warps}, {dense}, {f}, {word}>\
                     (of<Keys>(k), of<{f}::Width>(w), {last}u, {most}u, 9, {rows});"
                )
                .unwrap();
                expected.push(rows_of_the_host(len, &seed, 9, rows));
            }
        }
        main += "}\n";
    }
    check(&main, &expected);
}

/// Words of 1, 8 and 16 bytes, staged in shared memory and, where there is none, by tiles; and
/// items of 3 and 24 bytes, and of 8 that are not aligned.
#[test]
fn items_of_rows_are_moved_as_on_the_host() {
    const MEMORY: u64 = 0x10_0000_0000;
    const SOURCE: u64 = MEMORY + (1 << 20);
    let out = |number: usize| SOURCE + ((number as u64 + 1) << 20);
    let seed = SEEDS[0]();
    let (mut plans, mut expected) = (Vec::new(), Vec::new());
    let bare = GpuLimits { shared_per_block: 0, ..LARGE };
    let mut shared_by_blocks = 0;
    // Exactly drawn rows, more than a block has; and ciphers with gaps and without, among them rows
    // that begin at all places modulo 16 bytes.
    for (len, rows, limits) in [
        (3, 70, LARGE),
        (256, 3, LARGE),
        (257, 5, LARGE),
        (1024, 2, LARGE),
        (5001, 3, LARGE),
        (5001, 3, bare),
        (16_384, 2, bare),
    ] {
        let directions = [Direction::Shuffle, Direction::Unshuffle];
        // Bytes of an item, and of what is before the first.
        let items = [(1, 0), (3, 0), (8, 0), (8, 4), (16, 0), (24, 0)];
        for ((item, before), direction) in
            items.into_iter().flat_map(|item| directions.map(|direction| (item, direction)))
        {
            let array = MovedArray::given(SOURCE + before, out(plans.len()), item);
            let movement = Movement::items(vec![array], direction).unwrap();
            let batch = Batch { len, seed };
            // Enough at once that every block would have some.
            let job = RowsJob { batch, first: 9, rows, at_once: 1 << 20, movement };
            let plan = for_all(&job, &limits).unwrap().unwrap();
            let text = plan.launches()[0].parts().0.text("entry");
            shared_by_blocks += usize::from(text.contains("move_row_tiles"));
            plans.push(plan);
            let order = rows_of_the_host(len, &seed, 9, rows as usize);
            let mut moved = vec![0; order.len() * item];
            for (rank, index) in order.iter().enumerate() {
                let index = rank / len * len + *index as usize;
                let (from, to) = match direction {
                    Direction::Shuffle => (index, rank),
                    Direction::Unshuffle => (rank, index),
                };
                let from = from * item + before as usize;
                (0..item).for_each(|k| moved[to * item + k] = byte(from + k));
            }
            expected.push(moved);
        }
    }
    // Those without shared memory, and items that are not words or not aligned.
    assert_eq!(shared_by_blocks, 2 * 12 + 3 * 6);
    let Some(mut emulation) = Emulation::new() else { return };
    emulation.map(MEMORY, out(plans.len()) - MEMORY);
    emulation.make_tile_states(MEMORY);
    emulation.fill(SOURCE, 0, 1 << 17, "k * 0x9E3779B97F4A7C15");
    for ((number, plan), expected) in plans.iter().enumerate().zip(&expected) {
        emulation.execute(plan, MEMORY);
        // And what has to stay as it was.
        emulation.print("uint8_t", out(number), expected.len() as u64 + 8);
    }
    let any = StandardCipher::from_seed(1000, 0).device_source().unwrap();
    for (line, expected) in emulation.run(&any).iter().zip(&expected) {
        let (moved, behind) = line.split_at(line.len() - 8);
        assert!(moved.iter().eq(expected));
        assert_eq!(behind, [0xA5; 8]);
    }
}

/// A byte of the array that those items are in.
fn byte(place: usize) -> u64 {
    let word = (place as u64 / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word.to_le_bytes()[place % 8].into()
}

/// Those that the second-level cache does not hold.
#[test]
fn long_rows_are_moved_one_after_the_other() {
    let way = |len, item| {
        let array = MovedArray::given(256, 1 << 40, item);
        let movement = Movement::items(vec![array], Direction::Shuffle).unwrap();
        let batch = Batch { len, seed: Seed::new(1) };
        let mut offsets = Vec::new();
        let job = RowsJob { batch, first: 0, rows: 3, at_once: 1 << 20, movement };
        let run = |plan: &DevicePlan<'_>| {
            offsets.push(plan.launches().len());
            Ok(())
        };
        each_plan(&job, job.rows, &LARGE, run).unwrap();
        (for_all(&job, &LARGE).unwrap().is_none(), offsets.len())
    };
    assert_eq!(way(10, 8), (false, 1));
    assert_eq!(way(1000, 16), (false, 1));
    assert_eq!(way(10, 24), (false, 1));
    assert_eq!(way(1000, 3), (false, 1));
    assert_eq!(way(1 << 20, 8), (false, 1));
    assert_eq!(way((1 << 22) + 1, 8), (true, 3));
    assert_eq!(way(1 << 20, 24), (false, 1));
    assert_eq!(way((1 << 20) + 100_000, 24), (true, 3));
    let items = Movement::items(vec![MovedArray::given(256, 1 << 40, 24)], Direction::Unshuffle);
    let behind_ten = behind(&items.unwrap(), 10);
    let Movement::Items { arrays, direction: Direction::Unshuffle } = behind_ten else { panic!() };
    assert_eq!(arrays, [MovedArray::given(256 + 240, (1 << 40) + 240, 24)]);
}

/// The kernels that move items of many rows are not embedded, and those that move one row are.
#[test]
fn without_a_compiler_rows_are_moved_one_after_the_other() {
    let plans = |movement: Movement| {
        let batch = Batch { len: 1000, seed: Seed::new(1) };
        let job = RowsJob { batch, first: 0, rows: 3, at_once: 3, movement };
        let mut plans = 0;
        let done = each_plan(&job, job.rows, &LARGE, |_| {
            plans += 1;
            match plans {
                1 => Err(Error::no_cuda(Unavailable::NoCompiler)),
                _ => Ok(()),
            }
        });
        (done.is_ok(), plans)
    };
    let array = MovedArray::given(256, 1 << 40, 8);
    assert_eq!(plans(Movement::items(vec![array], Direction::Shuffle).unwrap()), (true, 4));
    let out = Address::Given(256);
    assert_eq!(plans(Movement::Indices { out, word: WordType::U64 }), (false, 1));
}

#[test]
fn kernels_of_batches_compile() {
    let indexes = [WordType::U32, WordType::U64];
    let indexes = indexes.map(|word| Movement::Indices { out: Address::Given(256), word });
    let items = WordType::ALL.into_iter().zip([Direction::Shuffle, Direction::Unshuffle].repeat(3));
    let items = items.map(|(word, direction)| {
        Movement::items(vec![MovedArray::given(256, 512, word.bytes())], direction).unwrap()
    });
    let words: Vec<Movement> = indexes.into_iter().chain(items).collect();
    let others = [Direction::Shuffle, Direction::Unshuffle].map(|direction| {
        Movement::items(vec![MovedArray::given(256, 512, 24)], direction).unwrap()
    });
    let all: Vec<_> = words.iter().chain(&others).cloned().collect();
    let job = |len, movement: &Movement| RowsJob {
        batch: Batch { len, seed: Seed::new(1) },
        first: 0,
        rows: 1,
        at_once: 1,
        movement: movement.clone(),
    };
    let compile = |plans: &[DevicePlan<'_>]| {
        let launches = plans.iter().flat_map(DevicePlan::launches);
        let (kernels, evaluated): (Vec<_>, Vec<_>) =
            launches.map(|launch| launch.parts()).map(|(kernel, f)| (kernel.clone(), f)).unzip();
        compile_all(evaluated[0], &kernels);
    };
    for len in [4, 255] {
        compile(&all.iter().map(|movement| exact(&job(len, movement))).collect::<Vec<_>>());
    }
    for len in [257, 512, 5000, 8192, 1 << 20, (1 << 20) + 1, 1 << 33, (1 << 33) + 1] {
        let cipher = StandardCipher::from_seed(len as u64, 1);
        // Every shape and movement once; elsewhere indexes, and one warp a row and the most warps.
        let is_whole = len == 5000;
        let movements = if is_whole { &words } else { &words[..2] };
        let mut plans = Vec::new();
        for movement in movements {
            let shapes = tuning::shapes(!movement.writes_indexes());
            for shape in shapes.filter(|shape| is_whole || [1, 16].contains(&shape.row_warps)) {
                plans.push(together(&job(len, movement), &cipher, shape).unwrap());
            }
        }
        compile(&plans);
    }
    for len in [257, 1 << 17, (1 << 17) + 1] {
        let cipher = StandardCipher::from_seed(len as u64, 1);
        let plan = |movement| by_tiles(&job(len, movement), &cipher).unwrap();
        // Short rows of words are staged.
        let movements = if len == 257 { &all[words.len()..] } else { &all[2..] };
        compile(&movements.iter().map(plan).collect::<Vec<_>>());
    }
}
