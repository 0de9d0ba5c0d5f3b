//! Shuffles of files against the library's own, with memory from nearly nothing to enough.

use std::io::{self, Cursor};
use std::num::NonZeroUsize;

use bijective_shuffle::{Permutation, Seed};
use proptest::prelude::*;
use rayon::ThreadPoolBuilder;

use super::*;

const LINES: Items = Items::Lines { delimiter: b'\n' };

fn records(bytes: usize) -> Items {
    Items::Records { bytes: NonZeroUsize::new(bytes).unwrap() }
}

const BOTH_WAYS: [fn(u64, Seed) -> FileOrder; 2] =
    [|len, seed| FileOrder::shuffle(len, seed), |len, seed| FileOrder::unshuffle(len, seed)];

/// The output of a shuffle, and what it says.
fn shuffled(
    items: Items,
    memory: usize,
    text: &[u8],
    order: impl Fn(u64) -> FileOrder,
) -> Result<(Vec<u8>, Summary), FilesError> {
    let shuffle = FileShuffle::new(items, memory);
    let mut source = Cursor::new(text);
    let count = shuffle.count(&mut source, &())?;
    let mut output = Vec::new();
    let order = order(count.items);
    let summary =
        shuffle.run(&order, &count, &mut source, &mut Memory::new(usize::MAX), &mut output, &())?;
    assert_eq!(summary.bytes, output.len() as u64);
    Ok((output, summary))
}

/// What the output should be, for lines.
fn expected(text: &[u8], order: impl Fn(u64) -> FileOrder) -> Vec<u8> {
    let is_open = !text.is_empty() && !text.ends_with(b"\n");
    let text = if is_open { [text, b"\n"].concat() } else { text.to_vec() };
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let order = order(lines.len() as u64).indexes::<u64>().unwrap();
    order.into_iter().flat_map(|line| lines[line as usize].iter().copied()).collect()
}

/// Lines of many lengths.
fn lines(count: usize, longest: usize) -> Vec<u8> {
    let line = |k: usize| {
        let mut line = format!("{k} ").into_bytes();
        line.resize(line.len() + k * 7919 % longest, b'a' + (k % 26) as u8);
        line.push(b'\n');
        line
    };
    (0..count).flat_map(line).collect()
}

#[test]
fn memory_makes_no_difference_to_files() {
    // How many buckets there are, and whether they are split, is for this number of threads.
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let text = lines(20_000, 90);
    for order in BOTH_WAYS {
        let order = |len| order(len, Seed::new(3));
        let whole = expected(&text, order);
        for (memory, splits) in [(1 << 14, true), (1 << 20, false), (1 << 26, false)] {
            let done = pool.install(|| shuffled(LINES, memory, &text, order));
            let (output, summary) = done.unwrap();
            assert!(output == whole, "{memory}");
            assert_eq!((summary.items, summary.splits > 0), (20_000, splits), "{summary:?}");
            assert_eq!(summary.buckets > 2, memory < 1 << 26);
        }
    }
}

#[test]
fn parts_of_an_order_are_parts_of_the_output() {
    let text = lines(3000, 40);
    let open = &text[..text.len() - 1];
    for text in [&text[..], open] {
        for order in BOTH_WAYS {
            for source in [0..0, 0..1, 0..3000, 2999..3000, 100..2000, 3000..3000] {
                let order =
                    |len| order(len, Seed::new(1).with_epoch(2)).range(source.clone()).unwrap();
                for memory in [1 << 14, 1 << 20] {
                    let (output, summary) = shuffled(LINES, memory, text, order).unwrap();
                    assert!(output == expected(text, order), "{source:?} {memory}");
                    assert_eq!(summary.items, source.end - source.start);
                }
            }
        }
        for rank in 0..4 {
            let order = |len| FileOrder::shuffle(len, 1).shard(rank, 4).unwrap();
            let (output, _) = shuffled(LINES, 1 << 16, text, order).unwrap();
            assert!(output == expected(text, order));
            let indexes: Vec<u64> = Permutation::new(3000, 1).shard(rank, 4).unwrap().collect();
            assert_eq!(order(3000).indexes::<u64>().unwrap(), indexes);
        }
    }
}

#[test]
fn records_are_shuffled() {
    for record in [1, 3, 8, 100] {
        let text: Vec<u8> = (0..record * 4000).map(|k| (k * 31 % 251) as u8).collect();
        let rows: Vec<&[u8]> = text.chunks(record).collect();
        let whole = Permutation::new(4000, 5).apply(&rows).unwrap().concat();
        for memory in [1 << 13, 1 << 22] {
            let (output, _) =
                shuffled(records(record), memory, &text, |len| FileOrder::shuffle(len, 5)).unwrap();
            assert!(output == whole, "{record} {memory}");
            let (back, _) =
                shuffled(records(record), memory, &output, |len| FileOrder::unshuffle(len, 5))
                    .unwrap();
            assert!(back == text);
        }
    }
    let source = shuffled(records(3), 1 << 20, b"abcd", |len| FileOrder::shuffle(len, 5));
    assert!(matches!(source, Err(FilesError::PartOfRecord { record: 3, rest: 1 })));
    let large = shuffled(records(3000), 1 << 14, &[0; 9000], |len| FileOrder::shuffle(len, 5));
    assert!(matches!(large, Err(FilesError::ItemTooLong { item: 0, most: 2048 })));
    // Their size does not matter where there are none.
    let none = shuffled(records(3000), 1 << 14, b"", |len| FileOrder::shuffle(len, 5)).unwrap();
    assert_eq!((none.0, none.1.items), (vec![], 0));
}

