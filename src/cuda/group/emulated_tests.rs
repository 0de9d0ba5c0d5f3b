//! Whole shuffles over a group, with all kernels compiled as plain C++: the same plans and the same
//! arguments as on devices, in memory at fixed addresses, compared with algorithm 1.

use std::fmt::Write as _;

use super::partitioned::Exchange;
use super::shards::Shards;
use super::sizes::{Layout, Sizes};
use crate::bijection::{Bijection, DeviceSource, FromSeed, Lcg, MulXorshift};
use crate::compact::Direction;
use crate::cuda::cplusplus;
use crate::cuda::runtime::device::Limits;
use crate::cuda::runtime::kernel::{BijectionUse, Instance};
use crate::cuda::runtime::plan::{Address, Ground, Plan};
use crate::cuda::runtime::program::tests::permutations;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::shuffle::movement::Movement;

const LIMITS: Limits = Limits {
    multiprocessors: 132,
    threads_per_multiprocessor: 2048,
    shared_per_block: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    l2_bytes: 50 << 20,
};

/// The bytes of each member's memory.
const MEMORY: u64 = 1 << 26;

/// Where in a member's memory its source is, its target, its working memory, and the tile states.
const PARTS: [u64; 4] = [0, 1 << 23, 1 << 24, 3 << 24];

const fn memory(member: usize, part: usize) -> u64 {
    0x4000_0000_0000 + member as u64 * MEMORY + PARTS[part]
}

/// A number of 8 bytes that tells where an item came from.
const fn item(index: u64) -> u64 {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// What a program needs besides the device text.
const BEFORE: &str = r#"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
#include <cstring>
#include <initializer_list>
#include <sys/mman.h>
#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
"#;

/// Makes a value of its bytes.
const AFTER: &str = "
template <class T> static T of(std::initializer_list<unsigned char> bytes) {
    T value;
    if (bytes.size() != sizeof value) std::abort();
    std::memcpy(&value, bytes.begin(), sizeof value);
    return value;
}
";

/// Instructions of the device, and what they do.
const INSTRUCTIONS: [(&str, &str); 5] = [
    (
        r#"asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory")"#,
        "value = *word",
    ),
    (
        r#"asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(word) : "memory")"#,
        "value = *word",
    ),
    (
        r#"asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory")"#,
        "*word = value",
    ),
    (r#"asm volatile("prefetch.global.L2 [%0];" ::"l"(bytes + at))"#, "(void)bytes[at]"),
    (
        "extern __shared__ __align__(16) unsigned char memory[];",
        "alignas(16) static unsigned char memory[256 << 10];",
    ),
];

/// The phases of a shuffle as a program that prints, for each member, its count of overflows and
/// its items.
fn program(exchange: &Exchange<'_>, phases: &[Vec<Plan<'_>>]) -> String {
    let mut kernels: Vec<(String, &Instance)> = Vec::new();
    let mut texts = String::from("\n");
    let mut main = String::from("int main() {\n");
    let members = exchange.memory.len();
    let bytes = MEMORY * members as u64;
    writeln!(
        main,
        "void* const base = reinterpret_cast<void*>({:#x}ull);\n\
         if (mmap(base, {bytes}ull, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != base) return 1;\n\
         std::memset(base, 0xA5, {bytes}ull);",
        memory(0, 0)
    )
    .unwrap();
    for member in 0..members {
        let places = exchange.source.places(member);
        let (address, first, end) = (memory(member, 0), places.start, places.end);
        writeln!(
            main,
            "for (uint64_t k = {first}; k < {end}; ++k) \
             reinterpret_cast<uint64_t*>({address:#x}ull)[k - {first}] = k * 0x9E3779B97F4A7C15ull;\n\
             {{ auto* states = reinterpret_cast<TileStates*>({:#x}ull); \
             launch(1, 256, false, [&] {{ new_tile_states(states, 1 << 16); }}); }}",
            memory(member, 3)
        )
        .unwrap();
    }
    for phase in phases {
        for (member, plan) in phase.iter().enumerate() {
            let ground = Ground::for_tests(0).with_tile_states(memory(member, 3));
            for launch in plan.launches() {
                let (kernel, (blocks, rows), bytes) = launch.spelled_out(&ground);
                let source = launch.bijection();
                let type_name = source.map_or("uint64_t", DeviceSource::type_name);
                let key = (type_name.to_string(), kernel);
                let known = kernels.iter().position(|other| *other == key);
                let number = known.unwrap_or_else(|| {
                    texts.push_str(source.map_or("", DeviceSource::text));
                    kernels.push(key);
                    kernels.len() - 1
                });
                let f = if kernel.bijection() == BijectionUse::Value { "f, " } else { "" };
                writeln!(
                    main,
                    "{{ namespace kernel = kernel_{number}; \
                     const auto f = of<kernel::F>({{{}}}); \
                     const auto a = of<kernel::of_entry::Arguments>({{{}}}); \
                     launch({blocks}, {rows}, {}, true, [&] {{ kernel::of_entry::entry({f}a); }}); }}",
                    list(source.map_or(&[0; 8], DeviceSource::params)),
                    list(&bytes),
                    kernel.threads()
                )
                .unwrap();
            }
        }
    }
    for member in 0..members {
        let places = exchange.out.places(member);
        writeln!(
            main,
            "std::printf(\"%u\", unsigned(*reinterpret_cast<uint32_t*>({:#x}ull)));\n\
             for (uint64_t k = 0; k < {}; ++k) std::printf(\" %llu\", \
             (unsigned long long)reinterpret_cast<uint64_t*>({:#x}ull)[k]);\nstd::printf(\"\\n\");",
            exchange.memory[member] + exchange.layouts[member].any,
            places.end - places.start,
            memory(member, 1)
        )
        .unwrap();
    }
    main.push_str("}\n");
    let mut device = permutations(&exchange.job.source);
    // What no group uses, and the emulation has no words for.
    device = device.replace(include_str!("../../../gpu/affine.cuh"), "");
    device = device.replace("#pragma unroll", "// unroll");
    for (instruction, what_it_does) in INSTRUCTIONS {
        assert!(device.contains(instruction), "{instruction}");
        device = device.replace(instruction, what_it_does);
    }
    device.push_str(&texts);
    device.push_str("using namespace bijective_shuffle;\n");
    for (number, (type_name, kernel)) in kernels.iter().enumerate() {
        // A kernel's text has C's names, of which each can be in one namespace only.
        let text = kernel.text("entry").replace("extern \"C\" ", "static ");
        writeln!(
            device,
            "namespace bijective_shuffle {{ namespace kernel_{number} {{ using F = {type_name};\n\
             {text}}} }}"
        )
        .unwrap();
    }
    [include_str!("../../../gpu/emulated.hpp"), BEFORE, &device, AFTER, &main].concat()
}

fn list(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte},")).collect()
}

