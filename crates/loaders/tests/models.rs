//! States that are saved at random steps and resumed by other ranks, against models in plain sight.
//!
//! `BIJECTIVE_SHUFFLE_LONG=1 cargo test -p bijective-shuffle-loaders --test models` has 2,000 cases
//! for each class, and otherwise there are a tenth of these.

use std::collections::BTreeMap;
use std::env;

use bijective_shuffle::error::{SavedError, ViewError};
use bijective_shuffle::rayon::{self, prelude::*};
use bijective_shuffle::{Error as ShuffleError, KeyDomain, Permutation, Seed, Tail};
use bijective_shuffle_loaders::{
    BatchOptions, Batches, Error, Lengths, Mixture, NodeBlocks, NodeRun, Packed, Piece, Source,
    StreamOrder, StreamShuffle, StreamState, Weighted,
};

fn cases() -> u64 {
    if env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some_and(|set| set == "1") { 2000 } else { 200 }
}

/// Numbers that differ from case to case.
struct Choices(u64);

impl Choices {
    fn of(case: u64) -> Self {
        Self((case ^ 0x5DEE_CE66).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, count: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (x ^ x >> 29) % count
    }

    fn lengths(&mut self, most_items: u64, most: u64) -> Vec<u32> {
        let items = 1 + self.below(most_items);
        (0..items).map(|_| self.below(most) as u32).collect()
    }
}

/// Stops ranks at some step, twice, goes on with others, and compares what came in the end with
/// the items of the epoch, which `expected` lists.
fn resume_at_random<S: Source<Item: Ord + Clone + core::fmt::Debug>>(
    source: &S,
    len: Option<u64>,
    epoch: u64,
    choices: &mut Choices,
    mut expected: Vec<S::Item>,
) {
    let (mut taken, mut state, mut batch) = (Vec::new(), None, Vec::new());
    for stop in 0..3 {
        let (ranks, size) = (1 + choices.below(5), 1 + choices.below(20));
        let steps = if stop == 2 { u64::MAX } else { choices.below(8) };
        let mut after = None;
        for rank in 0..ranks {
            let options = BatchOptions::new(size).rank(rank, ranks).tail(Tail::Short);
            let mut batches = Batches::new(source, len, options).unwrap();
            batches.set_epoch(epoch).unwrap();
            if let Some(state) = &state {
                batches.resume(state).unwrap();
            }
            for _ in 0..steps.min(batches.sampler().steps_remaining()) {
                assert!(batches.next_batch(&mut batch).unwrap());
                taken.append(&mut batch);
            }
            assert!(after.is_none_or(|after| after == batches.state()));
            after = Some(batches.state());
        }
        state = after;
    }
    expected.sort();
    taken.sort();
    assert_eq!(taken, expected);
}

#[test]
fn draws_and_mixtures_are_resumed() {
    let draws = Weighted::new([1, 2, 0, 3, 4, 500], 3).unwrap();
    let mut mixture = Mixture::new(&[300, 20], &[5, 2], 3).unwrap();
    mixture.change(150, &[1, 1, 2], &[33]).unwrap();
    for case in 0..cases() {
        let choices = &mut Choices::of(case);
        let (len, epoch) = (1 + choices.below(400), choices.below(3));
        let of_epoch = draws.clone().with_epoch(epoch);
        let expected = (0..len).map(|place| of_epoch.get(place)).collect();
        resume_at_random(&draws, Some(len), epoch, choices, expected);
        let expected = (0..len).map(|place| mixture.get(epoch * len + place)).collect();
        resume_at_random(&mixture, Some(len), epoch, choices, expected);
    }
}

/// The order that a loader has of some items.
fn order(len: u64, seed: Seed, loader: u32) -> Vec<u64> {
    Permutation::walk(len, seed.child(KeyDomain::Loader(loader))).to_vec()
}

/// All sequences of an epoch, from a list of all tokens.
fn packed_model(lengths: &[u32], length: usize, overlap: usize, seed: Seed) -> Vec<Vec<[u64; 3]>> {
    let mut tokens = Vec::new();
    for document in order(lengths.len() as u64, seed, 3) {
        tokens.extend((0..u64::from(lengths[document as usize])).map(|token| (document, token)));
    }
    let cut = |first: usize| {
        let mut pieces: Vec<[u64; 3]> = Vec::new();
        for &(document, token) in &tokens[first..first + length + overlap] {
            match pieces.last_mut() {
                Some([same, _, to]) if *same == document => *to += 1,
                _ => pieces.push([document, token, token + 1]),
            }
        }
        pieces
    };
    let sequences = (tokens.len() - overlap) / length;
    let places = order(sequences as u64, seed, 4);
    places.into_iter().map(|sequence| cut(sequence as usize * length)).collect()
}

#[test]
fn packed_documents_are_those_of_a_list_of_tokens() {
    for case in 0..cases() {
        let choices = &mut Choices::of(case);
        let (length, most) = (1 + choices.below(40), 1 + choices.below(60));
        let overlap = choices.below(length.min(2) + 1);
        let lengths = choices.lengths(300, most);
        let (seed, epoch) = (Seed::new(case), choices.below(3));
        let packed = match Packed::new(&lengths[..], length, overlap, seed) {
            Ok(packed) => packed,
            Err(error) => {
                let (total, needed) = (lengths.iter().sum::<u32>().into(), length + overlap);
                assert_eq!(error, Error::TooFewTokens { total, needed });
                assert!(total < needed);
                continue;
            }
        };
        let of_epoch = packed.clone().with_epoch(epoch);
        let expected =
            packed_model(&lengths, length as usize, overlap as usize, seed.with_epoch(epoch));
        let got: Vec<_> = (0..packed.len()).map(|place| of_epoch.get(place).unwrap()).collect();
        let numbers = |piece: &Piece| [piece.document, piece.from, piece.to];
        assert!(
            got.iter().map(|pieces| pieces.iter().map(numbers).collect::<Vec<_>>()).eq(expected),
            "{case}"
        );
        resume_at_random(&packed, None, epoch, choices, got);
    }
}

/// All batches of an epoch, cut one after another.
fn lengths_model(lengths: &[u32], most: u64, window: usize, seed: Seed) -> Vec<Vec<u64>> {
    let mut batches = Vec::new();
    for window in order(lengths.len() as u64, seed, 5).chunks(window) {
        let mut window = window.to_vec();
        // It keeps the order of what is as long.
        window.sort_by_key(|&item| core::cmp::Reverse(lengths[item as usize]));
        let mut rest = &window[..];
        while let Some(&first) = rest.first() {
            let size = most / u64::from(lengths[first as usize].max(1));
            let (batch, left) = rest.split_at(rest.len().min(size as usize));
            batches.push(batch.to_vec());
            rest = left;
        }
    }
    let places = order(batches.len() as u64, seed, 6);
    places.into_iter().map(|batch| batches[batch as usize].clone()).collect()
}

#[test]
fn batches_by_length_are_those_of_a_sort() {
    for case in 0..cases() {
        let choices = &mut Choices::of(case);
        let most = 1 + choices.below(50);
        let lengths = choices.lengths(500, most);
        let (max_tokens, window) = (most + choices.below(300), 1 + choices.below(200) as usize);
        let (seed, epoch) = (Seed::new(case), choices.below(3));
        let batches = Lengths::new(&lengths[..], max_tokens, window, seed).unwrap();
        let of_epoch = batches.clone().with_epoch(epoch);
        let expected = lengths_model(&lengths, max_tokens, window, seed.with_epoch(epoch));
        let len = of_epoch.batch_count().unwrap();
        let got: Vec<_> = (0..len).map(|place| of_epoch.get(place).unwrap()).collect();
        assert_eq!(got, expected, "case {case}");
        let padded: u64 = expected
            .iter()
            .map(|items| {
                let longest = items.iter().map(|&item| lengths[item as usize].max(1)).max();
                let padded = u64::from(longest.unwrap()) * items.len() as u64;
                assert!(padded <= max_tokens);
                padded
            })
            .sum();
        let tokens: u32 = lengths.iter().sum();
        let counts = of_epoch.token_counts().unwrap();
        assert_eq!((counts.items, counts.padded), (tokens.into(), padded));
        let mut items = expected.concat();
        items.sort_unstable();
        assert!(items.into_iter().eq(0..lengths.len() as u64));
        resume_at_random(&batches, None, epoch, choices, expected);
    }
}

#[test]
fn lengths_come_from_functions_too() {
    let slice: Vec<u32> = (0..5000).map(|item| item * 7919 % 300).collect();
    let function = (5000, |item| item * 7919 % 300);
    let a = Packed::new(&slice, 128, 1, 7).unwrap();
    let b = Packed::new(function, 128, 1, 7).unwrap();
    assert_eq!(a.fingerprint(), b.fingerprint());
    assert!((0..a.len()).all(|place| a.get(place) == b.get(place)));
    let a = Lengths::new(&slice, 2048, 512, 7).unwrap();
    let b = Lengths::new(function, 2048, 512, 7).unwrap();
    assert_eq!(a.batch_count(), b.batch_count());
    assert!((0..a.batch_count().unwrap()).all(|place| a.get(place) == b.get(place)));
    // A sort of windows wastes little, and a larger window less.
    let waste = |window| {
        let counts = Lengths::new(&slice, 2048, window, 7).unwrap().token_counts().unwrap();
        1.0 - counts.items as f64 / counts.padded as f64
    };
    assert!(waste(4096) < 0.01 && waste(4096) < waste(128) && waste(128) < waste(32));
}

/// Where all threads of a pool ask for an index at once, none waits for itself.
#[test]
fn threads_share_an_index() {
    let lengths: Vec<u32> = (0..30_000).map(|item| item * 7919 % 300).collect();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(4).build().unwrap();
    for seed in 0..20 {
        let packed = Packed::new(&lengths[..], 512, 1, seed).unwrap();
        let batches = Lengths::new(&lengths[..], 512, 1000, seed).unwrap();
        pool.install(|| {
            (0..64_u32).into_par_iter().with_max_len(1).for_each(|place| {
                let place = u64::from(place);
                let (packed, batches) = (packed.clone(), batches.clone());
                assert!(!packed.with_epoch(place / 32).get(place).unwrap().is_empty());
                assert!(!batches.with_epoch(place / 32).get(place).unwrap().is_empty());
            });
        });
    }
}

/// Where epochs meet, a loader asks for one and the other in turn.
#[test]
fn two_epochs_keep_their_indexes() {
    use std::sync::atomic::{AtomicU64, Ordering};
    const ITEMS: u64 = 100_000;
    let asked = AtomicU64::new(0);
    let lengths = (ITEMS, |item| {
        asked.fetch_add(1, Ordering::Relaxed);
        item % 7
    });
    let packed = Packed::new(&lengths, 64, 0, 1).unwrap();
    let batches = Lengths::new(&lengths, 64, 1000, 1).unwrap();
    let look_up = |epoch| {
        assert!(!packed.clone().with_epoch(epoch).get(5).unwrap().is_empty());
        assert!(!batches.clone().with_epoch(epoch).get(5).unwrap().is_empty());
    };
    let built = |epochs: &[u64]| {
        asked.store(0, Ordering::Relaxed);
        epochs.iter().for_each(|&epoch| look_up(epoch));
        // A look-up among documents asks for fewer than a thousand lengths.
        asked.load(Ordering::Relaxed) / ITEMS
    };
    assert_eq!(built(&[3, 4]), 4);
    assert_eq!(built(&[3, 4, 3, 4, 3]), 0);
    // The one that was asked for longest ago goes.
    assert_eq!(built(&[5]), 2);
    assert_eq!(built(&[3, 5]), 0);
    assert_eq!(built(&[4]), 2);
}

#[test]
fn lengths_that_change_are_noticed() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let length = AtomicU64::new(10);
    let lengths = (1000, |item| match (item, length.load(Ordering::Relaxed)) {
        (700, length) => length,
        // The sum is the old one and 2^64.
        (701, u64::MAX) => 21,
        _ => 10,
    });
    let packed = Packed::new(&lengths, 60, 0, 1).unwrap();
    let batches = Lengths::new(&lengths, 64, 100, 1).unwrap();
    length.store(99, Ordering::Relaxed);
    let changed = Error::LengthsChanged;
    assert_eq!(packed.get(0), Err(changed.clone()));
    assert_eq!(batches.get(0), Err(changed.clone()));
    length.store(u64::MAX, Ordering::Relaxed);
    assert_eq!(packed.get(0), Err(changed.clone()));
    // A step that fails is not taken.
    length.store(10, Ordering::Relaxed);
    let mut dealt = Batches::new(&packed, None, BatchOptions::new(166)).unwrap();
    let (state, mut batch) = (dealt.state(), Vec::new());
    length.store(99, Ordering::Relaxed);
    assert_eq!(dealt.next_batch(&mut batch), Err(changed));
    assert!(batch.is_empty() && dealt.state() == state);
    length.store(10, Ordering::Relaxed);
    assert!(dealt.next_batch(&mut batch).unwrap());
    assert_eq!(batch.len(), 166);
}

