//! The kernels for segments, compiled as plain C++, compared with the host's segments.

use super::*;
use crate::Segments;
use crate::cuda::runtime::program::tests::compile_plans;
use crate::cuda::shuffle::movement::MovedArray;
use crate::cuda::tests::LARGE;
use crate::cuda::tests::emulation::Emulation;

const MEMORY: u64 = 0x10_0000_0000;
const WORKING: u64 = MEMORY + (1 << 20);
const OFFSETS: u64 = MEMORY + (2 << 20);
const SOURCE: u64 = MEMORY + (3 << 20);

fn out(number: usize) -> u64 {
    SOURCE + ((number as u64 + 1) << 20)
}

/// The offsets of segments with these lengths.
fn offsets(lens: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut offsets = vec![0];
    offsets.extend(lens.into_iter().scan(0, |end, len| {
        *end += len;
        Some(*end)
    }));
    offsets
}

/// What the device counts.
fn counts(offsets: &[u64]) -> Vec<u32> {
    let mut counts = vec![0; CLASSES];
    for ends in offsets.windows(2).filter(|ends| ends[0] < ends[1]) {
        counts[(u64::BITS - (ends[1] - ends[0] - 1).leading_zeros()) as usize] += 1;
    }
    counts
}

fn job(offsets: &[u64], are_wide: bool, movement: Movement) -> SegmentsJob {
    let raw = RawOffsets { address: OFFSETS, len: offsets.len(), are_wide };
    let items = offsets.last().copied().unwrap_or(0);
    SegmentsJob::new(raw, Seed::new(9), items, movement).unwrap()
}

/// A byte of the array that the items are in.
fn byte(place: usize) -> u64 {
    let word = (place as u64 / 8).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    word.to_le_bytes()[place % 8].into()
}

/// Kinds of items: the bytes of one, and those before the first.
const KINDS: [(usize, u64); 7] = [(1, 0), (3, 0), (4, 0), (8, 0), (8, 4), (16, 0), (24, 0)];

/// Moves segments of some kinds of items by emulated kernels, there and back, and writes indexes.
fn check(offsets: &[u64], limits: &GpuLimits, are_wide: bool, kinds: &[(usize, u64)]) {
    let mut order = vec![0_u64; offsets[offsets.len() - 1] as usize];
    Segments::new(offsets, Seed::new(9)).unwrap().write_indexes(&mut order).unwrap();
    let starts = offsets.windows(2).flat_map(|ends| (ends[0]..ends[1]).map(|_| ends[0] as usize));
    let sources = starts.zip(&order).map(|(start, &index)| start + index as usize);
    let sources: Vec<usize> = sources.collect();
    let directions = [Direction::Shuffle, Direction::Unshuffle];
    let (mut plans, mut expected) = (Vec::new(), Vec::new());
    let plan = |movement| {
        let job = job(offsets, are_wide, movement);
        let (moved, long) = job.moved(&counts(offsets), limits).unwrap();
        assert!(long.is_empty(), "{long:?}");
        [job.listed(), moved]
    };
    for ((item, before), direction) in
        kinds.iter().flat_map(|&kind| directions.map(|direction| (kind, direction)))
    {
        let array = MovedArray::given(SOURCE + before, out(plans.len()), item);
        plans.push(plan(Movement::items(vec![array], direction).unwrap()));
        let mut moved = vec![0; order.len() * item];
        for (rank, &index) in sources.iter().enumerate() {
            let (from, to) = match direction {
                Direction::Shuffle => (index, rank),
                Direction::Unshuffle => (rank, index),
            };
            let from = from * item + before as usize;
            (0..item).for_each(|k| moved[to * item + k] = byte(from + k));
        }
        expected.push(moved);
    }
    for word in [WordType::U32, WordType::U64] {
        let to = Address::Given(out(plans.len()));
        plans.push(plan(Movement::Indices { out: to, word }));
        let bytes = |&index: &u64| (0..word.bytes()).map(move |k| index >> (8 * k) & 0xFF);
        expected.push(order.iter().flat_map(bytes).collect());
    }
    let Some(mut emulation) = Emulation::new() else { return };
    emulation.map(MEMORY, out(plans.len()) - MEMORY);
    emulation.fill(SOURCE, 0, 1 << 17, "k * 0x9E3779B97F4A7C15");
    write_offsets(&mut emulation, offsets, are_wide);
    for ((number, plans), expected) in plans.iter().enumerate().zip(&expected) {
        for plan in plans {
            emulation.execute_on(plan, plan.ground(WORKING, 0));
        }
        // And what has to stay as it was.
        emulation.print("uint8_t", out(number), expected.len() as u64 + 8);
    }
    let any = StandardCipher::from_seed(1000, 0).device_source().unwrap();
    for ((number, line), expected) in emulation.run(&any).iter().enumerate().zip(&expected) {
        let (moved, behind) = line.split_at(line.len() - 8);
        assert!(moved == expected, "movement {number}");
        assert_eq!(behind, [0xA5; 8], "movement {number}");
    }
}

