//! Whole shuffles over a group, with all kernels compiled as plain C++: the same plans and the same
//! arguments as on devices, in memory at fixed addresses, compared with algorithm 1.

use super::super::direct;
use super::super::exchange::MemberExchange;
use super::super::given::nowhere;
use super::super::layout::MemberLayout;
use super::super::movement::Sharded;
use super::super::phase::{ExchangePiece, Phase};
use super::super::shards::MemberShards;
use super::super::sizes::{GroupSizes, tests::LIMITS};
use crate::bijection::{Lcg, MulXorshift};
use crate::compact::Direction;
use crate::cuda::runtime::device::GpuLimits;
use crate::cuda::runtime::plan::DevicePlan;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::shuffle::job::Job;
use crate::cuda::tests::emulation::Emulation;
use crate::{Bijection, FromSeed};

/// The bytes of each member's memory.
const MEMORY: u64 = 1 << 26;

/// Where in a member's memory its source is, its target, its working memory, and the tile states.
const PARTS: [u64; 4] = [0, 1 << 23, 1 << 24, 3 << 24];

const fn memory(member: usize, part: usize) -> u64 {
    0x4000_0000_0000 + member as u64 * MEMORY + PARTS[part]
}

/// A number of 8 bytes that tells where an item came from, here and in C++.
const fn item(index: u64) -> u64 {
    index.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
pub(in crate::cuda::group) const ITEM: &str = "k * 0x9E3779B97F4A7C15ull";

/// The array whose runs are in a part of the members' memory.
fn array(lens: &[usize], part: usize) -> MemberShards {
    MemberShards::new(lens.iter().enumerate().map(|(member, &len)| (memory(member, part), len)), 8)
}

/// The words of all items, some of 8 bytes for each, in their new order.
pub(in crate::cuda::group) fn expected(
    f: &dyn Bijection,
    len: u64,
    direction: Direction,
    words: u64,
) -> Vec<u64> {
    let order = (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len);
    let mut from: Vec<u64> = order.collect();
    if direction == Direction::Unshuffle {
        let mut places = vec![0; from.len()];
        (0..).zip(&from).for_each(|(rank, &index)| places[index as usize] = rank);
        from = places;
    }
    from.iter().flat_map(|index| (0..words).map(move |word| item(index * words + word))).collect()
}

pub(in crate::cuda::group) fn job(f: &dyn Bijection, len: u64) -> Job {
    Job::new(f, len, nowhere()).unwrap()
}

/// Executes a phase. Each piece is delivered as early as may be: before the one before is sorted.
fn execute<'p>(emulation: &mut Emulation<'p>, phase: &'p Phase<'p>) {
    fn all<'p>(emulation: &mut Emulation<'p>, plans: &'p [DevicePlan<'p>]) {
        for (member, plan) in plans.iter().enumerate() {
            emulation.execute(plan, memory(member, 3));
        }
    }
    match phase {
        Phase::Plans(plans) => all(emulation, plans),
        Phase::Pieces(pieces) => {
            for step in 0..=pieces.len() {
                if let Some(ExchangePiece { fill, deliveries, .. }) = pieces.get(step) {
                    all(emulation, fill);
                    for delivery in deliveries.iter().flatten() {
                        emulation.copy(delivery.from, delivery.to, delivery.bytes);
                    }
                }
                if let Some(ExchangePiece { kept, received, .. }) =
                    step.checked_sub(1).map(|k| &pieces[k])
                {
                    all(emulation, kept);
                    all(emulation, received);
                }
            }
        }
    }
}

/// Moves an array by the phases of an exchange whose sizes a function may change, and compares.
/// Returns whether a bucket overflowed; `None` if nothing can be emulated.
fn check(
    f: &dyn Bijection,
    lens: [&[usize]; 2],
    direction: Direction,
    change: fn(&mut GroupSizes),
) -> Option<bool> {
    check_on(&LIMITS, f, lens, direction, change)
}

