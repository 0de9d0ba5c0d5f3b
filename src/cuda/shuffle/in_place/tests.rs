//! Whole shuffles in place, with all kernels compiled as plain C++, compared with algorithm 1.

use super::*;
use crate::FromSeed;
use crate::bijection::{GridFeistel, Lcg, Standard};
use crate::cuda::runtime::program::tests::compile_plans;
use crate::cuda::tests::LARGE;
use crate::cuda::tests::emulation::Emulation;

/// The array's memory, and the working memory.
const ARRAY: u64 = 0x4000_0000_0000;
const SCRATCH: u64 = ARRAY + (1 << 24);

const DIRECTIONS: [Direction; 2] = [Direction::Shuffle, Direction::Unshuffle];

/// The items in their new order, each of which is the index that it had.
fn expected(f: &dyn Bijection, len: u64, direction: Direction) -> Vec<u64> {
    let order = (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len);
    let order: Vec<u64> = order.collect();
    match direction {
        Direction::Shuffle => order,
        Direction::Unshuffle => {
            let mut places = vec![0; order.len()];
            (0..).zip(&order).for_each(|(rank, &index)| places[index as usize] = rank);
            places
        }
    }
}

/// Small sizes for a job, so that every part of the method has several of each.
fn small(job: &Job, planes: bool, shape: [u32; 4], group: u64) -> InPlaceSizes {
    let [bits, part_bits, stripe_bits, records] = shape;
    let key_bits = match job.movement.direction() {
        Direction::Shuffle => 64 - job.last.leading_zeros(),
        Direction::Unshuffle => 64 - (job.len - 1).leading_zeros(),
    };
    InPlaceSizes {
        direction: job.movement.direction(),
        word: WordType::U64,
        index: WordType::for_indexes(job.last),
        last: job.last,
        len: job.len,
        bits,
        shift: key_bits - bits,
        part_bits,
        block: 32,
        planes: planes
            && (job.movement.direction() == Direction::Shuffle || job.len - 1 == job.last),
        stripe_bits,
        together_bits: 1,
        group,
        collect: tuning::Tiles { threads: 64, records: 4, blocks: 1 },
        list: tuning::Tiles { threads: 64, records: 4, blocks: 1 },
        spread: tuning::Tiles { threads: tuning::PASS_THREADS, records, blocks: 1 },
    }
}

/// A bijection, a length and a direction; the bits of a bucket, a part and a stripe, and the
/// records of a thread that spreads them; and how many buckets are put in order at a time.
type Case<'a> = (&'a dyn Bijection, u64, Direction, [u32; 4], u64);

