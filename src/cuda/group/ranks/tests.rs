//! Whole shuffles over up to 64 ranks, with all kernels compiled as plain C++: the same plans and
//! messages as on devices, in memory at fixed addresses, compared with algorithm 1.

use core::ops::Range;

use super::super::exchange::MemberExchange;
use super::super::layout::MemberLayout;
use super::super::shards::MemberShards;
use super::super::sizes::{GroupSizes, tests::LIMITS};
use super::super::tests::emulated::{ITEM, expected, job};
use super::in_pieces::one_after_the_other;
use super::runs::{Reach, messages};
use crate::bijection::MulXorshift;
use crate::compact::Direction;
use crate::cuda::nccl::LinkMessage;
use crate::cuda::runtime::word_type::WordType;
use crate::cuda::tests::emulation::Emulation;
use crate::{Bijection, FromSeed};

/// The bytes of each rank's memory, and where its source is, its target, the places of others
/// before it and after it, and its working memory.
const MEMORY: u64 = 2 << 20;
const PARTS: [u64; 5] = [0, 1 << 18, 2 << 18, 3 << 18, 1 << 20];

fn memory(rank: usize, part: usize) -> u64 {
    0x4000_0000_0000 + rank as u64 * MEMORY + PARTS[part]
}

fn sides(rank: usize) -> [u64; 2] {
    [memory(rank, 2), memory(rank, 3)]
}

/// The array that each rank uses, where it uses these places.
fn reaches(used: &[Range<u64>], array: &MemberShards) -> Vec<MemberShards> {
    let of_rank = |rank: usize| {
        let own = array.places(rank);
        let reach = Reach::new(&used[rank], &own);
        assert!(8 * reach.most() <= PARTS[3] - PARTS[2]);
        reach.array((array.address(rank), own), sides(rank), 8)
    };
    (0..array.members()).map(of_rank).collect()
}

/// Moves what ranks use and others hold: to those that use it, or to those that hold it.
fn send(emulation: &mut Emulation<'_>, used: &[Range<u64>], array: &MemberShards, to_users: bool) {
    let all: Vec<_> =
        (0..used.len()).map(|rank| messages(rank, used, array, sides(rank))).collect();
    for (rank, [theirs, _]) in all.iter().enumerate() {
        for &LinkMessage { peer, address, bytes } in theirs {
            let held = all[peer][1].iter().find(|message| message.peer == rank).unwrap().address;
            let [from, to] = if to_users { [held, address] } else { [address, held] };
            emulation.copy(from, to, bytes);
        }
    }
}