/// Writes offsets to where they are read.
fn write_offsets(emulation: &mut Emulation<'_>, offsets: &[u64], are_wide: bool) {
    let each = if are_wide { 1 } else { 2 };
    for (k, words) in (0..).zip(offsets.chunks(each)) {
        let word = words.iter().rev().fold(0, |all, offset| all << 32 | offset);
        emulation.fill(OFFSETS + 8 * k, k, k + 1, &format!("{word}ull"));
    }
}

#[test]
fn segments_that_kernels_move_are_those_of_the_host() {
    let mixed = (0..90).map(|k: u64| k * k * 7919 % 13 * (k % 5));
    let mixed = mixed.chain([256, 257, 40, 0, 1, 600, 1025, 2500]);
    check(&offsets(mixed), &LARGE, false, &KINDS);
    check(&offsets([1024, 3, 0, 0, 300]), &LARGE, true, &KINDS[3..4]);
    check(&offsets(vec![1; 70]), &LARGE, true, &KINDS[..2]);
    check(&offsets([0, 0]), &LARGE, false, &KINDS[..2]);
    // Shared memory has no room.
    let bare = GpuLimits { shared_per_block: 0, ..LARGE };
    check(&offsets([300, 2500, 7]), &bare, false, &KINDS[2..4]);
}

/// More than a block lists at a time, and every class of exact draws.
#[test]
fn many_segments_are_listed_by_class() {
    let lens = (0..3000_u64).map(|k| if k % 7 == 0 { 0 } else { k * k % 19 });
    let offsets = offsets(lens);
    let job =
        job(&offsets, true, Movement::Indices { out: Address::Given(256), word: WordType::U64 });
    let plan = job.listed();
    let Some(mut emulation) = Emulation::new() else { return };
    emulation.map(MEMORY, 4 << 20);
    write_offsets(&mut emulation, &offsets, true);
    emulation.execute_on(&plan, plan.ground(WORKING, 0));
    let ground = plan.ground(WORKING, 0);
    emulation.print("uint32_t", ground.at(COUNTS), COUNT_WORDS as u64);
    let all: u32 = counts(&offsets).iter().sum();
    emulation.print("uint32_t", ground.at(LIST), all.into());
    let any = StandardCipher::from_seed(1000, 0).device_source().unwrap();
    let lines = emulation.run(&any);
    let counted = counts(&offsets).into_iter().map(u64::from);
    assert!(counted.clone().chain(counted).chain([0]).eq(lines[0].iter().copied()));
    let class = |number: u64| {
        let ends = &offsets[number as usize..][..2];
        u64::BITS - (ends[1] - ends[0] - 1).leading_zeros()
    };
    assert!(lines[1].is_sorted_by_key(|&number| class(number)));
    let mut numbers = lines[1].clone();
    numbers.sort_unstable();
    let present = (0..3000).filter(|&number| offsets[number + 1] > offsets[number]);
    assert!(numbers.into_iter().eq(present.map(|number| number as u64)));
}

