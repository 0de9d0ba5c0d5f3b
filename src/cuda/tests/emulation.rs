//! [`Emulation`]: plans that run without a GPU. Their kernels are compiled as plain C++, where the
//! threads of a block take turns, and get the arguments that a device would get.

use std::fmt::Write as _;
use std::sync::OnceLock;

use super::super::cplusplus;
use super::super::runtime::kernel::{BijectionUse, Instance};
use super::super::runtime::plan::{DevicePlan, Ground};
use super::super::runtime::program::tests::permutations;
use super::super::runtime::program::with_headers;
use crate::DeviceSource;
use crate::bijection::BijectionForm;

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
// The dynamic shared memory. What is after that of a launch must stay as it was.
alignas(16) static unsigned char shared_memory[256 << 10];
static void mark_behind(unsigned long long bytes) {
    __builtin_memset(shared_memory + bytes, 0xA5, sizeof(shared_memory) - bytes);
}
static void check_behind(unsigned long long bytes) {
    for (; bytes < sizeof(shared_memory); ++bytes) {
        if (shared_memory[bytes] != 0xA5) __builtin_trap();
    }
}
"#;

/// Memory at fixed addresses, values of their bytes, and output.
const AFTER: &str = "
static void map(unsigned long long address, unsigned long long bytes) {
    void* const base = reinterpret_cast<void*>(address);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
    if (mmap(base, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != base) std::abort();
    std::memset(base, 0xA5, bytes);
}
template <class T> static T of(std::initializer_list<unsigned char> bytes) {
    T value;
    if (bytes.size() != sizeof value) std::abort();
    std::memcpy(&value, bytes.begin(), sizeof value);
    return value;
}
template <class T> static void print(unsigned long long address, unsigned long long count) {
    for (unsigned long long k = 0; k < count; ++k) {
        std::printf(\"%llu \", (unsigned long long)reinterpret_cast<const T*>(address)[k]);
    }
    std::printf(\"\\n\");
}
";

/// Instructions of the device, and what they do.
const INSTRUCTIONS: [(&str, &str); 6] = [
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
        "unsigned char* const memory = shared_memory;",
    ),
    ("#pragma unroll", "// unroll"),
];

/// A program that executes plans.
pub(in crate::cuda) struct Emulation<'p> {
    /// The types that kernels evaluate, and the kernels.
    kernels: Vec<(String, &'p Instance)>,
    /// The texts of those types.
    texts: String,
    main: String,
}

impl<'p> Emulation<'p> {
    /// An empty program; `None`, and a note, if this machine cannot run any.
    pub(in crate::cuda) fn new() -> Option<Self> {
        static CAN: OnceLock<bool> = OnceLock::new();
        let can = CAN.get_or_init(|| {
            cfg!(all(target_os = "linux", target_arch = "x86_64"))
                && cplusplus::run("int main() {}").is_some()
        });
        if !can {
            println!("skipped: no C++ compiler, or no fixed addresses");
            return None;
        }
        let (kernels, texts) = (Vec::new(), String::new());
        Some(Self { kernels, texts, main: "int main() {\n".into() })
    }

    /// Makes memory of an address, with something in it that is not what kernels write.
    pub(in crate::cuda) fn map(&mut self, address: u64, bytes: u64) {
        writeln!(self.main, "map({address}ull, {bytes}ull);").unwrap();
    }

    /// Writes words that a C++ expression gives for `k` from `first` on.
    pub(in crate::cuda) fn fill(&mut self, address: u64, first: u64, end: u64, word: &str) {
        if first == end {
            // The compiler would complain of a loop that does nothing.
            return;
        }
        writeln!(
            self.main,
            "for (uint64_t k = {first}ull; k < {end}ull; ++k) \
             reinterpret_cast<uint64_t*>({address}ull)[k - {first}ull] = {word};"
        )
        .unwrap();
    }

    /// Makes the memory of look-backs.
    pub(in crate::cuda) fn make_tile_states(&mut self, address: u64) {
        writeln!(
            self.main,
            "launch(1, 256, false, [] {{ \
             new_tile_states(reinterpret_cast<TileStates*>({address}ull), 1 << 16); }});"
        )
        .unwrap();
    }

    /// Turns round the order in which the blocks of the launches after this one run.
    pub(in crate::cuda) fn run_blocks_backwards(&mut self) {
        self.main.push_str("blocks_run_backwards = true;\n");
    }

    /// Launches what a plan launches, one after the other, with the memory of a look-back.
    pub(in crate::cuda) fn execute(&mut self, plan: &'p DevicePlan<'p>, tile_states: u64) {
        self.execute_on(plan, Ground::for_tests(0).with_tile_states(tile_states));
    }

    /// Launches what a plan launches, one after the other, with working memory somewhere.
    pub(in crate::cuda) fn execute_on(&mut self, plan: &'p DevicePlan<'p>, ground: Ground) {
        for launch in plan.launches() {
            let (kernel, (blocks, rows), bytes) = launch.spelled_out(&ground);
            let source = launch.bijection();
            let form = source.map(DeviceSource::form);
            let key = (form.map_or("uint64_t".into(), BijectionForm::type_name), kernel);
            let known = self.kernels.iter().position(|other| *other == key);
            let number = known.unwrap_or_else(|| {
                self.texts.push_str(&with_headers(&form.map_or("".into(), BijectionForm::text)));
                self.texts.push('\n');
                self.kernels.push(key);
                self.kernels.len() - 1
            });
            let (value, f) = match kernel.bijection() {
                BijectionUse::Value => {
                    let params = list(source.map_or(&[0; 8], DeviceSource::params));
                    (format!("const auto f = of<kernel::F>({{{params}}}); "), "f, ")
                }
                BijectionUse::Type | BijectionUse::None => (String::new(), ""),
            };
            writeln!(
                self.main,
                "{{ namespace kernel = kernel_{number}; {value}\
                 const auto a = of<kernel::of_entry::Arguments>({{{}}}); \
                 mark_behind({shared}); \
                 launch({blocks}, {rows}, {}, true, [&] {{ kernel::of_entry::entry({f}a); }}); \
                 check_behind({shared}); }}",
                list(&bytes),
                kernel.threads(),
                shared = launch.shared_bytes(),
            )
            .unwrap();
        }
    }

    /// Copies bytes.
    pub(in crate::cuda) fn copy(&mut self, from: u64, to: u64, bytes: u64) {
        writeln!(
            self.main,
            "__builtin_memcpy(reinterpret_cast<void*>({to}ull), \
             reinterpret_cast<const void*>({from}ull), {bytes}ull);"
        )
        .unwrap();
    }

    /// Prints `count` words of a C++ type, as a line.
    pub(in crate::cuda) fn print(&mut self, c_type: &str, address: u64, count: u64) {
        writeln!(self.main, "print<{c_type}>({address}ull, {count}ull);").unwrap();
    }

    /// Runs the program. `any` is any bijection; the lines that were printed are returned.
    pub(in crate::cuda) fn run(self, any: &DeviceSource) -> Vec<Vec<u64>> {
        let Self { kernels, texts, main } = self;
        // What no emulated plan contains, and the emulation does not define.
        let affine = include_str!("../../../gpu/affine.cuh");
        let mut device = permutations(any).replace(affine, "") + "\n" + &texts;
        for (instruction, what_it_does) in INSTRUCTIONS {
            assert!(device.contains(instruction), "{instruction}");
            device = device.replace(instruction, what_it_does);
        }
        device.push_str("using namespace bijective_shuffle;\n");
        for (number, (type_name, kernel)) in kernels.iter().enumerate() {
            // A function with C's names could be in one namespace only.
            let text = kernel.text("entry").replace("extern \"C\" ", "static ");
            writeln!(
                device,
                "namespace bijective_shuffle {{ namespace kernel_{number} {{ \
                 using F = {type_name};\n{text}}} }}"
            )
            .unwrap();
        }
        let emulated = include_str!("../../../gpu/emulated.hpp");
        let program = [emulated, BEFORE, &device, AFTER, &main, "}\n"].concat();
        let output = cplusplus::run(&program).expect("there is a C++ compiler");
        let numbers = |line: &str| -> Vec<u64> {
            line.split_whitespace().map(|number| number.parse().unwrap()).collect()
        };
        output.lines().map(numbers).collect()
    }
}

fn list(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte},")).collect()
}