/// The same on GPUs with these limits.
fn check_on(
    limits: &GpuLimits,
    f: &dyn Bijection,
    [from, to]: [&[usize]; 2],
    direction: Direction,
    change: fn(&mut GroupSizes),
) -> Option<bool> {
    let (source, out) = (array(from, 0), array(to, 1));
    let len = source.len();
    let job = job(f, len);
    let last = if direction == Direction::Shuffle { job.last } else { len - 1 };
    let keys = [last, job.last];
    let mut sizes = GroupSizes::new(limits, WordType::U64, keys, &source, &out).unwrap();
    change(&mut sizes);
    let members = 0..from.len();
    let layouts: Vec<MemberLayout> =
        members.clone().map(|member| MemberLayout::new(&sizes, member)).collect();
    assert!(layouts.iter().all(|layout| layout.bytes <= PARTS[3] - PARTS[2]));
    let addresses: Vec<u64> = members.clone().map(|member| memory(member, 2)).collect();
    let exchange = MemberExchange {
        job: &job,
        source: &source,
        out: &out,
        direction,
        sizes: &sizes,
        layouts: &layouts,
        memory: &addresses,
    };
    let phases = exchange.phases().unwrap();
    let mut emulation = Emulation::new()?;
    for member in members.clone() {
        let places = source.places(member);
        emulation.map(memory(member, 0), MEMORY);
        emulation.fill(memory(member, 0), places.start, places.end, ITEM);
        emulation.make_tile_states(memory(member, 3));
    }
    for phase in &phases {
        execute(&mut emulation, phase);
    }
    for member in members {
        emulation.print("uint32_t", addresses[member] + layouts[member].any, 1);
        let places = out.places(member);
        emulation.print("uint64_t", memory(member, 1), places.end - places.start);
    }
    let lines = emulation.run(&job.source);
    let overflows: u64 = lines.iter().step_by(2).map(|line| line[0]).sum();
    let got = lines[1..].iter().step_by(2).cloned().collect::<Vec<_>>().concat();
    assert!(got == expected(f, len, direction, 1), "{from:?} to {to:?}, {direction:?}");
    assert!(overflows == 0 || overflows == from.len() as u64, "all members decide alike");
    Some(overflows > 0)
}

const GAPS: [&[usize]; 2] = [&[20_000, 0, 20_001], &[13_333, 13_334, 13_334]];
const DENSE: [&[usize]; 2] = [&[1 << 15, 30_000, 2768], &[1000, 1 << 15, 31_768]];

#[test]
fn shuffles_over_three_members_are_those_of_one() {
    let f = MulXorshift::<10>::from_seed(1 << 16, 3);
    for lens in [GAPS, DENSE] {
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            assert_ne!(check(&f, lens, direction, |_| {}), Some(true), "{lens:?}, {direction:?}");
        }
    }
}

/// Four pieces, which need both boxes twice; some members have no tile in some of them.
#[test]
fn items_are_sent_in_pieces() {
    let f = MulXorshift::<10>::from_seed(1 << 16, 7);
    for lens in [GAPS, DENSE] {
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            let in_pieces = |sizes: &mut GroupSizes| sizes.pieces = 4;
            assert_ne!(
                check(&f, lens, direction, in_pieces),
                Some(true),
                "{lens:?}, {direction:?}"
            );
        }
    }
}

/// The direct strategy, with items of one word and of three, and the indexes.
#[test]
fn members_fetch_their_own_items() {
    let f = MulXorshift::<10>::from_seed(1 << 13, 6);
    let gaps: [&[usize]; 2] = [&[2500, 0, 2501], &[1700, 1701, 1600]];
    let dense: [&[usize]; 2] = [&[1 << 12, 4000, 96], &[0, 1 << 12, 1 << 12]];
    for [from, to] in [gaps, dense] {
        let len = from.iter().sum::<usize>() as u64;
        let job = job(&f, len);
        for words in [1, 3] {
            let array = |lens: &[usize], part| {
                let runs = lens.iter().enumerate();
                MemberShards::new(runs.map(|(member, &len)| (memory(member, part), len)), 8 * words)
            };
            let (source, out) = (array(from, 0), array(to, 1));
            for direction in [Direction::Shuffle, Direction::Unshuffle] {
                let of = Sharded::Items { source: &source, out: &out, direction };
                let Some(got) = moved_directly(&job, of, &source, &out) else { return };
                let expected = expected(&f, len, direction, words as u64);
                assert!(got == expected, "{from:?} to {to:?}, {direction:?}, {words} words");
            }
        }
        let out = array(to, 1);
        let of = Sharded::Indices { out: &out, word: WordType::U64 };
        let got = moved_directly(&job, of, &out, &out).unwrap();
        let order = (0..=f.last()).map(|slot| f.forward(slot)).filter(|&index| index < len);
        assert!(got.into_iter().eq(order), "indexes in {to:?}");
    }
}