#[test]
fn the_device_finds_the_first_wrong_offset() {
    let cases: [(&[u64], u64, Option<u32>); 6] = [
        (&[0, 5, 5, 9], 9, None),
        (&[1, 5, 5, 9], 9, Some(0)),
        (&[0, 5, 4, 3], 3, Some(2)),
        (&[0, 5, 5, 9], 10, Some(3)),
        (&[0, 5, 5, 9], 8, Some(3)),
        (&[3], 3, Some(0)),
    ];
    for are_wide in [false, true] {
        let Some(mut emulation) = Emulation::new() else { return };
        emulation.map(MEMORY, 4 << 20);
        let indices = || Movement::Indices { out: Address::Given(256), word: WordType::U64 };
        let jobs = cases
            .map(|(offsets, items, _)| SegmentsJob { items, ..job(offsets, are_wide, indices()) });
        let plans = jobs.map(|job| job.listed());
        for (plan, (offsets, ..)) in plans.iter().zip(cases) {
            write_offsets(&mut emulation, offsets, are_wide);
            let ground = plan.ground(WORKING, 0);
            emulation.execute_on(plan, ground);
            emulation.print("uint32_t", ground.at(COUNTS) + 4 * (COUNT_WORDS as u64 - 1), 1);
        }
        let any = StandardCipher::from_seed(1000, 0).device_source().unwrap();
        for (line, (offsets, items, wrong)) in emulation.run(&any).iter().zip(cases) {
            let expected = wrong.map_or(0, |number| u64::from(!number));
            assert_eq!(line, &[expected], "{offsets:?} for {items}");
        }
    }
}

#[test]
fn long_segments_are_moved_one_after_the_other() {
    let offsets = offsets([5, 1 << 22, 3000, (1 << 22) - 1, 300, 100_000]);
    let array = MovedArray::given(1 << 30, 1 << 31, 8);
    let movement = Movement::items(vec![array], Direction::Shuffle).unwrap();
    let job = job(&offsets, true, movement);
    let (plan, long) = job.moved(&counts(&offsets), &LARGE).unwrap();
    // One launch each for 5, 300 and 3000; the others are the last three of the list.
    assert_eq!(plan.launches().len(), 3);
    assert_eq!(long, [(3, 1), (4, 2)]);
    let mut launches = 0;
    let segment = LongSegment { number: 1, start: 5, len: 1 << 22 };
    job.one_by_one(&[segment, segment], &LARGE, |plan| {
        launches += usize::from(!plan.launches().is_empty());
        Ok(())
    })
    .unwrap();
    assert_eq!(launches, 2);
}

#[test]
fn segments_without_offsets_or_too_many_are_refused() {
    let job = |len| {
        let raw = RawOffsets { address: OFFSETS, len, are_wide: true };
        let movement = Movement::Indices { out: Address::Given(256), word: WordType::U64 };
        SegmentsJob::new(raw, Seed::new(1), 5, movement).map(|job| job.segments)
    };
    assert_eq!(job(0), Err(Error::View(ViewError::Offsets { number: 0 })));
    assert_eq!(job(u32::MAX as usize), Ok(u32::MAX - 1));
    assert_eq!(job(1 << 32), Err(Error::Gpu(GpuError::DomainTooWide)));
}

#[test]
fn kernels_of_segments_compile() {
    let directions = [Direction::Shuffle, Direction::Unshuffle];
    let items = |bytes| {
        directions.map(|direction| {
            Movement::items(vec![MovedArray::given(256, 512, bytes)], direction).unwrap()
        })
    };
    let indexes = Movement::Indices { out: Address::Given(256), word: WordType::U32 };
    let movements: Vec<Movement> =
        [1, 4, 8, 16, 24].into_iter().flat_map(items).chain([indexes]).collect();
    // Exact ones, and those of one warp and of several.
    let mut counts = [0; CLASSES];
    for class in [3, 8, 9, 12, 14, 16] {
        counts[class] = 1 << 20;
    }
    let mut plans = Vec::new();
    for movement in movements {
        for are_wide in [false, true] {
            let job = job(&[0, 1], are_wide, movement.clone());
            let (moved, long) = job.moved(&counts, &LARGE).unwrap();
            assert!(long.is_empty());
            plans.extend([job.listed(), moved]);
        }
    }
    compile_plans(&plans);
}
