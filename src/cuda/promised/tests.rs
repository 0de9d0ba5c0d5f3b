//! Tests that the embedded kernels are those of this tree, and all that are promised.

use std::collections::BTreeSet;

use bijective_shuffle_kernels::{Code, Images, TARGETS};
use proptest::prelude::*;

use super::*;
use crate::cuda::runtime::nvrtc::CompiledTo;
use crate::cuda::runtime::program;
use crate::cuda::runtime::program::tests::{compiler, is_alone};
use crate::engine::bijection::StandardCipher;

fn architecture(target: &Images) -> u32 {
    match target.code() {
        Code::Machine(architecture) | Code::Ptx(architecture) => architecture,
    }
}

/// The devices on which `Auto` partitions without a compiler.
const PARTITIONING: [GpuLimits; 3] = [AMPERE, GEFORCE, HOPPER];

#[test]
fn images_are_those_of_the_kernels_of_this_tree() {
    for target in TARGETS {
        let code = target.code();
        let kernels = kernels(devices(architecture(target))).unwrap();
        let promised: BTreeSet<u128> = kernels.iter().map(|kernel| kernel.key).collect();
        let embedded: BTreeSet<u128> = target.keys().collect();
        let (missing, stale) =
            (promised.difference(&embedded).count(), embedded.difference(&promised).count());
        assert!(
            missing == 0 && stale == 0,
            "{code:?}: {missing} kernels have no image and {stale} images no kernel; \
             crates/kernels/make/run makes them again"
        );
        for Promised { key, text, .. } in &kernels {
            let image = target.find(*key).unwrap();
            match code {
                Code::Machine(_) => assert!(image.starts_with(b"\x7FELF")),
                // The driver needs the zero byte at the end.
                Code::Ptx(of) => {
                    let image = String::from_utf8(image).unwrap();
                    assert!(image.contains(&format!(".target sm_{of}")) && image.ends_with('\0'));
                }
            }
            // Another text has none, however small the difference.
            let other = text.replacen("entry(", "entry (", 1);
            assert!(other != *text && !target.has(super::key(&other)));
        }
    }
}

/// The version of NVRTC that makes a target's images; see crates/kernels/make.
fn maker(code: Code) -> ((u32, u32), fn(u32) -> CompiledTo) {
    match code {
        Code::Machine(_) => ((13, 0), CompiledTo::Cubin),
        Code::Ptx(_) => ((12, 0), CompiledTo::Ptx),
    }
}

#[test]
fn an_image_is_what_the_compiler_makes_of_its_text() {
    let Some(nvrtc) = compiler() else { return };
    if !is_alone("cuda::promised::tests::an_image_is_what_the_compiler_makes_of_its_text") {
        return;
    }
    let version = nvrtc.version;
    for target in TARGETS {
        let (made_by, of) = maker(target.code());
        if made_by != version {
            println!("skipped: {:?} is made by {made_by:?}, and not {version:?}", target.code());
            continue;
        }
        let kernels = kernels(devices(architecture(target))).unwrap();
        // Few of them, since each takes a second; crates/kernels/make/run --check does all.
        for Promised { text, key, group } in kernels.iter().step_by(97) {
            let image = program::compile(text, group, of(architecture(target))).unwrap();
            assert!(target.find(*key).unwrap() == image, "{group}");
        }
    }
}

#[test]
fn images_are_small() {
    let bytes: usize = TARGETS.iter().map(Images::file_bytes).sum();
    assert!(bytes <= 2_000_000, "{bytes}");
}

/// Asserts that all kernels of a plan are embedded for a device.
fn assert_embedded(plan: &DevicePlan<'_>, target: &Images) {
    for program in Program::all(plan) {
        let text = program.full_text();
        assert!(target.has(key(&text)), "{}", program.group());
    }
}

/// The targets for devices with given limits.
fn targets_for(limits: &GpuLimits) -> impl Iterator<Item = &'static Images> {
    TARGETS.iter().filter(move |target| devices(architecture(target)).contains(limits))
}