/// Moves an array by the phases of an exchange, and compares. Returns whether a bucket overflowed.
fn check(f: &dyn Bijection, [from, to]: [&[usize]; 2], direction: Direction) -> bool {
    let len: u64 = from.iter().map(|&len| len as u64).sum();
    let of = |lens: &[usize], part: usize| {
        let runs = lens.iter().enumerate().map(|(member, &len)| (memory(member, part), len));
        Shards::new(runs.collect::<Vec<_>>(), 8)
    };
    let (source, out) = (of(from, 0), of(to, 1));
    let nowhere = Movement::Indices { out: Address::Given(256), word: WordType::U64 };
    let job = Job::new(f, len, nowhere).unwrap();
    let last = if direction == Direction::Shuffle { job.last } else { len - 1 };
    let sizes = Sizes::new(&LIMITS, WordType::U64, [last, job.last], &source, &out).unwrap();
    let members = 0..from.len();
    let layouts: Vec<Layout> = members.clone().map(|member| sizes.layout(member)).collect();
    assert!(layouts.iter().all(|layout| layout.bytes <= PARTS[3] - PARTS[2]));
    let addresses: Vec<u64> = members.clone().map(|member| memory(member, 2)).collect();
    let exchange = Exchange {
        job: &job,
        source: &source,
        out: &out,
        direction,
        sizes: &sizes,
        layouts: &layouts,
        memory: &addresses,
    };
    let phases = exchange.phases().unwrap();
    let output = cplusplus::run(&program(&exchange, &phases)).expect("there is a C++ compiler");
    let (mut overflows, mut got) = (0, Vec::new());
    for line in output.lines() {
        let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
        overflows += numbers.next().unwrap();
        got.extend(numbers);
    }
    let order: Vec<u64> =
        (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len).collect();
    let expected: Vec<u64> = match direction {
        Direction::Shuffle => order.iter().map(|&index| item(index)).collect(),
        Direction::Unshuffle => {
            let mut all = vec![0; len as usize];
            (0..).zip(&order).for_each(|(rank, &index)| all[index as usize] = item(rank));
            all
        }
    };
    assert!(got == expected, "{from:?} to {to:?}, {direction:?}");
    assert!(overflows == 0 || overflows == from.len() as u64, "all members decide alike");
    overflows > 0
}

/// Whether there is a compiler, and memory at the addresses.
fn can_emulate() -> bool {
    let can = cfg!(all(target_os = "linux", target_arch = "x86_64"))
        && cplusplus::run("int main() {}").is_some();
    if !can {
        println!("skipped: no C++ compiler, or no fixed addresses");
    }
    can
}

#[test]
fn shuffles_over_three_members_are_those_of_one() {
    if !can_emulate() {
        return;
    }
    let f = MulXorshift::<10>::from_seed(1 << 16, 3);
    let gaps = [&[20_000, 0, 20_001][..], &[13_333, 13_334, 13_334]];
    assert!(!check(&f, gaps, Direction::Shuffle));
    assert!(!check(&f, gaps, Direction::Unshuffle));
    let dense = [&[1 << 15, 30_000, 2768][..], &[1000, 1 << 15, 31_768]];
    assert!(!check(&f, dense, Direction::Shuffle));
    assert!(!check(&f, dense, Direction::Unshuffle));
}

#[test]
fn buckets_that_overflow_are_moved_directly() {
    if !can_emulate() {
        return;
    }
    // Each member's items stay together, so they all go to few buckets.
    let f = Lcg::new(15, 1, 5).unwrap();
    let lens = [&[10_000, 10_000, 12_768][..], &[12_768, 10_000, 10_000]];
    assert!(check(&f, lens, Direction::Shuffle));
    assert!(check(&f, lens, Direction::Unshuffle));
}
