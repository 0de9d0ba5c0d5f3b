//! The same permutations as on the CPU, for all lengths, families, items and tunings.

use core::fmt::Debug;

use bijective_shuffle::{
    Bijection, Compactor, Cpu, FromSeed, Permutation, Serial,
    bijection::{MulXorshift, Standard, VariablePhilox},
};
use bytemuck::Pod;

use super::{errors, families, gpu};
use crate::Wgpu;
use bijective_shuffle_wgsl::shader::{PartitionShape, Status, Tuning, WorkgroupTile};

/// Lengths around powers of two and around tiles of 2048 slots.
const LENGTHS: [u64; 26] = [
    0, 1, 2, 3, 4, 5, 31, 33, 255, 256, 257, 511, 513, 1023, 1025, 2047, 2048, 2049, 4095, 4096,
    4097, 10_000, 65_535, 65_536, 65_537, 200_000,
];

/// Compares indexes, and items in both directions, with those of the CPU.
fn agrees(gpu: &Wgpu, name: &str, bijection: &dyn Bijection, len: u64) {
    let mut expected = vec![0_u32; len as usize];
    Cpu.write_indexes(bijection, &mut expected).expect("a bijection");
    let mut indexes = vec![u32::MAX; len as usize];
    gpu.write_indexes(&bijection, &mut indexes).unwrap_or_else(|e| panic!("{name}, {len}: {e}"));
    // An array is too long to be printed.
    assert!(indexes == expected, "{name}, indexes of {len}");
    moves(gpu, name, bijection, len, |k| (k as u32).wrapping_mul(0x9E37_79B1));
}

fn moves<T: Pod + PartialEq + Send + Sync + Debug>(
    gpu: &Wgpu,
    name: &str,
    bijection: &dyn Bijection,
    len: u64,
    item: impl Fn(u64) -> T,
) {
    let items: Vec<T> = (0..len).map(item).collect();
    let expected = Cpu.shuffled(bijection, &items).expect("a bijection");
    let mut shuffled = items.clone();
    let name = format!("{name}, {len} items of {} bytes", size_of::<T>());
    gpu.shuffle(&bijection, &mut shuffled).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(shuffled == expected, "{name}, shuffled");
    gpu.unshuffle(&bijection, &mut shuffled).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(shuffled == items, "{name}, and back");
    // An un-shuffle of what was never shuffled, since the above would hold for two wrong maps that
    // undo each other.
    let mut expected = items.clone();
    Cpu.unshuffle(bijection, &mut expected).expect("a bijection");
    gpu.unshuffle(&bijection, &mut shuffled).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(shuffled == expected, "{name}, un-shuffled");
}

#[test]
fn all_lengths_of_the_default_family() {
    let Some(gpu) = gpu() else { return };
    // Those of other kinds of devices, too.
    for gpu in [Tuning::STANDARD, Tuning::CPU].map(|tuning| gpu.tuned(tuning)) {
        for len in LENGTHS {
            agrees(&gpu, "Standard", &Standard::from_seed(len, 42), len);
        }
    }
    // A domain that is much wider than the length: most tiles have few survivors.
    for len in [1, 100, 5000] {
        agrees(gpu, "wide", &Standard::from_seed(100_000, 42), len);
    }
}

/// The widest domain that the kernels have words for. It is for GPUs, and wants `--release`:
/// lavapipe had not done it after half an hour.
#[test]
fn items_are_shuffled_and_back_on_2_to_the_32_points() {
    let Some(gpu) = gpu() else { return };
    let is_cpu = gpu.device().adapter_info().device_type == wgpu::DeviceType::Cpu;
    if is_cpu || std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_none() {
        println!("skipped: only the long form on a GPU evaluates 2^32 slots");
        return;
    }
    let f = MulXorshift::<10>::from_seed(1 << 32, 7);
    assert_eq!(f.last(), u32::MAX.into());
    moves(gpu, "2^32 points", &f, 70_000, |k| (k as u32).wrapping_mul(0x9E37_79B1));
}

#[test]
fn all_families_agree_with_the_cpu() {
    let Some(gpu) = gpu() else { return };
    // Kernels of some families are compiled for each width, so there are few.
    for len in [1, 13, 200, 5000] {
        for (name, bijection) in families(len) {
            agrees(gpu, name, &*bijection, len);
            agrees(gpu, name, &*bijection, bijection.last() + 1);
            agrees(gpu, name, &*bijection, len.div_ceil(3));
        }
    }
}

