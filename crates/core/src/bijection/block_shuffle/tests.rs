//! Compares `BlockShuffle` with its definition, for many shapes.

use super::*;
use crate::error::BijectionError;
use std::collections::HashSet;

/// The definition written out: the blocks one after another, then the items of each window.
fn reference<F: FromSeed + Bijection>(f: &BlockShuffle<F>, seed: Seed) -> Vec<u64> {
    let seed = seed.child(KeyDomain::Blocks);
    let blocks = CycleWalk::<F>::from_seed(f.block_count(), seed);
    let order: Vec<u64> = (0..f.block_count()).map(|place| blocks.forward(place)).collect();
    let mut values = Vec::new();
    for (number, blocks) in (0..).zip(order.chunks(f.window.try_into().unwrap_or(usize::MAX))) {
        let items: Vec<u64> = blocks.iter().flat_map(|&block| f.items_of(block)).collect();
        let within = CycleWalk::<F>::from_seed(items.len() as u64, seed.with_epoch(number + 1));
        values.extend((0..items.len() as u64).map(|slot| items[within.forward(slot) as usize]));
    }
    values
}

fn check<F: FromSeed + Bijection + 'static>(len: u64, block: u64, window: u64) {
    let seed = Seed::new(len).with_epoch(block);
    let f = BlockShuffle::<F>::try_from_seed(len, block, window, seed).unwrap();
    let what = format!("{len} items, blocks of {block}, windows of {window}");
    let expected = reference(&f, seed);
    assert_eq!(expected.len() as u64, len, "{what}");
    let mut values = vec![0; expected.len()];
    f.forward_run(0, &mut values);
    assert_eq!(values, expected, "{what}");
    for stride in [1, 3, len.max(2) - 1] {
        // Out of order as well: places of one window occur together, alone, and repeatedly.
        let slots: Vec<u64> = (0..len).chain((0..len).rev()).step_by(stride as usize).collect();
        let mut values = slots.clone();
        f.forward_each(&mut values);
        let each = slots.iter().map(|&slot| expected[slot as usize]);
        assert!(values.into_iter().eq(each), "{what}, every {stride}");
    }
    let mut slots = vec![0; values.len()];
    f.inverse_run(0, &mut slots);
    for (slot, index) in (0..).zip(values) {
        assert_eq!(f.forward(slot), index, "{what}");
        assert_eq!(f.inverse(index), slot, "{what}");
        assert_eq!(slots[index as usize], slot, "{what}");
    }
}

#[test]
fn every_small_shape_is_what_the_definition_says() {
    for len in (1..=24).chain([30, 31]) {
        for block in (1..=6).chain([len, u64::MAX]) {
            for window in [1, 2, 3, 5, u64::MAX] {
                check::<Standard>(len, block, window);
                check::<GridFeistel<12>>(len, block, window);
            }
        }
    }
}

#[test]
fn larger_shapes_are_what_the_definition_says() {
    // Windows that are drawn as tables, windows that are not, and both; many blocks, few, and one.
    for (len, block, window) in [
        (5000, 64, 4),
        (5000, 64, 5),
        (5001, 1000, 2),
        (5000, 10, 300),
        (4096, 512, 3),
        (3000, 1, 700),
        (3000, 3000, 1),
    ] {
        check::<Standard>(len, block, window);
        check::<RandomSign<VariablePhilox<24>>>(len, block, window);
    }
}

#[test]
fn each_block_is_read_once_and_a_window_has_the_items_of_its_blocks() {
    for (len, block, window) in [(1000, 7, 5), (1000, 10, 100), (257, 16, 4), (90, 100, 2)] {
        let f = BlockShuffle::new(len, block, window, 9).unwrap();
        let (mut read, mut next_slot) = (HashSet::new(), 0);
        for part in f.windows() {
            assert_eq!(part.slots().start, next_slot);
            next_slot = part.slots().end;
            assert!(part.blocks().count() as u64 <= window);
            assert!(part.blocks().all(|block| block < f.block_count() && read.insert(block)));
            let mut expected: Vec<u64> = part.blocks().flat_map(|b| f.items_of(b)).collect();
            let shuffled: Vec<u64> = part.slots().map(|slot| f.forward(slot)).collect();
            let order = part.order();
            let within = (0..=order.last()).map(|slot| expected[order.forward(slot) as usize]);
            assert!(within.eq(shuffled.iter().copied()));
            let mut items = shuffled;
            items.sort_unstable();
            expected.sort_unstable();
            assert_eq!(items, expected);
        }
        assert_eq!((next_slot, read.len() as u64), (len, f.block_count()));
        assert_eq!(f.windows().count() as u64, f.window_count());
        assert!(f.window(f.window_count()).is_none());
        let last = f.windows().next_back().unwrap();
        assert_eq!(f.window(f.window_count() - 1).unwrap().slots(), last.slots());
    }
}

#[test]
fn shapes_that_fill_64_bits() {
    for (len, block, window) in [
        (u64::MAX, 1 << 20, 64),
        (u64::MAX, 1, 1),
        (u64::MAX, u64::MAX, 1),
        (u64::MAX, (1 << 63) + 1, 1),
        (u64::MAX, 3, u64::MAX),
        ((1 << 63) + 1, (1 << 32) + 1, 1 << 31),
    ] {
        let f = BlockShuffle::new(len, block, window, 1).unwrap();
        let ends = [0, 1, len / 2, len - 2, len - 1];
        let edges = f.around(len / 3).slots();
        for slot in ends.into_iter().chain([edges.start, edges.end - 1, edges.end % len]) {
            let index = f.forward(slot);
            assert!(index < len);
            assert_eq!(f.inverse(index), slot, "{len} {block} {window}");
            assert_eq!(f.forward(f.inverse(slot)), slot, "{len} {block} {window}");
        }
    }
}

#[test]
fn no_items_no_block_and_no_window_are_refused() {
    assert_eq!(BlockShuffle::new(0, 1, 1, 1).unwrap_err(), BijectionError::EmptyDomain);
    for (block, window) in [(0, 1), (1, 0), (0, 0)] {
        let error = BlockShuffle::new(1, block, window, 1).unwrap_err();
        assert_eq!(error, BijectionError::EmptyBlock { block, window });
    }
}

#[test]
fn own_families_are_trusted() {
    fn is_trusted<F: FromSeed + Bijection + 'static>() -> bool {
        let f = BlockShuffle::<F>::try_from_seed(1000, 10, 7, 1).unwrap();
        let trusted = f.trusted();
        trusted.is_some_and(|same| (0..1000).all(|slot| same.forward(slot) == f.forward(slot)))
    }
    assert!(is_trusted::<Standard>() && is_trusted::<GridFeistel<12>>());
    assert!(is_trusted::<MulXorshift<10>>() && is_trusted::<VariablePhilox<24>>());
    assert!(is_trusted::<RandomSign<VariablePhilox<24>>>());
    assert!(!is_trusted::<VariablePhilox<8>>());
}
