//! Every kernel is compiled for the oldest and the newest architecture.

use super::*;
use crate::bijection::{
    Bijection, Compose, CycleWalk, FromSeed, GridFeistel, Inverse, Lcg, MulXorshift, RandomSign,
    Standard, StandardCipher, VariablePhilox,
};
use crate::cuda::device::Limits;
use crate::cuda::kernels::{self, Places};
use crate::cuda::partition::Partition;
use crate::cuda::tuning::{self, Shape};

/// The compiler, if this machine has one; it must, if the environment says so.
fn compiler() -> Option<&'static Nvrtc> {
    let nvrtc = Nvrtc::get();
    if let Err(reason) = &nvrtc {
        println!("skipped: {reason}");
        assert!(std::env::var_os("BIJECTIVE_SHUFFLE_REQUIRE_NVRTC").is_none(), "{reason}");
    }
    nvrtc.ok()
}

/// For the oldest architecture that the compiler knows, and for the newest.
fn targets(nvrtc: &Nvrtc) -> Vec<Target> {
    let ends = [nvrtc.architectures.first(), nvrtc.architectures.last()];
    ends.into_iter().flatten().map(|&arch| Target::Cubin(arch)).collect()
}

/// Compiles several kernels of a bijection at once.
fn compile_all(source: Option<&DeviceSource>, texts: &[String]) {
    compile_together(texts, |text| Program::new(source, text));
}

/// Compiles several kernels as one program.
fn compile_together(texts: &[String], program: impl Fn(String) -> Program) {
    let Some(nvrtc) = compiler() else { return };
    let named = texts.iter().enumerate();
    let all: Vec<String> = named
        .map(|(k, text)| text.replace(&format!(" {ENTRY}("), &format!(" {ENTRY}_{k}(")))
        .collect();
    let program = program(all.join("\n"));
    for target in targets(nvrtc) {
        let image = program.compile(target).unwrap_or_else(|error| panic!("{target:?}: {error}"));
        assert!(!image.is_empty());
    }
}

/// Some slots for each thread.
fn slots(slots: u32) -> Shape {
    Shape { threads: 256, slots, blocks: 4 }
}

/// A GPU with so much shared memory that every size of the partitioned strategy is used.
const LARGE: Limits = Limits {
    multiprocessors: 132,
    threads_per_multiprocessor: 2048,
    shared_per_block: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    l2_bytes: 50 << 20,
};

const WORDS: [(usize, &str); 5] =
    [(1, "uint8_t"), (2, "uint16_t"), (4, "uint32_t"), (8, "uint64_t"), (16, "Item16")];

#[test]
fn kernels_of_every_bijection_compile() {
    let vp = |len| VariablePhilox::<24>::from_seed(len, 1);
    let bijections: Vec<Box<dyn Bijection>> = vec![
        Box::new(vp(1 << 29)),
        Box::new(vp(1 << 30)),
        Box::new(vp(1 << 40)),
        Box::new(VariablePhilox::<24>::from_keys(64, [1; 24])),
        Box::new(MulXorshift::<10>::from_seed(1 << 20, 1)),
        Box::new(MulXorshift::<10>::from_seed(1 << 33, 1)),
        Box::new(GridFeistel::<10>::from_seed(1_000_000, 1)),
        Box::new(Lcg::from_seed(1 << 20, 1)),
        Box::new(Standard::from_seed(200, 1)),
        Box::new(Standard::from_seed(1 << 24, 1)),
        Box::new(Inverse::new(vp(1 << 20))),
        Box::new(RandomSign::new(vp(1 << 20), true)),
        Box::new(Compose::new(vp(1 << 20), Lcg::from_seed(1 << 20, 1)).unwrap()),
        Box::new(CycleWalk::new(vp(1000), 1000).unwrap()),
    ];
    for bijection in bijections {
        let source = bijection.device_source().unwrap();
        let index = kernels::index_type(bijection.last());
        compile_all(
            Some(&source),
            &[
                kernels::dense(index, slots(8), "Gather<uint64_t>"),
                kernels::survivors(index, slots(8), Places::Chained, "Gather<uint64_t>"),
                kernels::survivors(index, slots(1), Places::Given, "Scatter<uint32_t>"),
                kernels::survivors("uint64_t", slots(2), Places::Chained, "Indices<uint32_t>"),
                kernels::count(index, slots(4)),
            ],
        );
    }
}