#[test]
fn items_of_all_widths_agree_with_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let mixed = |k: u64, j: usize| (k as u32 ^ 0x5555).wrapping_mul(0x9E37_79B1) >> (j % 24);
    macro_rules! items {
        ($($word:ty, $count:literal;)*) => {$(
            for len in [1, 2, 5, 257, 4096, 5003] {
                let f = Standard::from_seed(len, 3);
                moves::<[$word; $count]>(gpu, "items", &f, len, |k| {
                    core::array::from_fn(|j| mixed(k, j) as $word)
                });
            }
        )*};
    }
    items! {
        u8, 1; u8, 2; u8, 3; u8, 5; u8, 7; u16, 1; u16, 3; u32, 2; u32, 3; u32, 4; u32, 6; u32, 12; u64, 1;
        u64, 16;
    }
    // Items of no size cannot be told apart.
    let mut none = [[0_u8; 0]; 10];
    gpu.shuffle(&Standard::from_seed(10, 1), &mut none).expect("nothing to do");
}

/// Tiles that post neither their count nor their prefix: every other workgroup that needs them has
/// to count them itself, and nobody may wait for ever.
#[test]
fn posts_may_be_left_out() {
    let Some(gpu) = gpu() else { return };
    for leaves_out in [512, 16, 2] {
        for status in [None, Some(Status::Narrow), Some(Status::Wide)] {
            for subgroups in [false, true] {
                let leaves_out = Some(leaves_out);
                let tuning = Tuning { leaves_out, status, subgroups, ..Tuning::STANDARD };
                let gpu = gpu.tuned(tuning);
                for len in [257, 4097, 65_537, 200_000] {
                    agrees(&gpu, "left out", &Standard::from_seed(len, 42), len);
                }
            }
        }
    }
}

/// Short arrays share statuses that are never cleared: calls may be submitted in any order, or
/// never, and there may be more of them than the statuses have numbers for.
#[test]
fn calls_may_be_submitted_in_any_order() {
    let Some(gpu) = gpu() else { return };
    let mut workspace = gpu.workspace();
    let lens = [3000_u64, 9000, 5000, 20_000];
    for round in 0..50 {
        let calls: Vec<_> = lens
            .iter()
            .map(|&len| {
                let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
                let into = gpu.context().buffer("indexes", 4 * len, usage).expect("memory");
                let mut encoder = gpu.device().create_command_encoder(&Default::default());
                let f = Standard::from_seed(len, round);
                workspace.write_indexes(&mut encoder, &f, len, into.slice(..)).expect("valid");
                (f, len, into, encoder)
            })
            .collect();
        // The last call comes first, and the first never.
        for (f, len, into, encoder) in calls.into_iter().skip(1).rev() {
            gpu.queue().submit([encoder.finish()]);
            let [mut words, mut expected] = [0, 1].map(|_| vec![0_u32; len as usize]);
            gpu.read(&into, 4 * len, |bytes| {
                bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
            })
            .expect("the device is there");
            Cpu.write_indexes(&f, &mut expected).expect("the default family");
            assert!(words == expected, "{len} in round {round}");
        }
    }
}

/// A workgroup that waited for another without end would hang here sooner or later.
#[test]
fn many_runs_end() {
    let Some(gpu) = gpu() else { return };
    let batches = if std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some() { 500 } else { 5 };
    let gpu = gpu.tuned(Tuning { leaves_out: Some(2), ..Tuning::STANDARD });
    let len = 40_000;
    let f = Standard::from_seed(len, 42);
    let mut expected = vec![0_u32; len as usize];
    Cpu.write_indexes(&f, &mut expected).expect("the default family");
    let indexes = gpu.context().buffer(
        "indexes",
        4 * len,
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
    );
    let indexes = indexes.expect("there is memory");
    let mut workspace = gpu.workspace();
    for _ in 0..batches {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        for _ in 0..20 {
            encoder.clear_buffer(&indexes, 0, None);
            workspace.write_indexes(&mut encoder, &f, len, indexes.slice(..)).expect("valid");
        }
        gpu.queue().submit([encoder.finish()]);
        let mut words = vec![0_u32; len as usize];
        gpu.read(&indexes, 4 * len, |bytes| {
            bytemuck::cast_slice_mut(&mut words).copy_from_slice(bytes);
        })
        .expect("the device is there");
        assert!(words == expected);
    }
}

