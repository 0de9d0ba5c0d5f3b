//! Compiles every kernel for the oldest and the newest architecture: all kernels of the plans for
//! jobs of every kind.

pub(super) mod emulation;

use super::affine::plan::tests::kernels as affine_kernels;
use super::runtime::device::GpuLimits;
use super::runtime::plan::{Address, DevicePlan, Evaluated};
use super::runtime::program::tests::{compile_all, compile_plans};
use super::runtime::word_type::WordType;
use super::shuffle::job::Job;
use super::shuffle::movement::{MovedArray, Movement};
use super::shuffle::strategy::{CudaStrategy, plan};
use crate::bijection::{Compose, Inverse, Lcg, MulXorshift, Standard, VariablePhilox};
use crate::compact::Direction;
use crate::compact::plain::Plain;
use crate::{Bijection, FromSeed};

/// A GPU with enough shared memory that every size of the partitioned strategy is used.
pub(super) const LARGE: GpuLimits = GpuLimits {
    multiprocessors: 132,
    threads_per_multiprocessor: 2048,
    shared_per_block: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    l2_bytes: 50 << 20,
};

/// A V100, a T4, an A100 and a small part of it, an RTX 3090, an L4 and a B200.
pub(super) const DEVICES: [GpuLimits; 7] = [
    device(80, 2048, [96, 96], 6),
    device(40, 1024, [64, 64], 4),
    device(108, 2048, [163, 164], 40),
    device(14, 2048, [163, 164], 5),
    device(82, 1536, [99, 100], 6),
    device(58, 1536, [99, 100], 48),
    device(148, 2048, [227, 228], 126),
];

/// The limits of a GPU, with shared memory in KiB for a block and a multiprocessor, and L2 in MiB.
const fn device(multiprocessors: u32, threads: u32, shared: [usize; 2], l2: u64) -> GpuLimits {
    GpuLimits {
        multiprocessors,
        threads_per_multiprocessor: threads,
        shared_per_block: shared[0] << 10,
        shared_per_multiprocessor: shared[1] << 10,
        l2_bytes: l2 << 20,
    }
}

const STRATEGIES: [CudaStrategy; 3] =
    [CudaStrategy::Auto, CudaStrategy::SinglePass, CudaStrategy::Partitioned];

const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

fn indices(word: WordType) -> Movement {
    Movement::Indices { out: Address::Given(256), word }
}

fn words(word: WordType, direction: Direction) -> Movement {
    Movement::items(vec![MovedArray::given(256, 512, word.bytes())], direction).unwrap()
}

fn rows(direction: Direction) -> Movement {
    let arrays = [8, 12, 3].map(|item| MovedArray::given(256, 512, item));
    Movement::items(arrays.to_vec(), direction).unwrap()
}

fn job(f: &dyn Bijection, len: u64, movement: Movement) -> Job {
    Job::new(f, len, movement).unwrap()
}

/// Compiles the kernels of jobs by some strategies.
fn compile(jobs: &[Job], strategies: &[CudaStrategy]) {
    let by = |job| strategies.iter().map(move |&strategy| plan(job, strategy, &LARGE).unwrap());
    let plans: Vec<DevicePlan<'_>> = jobs.iter().flat_map(by).collect();
    compile_plans(&plans);
}

#[test]
fn kernels_of_every_bijection_compile() {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: u64) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let vp = |len| VariablePhilox::<24>::from_seed(len, 1);
    // A long table has no device text.
    let len = |name| if name == "Table" { 200 } else { 1_000_000 };
    let drawn = crate::families!(draw).into_iter().map(|(name, draw)| draw(len(name), 1));
    let bijections: [Box<dyn Bijection>; 5] = [
        Box::new(vp(1 << 29)),
        Box::new(vp(1 << 40)),
        Box::new(MulXorshift::<10>::from_seed(1 << 33, 1)),
        Box::new(Inverse::new(vp(1 << 20))),
        Box::new(Compose::new(vp(1 << 20), Lcg::from_seed(1 << 20, 1)).unwrap()),
    ];
    // One kernel that goes forward and one that goes back: the others of `Lcg` are compiled by
    // `every_movement_compiles_by_every_strategy`, and all take a bijection as a parameter.
    for f in drawn.chain(bijections) {
        let short = f.last();
        let jobs = [
            job(&*f, short, words(WordType::U64, Direction::Shuffle)),
            job(&*f, short, words(WordType::U32, Direction::Unshuffle)),
        ];
        compile(&jobs, &[CudaStrategy::SinglePass]);
    }
}

#[test]
fn every_movement_compiles_by_every_strategy() {
    let f = Lcg::from_seed(1 << 20, 1);
    let mut movements: Vec<Movement> = vec![indices(WordType::U32), indices(WordType::U64)];
    for direction in DIRECTIONS {
        movements.extend(WordType::ALL.map(|word| words(word, direction)));
        movements.push(rows(direction));
    }
    let mut jobs = Vec::new();
    for movement in movements {
        for len in [1 << 20, (1 << 20) - 1] {
            jobs.push(job(&f, len, movement.clone()));
            jobs.push(job(&Plain(f), len, movement.clone()));
        }
    }
    compile(&jobs, &STRATEGIES);
}

#[test]
fn every_shape_for_indexes_compiles() {
    let mut jobs = Vec::new();
    for bits in [10, 16, 17, 18, 19, 20, 30, 33] {
        let f = Lcg::from_seed(1 << bits, 1);
        for len in [1 << bits, (1 << bits) - 1] {
            let word = [WordType::U32, WordType::U64][usize::from(bits > 32)];
            jobs.push(job(&f, len, indices(word)));
            jobs.push(job(&f, len, words(WordType::U64, Direction::Shuffle)));
            jobs.push(job(&Plain(f), len, indices(word)));
        }
    }
    compile(&jobs, &[CudaStrategy::SinglePass]);
}

#[test]
fn kernels_of_the_partitioned_strategy_compile() {
    for points in [1 << 13, 1 << 25, 1 << 30] {
        let f = Lcg::from_seed(points, 1);
        let mut jobs = Vec::new();
        for word in WordType::ALL {
            for direction in DIRECTIONS {
                for len in [points / 2 + 1, points] {
                    jobs.push(job(&f, len, words(word, direction)));
                }
            }
        }
        compile(&jobs, &[CudaStrategy::Partitioned]);
    }
}

#[test]
fn kernels_for_affine_maps_compile() {
    compile_all(&Evaluated::Nothing, &affine_kernels());
}

#[test]
fn the_strategy_is_chosen_by_what_the_items_take() {
    // The L2 cache of `LARGE` is 50 MiB.
    let f = Standard::from_seed(1 << 26, 1);
    let launches = |movement| {
        let job = job(&f, 1 << 26, movement);
        plan(&job, CudaStrategy::Auto, &LARGE).unwrap().launches().len()
    };
    let (word, back) = (WordType::U32, Direction::Unshuffle);
    // Partitioned: a clear, one or two passes, and the placing; and the single pass in case there
    // is not enough memory.
    assert!(launches(words(WordType::U32, Direction::Shuffle)) > 1, "256 MiB");
    assert_eq!(launches(words(WordType::U16, Direction::Shuffle)), 1, "128 MiB");
    assert!(launches(words(WordType::U16, back)) > 1, "128 MiB, all of them written at random");
    assert_eq!(launches(indices(word)), 1, "indexes are never sorted");
    assert_eq!(launches(rows(back)), 1, "several arrays are not");
}