/// Their sum stays, so not every change is noticed. What comes is in documents that there are.
#[test]
fn lengths_that_are_exchanged_give_whole_pieces_or_an_error() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let turned = AtomicU64::new(0);
    let length = |item: u64| 1 + (item + turned.load(Ordering::Relaxed)) % 1000 % 7;
    let lengths = (1000, length);
    for turns in [0, 1, 3, 500, 999] {
        turned.store(0, Ordering::Relaxed);
        let packed = Packed::new(&lengths, 60, 0, 1).unwrap();
        let batches = Lengths::new(&lengths, 64, 100, 1).unwrap();
        packed.build().unwrap();
        let count = batches.batch_count().unwrap();
        turned.store(turns, Ordering::Relaxed);
        for place in 0..packed.len() {
            match packed.get(place) {
                Ok(pieces) => {
                    let whole =
                        |piece: &Piece| piece.from < piece.to && piece.to <= length(piece.document);
                    assert!(pieces.iter().all(whole), "{pieces:?}");
                    assert_eq!(pieces.iter().map(|piece| piece.to - piece.from).sum::<u64>(), 60);
                }
                Err(error) => assert!(turns > 0 && error == Error::LengthsChanged, "{error}"),
            }
        }
        for place in 0..count {
            match batches.get(place) {
                Ok(items) => assert!(!items.is_empty() && items.iter().all(|&item| item < 1000)),
                Err(error) => assert!(turns > 0 && error == Error::LengthsChanged, "{error}"),
            }
        }
    }
}