#[test]
fn tunings_do_not_change_results() {
    let Some(gpu) = gpu() else { return };
    let standard = Tuning::STANDARD;
    for tuning in [
        Tuning { slots: &[(0, 4)], ..standard },
        Tuning { slots: &[(1 << 15, 16), (0, 2)], ..standard },
        Tuning { items: 2, ..standard },
        Tuning { subgroups: false, ..standard },
        Tuning { window: 1, subgroups: false, ..standard },
        Tuning { window: 256, subgroups: false, ..standard },
        Tuning { patience: 0, ..standard },
        Tuning { patience: 0, window: 7, slots: &[(0, 1)], leaves_out: Some(3), ..standard },
        Tuning { status: Some(Status::Narrow), ..standard },
        Tuning { status: Some(Status::Wide), ..standard },
        Tuning { status: Some(Status::Wide), ..Tuning::CPU },
        Tuning { leaves_out: Some(3), ..Tuning::CPU },
    ] {
        let gpu = gpu.tuned(tuning);
        for len in [300, 10_000, 32_768, 70_000] {
            agrees(&gpu, &format!("{tuning:?}"), &Standard::from_seed(len, 42), len);
        }
    }
}

/// Workgroups more than all tiles of all phases, which a rectangle of them may have, move nothing.
#[test]
fn arrays_may_be_gathered_in_phases() {
    let Some(gpu) = gpu() else { return };
    let narrow = errors::device(|limits| limits.max_compute_workgroups_per_dimension = 100);
    for (phase, lens) in [
        (16, &[1, 4, 5, 8, 13, 16, 17][..]),
        (4096, &[1024, 2048, 2049, 4096, 8192]),
        (1 << 15, &[16_384, 32_768]),
    ] {
        for (gpu, items) in [(gpu, 4), (gpu, 1), (&narrow, 4)] {
            let tuning = Tuning { phase, items, ..Tuning::STANDARD };
            let gpu = gpu.tuned(tuning);
            for &len in lens {
                agrees(&gpu, &format!("{tuning:?}"), &Standard::from_seed(len, 42), len);
            }
        }
    }
    let gpu = gpu.tuned(Tuning { phase: 5000, ..Tuning::STANDARD });
    for (name, bijection) in families(3000) {
        agrees(&gpu, name, &*bijection, bijection.last() + 1);
    }
    let f = Standard::from_seed(2048, 3);
    moves::<u64>(&gpu, "in phases", &f, 2048, |k| !k);
    let f = Standard::from_seed(1024, 3);
    moves::<[u32; 4]>(&gpu, "in phases", &f, 1024, |k| [k as u32, 1, 2, !k as u32]);
    moves::<[u32; 3]>(&gpu, "in one phase", &f, 1024, |k| [k as u32, 1, !k as u32]);
}

/// One that partitions all arrays.
fn partitioning(shape: PartitionShape) -> Tuning {
    Tuning { partitioned: 0, partition: shape, ..Tuning::STANDARD }
}

const SHAPE: PartitionShape = PartitionShape::STANDARD;

/// The same shape with this number of threads.
fn with(threads: u32, shape: PartitionShape) -> PartitionShape {
    PartitionShape {
        threads,
        rooms: shape.rooms.map(|room| WorkgroupTile { threads, ..room }),
        ..shape
    }
}

/// Buckets so small that there are one or two passes at these lengths.
const SMALL: PartitionShape = PartitionShape {
    threads: 128,
    records: &[(0, 1)],
    rooms: [WorkgroupTile { threads: 128, each: 1 }, WorkgroupTile { threads: 256, each: 1 }],
    ..SHAPE
};

