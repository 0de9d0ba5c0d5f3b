//! Any bytes, any memory: what is shuffled on disk is what the library shuffles in memory, whole or
//! in part, forwards or back; or an item is too long, and then it is.
#![no_main]

use std::io::{self, Cursor};
use std::num::NonZeroUsize;

use arbitrary::Arbitrary;
use bijective_shuffle_cli::files::{FileOrder, FileShuffle, FilesError, Items, Store};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    /// Lines with this delimiter, or records of this size.
    delimiter: Result<u8, NonZeroUsize>,
    memory: u16,
    seed: u64,
    is_undone: bool,
    part: (u64, u64),
    text: &'a [u8],
}

struct Memory(Vec<u8>);

impl Store for Memory {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        self.0.extend_from_slice(block);
        Ok(())
    }

    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        block.copy_from_slice(&self.0[offset as usize..][..block.len()]);
        Ok(())
    }
}

/// The items of a text. The last line gets the delimiter that it lacks.
fn divided(text: &[u8], items: Items) -> Vec<Vec<u8>> {
    match items {
        Items::Lines { delimiter } => {
            let lines = text.split_inclusive(|&byte| byte == delimiter);
            let mut lines: Vec<Vec<u8>> = lines.map(<[u8]>::to_vec).collect();
            if let Some(last) = lines.last_mut()
                && last.last() != Some(&delimiter)
            {
                last.push(delimiter);
            }
            lines
        }
        Items::Records { bytes } => text.chunks_exact(bytes.get()).map(<[u8]>::to_vec).collect(),
        _ => unreachable!("the target `records` has those"),
    }
}

fuzz_target!(|input: Input| {
    let Input { delimiter, memory, seed, is_undone, part, text } = input;
    let items = match delimiter {
        Ok(delimiter) => Items::Lines { delimiter },
        Err(bytes) => Items::Records { bytes },
    };
    let shuffle = FileShuffle::new(items, usize::from(memory));
    let mut source = Cursor::new(text);
    let expected = divided(text, items);
    let count = match shuffle.count(&mut source, &()) {
        Ok(count) => count,
        Err(FilesError::PartOfRecord { record, rest }) => {
            assert_eq!(text.len() % record, rest);
            return;
        }
        Err(FilesError::ItemTooLong { most, .. }) => {
            assert!(expected.iter().any(|item| item.len() > most));
            return;
        }
        Err(error) => panic!("{error:?}"),
    };
    assert_eq!((count.items, count.bytes), (expected.len() as u64, text.len() as u64));
    let start = part.0 % (count.items + 1);
    let end = start + part.1 % (count.items - start + 1);
    let way = if is_undone { FileOrder::unshuffle } else { FileOrder::shuffle };
    let order = way(count.items, seed).range(start..end).unwrap();

    let (mut store, mut output) = (Memory(Vec::new()), Vec::new());
    match shuffle.run(&order, &count, &mut source, &mut store, &mut output, &()) {
        Ok(summary) => {
            let order = order.indexes::<u64>().unwrap();
            let whole: Vec<u8> =
                order.iter().flat_map(|&item| expected[item as usize].iter().copied()).collect();
            assert_eq!(output, whole);
            assert_eq!((summary.items, summary.bytes), (end - start, whole.len() as u64));
        }
        Err(FilesError::ItemTooLong { most, .. }) => {
            assert!(expected.iter().any(|item| item.len() > most));
        }
        Err(error) => panic!("{error:?}"),
    }
});