#[test]
fn a_place_beyond_an_epoch_is_refused() {
    let lengths = [5_u32; 100];
    let packed = Packed::new(&lengths[..], 20, 0, 1).unwrap();
    let batches = Lengths::new(&lengths[..], 20, 100, 1).unwrap();
    assert_eq!([packed.len(), batches.batch_count().unwrap()], [25, 25]);
    let text = |error: Error| error.to_string();
    let expected = "25 is not below the length 25";
    assert_eq!(packed.get(25).map_err(text), Err(expected.into()));
    assert_eq!(batches.get(25).map_err(text), Err(expected.into()));
    assert!(packed.get(24).is_ok() && batches.get(24).is_ok());
    assert!(packed.get(u64::MAX).is_err() && batches.get(u64::MAX).is_err());
}

/// A buffer of item numbers, with the steps' places from a list.
fn stream_model(len: u64, order: StreamOrder) -> Vec<u64> {
    let mut slots = vec![0; len as usize];
    assert_eq!(order.fill(0, Some(len), &mut slots), len as usize);
    let mut buffer: Vec<u64> = (0..len.min(order.buffer_size())).collect();
    let mut next = buffer.len() as u64;
    let mut out = Vec::new();
    for slot in slots {
        out.push(buffer[slot as usize]);
        if next < len {
            buffer[slot as usize] = next;
            next += 1;
        } else {
            buffer.swap_remove(slot as usize);
        }
    }
    out
}

