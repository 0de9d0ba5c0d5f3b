//! The kernels, compiled as plain C++ with emulated threads, compared with the CPU's fills.

use std::fmt::Write as _;

use super::generator::{DeviceDraw, DeviceGenerator, Threads};
use super::philox::BlockAlignment;
use super::streams::{StateLayout, gather, scatter};
use super::{kernels, tuning};
use crate::Error;
use crate::cuda::runtime::plan::Evaluated;
use crate::cuda::runtime::program::tests::compile_all;
use crate::cuda::{cplusplus, device_header};
use crate::rng::engine::{Distribution, F32, F64, NormalF32, NormalF64, NumberSource, U32, U64};
use crate::rng::{
    LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, Streams,
    XorShift1024Weyl, Xorwow,
};

/// A program with emulated threads and this main function.
fn program(main: &str) -> String {
    [
        include_str!("../../../gpu/emulated.hpp"),
        device_header(),
        include_str!("../../../gpu/fill.cuh"),
        "using namespace bijective_shuffle;
         // Memory with guard words before and after an array, which must not change.
         struct Memory {
             static constexpr unsigned GUARD = 16;
             std::vector<uint32_t> words;
             unsigned before, len;
             Memory(unsigned before, unsigned len)
                 : words(before + len + 2 * GUARD + 4, 0xABABABAB), before(before), len(len) {}
             uint32_t* out() {
                 // `before` words after a multiple of 16 bytes.
                 uint32_t* place = words.data() + GUARD;
                 while (reinterpret_cast<uint64_t>(place) % 16 != 0) --place;
                 return place + before;
             }
             template <class Number> typename Number::Type* numbers() {
                 return reinterpret_cast<typename Number::Type*>(out());
             }
             void print() {
                 for (uint32_t* word = words.data(); word < words.data() + words.size(); ++word) {
                     const bool inside = word >= out() && word < out() + len;
                     if (inside) std::printf(\"%x \", unsigned(*word));
                     else if (*word != 0xABABABAB) std::abort();
                 }
                 std::printf(\"\\n\");
             }
         };
         using Words = std::vector<uint32_t>;
         inline void print(const Words& words) {
             for (uint32_t word : words) std::printf(\"%x \", unsigned(word));
             std::printf(\"\\n\");
         }
         // A function for each kernel, so that each is instantiated once.
         template <class G, class Number, unsigned STREAMS>
         void alone(Words& states, unsigned count, unsigned before, unsigned words, unsigned len) {
             Memory memory(before, words);
             launch((count + 8 * STREAMS - 1) / (8 * STREAMS), 8, false, [&] {
                 fill_streams<G, Number, 8, STREAMS, 4>(states.data(), count, memory.numbers<Number>(), len);
             });
             memory.print();
         }
         template <class G, class Number>
         void part(Words& states, unsigned count, unsigned before, unsigned words) {
             Memory memory(before, words);
             launch((count * G::THREADS + 31) / 32, 32, true, [&] {
                 fill_warps<G, Number, 32>(states.data(), count, memory.out(), words);
             });
             memory.print();
         }
         // Two warps in each block, and rows that two warps draw.
         template <class Number, int ROUNDS>
         void philox(Words& states, unsigned count, unsigned before, unsigned words) {
             Memory memory(before, words);
             const unsigned pieces = count * (Number::WORDS / Number::NUMBERS);
             launch((pieces + 63) / 64, 64, true, [&] {
                 fill_philox_streams<Number, ROUNDS, 64, 2>(states.data(), count, memory.out(), words);
             });
             memory.print();
         }
         template <class G, class Number>
         void ring(Words& states, unsigned count, unsigned before, unsigned words) {
             Memory memory(before, words);
             launch(count, G::THREADS, true, [&] {
                 fill_rings<G, Number>(states.data(), count, memory.out(), words);
             });
             memory.print();
         }
         // Two blocks, and enough tiles that both take several.
         template <class Number, int ROUNDS>
         void aligned(uint64_t key, uint64_t stream, uint64_t block, unsigned before, unsigned first, unsigned end) {
             Memory memory(before, end - first);
             launch(2, 8, false, [&] {
                 fill_philox<Number, ROUNDS, 8, 2>(key, stream, block, memory.out() - before, first, end);
             });
             memory.print();
         }
         template <class Number, int ROUNDS>
         void anywhere(uint64_t key, uint64_t stream, uint64_t block, unsigned before, unsigned skip, unsigned words) {
             Memory memory(before, words);
             launch(2, 32, true, [&] {
                 fill_philox_anywhere<Number, ROUNDS, 32, 2>(key, stream, block, skip, memory.out(), words);
             });
             memory.print();
         }\n",
        "int main() {\n",
        main,
        "}\n",
    ]
    .concat()
}

/// The main function of a program, and what it should print.
#[derive(Default)]
struct Cases {
    main: String,
    expected: Vec<(String, Vec<u32>)>,
}

impl Cases {
    fn check(&self) {
        let Some(output) = cplusplus::run(&program(&self.main)) else {
            println!("skipped: no C++ compiler");
            return;
        };
        assert_eq!(output.lines().count(), self.expected.len());
        for (line, (what, expected)) in output.lines().zip(&self.expected) {
            let words = line.split_whitespace();
            let got: Vec<u32> = words.map(|word| u32::from_str_radix(word, 16).unwrap()).collect();
            assert!(got == *expected, "{what}");
        }
    }
}

/// A number as its words.
trait AsWords: Copy + Default {
    fn words(self) -> Vec<u32>;
}

macro_rules! bits {
    ($($number:ty: $to_bits:expr;)*) => {$(
        impl AsWords for $number {
            fn words(self) -> Vec<u32> {
                let bits: u64 = $to_bits(self);
                [bits as u32, (bits >> 32) as u32][..size_of::<$number>() / 4].to_vec()
            }
        }
    )*};
}

bits! {
    u32: u64::from;
    u64: |x| x;
    f32: |x: f32| u64::from(x.to_bits());
    f64: f64::to_bits;
}

/// The words that the CPU's fill gives.
fn filled<D: Distribution<Number: AsWords>>(fill: &mut impl NumberSource, len: usize) -> Vec<u32> {
    let mut numbers = vec![D::Number::default(); len];
    fill.draw::<D>(&mut numbers);
    numbers.into_iter().flat_map(AsWords::words).collect()
}

/// The states of an ensemble in the order of the device.
fn states<G: DeviceGenerator>(streams: &Streams<G>) -> Vec<u32> {
    gather(streams).unwrap()
}

/// Two fills of an ensemble, one after the other, and its states after them.
fn streams_case<G: DeviceGenerator, D: DeviceDraw<Number: AsWords>>(
    cases: &mut Cases,
    mut streams: Streams<G>,
    lens: [usize; 2],
    before: usize,
) {
    let count = streams.len();
    let words = states(&streams);
    let list: String = words.iter().fold(String::new(), |all, word| all + &format!("{word}u,"));
    writeln!(cases.main, "{{ Words states = {{{list}}};").unwrap();
    for len in lens {
        let (name, words) = (D::NAME, D::words(len));
        match G::threads() {
            Threads::One(generator) => {
                // The same choice as in `plan`.
                let together = 16 / size_of::<D::Number>();
                let streams = if before == 0 && count.is_multiple_of(together) { together } else { 1 };
                writeln!(
                    cases.main,
                    "alone<{generator}, {name}, {streams}>(states, {count}, {before}, {words}, {len});"
                )
            }
            Threads::Part(generator, _) => writeln!(
                cases.main,
                "part<{generator}, {name}>(states, {count}, {before}, {words});"
            ),
            Threads::Philox(rounds) => writeln!(
                cases.main,
                "philox<{name}, {rounds}>(states, {count}, {before}, {words});"
            ),
            Threads::Block(generator, _) => writeln!(
                cases.main,
                "ring<{generator}, {name}>(states, {count}, {before}, {words});"
            ),
        }
        .unwrap();
        let what = format!("{count} streams of {:?}, {} {len}", G::threads(), D::NAME);
        cases.expected.push((what, filled::<D>(&mut streams, len)));
    }
    cases.main += "print(states); }\n";
    let what = format!("states of {count} streams of {:?}, {} {lens:?}", G::threads(), D::NAME);
    cases.expected.push((what, states(&streams)));
}

/// A case for every kind of numbers.
fn streams_cases<G: DeviceGenerator>(cases: &mut Cases, count: u64, lens: [usize; 2]) {
    let streams = || Streams::<G>::new(7, 5..5 + count).unwrap();
    streams_case::<G, U32>(cases, streams(), lens, 0);
    streams_case::<G, U32>(cases, streams(), lens, 3);
    streams_case::<G, U64>(cases, streams(), lens, 2);
    streams_case::<G, F32>(cases, streams(), lens, 1);
    streams_case::<G, F64>(cases, streams(), lens, 0);
    streams_case::<G, NormalF32>(cases, streams(), lens, 0);
    streams_case::<G, NormalF64>(cases, streams(), lens, 0);
}

#[test]
fn emulated_streams_of_a_thread_are_those_of_the_cpu() {
    let mut cases = Cases::default();
    // Whole rows and parts of one, rows that are multiples of 16 bytes and others, and more rows
    // than the loop is unrolled by.
    for (count, lens) in [(1, [7, 1]), (12, [12 * 9 + 5, 24]), (21, [100, 21 * 5])] {
        streams_cases::<Lcg32>(&mut cases, count, lens);
        streams_cases::<Lcg64>(&mut cases, count, lens);
        streams_cases::<Mwc>(&mut cases, count, lens);
        streams_cases::<Xorwow>(&mut cases, count, lens);
    }
    streams_case::<Mwc, U32>(&mut cases, Streams::<Mwc>::different(7, 9).unwrap(), [50, 3], 0);
    let leapfrog = Streams::<Lcg64>::leapfrog(7, 9).unwrap();
    streams_case::<Lcg64, U32>(&mut cases, leapfrog, [50, 3], 0);
    cases.check();
}

#[test]
fn emulated_streams_of_several_threads_are_those_of_the_cpu() {
    let mut cases = Cases::default();
    for (count, lens) in [(1, [100, 7]), (5, [5 * 32 * 3 + 50, 33])] {
        streams_cases::<XorShift1024Weyl>(&mut cases, count, lens);
    }
    for (count, lens) in [(1, [1000, 7]), (2, [2 * 512 + 100, 30])] {
        streams_cases::<LaggedFibonacci521>(&mut cases, count, lens);
        streams_cases::<LaggedFibonacci1279>(&mut cases, count, lens);
    }
    cases.check();
}

#[test]
fn streams_of_philox_are_those_of_the_cpu() {
    let mut cases = Cases::default();
    // One stream, a few, and more than a warp has; whole rows, an odd number of rows, and lengths
    // that end within a block.
    for (count, lens) in
        [(1, [1, 4 * 7 + 2]), (5, [5 * 4 * 6, 33]), (37, [701, 9]), (70, [280, 563])]
    {
        streams_cases::<Philox4x32Rng>(&mut cases, count, lens);
        let streams = || Streams::<Philox4x32Rng<7>>::new(7, 0..count).unwrap();
        for before in 1..4 {
            streams_case::<_, F32>(&mut cases, streams(), lens, before);
        }
        streams_case::<_, F64>(&mut cases, streams(), lens, 2);
        streams_case::<_, NormalF32>(&mut cases, streams(), lens, 1);
        streams_case::<_, NormalF64>(&mut cases, streams(), lens, 2);
    }
    // Different keys, positions within a block (which is dropped), and just before a counter's low
    // word overflows.
    let generators = (0..9).map(|k| {
        let mut rng = Philox4x32Rng::<10>::from_key(u64::MAX / (k + 1), k << 40);
        rng.set_position((1 << 34) - 4 * u128::from(k) - 5);
        rng
    });
    let streams = Streams::from_generators(generators.collect()).unwrap();
    streams_case::<_, U32>(&mut cases, streams.clone(), [200, 31], 0);
    streams_case::<_, U64>(&mut cases, streams, [200, 31], 0);
    cases.check();
}

/// A fill of one stream of Philox4x32 from word `position` on, to a place `before` words after an
/// aligned one.
fn philox_case<D: DeviceDraw<Number: AsWords>, const ROUNDS: usize>(
    cases: &mut Cases,
    position: u128,
    before: u64,
    len: usize,
) {
    let mut rng = Philox4x32Rng::<ROUNDS>::from_key(0x0123_4567_89AB_CDEF, 1 << 40 | 3);
    rng.set_position(position);
    let words = D::words(len);
    let (kernel, key, stream, block, first, last) =
        match BlockAlignment::new(&rng, before * 4, words, D::WORDS) {
            BlockAlignment::Aligned(kernels::FillPhilox {
                key, stream, block, first, end, ..
            }) => ("aligned", key, stream, block, first, end),
            BlockAlignment::Anywhere(kernels::FillPhiloxAnywhere {
                key,
                stream,
                block,
                skip,
                words,
                ..
            }) => ("anywhere", key, stream, block, skip, words),
        };
    writeln!(
        cases.main,
        "{kernel}<{}, {ROUNDS}>({key}u, {stream}u, {block}u, {before}, {first}, {last});",
        D::NAME
    )
    .unwrap();
    let what = format!("{} {len} from {position}, {before} words on", D::NAME);
    cases.expected.push((what, filled::<D>(&mut rng, len)));
}

#[test]
fn a_stream_of_philox_is_that_of_the_cpu_anywhere() {
    let mut cases = Cases::default();
    // A tile is 256 words: 258 words end within the second tile, and 600 are more than the two
    // warps hold at once.
    for len in [1, 2, 258, 600] {
        for position in [0, 1, 2, 3, (1 << 66) - 101] {
            for before in 0..4 {
                philox_case::<U32, 10>(&mut cases, position, before, len);
                philox_case::<NormalF32, 10>(&mut cases, position, before, len);
            }
            for before in [0, 2] {
                philox_case::<F64, 7>(&mut cases, position, before, len);
                philox_case::<NormalF64, 7>(&mut cases, position, before, len);
            }
        }
    }
    philox_case::<F32, 10>(&mut cases, (1 << 34) - 3, 1, 100);
    philox_case::<U64, 10>(&mut cases, (1 << 34) - 2, 2, 100);
    cases.check();
}

#[test]
fn states_come_back_as_they_were_and_need_memory() {
    fn back<G: DeviceGenerator + PartialEq>() {
        let streams = Streams::<G>::new(3, 0..7).unwrap();
        let states = gather(&streams).unwrap();
        let got: Streams<G> = scatter(&StateLayout::new::<G>(7), &states).unwrap();
        assert!(got.generators() == streams.generators());
        // More words than a slice can have, whether or not a `usize` can count them.
        for count in [usize::MAX, usize::MAX / G::STATE, isize::MAX as usize / 4 / G::STATE + 1] {
            let refused = StateLayout::new::<G>(count).room();
            assert!(matches!(refused, Err(Error::OutOfMemory { bytes }) if bytes >= 1 << 31));
        }
    }
    back::<Mwc>();
    back::<Philox4x32Rng>();
    back::<XorShift1024Weyl>();
    back::<LaggedFibonacci521>();
}

#[test]
fn kernels_that_fill_compile() {
    let mut all = Vec::new();
    for number in ["U32", "U64", "F32", "F64", "NormalF32", "NormalF64"] {
        for words in [1 << 10, 1 << 30] {
            for rounds in [7, 10] {
                let (shape, _) = tuning::fill_philox(rounds, words);
                all.push(kernels::philox::<kernels::FillPhilox>(number, rounds, shape).erase());
            }
            let (shape, _) = tuning::fill_anywhere(words);
            all.push(kernels::philox::<kernels::FillPhiloxAnywhere>(number, 10, shape).erase());
        }
        let together = if number.ends_with("32") { 4 } else { 2 };
        let shape = tuning::FILL_STREAMS;
        all.push(kernels::fill_streams("Mwc", number, 1, shape).erase());
        for generator in ["Lcg32", "Lcg64", "Mwc", "Xorwow"] {
            all.push(kernels::fill_streams(generator, number, together, shape).erase());
        }
        let shape = tuning::FILL_PHILOX_STREAMS;
        all.push(kernels::philox::<kernels::FillPhiloxStreams>(number, 10, shape).erase());
        let shape = tuning::FILL_WARPS;
        all.push(kernels::fill_warps("XorShift1024WeylQuads", number, shape).erase());
        for (ring, threads) in
            [("LaggedFibonacci<521, 353, 64>", 64), ("LaggedFibonacci<1279, 861, 128>", 128)]
        {
            all.push(kernels::fill_rings(ring, number, threads).erase());
        }
    }
    compile_all(&Evaluated::Nothing, &all);
}
