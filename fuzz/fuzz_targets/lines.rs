//! Any bytes, any delimiter: the lines joined are the text, and the lines are what a naive split
//! finds, however the text is cut into chunks.
#![no_main]

use arbitrary::Arbitrary;
use bijective_shuffle::Word;
use bijective_shuffle_cli::lines::{self, Divided};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    delimiter: u8,
    chunk: u8,
    text: &'a [u8],
}

/// The pieces of the text, each up to and including a delimiter.
fn naive(text: &[u8], delimiter: u8) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == delimiter).collect()
}

fn check<W: Word>(lines: &lines::Lines<W>, expected: &[&[u8]], text: &[u8]) {
    let all: Vec<&[u8]> = (0..lines.count()).map(|index| lines.get(index)).collect();
    assert_eq!(all, expected);
    assert_eq!(all.concat(), text);
}

fuzz_target!(|input: Input| {
    let Input { delimiter, chunk, text } = input;
    let expected = naive(text, delimiter);
    check(&lines::split::<u32>(text, delimiter), &expected, text);
    let chunk = usize::from(chunk) + 1;
    check(&lines::split_in_chunks::<u64>(text, delimiter, chunk), &expected, text);
});