#[test]
fn streams_are_resumed() {
    for case in 0..cases() {
        let choices = &mut Choices::of(case);
        let (len, size) = (choices.below(1200), 1 + choices.below(60));
        let seed = Seed::new(case).with_epoch(choices.below(3));
        let order = StreamOrder::new(size, seed).unwrap();
        let expected = stream_model(len, order);
        let mut once = expected.clone();
        once.sort_unstable();
        assert!(once.into_iter().eq(0..len));
        let earliest = (0..).zip(&expected).map(|(place, &item)| item as i64 - place).max();
        assert!(earliest.is_none_or(|places| places < size as i64));

        let mut stream = StreamShuffle::new(0..len, order);
        let mut out = Vec::new();
        for _ in 0..4 {
            out.extend(stream.by_ref().take(choices.below(400) as usize));
            let state: StreamState = stream.state().to_string().parse().unwrap();
            assert_eq!(state.emitted(), out.len() as u64);
            let held = order.buffered(&state).unwrap();
            if state.taken() > 0 {
                assert_eq!(held, stream.buffer(), "case {case}");
            }
            let first = held.iter().copied().min().unwrap_or(state.taken());
            stream = match choices.below(3) {
                0 => StreamShuffle::resume(0..len, 0, order, &state).unwrap(),
                1 => StreamShuffle::resume(first..len, first, order, &state).unwrap(),
                _ => StreamShuffle::restore(state.taken()..len, order, &state, held).unwrap(),
            };
        }
        out.extend(stream);
        assert_eq!(out, expected, "case {case}");
    }
}