/// Moves arrays in place by some sizes, and compares.
fn check(cases: &[Case<'_>]) {
    let Some(mut emulation) = Emulation::new() else { return };
    emulation.map(ARRAY, 1 << 25);
    // By planes, where they serve, and by lists.
    let cases = cases.iter().flat_map(|case| [(case, true), (case, false)]);
    let cases: Vec<_> = cases.collect();
    let jobs: Vec<Job> = cases
        .iter()
        .map(|&(&(f, len, direction, ..), _)| jobs(f, len as usize, (ARRAY, 8), direction).unwrap())
        .map(|mut jobs| jobs.remove(0))
        .collect();
    let plans: Vec<DevicePlan<'_>> = jobs
        .iter()
        .zip(&cases)
        .map(|(job, &(&(.., bits, group), planes))| {
            let sizes = small(job, planes, bits, group);
            assert!(sizes.layout().bytes < 1 << 24);
            Striping::new(job, sizes).plan().unwrap()
        })
        .collect();
    for (plan, job) in plans.iter().zip(&jobs) {
        emulation.fill(ARRAY, 0, job.len, "k");
        emulation.fill(ARRAY + 8 * job.len, 0, 100, "77");
        emulation.execute_on(plan, Ground::for_tests(SCRATCH));
        emulation.print("uint64_t", ARRAY, job.len + 100);
    }
    let lines = emulation.run(&jobs[0].source);
    assert_eq!(lines.len(), cases.len());
    for (line, &(&(f, len, direction, ..), planes)) in lines.iter().zip(&cases) {
        let (items, behind) = line.split_at(len as usize);
        assert!(items == expected(f, len, direction), "{len} items, {direction:?}, {planes}");
        assert_eq!(behind, [77; 100]);
    }
}

#[test]
fn arrays_are_shuffled_and_unshuffled_in_place() {
    let f = Standard::from_seed(6_000, 7);
    let even = Standard::from_seed(1 << 12, 3);
    let walked = GridFeistel::<12>::from_seed(4_500, 5);
    let mut cases: Vec<Case<'_>> = Vec::new();
    for direction in DIRECTIONS {
        cases.push((&f, 6_000, direction, [3, 8, 9, 2], 1));
        // The last stripe has one item, and the last part few keys.
        cases.push((&f, 4_097, direction, [3, 8, 10, 2], 3));
        cases.push((&even, 1 << 12, direction, [3, 9, 8, 2], 2));
        cases.push((&walked, walked.last() + 1, direction, [4, 7, 9, 2], 16));
    }
    check(&cases);
}

/// Every source of a bucket is in one list, which is longer than a tile.
#[test]
fn permutations_that_mix_nothing_are_only_slow() {
    let identity = Lcg::new(13, 1, 0).unwrap();
    let shifted = Lcg::new(13, 1, 1000).unwrap();
    let mut cases: Vec<Case<'_>> = Vec::new();
    for direction in DIRECTIONS {
        cases.push((&identity, 1 << 13, direction, [2, 8, 11, 2], 1));
        cases.push((&shifted, (1 << 13) - 99, direction, [2, 8, 11, 2], 3));
        // To undo it, a tile is done again: its slots survive, where half of all do not.
        cases.push((&identity, (1 << 12) + 1, direction, [2, 8, 11, 2], 1));
    }
    check(&cases);
}

/// A list has more sources than are read of its planes at a time. The items of a round fill several
/// tiles, or those of several rounds fill one.
#[test]
fn planes_are_read_in_several_rounds() {
    let f = Standard::from_seed(1 << 19, 3);
    check(&[
        (&f, 1 << 19, Direction::Shuffle, [2, 10, 18, 2], 1),
        (&f, 1 << 19, Direction::Unshuffle, [6, 8, 18, 12], 16),
    ]);
}

/// Arrays of more than 4 GiB, for which there are addresses on such machines alone.
#[cfg(target_pointer_width = "64")]
#[test]
fn memory_is_a_small_part_of_the_array() {
    for limits in [LARGE].into_iter().chain(crate::cuda::tests::DEVICES) {
        for item in [1, 2, 4, 8, 16] {
            for bits in 23..=37 {
                for len in [1_u64 << bits, (1 << bits) + 1, 3 << (bits - 1)] {
                    for direction in DIRECTIONS {
                        check_sizes(&limits, (len, item), direction);
                    }
                }
            }
        }
    }
    let f = Standard::from_seed(1 << 33, 1);
    for direction in DIRECTIONS {
        let job = jobs(&f, 1 << 33, (256, 8), direction).unwrap().remove(0);
        assert!(InPlaceSizes::new(&job, &LARGE).is_some(), "64 GiB, {direction:?}");
    }
}

/// Looks at what is planned for items of some bytes, if they are moved in place.
#[cfg(target_pointer_width = "64")]
fn check_sizes(limits: &GpuLimits, (len, item): (u64, usize), direction: Direction) {
    let bytes = len * item as u64;
    if bytes < tuning::IN_PLACE_LEAST_BYTES {
        return;
    }
    let f = Standard::from_seed(len, 1);
    let job = jobs(&f, len as usize, (256, item), direction).unwrap().remove(0);
    let Some(sizes) = InPlaceSizes::new(&job, limits) else {
        // Bytes are few for what a bucket needs.
        assert!(*limits != LARGE || item == 1 || len > 1 << 32, "{len} items of {item} bytes");
        return;
    };
    assert!(sizes.layout().bytes <= bytes / 100 * 15, "{sizes:?}");
    // Planes take 5 bits an item, and there are few of them.
    if item < 8 || item == 8 && *limits == LARGE && (1 << 26..1 << 30).contains(&len) {
        assert_eq!(sizes.planes, item == 8 && !sizes.back_with_gaps(), "{sizes:?}");
    }
    // Kernels have numbers of 32 bits for the sources of a list, a bit for each of a warp's
    // neighbouring keys in a part, and a place in shared memory for each key of a dense one.
    assert!(sizes.stripe_bits + sizes.together_bits < 32, "{sizes:?}");
    assert!(sizes.part_bits >= (32 * sizes.list.records).ilog2(), "{sizes:?}");
    assert!(sizes.keys_with_gaps() || sizes.part_capacity() >= 1 << sizes.part_bits, "{sizes:?}");
    assert!(sizes.buckets() <= u64::from(sizes.collect.threads), "{sizes:?}");
    assert!(Striping::new(&job, sizes).plan().is_ok(), "{sizes:?}");
}

/// Each kernel, for the oldest architecture and the newest.
#[test]
fn kernels_in_place_compile() {
    let f = Lcg::from_seed(1 << 28, 1);
    let (gaps, even) = ((1 << 27) + 1, 1 << 28);
    let jobs = [
        (even, 8, Direction::Shuffle),
        (even, 1, Direction::Unshuffle),
        (gaps, 4, Direction::Shuffle),
        (gaps, 16, Direction::Unshuffle),
    ];
    let jobs = jobs.map(|(len, item, direction)| {
        super::jobs(&f, len, (256, item), direction).unwrap().remove(0)
    });
    let plans = jobs.each_ref().map(|job| {
        let sizes = InPlaceSizes::new(job, &LARGE).expect("in place");
        Striping::new(job, sizes).plan().unwrap()
    });
    compile_plans(&plans);
}