#[test]
fn every_movement_compiles() {
    let source = Lcg::from_seed(1 << 20, 1).device_source().unwrap();
    let mut names: Vec<String> = Vec::new();
    for (_, word) in WORDS {
        names.push(format!("Gather<{word}>"));
        names.push(format!("Scatter<{word}>"));
    }
    names.extend(
        ["Indices<uint32_t>", "Indices<uint64_t>", "Rows<false>", "Rows<true>"].map(String::from),
    );
    let texts = names.iter().flat_map(|name| {
        [
            kernels::dense("uint32_t", slots(8), name),
            kernels::survivors("uint32_t", slots(8), Places::Chained, name),
        ]
    });
    compile_all(Some(&source), &texts.collect::<Vec<_>>());
}

#[test]
fn every_shape_for_indexes_compiles() {
    let source = Lcg::from_seed(1 << 20, 1).device_source().unwrap();
    let mut texts = Vec::new();
    for word in ["Indices<uint32_t>", "Indices<uint64_t>"] {
        for (index, wide) in [("uint32_t", false), ("uint64_t", true)] {
            for bits in [10, 16, 17, 18, 19, 20, 30] {
                let last = (1 << bits) - 1;
                let shape = tuning::survivors(last, true, wide);
                texts.push(kernels::survivors(index, shape, Places::Chained, word));
                texts.push(kernels::dense(index, tuning::dense(last, true), word));
            }
        }
    }
    texts.sort();
    texts.dedup();
    compile_all(Some(&source), &texts);
}

#[test]
fn kernels_of_the_partitioned_strategy_compile() {
    let f = VariablePhilox::<24>::from_seed(1 << 30, 1);
    let source = f.device_source().unwrap();
    for (item, word) in WORDS {
        let sizes = [(1 << 12, 1 << 13), (1 << 25, 1 << 25), ((1 << 29) + 1, 1 << 30)];
        let mut with_f = vec![];
        let mut plain = vec![kernels::scan(), kernels::find_repeats("uint64_t")];
        for (len, points) in sizes {
            let partition = Partition::new(&LARGE, item, len, points - 1).unwrap();
            with_f.push(kernels::distribute_source(partition.first.pass, word, false));
            with_f.push(kernels::distribute_source(partition.first.pass, word, true));
            with_f.push(kernels::distribute_survivors(partition.first.pass, word));
            if let Some(second) = partition.second {
                plain.push(kernels::distribute_bucket(second.pass, word));
            }
            plain.push(kernels::place(word, partition.bucket_bits, partition.dense));
        }
        compile_all(Some(&source), &with_f);
        compile_all(None, &plain);
    }
}

#[test]
fn kernels_of_batches_compile() {
    let words = ["uint32_t", "uint64_t"];
    compile_all(None, &words.map(kernels::exact_rows));
    for len in [257, 5000, 1 << 20, 1 << 33] {
        let chain = StandardCipher::from_seed(len, 1);
        let index = kernels::index_type(chain.last());
        let mut texts = Vec::new();
        // Every shape once, and otherwise a warp a row and the most warps.
        let [short, others @ .., long] = &tuning::ROW_SHAPES;
        let others: &[_] = if len == 5000 { others } else { &[] };
        for &shape in [short, long].into_iter().chain(others) {
            for dense in [false, true] {
                texts.extend(words.map(|word| kernels::chain_rows(index, shape, dense, word)));
            }
        }
        compile_all(chain.device_source().as_ref(), &texts);
    }
}

#[test]
fn kernels_for_affine_maps_compile() {
    for (item, word) in WORDS {
        let mut texts = vec![kernels::permute_rows(word)];
        for (_, shape) in tuning::affine::all().into_iter().filter(|&(size, _)| size == item) {
            let with_gaps = (shape.item_bits == 0).then_some(true);
            for gaps in [false].into_iter().chain(with_gaps) {
                texts.push(kernels::permute_tiles(word, shape, gaps));
            }
        }
        compile_all(None, &texts);
    }
    let numbers = ["uint32_t", "uint64_t", "int", "int64_t", "float", "double"];
    compile_all(None, &numbers.map(kernels::order_pairs));
}