#[test]
fn states_of_other_streams_are_refused() {
    let order = StreamOrder::new(10, 3).unwrap();
    let mut stream = StreamShuffle::new(0..1000, order);
    assert_eq!(stream.by_ref().take(500).count(), 500);
    let state = stream.state();
    let foreign = Error::from(bijective_shuffle::Error::Saved(SavedError::Foreign));
    for other in [
        StreamOrder::new(11, 3).unwrap(),
        StreamOrder::new(10, 4).unwrap(),
        StreamOrder::new(10, Seed::new(3).with_epoch(1)).unwrap(),
    ] {
        assert_eq!(other.buffered(&state), Err(foreign.clone()));
        let error = StreamShuffle::resume(0..1000, 0, other, &state).unwrap_err();
        assert_eq!(error, foreign);
    }
    let error = StreamShuffle::restore(510..1000, order, &state, vec![1; 9]).unwrap_err();
    assert_eq!(error, foreign);
    // What was in the buffer is not there.
    let held = order.buffered(&state).unwrap();
    let (first, last) = (*held.iter().min().unwrap(), *held.iter().max().unwrap());
    let late = StreamShuffle::resume(first + 1..1000, first + 1, order, &state).unwrap_err();
    assert_eq!(late, Error::StreamItemMissing { item: first });
    let short = StreamShuffle::resume(0..last, 0, order, &state).unwrap_err();
    assert_eq!(short, Error::StreamItemMissing { item: last });
    // What comes after the end would never be given.
    let mut stream = StreamShuffle::new(0..1000, order);
    assert!(stream.nth(994).is_some());
    let (ended, kept) = (stream.state(), stream.buffer().to_vec());
    let long = StreamShuffle::resume(0..1001, 0, order, &ended).unwrap_err();
    assert_eq!(long, Error::StreamTooLong { items: 1000 });
    let long = StreamShuffle::restore(1000..1001, order, &ended, kept.clone()).unwrap_err();
    assert_eq!(long, Error::StreamTooLong { items: 1000 });
    let rest: Vec<u64> = StreamShuffle::resume(0..1000, 0, order, &ended).unwrap().collect();
    assert!(StreamShuffle::restore(1000..1000, order, &ended, kept).unwrap().eq(rest));
    let altered = state.to_string().replacen("-1f4-", "-1f5-", 1);
    assert_ne!(altered, state.to_string());
    assert_eq!(order.buffered(&altered.parse().unwrap()), Err(foreign));
    assert!("1-2-3".parse::<StreamState>().is_err());
    assert!(StreamOrder::new(0, 1).is_err());
    // More steps than items, and more items than a buffer holds.
    // The last has taken more than any input has.
    for (emitted, taken) in [(10, 5), (10, 21), (u64::MAX - 10, u64::MAX)] {
        let state = StreamState::new(&order, emitted, taken);
        assert_eq!(
            order.buffered(&state),
            Err(bijective_shuffle::Error::Saved(SavedError::Foreign).into())
        );
        assert!(StreamShuffle::restore(0..9, order, &state, Vec::new()).is_err());
    }
}