/// The words that all members have afterwards, and nothing after them is written.
fn moved_directly(
    job: &Job,
    of: Sharded<'_>,
    source: &MemberShards,
    out: &MemberShards,
) -> Option<Vec<u64>> {
    let mut emulation = Emulation::new()?;
    let words = source.item() as u64 / 8;
    let members = 0..source.members();
    let plans: Vec<_> =
        members.clone().map(|member| direct::plan(job, of, member).unwrap()).collect();
    for member in members.clone() {
        let places = source.places(member);
        emulation.map(memory(member, 0), MEMORY);
        emulation.fill(memory(member, 0), places.start * words, places.end * words, ITEM);
        emulation.make_tile_states(memory(member, 3));
    }
    for (member, plan) in plans.iter().enumerate() {
        emulation.execute(plan, memory(member, 3));
    }
    for member in members {
        let places = out.places(member);
        emulation.print("uint64_t", memory(member, 1), (places.end - places.start) * words + 1);
    }
    let lines = emulation.run(&job.source);
    let of_members = lines.into_iter().flat_map(|mut line| {
        assert_eq!(line.pop(), Some(0xA5A5_A5A5_A5A5_A5A5), "behind a member's run");
        line
    });
    Some(of_members.collect())
}

/// Slots of 64 bits, as domains of more than 2^32 points have them.
#[test]
fn wide_slots_are_sent_as_narrow_ones_are() {
    let f = MulXorshift::<10>::from_seed(1 << 16, 4);
    let widened = |sizes: &mut GroupSizes| sizes.widen(8);
    assert_ne!(check(&f, GAPS, Direction::Shuffle, widened), Some(true));
    assert_ne!(check(&f, GAPS, Direction::Unshuffle, widened), Some(true));
}

/// With the shared memory of an A100 and of a GeForce, tiles have fewer records on the way back.
#[test]
fn smaller_tiles_move_what_large_ones_do() {
    let f = MulXorshift::<10>::from_seed(1 << 16, 6);
    for kib in [100, 164] {
        let bytes = kib << 10;
        let limits =
            GpuLimits { shared_per_block: bytes, shared_per_multiprocessor: bytes, ..LIMITS };
        for direction in [Direction::Shuffle, Direction::Unshuffle] {
            let overflows = check_on(&limits, &f, GAPS, direction, |_| {});
            assert_ne!(overflows, Some(true), "{kib} KiB, {direction:?}");
        }
    }
}

#[test]
fn buckets_that_overflow_are_moved_directly() {
    // Each member's items stay together, so they all go to few buckets.
    let f = Lcg::new(15, 1, 5).unwrap();
    let lens: [&[usize]; 2] = [&[10_000, 10_000, 12_768], &[12_768, 10_000, 10_000]];
    for direction in [Direction::Shuffle, Direction::Unshuffle] {
        assert_ne!(check(&f, lens, direction, |_| {}), Some(false), "{direction:?}");
    }
}

/// More buckets than a block has threads, and than a tile has records: what the first pass sends
/// is looked at.
#[test]
fn a_first_pass_by_many_bits_sends_each_item_to_its_bucket() {
    [11, 13].into_iter().for_each(first_pass_by);
}

fn first_pass_by(bits: u32) {
    let f = MulXorshift::<10>::from_seed(1 << 17, 5);
    let array = array(&[1 << 17], 0);
    let job = job(&f, 1 << 17);
    let keys = [job.last; 2];
    let mut sizes = GroupSizes::new(&LIMITS, WordType::U64, keys, &array, &array).unwrap();
    sizes.sort_by(bits, &array);
    let layouts = [MemberLayout::new(&sizes, 0)];
    assert!(layouts[0].bytes <= PARTS[3] - PARTS[2]);
    let addresses = [memory(0, 2)];
    let exchange = MemberExchange {
        job: &job,
        source: &array,
        out: &array,
        direction: Direction::Shuffle,
        sizes: &sizes,
        layouts: &layouts,
        memory: &addresses,
    };
    let phases = exchange.phases().unwrap();
    let Some(mut emulation) = Emulation::new() else { return };
    emulation.map(memory(0, 0), MEMORY);
    emulation.fill(memory(0, 0), 0, 1 << 17, ITEM);
    let Phase::Pieces(pieces) = &phases[0] else { panic!("nothing is counted") };
    emulation.execute(&pieces[0].fill[0], memory(0, 3));
    let (outbox, records) = (&layouts[0].outboxes[0], sizes.buckets() * sizes.part(0, 0));
    emulation.print("uint32_t", addresses[0] + outbox.counts, sizes.buckets());
    emulation.print("uint64_t", addresses[0] + outbox.items, records);
    emulation.print("uint32_t", addresses[0] + outbox.keys, records);
    let lines = emulation.run(&job.source);
    let [counts, items, keys] = &lines[..] else { panic!("three lines") };
    assert_eq!(counts.len(), 1 << bits);
    assert_eq!(counts.iter().sum::<u64>(), 1 << 17);
    for (bucket, &count) in counts.iter().enumerate() {
        let first = bucket * sizes.part(0, 0) as usize;
        for record in first..first + count as usize {
            let slot = (bucket as u64) << sizes.first.shift | keys[record];
            assert_eq!(items[record], item(f.forward(slot)));
        }
    }
}