#[test]
fn kernels_that_fill_compile() {
    let mut texts = Vec::new();
    for number in ["U32", "U64", "F32", "F64", "NormalF32", "NormalF64"] {
        for words in [1 << 10, 1 << 30] {
            for rounds in [7, 10] {
                let (shape, _) = tuning::fill_philox(rounds, words);
                texts.push(kernels::fill_philox(number, rounds, shape));
            }
            let (shape, _) = tuning::fill_anywhere(words);
            texts.push(kernels::fill_philox_anywhere(number, 10, shape));
        }
        let together = if number.ends_with("32") { 4 } else { 2 };
        let shape = tuning::FILL_STREAMS;
        texts.push(kernels::fill_streams("Mwc", number, 1, shape));
        for generator in ["Lcg32", "Lcg64", "Mwc", "Xorwow"] {
            texts.push(kernels::fill_streams(generator, number, together, shape));
        }
        let shape = tuning::FILL_PHILOX_STREAMS;
        texts.push(kernels::fill_philox_streams(number, 10, shape));
        let shape = tuning::FILL_WARPS;
        texts.push(kernels::fill_warps("XorShift1024WeylQuads", number, shape));
        texts.push(kernels::fill_rings("LaggedFibonacci<521, 353, 64>", number, 64));
        texts.push(kernels::fill_rings("LaggedFibonacci<1279, 861, 128>", number, 128));
    }
    compile_together(&texts, Program::fill);
}

#[test]
fn a_users_text_finds_every_generator() {
    let Some(nvrtc) = compiler() else { return };
    let text = "
        using namespace bijective_shuffle;
        extern \"C\" __global__ void draw(uint32_t* states, uint64_t count, uint32_t* out, double* normal) {
            alignas(16) __shared__ uint32_t ring[LaggedFibonacci521::RING];
            LaggedFibonacci521 all(ring, threadIdx.x);
            all.load(states, count, blockIdx.x);
            __syncthreads();
            XorShift1024Weyl warp(threadIdx.x % 32);
            warp.load(states, count, threadIdx.x / 32);
            Xorwow alone;
            alone.load(states, count, threadIdx.x);
            Philox4x32Rng<7> rng(42, threadIdx.x, 3);
            out[threadIdx.x] = all.next() ^ warp.next() ^ alone.next() ^ rng.next();
            normal_f64(joined(rng.next(), rng.next()), joined(rng.next(), rng.next()), normal);
            warp.store(states, count, threadIdx.x / 32);
            rng.load(states, count, threadIdx.x);
            uint32_t words[4], four[4];
            rng.next_block(words);
            XorShift1024WeylQuads quads(threadIdx.x % 8);
            quads.load(states, count, threadIdx.x / 8);
            quads.next4(four);
            NormalF64::make(four, normal + NormalF64::NUMBERS);
            alignas(16) __shared__ uint32_t other[LaggedFibonacci<1279, 861, 128>::RING];
            LaggedFibonacci<1279, 861, 128> of_four(other, threadIdx.x);
            of_four.next4(four);
            philox4x32<10>(joined(words[0], words[1]), four);
            out[threadIdx.x] ^= four[0];
        }
    ";
    for target in targets(nvrtc) {
        assert!(!Program::user(text, "draw").compile(target).unwrap().is_empty());
        let wrong = Program::user("\nint wrong = ;", "wrong").compile(target);
        let Err(Error::DeviceCompile { type_name, log }) = wrong else {
            panic!("it should not compile");
        };
        assert_eq!(type_name, "wrong");
        assert!(log.starts_with("kernel(2)"), "{log}");
    }
}

#[test]
fn what_does_not_compile_is_said_with_its_name_and_the_log() {
    if compiler().is_none() {
        return;
    }
    let text = "struct Wrong {
        uint64_t unused;
        __device__ uint64_t forward(uint64_t x) const { return y; }
    };";
    // SAFETY: it does not compile, so it never runs.
    let source = unsafe { DeviceSource::new("Wrong", text, vec![0; 8]) };
    let program =
        Program::new(Some(&source), kernels::dense("uint32_t", slots(1), "Indices<uint32_t>"));
    let target = targets(compiler().unwrap())[0];
    let Err(Error::DeviceCompile { type_name, log }) = program.compile(target) else {
        panic!("it should not compile");
    };
    assert_eq!(type_name, "Wrong");
    assert!(log.contains("\"y\" is undefined"), "{log}");
}

#[test]
fn programs_are_kept_on_disk() {
    let Some(nvrtc) = compiler() else { return };
    let folder = tempfile::tempdir().unwrap();
    let target = targets(nvrtc)[0];
    let program = Program::new(None, kernels::scan());
    let image = program.image_on_disk(target, folder.path()).unwrap();
    let files: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    // Half a file, and one of another program, are not taken for it.
    fs::write(&files[0], &fs::read(&files[0]).unwrap()[..1000]).unwrap();
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    fs::write(&files[0], b"something else").unwrap();
    assert_eq!(program.image_on_disk(target, folder.path()).unwrap(), image);
    // A folder that cannot be written is no error.
    assert_eq!(program.image_on_disk(target, Path::new("/proc/nowhere")).unwrap(), image);
}