#[test]
fn arrays_may_be_partitioned() {
    let Some(gpu) = gpu() else { return };
    for shape in [
        SHAPE,
        SMALL,
        PartitionShape { bits: 4, ..SMALL },
        PartitionShape { records: &[(0, 16)], ..SHAPE },
    ] {
        for subgroups in [false, true] {
            let tuning = Tuning { subgroups, ..partitioning(shape) };
            let gpu = gpu.tuned(tuning);
            for len in [1, 31, 100, 128, 2048, 2049, 4095, 10_000, 70_000, 131_072] {
                agrees(&gpu, &format!("{tuning:?}"), &Standard::from_seed(len, 42), len);
            }
            let f = Standard::from_seed(10_000, 1);
            for len in [9_000, 4096, 3000, 1500] {
                agrees(&gpu, &format!("{tuning:?}, wide"), &f, len);
            }
        }
    }
}

/// A device may allow more threads than may stand in one row, and a number of them that is neither
/// whole rows nor whole subgroups.
#[test]
fn threads_fit_every_limit() {
    let Some(gpu) = gpu() else { return };
    let wide = errors::device(|limits| limits.max_compute_invocations_per_workgroup = 1024);
    let wide = wide.tuned(partitioning(with(512, SHAPE)));
    agrees(&wide, "wide workgroups", &Standard::from_seed(10_000, 42), 10_000);
    for subgroups in [false, true] {
        let tuning = partitioning(with(200, SMALL));
        let gpu = gpu.tuned(Tuning { subgroups, ..tuning });
        agrees(&gpu, "odd workgroups", &Standard::from_seed(10_000, 42), 10_000);
    }
}

#[test]
fn all_families_and_items_may_be_partitioned() {
    let Some(gpu) = gpu() else { return };
    let gpu = gpu.tuned(partitioning(SMALL));
    for len in [200, 5000] {
        for (name, bijection) in families(len) {
            agrees(&gpu, name, &*bijection, len);
            agrees(&gpu, name, &*bijection, bijection.last() + 1);
        }
    }
    for len in [4096, 5003] {
        let f = Standard::from_seed(len, 3);
        moves::<u64>(&gpu, "partitioned", &f, len, |k| !k);
        moves::<[u32; 4]>(&gpu, "partitioned", &f, len, |k| [k as u32, 1, 2, !k as u32]);
        moves::<[u32; 3]>(&gpu, "in one pass", &f, len, |k| [k as u32, 1, !k as u32]);
    }
}

/// The last has as many tiles as 2^26 + 1 items have in the standard tuning, where a thread of
/// lavapipe on two cores took more turns than it may, and 1009 items were put wrong.
#[test]
fn nobody_counts_for_others_on_a_cpu() {
    let Some(gpu) = gpu() else { return };
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    for (tuning, len) in [
        (Tuning::CPU, (1 << 20) + 1),
        (Tuning { status: Some(Status::Narrow), ..Tuning::CPU }, 300_000),
        (Tuning { status: Some(Status::Wide), ..Tuning::CPU }, 300_000),
        (Tuning { slots: &[(0, 1)], ..Tuning::CPU }, (1 << 23) + 1),
    ] {
        let gpu = gpu.tuned(tuning);
        let f = Standard::from_seed(len, 9);
        let into = gpu.context().buffer("indexes", 4 * len, usage).expect("memory");
        let mut workspace = gpu.workspace();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        workspace.write_indexes(&mut encoder, &f, len, into.slice(..)).expect("valid");
        gpu.queue().submit([encoder.finish()]);
        let state = workspace.last_state().expect("there was a call");
        let mut counted = [0_u32; 2];
        gpu.read(state, 8, |bytes| bytemuck::cast_slice_mut(&mut counted).copy_from_slice(bytes))
            .expect("the device is there");
        assert_eq!(counted[1], 0, "{tuning:?}");
        let mut expected = vec![0_u32; len as usize];
        Cpu.write_indexes(&f, &mut expected).expect("a bijection");
        gpu.read(&into, 4 * len, |bytes| {
            assert!(bytes == bytemuck::cast_slice::<_, u8>(&expected));
        })
        .expect("the device is there");
    }
}

/// What a program's device of this kind gets.
#[test]
fn a_cpu_has_its_own_tuning() {
    let Some(gpu) = gpu() else { return };
    let is_cpu = gpu.device().adapter_info().device_type == wgpu::DeviceType::Cpu;
    let expected = if is_cpu { Tuning::CPU } else { Tuning::STANDARD };
    let subgroups = gpu.context().planner.tuning.subgroups;
    assert_eq!(gpu.context().planner.tuning, Tuning { subgroups, ..expected });
    assert!(!(is_cpu && subgroups));
}