#[test]
fn long_lines_are_shuffled_or_named() {
    let mut text = lines(300, 20);
    text.extend(vec![b'x'; 2000]);
    text.push(b'\n');
    text.extend(lines(300, 20));
    let order = |len| FileOrder::shuffle(len, 5);
    let (output, _) = shuffled(LINES, 1 << 14, &text, order).unwrap();
    assert!(output == expected(&text, order));
    let named = shuffled(LINES, 1 << 13, &text, order).unwrap_err();
    assert!(matches!(named, FilesError::ItemTooLong { item: 300, most: 1024 }), "{named:?}");
}

#[test]
fn source_that_changes_is_noticed() {
    let text = lines(1000, 20);
    let shuffle = FileShuffle::new(LINES, 1 << 14);
    let count = shuffle.count(&mut Cursor::new(&text), &()).unwrap();
    let order = FileOrder::shuffle(count.items, 1);
    let more = [&text[..], b"more\n"].concat();
    // As long as before, with one line less.
    let mut merged = text.clone();
    merged[1 + text.iter().position(|&byte| byte == b'\n').unwrap()..]
        .iter_mut()
        .find(|byte| **byte == b'\n')
        .map(|byte| *byte = b'x')
        .unwrap();
    for changed in [&more[..], &text[..text.len() - 1], &text[..500], b"", &merged] {
        let mut output = Vec::new();
        let mut source = Cursor::new(changed);
        let error = shuffle
            .run(&order, &count, &mut source, &mut Memory::new(usize::MAX), &mut output, &())
            .unwrap_err();
        assert!(matches!(error, FilesError::Changed), "{error:?}");
        assert!(output.is_empty());
    }
    let order = FileOrder::shuffle(count.items + 1, 1);
    let mut source = Cursor::new(&text);
    let error = shuffle.run(
        &order,
        &count,
        &mut source,
        &mut Memory::new(usize::MAX),
        &mut Vec::new(),
        &(),
    );
    assert!(matches!(error, Err(FilesError::LengthMismatch { items: 1000, order: 1001 })));
}

#[test]
fn full_store_is_an_error() {
    let text = lines(20_000, 90);
    let shuffle = FileShuffle::new(LINES, 1 << 14);
    let count = shuffle.count(&mut Cursor::new(&text), &()).unwrap();
    let order = FileOrder::shuffle(count.items, 1);
    let need = {
        let mut store = Memory::new(usize::MAX);
        let mut source = Cursor::new(&text);
        shuffle.run(&order, &count, &mut source, &mut store, &mut Vec::new(), &()).unwrap();
        store.bytes() as usize
    };
    // In pass 1, at its end, and where buckets are split in pass 2.
    for most in [0, 1 << 18, text.len(), need - 1] {
        let mut store = Memory::new(most);
        let mut source = Cursor::new(&text);
        let result = shuffle.run(&order, &count, &mut source, &mut store, &mut Vec::new(), &());
        match result {
            Err(FilesError::Temporary(error)) => {
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
            }
            other => panic!("{most}: {other:?}"),
        }
    }
}

#[test]
fn faults_of_source_and_output_are_told_apart() {
    struct Broken;
    impl io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }
    impl io::Write for Broken {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let text = lines(100, 9);
    let shuffle = FileShuffle::new(LINES, 1 << 14);
    let count = shuffle.count(&mut Cursor::new(&text), &()).unwrap();
    let order = FileOrder::shuffle(count.items, 1);
    let mut store = Memory::new(usize::MAX);
    let read = shuffle.run(&order, &count, &mut Broken, &mut store, &mut Vec::new(), &());
    assert!(matches!(read, Err(FilesError::Read(_))), "{read:?}");
    let mut source = Cursor::new(&text);
    let written = shuffle.run(&order, &count, &mut source, &mut store, &mut Broken, &());
    assert!(matches!(written, Err(FilesError::Write(_))), "{written:?}");
}

#[test]
fn temporary_file_is_a_store() {
    let mut store = TemporaryFile::in_folder(&std::env::temp_dir()).unwrap();
    store.append(b"one").unwrap();
    let mut block = [0; 2];
    store.read_at(&mut block, 1).unwrap();
    assert_eq!(&block, b"ne");
    store.append(b"two").unwrap();
    store.read_at(&mut block, 4).unwrap();
    assert_eq!((&block, store.bytes()), (b"wo", 6));
    assert!(store.read_at(&mut block, 5).is_err());
    assert_eq!(io::Seek::stream_position(&mut store.into_file()).unwrap(), 6);
}

proptest! {
    #[test]
    fn any_text_is_shuffled_and_put_back(
        text in proptest::collection::vec(
            prop_oneof![2 => Just(b'\n'), 5 => any::<u8>()], 0..3000),
        seed: u64,
        memory in 4096_usize..100_000,
    ) {
        // A short line fits an eighth of the memory, a long one perhaps not.
        let longest = text.split(|&byte| byte == b'\n').map(<[u8]>::len).max();
        prop_assume!(longest.unwrap_or(0) < memory / 8 - 1);
        let (output, _) = shuffled(LINES, memory, &text, |len| FileOrder::shuffle(len, seed)).unwrap();
        prop_assert!(output == expected(&text, |len| FileOrder::shuffle(len, seed)));
        let (back, _) =
            shuffled(LINES, memory, &output, |len| FileOrder::unshuffle(len, seed)).unwrap();
        let is_open = !text.is_empty() && !text.ends_with(b"\n");
        let end: &[u8] = if is_open { b"\n" } else { b"" };
        prop_assert!(back == [&text[..], end].concat());
    }
}
