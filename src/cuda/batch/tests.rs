//! The kernels, compiled as plain C++, compared with the host's rows.

use std::fmt::Write as _;

use super::*;
use crate::bijection::Table;
use crate::cuda::cplusplus;
use crate::cuda::runtime::kernel::initialiser;
use crate::cuda::runtime::plan::Evaluated;
use crate::cuda::runtime::program::tests::compile_all;
use crate::engine::bijection::{batch, rejected};
use crate::{Permutations, Seed};

const SEEDS: [fn() -> Seed; 2] =
    [|| Seed::new(0x0123_4567_89AB_CDEF), || Seed::from_bytes([0xA5; 32])];

/// The first and last epochs, and those on both sides of a carry out of the low word.
const EPOCHS: [u64; 4] = [0, (1 << 32) - 1, 1 << 32, u64::MAX];

/// The shared memory of a block that draws exactly, whose size is given at launch.
const SHARED: &str = "extern __shared__ __align__(16) unsigned char memory[];";

/// A program that consists of the device text with emulated threads, and of a main function.
fn program(main: &str) -> String {
    let batch = include_str!("../../../gpu/batch/rows.cuh");
    assert!(batch.contains(SHARED));
    let batch = batch.replace(SHARED, "alignas(16) static unsigned char memory[THREADS * 256];");
    [
        include_str!("../../../gpu/emulated.hpp"),
        crate::cuda::runtime::program::PRELUDE,
        include_str!("../../../gpu/rng/philox4x32.cuh"),
        include_str!("../../../gpu/batch/draw.cuh"),
        include_str!("../../../gpu/bijection/mul_xorshift.cuh"),
        "namespace bijective_shuffle { constexpr uint32_t FULL_WARP = ~0u; }\n",
        &batch,
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
         template <class N> struct Rows {
             std::vector<N> words;
             explicit Rows(uint64_t count) : words(count + 2, N(0xABABABAB)) {}
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
             Rows<N> memory(rows * shares.len);
             launch(2, 32, true, [&] { write_exact_rows<32>(keys, shares, first, rows, memory.out()); });
             memory.print();
         }
         template <class Index, int WARPS, int ROW_WARPS, bool DENSE, class F, class N>
         static void cipher_rows(const Keys& keys, typename F::Width width,
                                 Index last, Index most, uint64_t first, uint64_t rows) {
             Rows<N> memory(rows * (uint64_t(most) + 1));
             launch(2, 32 * WARPS, true, [&] {
                 write_cipher_rows<Index, WARPS, ROW_WARPS, 4, DENSE, F>(
                     keys, width, last, most, first, rows, memory.out());
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
            let (f, width) = (source.type_name(), initialiser(&width));
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
        let (f, width) = (source.type_name(), initialiser(&Width::new(any.bits())));
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

#[test]
fn kernels_of_batches_compile() {
    let words = [WordType::U32, WordType::U64];
    compile_all(&Evaluated::Nothing, &words.map(|word| kernels::exact_rows(word).erase()));
    for len in [257, 5000, 1 << 20, 1 << 33] {
        let cipher = StandardCipher::from_seed(len, 1);
        let index = WordType::for_indexes(cipher.last());
        let mut all = Vec::new();
        // Every shape once; elsewhere only one warp a row and the most warps.
        let [short, others @ .., long] = &tuning::ROW_SHAPES;
        let others: &[_] = if len == 5000 { others } else { &[] };
        for &shape in [short, long].into_iter().chain(others) {
            for dense in [false, true] {
                all.extend(
                    words.map(|word| kernels::cipher_rows(index, shape, dense, word).erase()),
                );
            }
        }
        compile_all(&cipher.device_source().unwrap().into(), &all);
    }
}
