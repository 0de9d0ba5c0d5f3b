use super::super::layout::MemberLayout;
use super::*;
use crate::cuda::tests::DEVICES;

/// Those of an H100.
pub(crate) const LIMITS: GpuLimits = GpuLimits {
    multiprocessors: 132,
    threads_per_multiprocessor: 2048,
    shared_per_block: 227 << 10,
    shared_per_multiprocessor: 228 << 10,
    l2_bytes: 50 << 20,
};

pub(in super::super) fn even(len: u64, members: u64, item: usize) -> MemberShards {
    let end = |member| len * member / members;
    MemberShards::new((0..members).map(|m| (256, (end(m + 1) - end(m)) as usize)), item)
}

#[test]
fn passes_sort_by_eight_bits_where_they_can() {
    let expected = [(2, 1, 1), (8, 1, 7), (9, 1, 8), (16, 8, 8), (17, 9, 8), (18, 9, 9)];
    for (all, first, second) in expected.into_iter().chain([(20, 11, 9)]) {
        assert_eq!(pass_bits(all, 1, of_one::PASS_BITS), (first, second), "{all} bits");
    }
    assert_eq!(pass_bits(21, 1, of_one::PASS_BITS + 1), (11, 10));
}

#[test]
fn very_many_items_are_sorted_into_larger_buckets() {
    let bucket_bits = |len: u64, last: u64, last_slot| {
        let array = even(len, 2, 8);
        let sizes = GroupSizes::new(&LIMITS, WordType::U64, [last, last_slot], &array, &array)?;
        assert!(sizes.place_shared() <= LIMITS.shared_per_block, "{len}");
        let more = sizes.first.bits.checked_sub(tuning::MOST_FIRST_BITS + 1);
        Some((sizes.bucket_bits, more.map_or(0, |more| more + 1)))
    };
    // Without gaps there and back, and with gaps there and back.
    assert_eq!(bucket_bits(1 << 33, (1 << 33) - 1, (1 << 33) - 1), Some((13, 0)));
    assert_eq!(bucket_bits(1 << 34, (1 << 34) - 1, (1 << 34) - 1), Some((14, 0)));
    let len = (1 << 33) + 2;
    assert_eq!(bucket_bits(len, (1 << 34) - 1, (1 << 34) - 1), Some((14, 0)));
    assert_eq!(bucket_bits(len, len - 1, (1 << 34) - 1), Some((14, 0)));
    // Buckets of 15 bits would be too large, so the second pass sorts by ten bits.
    let len = (1 << 34) + 4;
    assert_eq!(bucket_bits(len, len - 1, (1 << 35) - 1), Some((14, 0)));
    // And then the first one by more.
    assert_eq!(bucket_bits(1 << 36, (1 << 36) - 1, (1 << 36) - 1), Some((14, 1)));
    let len = (1 << 36) + 4;
    assert_eq!(bucket_bits(len, len - 1, (1 << 37) - 1), Some((14, 2)));
    // Those would not fit shared memory, or 16 bits.
    assert_eq!(bucket_bits(1 << 38, (1 << 38) - 1, (1 << 38) - 1), None);
}

/// However many ranks there are, each owns some buckets, and their memory is what their items
/// take, as the documentation of `CudaExchange` says, and the slack of shorter runs.
#[test]
fn many_ranks_have_even_shares_and_bounded_memory() {
    for (ranks, slack) in [(17, 1.25), (33, 1.35), (64, 1.35), (512, 1.8)] {
        for own in [tuning::PARTITION_ITEMS, 1 << 20, 1 << 24, 1 << 27] {
            for (len, last) in [
                (own * ranks, own * ranks - 1),
                (own * ranks + 3, (own * ranks + 3).next_power_of_two() - 1),
            ] {
                let even = even(len, ranks, 8);
                let all_on_one = (0..ranks).map(|rank| (256, if rank == 5 { len } else { 0 }));
                let all_on_one =
                    MemberShards::new(all_on_one.map(|(at, len)| (at, len as usize)), 8);
                for (from, keys) in
                    [(&even, [last; 2]), (&even, [len - 1, last]), (&all_on_one, [last; 2])]
                {
                    let sizes = GroupSizes::new(&LIMITS, WordType::U64, keys, from, &even).unwrap();
                    let buckets = sizes.buckets();
                    for rank in 0..ranks as usize {
                        let owned = sizes.owned(rank);
                        let owned = owned.end - owned.start;
                        assert!((buckets / ranks..=buckets / ranks + 2).contains(&owned));
                        let held = from.places(rank);
                        let sent = (held.end - held.start) as f64;
                        let got = owned as f64 / buckets as f64 * len as f64;
                        let most = 12.0 * sent + 12.0 * got + 10.0 * got;
                        let bytes = MemberLayout::new(&sizes, rank).bytes as f64;
                        assert!(
                            bytes <= slack * most + 2e6,
                            "{ranks} ranks, {len} of {keys:?}: {bytes}, {most}"
                        );
                    }
                }
            }
        }
    }
}

/// Items of every size are sent in pieces by every device, there and back, with gaps and without.
#[test]
fn every_device_sends_in_pieces() {
    for limits in [LIMITS].into_iter().chain(DEVICES) {
        for (ranks, item) in [2, 16, 17, 64, 512]
            .into_iter()
            .flat_map(|ranks| [1, 2, 4, 8, 16].map(|item| (ranks, item)))
        {
            for len in [1_u64 << 20, (1 << 20) + 1, 1 << 31, (1 << 31) - 1, 1 << 33] {
                let slots = (len - 1).next_power_of_two().max(len) - 1;
                let array = even(len, ranks, item);
                let word = WordType::dividing(item as u64 | 16);
                for last in [slots, len - 1] {
                    let sizes = GroupSizes::new(&limits, word, [last, slots], &array, &array);
                    let Some(sizes) = sizes else {
                        // A thread of the first pass must have room for four.
                        if item == 16 && limits.shared_per_block <= 64 << 10 {
                            continue;
                        }
                        panic!(
                            "{len} of {slots} by {last}, {ranks} ranks, {item} bytes: {limits:?}"
                        );
                    };
                    let shared = [sizes.first.shared, sizes.second_shared(), sizes.place_shared()];
                    assert!(shared.iter().all(|&bytes| bytes <= limits.shared_per_block));
                }
            }
        }
    }
}

#[test]
fn every_bucket_has_an_owner_whose_places_it_holds() {
    for members in (1..=9).chain([16, 17, 33, 64]) {
        for len in [1_u64 << 10, 1 << 20, (1 << 29) + 1, 3 << 28, 1 << 31, 1 << 33] {
            for last in [len - 1, (len + 1).next_power_of_two() - 1] {
                let shards = even(len, members, 8);
                let Some(sizes) =
                    GroupSizes::new(&LIMITS, WordType::U64, [last; 2], &shards, &shards)
                else {
                    panic!("{len} of {last} over {members}");
                };
                assert_eq!(sizes.owners[0], 0);
                assert!(sizes.owners.is_sorted());
                assert_eq!(sizes.buckets(), (last >> sizes.first.shift) + 1);
                // The buckets are as evenly spread as whole buckets can be.
                let share = sizes.buckets().div_ceil(members) + 1;
                for member in 0..members as usize {
                    let owned = sizes.owned(member);
                    assert!(owned.end - owned.start <= share, "{len}, {members}");
                }
            }
        }
    }
}