fn movement() -> impl Strategy<Value = Movement> {
    let direction = prop_oneof![Just(Direction::Shuffle), Just(Direction::Unshuffle)];
    let items = (0..4_u64, 0..4_u64, 1..70_usize, direction).prop_map(|(from, to, item, way)| {
        // At any alignment that items of this size can have.
        let unit = item as u64 & item.wrapping_neg() as u64;
        let array = MovedArray::given(256 + from * unit, 512 + to * unit, item);
        Movement::items(vec![array], way).unwrap()
    });
    let word = prop_oneof![Just(WordType::U32), Just(WordType::U64)];
    let indexes = word.prop_map(|word| Movement::Indices { out: Address::Given(256), word });
    prop_oneof![3 => items, 1 => indexes]
}

/// Lengths of all magnitudes that fit a device.
fn length() -> impl Strategy<Value = u64> {
    (0..36_u32).prop_flat_map(|bits| (1 << bits)..=(2_u64 << bits))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn shuffles_by_the_default_family_are_embedded(
        len in length(),
        movement in movement(),
        device in 0..PARTITIONING.len(),
        strategy in 0..STRATEGIES.len(),
    ) {
        let limits = &PARTITIONING[device];
        let f = Standard::from_seed(len, 1);
        let fits = !matches!(movement, Movement::Indices { word: WordType::U32, .. })
            || len <= 1 << 32;
        if fits {
            let job = Job::new(&f, len, movement).unwrap();
            let plan = strategy::plan(&job, STRATEGIES[strategy], limits).unwrap();
            targets_for(limits).for_each(|target| assert_embedded(&plan, target));
        }
    }

    #[test]
    fn batches_are_embedded(
        len in (0..32_u32).prop_flat_map(|bits| (1_usize << bits)..=(2 << bits)),
        rows in (0..30_u32).prop_flat_map(|bits| (1_u64 << bits)..=(2 << bits)),
        wide: bool,
    ) {
        let word = if wide { WordType::U64 } else { WordType::U32 };
        let batch = Batch { len, seed: Seed::new(1) };
        let movement = Movement::Indices { out: Address::Given(256), word };
        let job = RowsJob { batch, first: 0, rows: 1, at_once: rows, movement };
        for limits in [&VOLTA, &TURING, &AMPERE, &GEFORCE, &HOPPER] {
            rows::each_plan(&job, job.rows, limits, |plan| {
                targets_for(limits).for_each(|target| assert_embedded(plan, target));
                Ok(())
            })
            .unwrap();
        }
    }

    #[test]
    fn affine_maps_are_embedded(bits in 1..34_u32, item in 1..70_usize, at in 0..4_u64) {
        let map = Affine::reversal(bits).unwrap();
        let at = 256 + at * (item as u64 & item.wrapping_neg() as u64);
        for limits in [&VOLTA, &TURING, &AMPERE, &GEFORCE, &HOPPER] {
            let plan = affine::permute(&map, MovedArray::given(at, at, item), limits).unwrap();
            targets_for(limits).for_each(|target| assert_embedded(&plan, target));
        }
    }
}

/// Also where the domain is wider than the words of its indexes.
#[test]
fn indexes_of_32_bits_are_embedded_for_all_domains() {
    let limits = &HOPPER;
    for (bits, len) in [(32, 1 << 32), (33, 1000), (33, 1 << 32), (40, 1 << 20), (64, 1)] {
        let f = Standard::from_seed(points(bits), 1);
        let movement = Movement::Indices { out: Address::Given(256), word: WordType::U32 };
        let job = Job::new(&f, len, movement).unwrap();
        let plan = strategy::plan(&job, CudaStrategy::Auto, limits);
        if matches!(plan, Err(Error::Gpu(GpuError::DomainTooWide))) {
            continue;
        }
        let plan = plan.unwrap();
        targets_for(limits).for_each(|target| assert_embedded(&plan, target));
    }
}

#[test]
fn an_unlisted_device_has_the_single_pass() {
    // Half of a Hopper's shared memory, which no device in the list has.
    let odd =
        GpuLimits { shared_per_block: 113 << 10, shared_per_multiprocessor: 114 << 10, ..HOPPER };
    let f = StandardCipher::from_seed(1 << 30, 1);
    let movement =
        Movement::items(vec![MovedArray::given(256, 512, 8)], Direction::Shuffle).unwrap();
    let job = Job::new(&f, 1 << 30, movement).unwrap();
    let plan = strategy::plan(&job, CudaStrategy::SinglePass, &odd).unwrap();
    TARGETS.iter().for_each(|target| assert_embedded(&plan, target));
}
