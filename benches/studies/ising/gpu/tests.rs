//! The kernel as plain C++, with emulated threads, against the CPU.

use std::fmt::Write;
use std::process::Command;
use std::{env, fs};

use bijective_shuffle::cuda::device_header;
use bijective_shuffle::rng::{
    LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng, XorShift1024Weyl,
    Xorwow,
};

use super::*;
use crate::checkerboard::Checkerboard;
use crate::geometry::Geometry;

/// What the kernel needs of CUDA beyond what the crate's do.
const MORE: &str = "
#include <atomic>
#include <mutex>
#define __global__
#define __launch_bounds__(...)
#define __align__(bytes) __attribute__((aligned(bytes)))
struct char2 { signed char x, y; };
inline char2 make_char2(signed char x, signed char y) { return {x, y}; }
static std::mutex adding;
inline void atomicAdd(int* total, int number) {
    const std::lock_guard<std::mutex> lock(adding);
    *total += number;
}
template <class Number>
void print(const std::vector<Number>& numbers) {
    for (Number number : numbers) std::printf(\"%d \", int(number));
    std::printf(\"\\n\");
}
";

/// Texts of kernels, a main function, and the lines that it has to print.
#[derive(Default)]
struct Program {
    texts: String,
    main: String,
    expected: Vec<(String, Vec<i32>)>,
}

impl Program {
    /// Two measured rounds of a small lattice.
    fn case<G: TileWords>(&mut self, tile: usize) {
        let geometry = Geometry::new(2 * tile, tile).unwrap();
        let setup = Setup { geometry, beta: 0.4, hits: 3, seed: 11 };
        let count = G::states(geometry) * geometry.pairs();
        let streams = Streams::<G>::new(setup.seed, 0..count as u64).unwrap().generators().to_vec();

        let number = self.expected.len();
        let text = text::<G>(tile);
        writeln!(
            self.texts,
            "#undef TILE\n#undef WORDS\n#define update update_{number}\n\
             namespace case_{number} {{\n{text}\n}}\n#undef update"
        )
        .unwrap();
        let states = states(&streams);
        let key = streams[0].counter_key().unwrap_or(0);
        let (pairs, sites) = (geometry.pairs(), geometry.sites());
        let (threads, metropolis) = (G::block_threads(tile), setup.metropolis());
        let (two, four) = (metropolis.two, metropolis.four);
        writeln!(
            self.main,
            "{{ std::vector<uint32_t> states = {{{states}}};
               std::vector<signed char> spins({sites}, 1);
               std::vector<int> energies(2);
               blockDim.x = {threads};
               for (unsigned turn = 0; turn < 4; ++turn)
                   launch({pairs}, {threads}, true, [&] {{
                       case_{number}::update_{number}(spins.data(), states.data(), {key}ull, turn * 3, 2, turn % 2, 3,
                           {two}u, {four}u, energies.data(), turn / 2, 1);
                   }});
               print(energies);
               print(spins); }}"
        )
        .unwrap();

        let mut cpu = Checkerboard::new(setup, streams).unwrap();
        let energies = cpu.measure(2, 1).unwrap();
        let spins = cpu.spins().unwrap().into_iter().map(i32::from).collect();
        self.expected.push((format!("energies, {}", G::DEVICE), energies));
        self.expected.push((format!("spins, {}", G::DEVICE), spins));
    }
}

/// Words of state as they lie in device memory, as C++ writes them.
fn states<G: TileWords>(streams: &[G]) -> String {
    let save = |stream: &G| {
        let mut words = vec![0; G::STATE];
        stream.save(&mut words);
        words
    };
    let rows: Vec<Vec<u32>> = streams.iter().map(save).collect();
    let words: Vec<u32> = if G::SHARED == 1 {
        (0..G::STATE).flat_map(|word| rows.iter().map(move |row| row[word])).collect()
    } else {
        rows.concat()
    };
    words.iter().fold(String::new(), |all, word| all + &format!("{word}u,"))
}

/// What a program in C++ prints; `None` if there is no compiler.
fn run(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let [source, binary] = ["program.cpp", "program"].map(|name| folder.path().join(name));
    fs::write(&source, text).unwrap();
    let mut compiler = Command::new(env::var("CXX").unwrap_or_else(|_| "c++".into()));
    // Products and sums are rounded one by one.
    compiler.args(["-std=c++17", "-ffp-contract=off", "-o"]).args([&binary, &source]);
    assert!(compiler.status().ok()?.success());
    let output = Command::new(binary).output().unwrap();
    assert!(output.status.success());
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn the_kernel_does_what_the_cpu_does() {
    let mut program = Program::default();
    program.case::<Lcg32>(8);
    program.case::<Lcg64>(16);
    program.case::<Mwc>(8);
    program.case::<Xorwow>(8);
    program.case::<XorShift1024Weyl>(16);
    program.case::<Philox4x32Rng<7>>(16);
    program.case::<Philox4x32Rng<10>>(16);
    // Their states are for blocks of this size.
    program.case::<LaggedFibonacci521>(32);
    program.case::<LaggedFibonacci1279>(32);
    let text = [
        include_str!("../../../../gpu/emulated.hpp"),
        MORE,
        device_header(),
        &program.texts,
        "int main() {\n",
        &program.main,
        "}\n",
    ]
    .concat();
    let Some(output) = run(&text) else {
        println!("skipped: no C++ compiler");
        return;
    };
    assert_eq!(output.lines().count(), program.expected.len());
    for (line, (what, expected)) in output.lines().zip(&program.expected) {
        let got: Vec<i32> = line.split_whitespace().map(|x| x.parse().unwrap()).collect();
        assert!(got == *expected, "{what}");
    }
}