/// Moves an array over ranks that have these lengths before and afterwards.
fn check(f: &dyn Bijection, [from, to]: [&[usize]; 2], direction: Direction) {
    let array = |lens: &[usize], part: usize| {
        let runs = lens.iter().enumerate();
        MemberShards::new(runs.map(|(rank, &len)| (memory(rank, part), len)), 8)
    };
    let (source, out, ranks) = (array(from, 0), array(to, 1), from.len());
    let len = source.len();
    let job = job(f, len);
    let last = if direction == Direction::Shuffle { job.last } else { len - 1 };
    let sizes = GroupSizes::new(&LIMITS, WordType::U64, [last, job.last], &source, &out).unwrap();
    assert_eq!(sizes.pieces, 1);
    let layouts: Vec<_> = (0..ranks).map(|rank| MemberLayout::new(&sizes, rank)).collect();
    assert!(layouts.iter().all(|layout| layout.bytes <= MEMORY - PARTS[4]));
    let addresses: Vec<_> = (0..ranks).map(|rank| memory(rank, 4)).collect();
    // What the ranks tell each other of their kernels' numbers, which are looked at below.
    let survive = |slots: Range<u64>| slots.filter(|&slot| f.forward(slot) < len).count();
    let counts: Vec<_> = (0..ranks).map(|rank| survive(sizes.slots(rank)) as u64).collect();
    let sums: Vec<_> = (0..ranks)
        .map(|rank| match sizes.keys(rank) {
            keys if sizes.dense => keys.end - keys.start,
            keys => survive(keys) as u64,
        })
        .collect();
    let [read, placed] =
        [&counts, &sums].map(|numbers| one_after_the_other(numbers.iter().copied()));
    let sources = match sizes.is_counted() {
        true => reaches(&read, &source),
        false => vec![source.clone(); ranks],
    };
    let outs = reaches(&placed, &out);
    let exchange = |rank: usize| MemberExchange {
        job: &job,
        source: &sources[rank],
        out: &outs[rank],
        direction,
        sizes: &sizes,
        layouts: &layouts,
        memory: &addresses,
    };
    let exchanges: Vec<_> = (0..ranks).map(exchange).collect();
    let each = exchanges.iter().enumerate();
    let counted: Vec<_> = match sizes.is_counted() {
        true => each.clone().map(|(rank, of)| of.count(rank).unwrap()).collect(),
        false => Vec::new(),
    };
    let filled: Vec<_> = each
        .clone()
        .map(|(rank, of)| (of.fill(rank, 0).unwrap(), of.deliveries(rank, 0)))
        .collect();
    let sorted: Vec<_> = each
        .clone()
        .map(|(rank, of)| [of.sort_kept(rank, 0), of.sort_received(rank, 0)].map(Result::unwrap))
        .collect();
    let place: Vec<_> = each.map(|(rank, of)| of.place(rank).unwrap()).collect();

    let Some(mut emulation) = Emulation::new() else { return };
    for rank in 0..ranks {
        let places = source.places(rank);
        emulation.map(memory(rank, 0), MEMORY);
        emulation.fill(memory(rank, 0), places.start, places.end, ITEM);
    }
    for (rank, plan) in counted.iter().enumerate() {
        emulation.execute(plan, 0);
        let first = read[rank].start;
        emulation.fill(addresses[rank] + layouts[rank].rank, first, first + 1, "k");
    }
    if sizes.is_counted() {
        send(&mut emulation, &read, &source, true);
    }
    for (fill, deliveries) in &filled {
        emulation.execute(fill, 0);
        deliveries.iter().for_each(|copy| emulation.copy(copy.from, copy.to, copy.bytes));
    }
    sorted.iter().flatten().for_each(|plan| emulation.execute(plan, 0));
    for (rank, plan) in place.iter().enumerate() {
        let first = placed[rank].start;
        emulation.fill(addresses[rank] + layouts[rank].before, first, first + 1, "k");
        emulation.execute(plan, 0);
    }
    send(&mut emulation, &placed, &out, false);
    let mut words = Vec::new();
    for rank in 0..ranks {
        let (layout, at) = (&layouts[rank], addresses[rank]);
        emulation.print("uint32_t", at + layout.overflow, 1);
        words.push(0);
        if sizes.is_counted() {
            emulation.print("uint64_t", at + layout.tile_bases + 8 * sizes.counts(rank), 1);
            words.push(counts[rank]);
        }
        if !sizes.dense {
            emulation.print("uint64_t", at + layout.bases + 8 * sizes.small_buckets(rank), 1);
            words.push(sums[rank]);
        }
    }
    for rank in 0..ranks {
        let places = out.places(rank);
        emulation.print("uint64_t", memory(rank, 1), places.end - places.start);
    }
    let lines = emulation.run(&job.source);
    let (told, items) = lines.split_at(words.len());
    assert_eq!(told.concat(), words, "{ranks} ranks, {direction:?}");
    assert!(items.concat() == expected(f, len, direction, 1), "{ranks} ranks, {direction:?}");
}

/// Few ranks have items, and nearly all get some.
#[test]
fn sixty_four_ranks_undo_a_shuffle() {
    let f = MulXorshift::<10>::from_seed(1 << 10, 2);
    let from = |rank| if rank % 6 == 3 { 60 } else { 0 };
    let [from, mut to]: [Vec<_>; 2] =
        [(0..64).map(from).collect(), (0..64).map(|rank| rank * 5 % 19).collect()];
    to[40] += from.iter().sum::<usize>() - to.iter().sum::<usize>();
    check(&f, [&from, &to], Direction::Unshuffle);
}

#[test]
fn seventeen_ranks_shuffle() {
    let f = MulXorshift::<10>::from_seed(1 << 9, 5);
    let from: Vec<_> = (0..17).map(|rank| 11 + rank).collect();
    let to: Vec<_> = from.iter().rev().copied().collect();
    check(&f, [&from, &to], Direction::Shuffle);
}