/// On lavapipe a thread has too few turns for the units of such items.
#[test]
fn items_may_be_large() {
    let Some(gpu) = gpu() else { return };
    for len in [512, 500] {
        let f = Standard::from_seed(len, 3);
        moves::<[u32; 35_001]>(gpu, "large", &f, len, |k| {
            core::array::from_fn(|j| (k as u32) << 16 | j as u32)
        });
    }
}

/// A program may have opened its device with the limits that wgpu's own examples ask for.
#[test]
fn kernels_may_bind_few_arrays() {
    if gpu().is_none() {
        return;
    }
    let gpu = errors::device(|limits| *limits = wgpu::Limits::downlevel_defaults());
    let gpu = gpu.tuned(partitioning(SMALL));
    let f = Standard::from_seed(5003, 3);
    agrees(&gpu, "few arrays", &f, 5003);
    moves::<u64>(&gpu, "few arrays", &f, 5003, |k| !k);
}

/// Buckets that have room for fewer records than most of them get: the last kernel moves all items.
#[test]
fn buckets_may_overflow() {
    let Some(gpu) = gpu() else { return };
    for shape in [SMALL, PartitionShape { bits: 4, ..SMALL }] {
        let tuning = partitioning(PartitionShape { deviations: -5.0, ..shape });
        for tuning in [tuning, Tuning { counts_first: true, ..tuning }] {
            let gpu = gpu.tuned(tuning);
            for len in [1000, 10_000, 70_000] {
                agrees(&gpu, "overflow", &Standard::from_seed(len, 42), len);
            }
        }
    }
}

/// Arrays that are larger than a binding move in parts, each of which is bound alone.
#[test]
fn arrays_may_be_larger_than_a_binding() {
    if gpu().is_none() {
        return;
    }
    let gpu = errors::device(|limits| limits.max_storage_buffer_binding_size = 1 << 16);
    for len in [16_385, 32_768, 40_000] {
        agrees(&gpu, "parts", &Standard::from_seed(len, 42), len);
    }
    for len in [1365, 8193] {
        let f = VariablePhilox::<24>::from_seed(len, 42);
        moves::<[u32; 3]>(&gpu, "parts", &f, len, |k| [k as u32, 1, !k as u32]);
        moves::<[u32; 12]>(&gpu, "parts", &f, len, |k| {
            core::array::from_fn(|j| k as u32 ^ j as u32)
        });
        moves::<u64>(&gpu, "parts", &f, len, |k| k << 20);
    }
}

/// Records that are larger than a binding lie in two.
#[test]
fn records_may_be_larger_than_a_binding() {
    if gpu().is_none() {
        return;
    }
    let gpu = errors::device(|limits| limits.max_storage_buffer_binding_size = 1 << 16);
    for shape in [SMALL, PartitionShape { bits: 4, ..SMALL }] {
        let gpu = gpu.tuned(partitioning(shape));
        for len in [9_000, 10_000, 16_383, 16_384] {
            agrees(&gpu, "two bindings", &Standard::from_seed(len, 42), len);
        }
    }
}

/// A permutation is the bijection within it where that compacts to the same.
#[test]
fn permutations_are_bijections_too() {
    let Some(gpu) = gpu() else { return };
    for len in [100, 1000, 4096] {
        let permutation = Permutation::new(len, 42);
        let mut items: Vec<u32> = (0..len as u32).collect();
        gpu.shuffle(&permutation, &mut items).expect("the default family");
        let mut expected: Vec<u32> = (0..len as u32).collect();
        Serial.shuffle(&permutation, &mut expected).expect("a bijection");
        assert_eq!(items, expected);
    }
}

#[test]
fn indexes_in_words_of_64_bits_and_copies() {
    let Some(gpu) = gpu() else { return };
    let f = Standard::from_seed(3000, 42);
    let (mut wide, mut expected) = ([0_u64; 3000], [0_u64; 3000]);
    gpu.write_indexes(&f, &mut wide).expect("the default family");
    Cpu.write_indexes(&f, &mut expected).expect("the default family");
    assert_eq!(wide, expected);
    let items: Vec<u64> = (0..3000).collect();
    assert_eq!(gpu.shuffled(&f, &items).expect("the default family"), expected);
}