/// How far items travel is what the documentation says.
#[test]
fn items_travel_as_far_as_a_geometric_distribution_has_it() {
    const LEN: i64 = 200_000;
    const SIZE: i64 = 100;
    let order = StreamOrder::new(SIZE as u64, 5).unwrap();
    let late: Vec<i64> =
        StreamShuffle::new(0..LEN, order).zip(0..).map(|(item, place)| place - item).collect();
    let steady = &late[1000..LEN as usize - 1000];
    let share = |test: &dyn Fn(i64) -> bool| {
        steady.iter().filter(|&&late| test(late)).count() as f64 / steady.len() as f64
    };
    assert!(steady.iter().all(|&late| late > -SIZE));
    for k in [0, 1, 2] {
        let expected = (-1.0 - f64::from(k)).exp();
        let got = share(&|late| late > i64::from(k) * SIZE);
        assert!((got - expected).abs() < 0.05 * expected + 0.003, "{k}: {got}, not {expected}");
    }
    let mean = steady.iter().sum::<i64>() as f64 / steady.len() as f64;
    assert!(mean.abs() < 3.0, "{mean}");
}

#[test]
fn blocks_are_kept_and_come_once() {
    for case in 0..cases() {
        let choices = &mut Choices::of(case);
        let blocks = 1 + choices.below(200);
        let kept = choices.below(5) as f64 / 4.0;
        let shares = NodeBlocks::new(blocks, kept, case).unwrap();
        let nodes = 1 + choices.below(blocks.min(9));
        let of_epoch = |epoch| -> Vec<Vec<u64>> {
            (0..nodes).map(|node| shares.of_node(epoch, node, nodes).unwrap()).collect()
        };
        let (first, second) = (of_epoch(choices.below(3)), of_epoch(3));
        for epoch in [&first, &second] {
            let mut all = epoch.concat();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..blocks));
            let steps = [Tail::Drop, Tail::Short].map(|tail| shares.steps(nodes, tail));
            assert!(epoch.iter().all(|own| (steps[0]..=steps[1]).contains(&(own.len() as u64))));
        }
        for (a, b) in first.iter().zip(&second) {
            // Both have at least this many blocks of the same home.
            let least = 2 * (a.len() as f64 * kept).ceil() as usize;
            let common = a.iter().filter(|&block| b.contains(block)).count();
            assert!(common + a.len() >= least, "case {case}");
        }

        // Other numbers of nodes go on.
        let (epoch, mut runs, mut read) = (choices.below(3), Vec::new(), BTreeMap::new());
        for stop in 0..4 {
            let nodes = 1 + choices.below(blocks.min(9));
            let count = if stop == 3 { u64::MAX } else { choices.below(8) };
            for node in 0..nodes {
                let own = shares.after(epoch, &runs, node, nodes).unwrap();
                for block in own.into_iter().take(count as usize) {
                    *read.entry(block).or_insert(0) += 1;
                }
            }
            runs.push(NodeRun { nodes, read: count });
        }
        assert!(read.into_iter().eq((0..blocks).map(|block| (block, 1))), "case {case}");
    }
    let blocks = NodeBlocks::new(10, 0.5, 1).unwrap();
    for (node, nodes) in [(0, 0), (0, 11), (3, 3)] {
        assert!(blocks.of_node(0, node, nodes).is_err());
    }
    let share = NodeBlocks::new(10, f64::NAN, 1).unwrap_err();
    assert_eq!(share, Error::KeptShareOutOfRange);
    assert!(NodeBlocks::new(0, 0.5, 1).is_err());
    // More blocks than there is memory for, more nodes, and more blocks than an array can have.
    for (blocks, nodes) in [(1 << 58, 1), (1 << 60, 1 << 55), (u64::MAX, 1), (u64::MAX, u64::MAX)] {
        let shares = NodeBlocks::new(blocks, 0.5, 1).unwrap();
        let run = |nodes, read| NodeRun { nodes, read };
        let runs: [&[NodeRun]; 3] = [&[], &[run(1, 3)], &[run(1 << 57, 0), run(1, 1)]];
        for error in runs.map(|runs| shares.after(0, runs, 0, nodes).unwrap_err()) {
            let wants = |bytes| bytes >= 1 << 55;
            assert!(
                matches!(error, Error::Shuffle(ShuffleError::OutOfMemory { bytes }) if wants(bytes)),
                "{blocks} blocks, {nodes} nodes: {error}"
            );
        }
    }
}

#[test]
fn bad_lengths_of_sequences_are_named() {
    let packed = |lengths: &[u32], length, overlap| Packed::new(lengths, length, overlap, 1).err();
    for (length, overlap) in [(0, 0), (4, 5), (1 << 33, 0)] {
        let error = Error::SequenceLengthOutOfRange { length, overlap };
        assert_eq!(packed(&[100], length, overlap), Some(error));
    }
    let error = Error::TooFewTokens { total: 7, needed: 9 };
    assert_eq!(packed(&[3, 4], 8, 1), Some(error));
    let error = Error::TooFewTokens { total: 0, needed: 1 };
    assert_eq!(packed(&[], 1, 0), Some(error));
    let huge = Packed::new((4, |_| 1 << 61), 8, 0, 1).unwrap_err();
    assert_eq!(huge, Error::TotalLengthTooLarge);

    let lengths = |lengths: &[u32], most, window| Lengths::new(lengths, most, window, 1).err();
    for window in [0, 65_537] {
        let error = Error::WindowSizeOutOfRange { size: window as u64, most: 65_536 };
        assert_eq!(lengths(&[1], 8, window), Some(error));
    }
    let error = Error::ItemTooLong { item: 1, length: 9, most: 8 };
    assert_eq!(lengths(&[1, 9, 9], 8, 10), Some(error));
    assert_eq!(
        lengths(&[], 8, 10),
        Some(bijective_shuffle::Error::View(ViewError::NoItems).into())
    );
    assert_eq!(lengths(&[0, 0], u64::MAX, 10), None);

    let batches = Lengths::new(vec![1_u32; 100], 10, 100, 1).unwrap();
    let error = Batches::new(&batches, Some(11), BatchOptions::new(1)).unwrap_err();
    assert_eq!(error, Error::EpochLengthMismatch { asked: 11, has: 10 });
    let other = Lengths::new(vec![1_u32; 100], 11, 100, 1).unwrap();
    let state = Batches::new(&batches, Some(10), BatchOptions::new(1)).unwrap().state();
    let error = Batches::new(&other, None, BatchOptions::new(1)).unwrap().resume(&state);
    assert_eq!(error, Err(bijective_shuffle::Error::Saved(SavedError::Foreign).into()));
}
