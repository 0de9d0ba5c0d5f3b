//! Any bytes, any kind of record: however the text is cut into pieces, the records and what is
//! skipped are the text, with ends behind its last record at most; or it is refused.
#![no_main]

use std::num::NonZeroU32;

use arbitrary::Arbitrary;
use bijective_shuffle_cli::dataset::{Broken, Csv, Found, Records};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Kind<'a> {
    Lines(u8),
    Groups(u8, NonZeroU32),
    Fastq,
    Csv(u8, bool),
    Separated(&'a [u8]),
    Started(&'a [u8]),
    TfRecord,
    Samples(bool),
}

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    kind: Kind<'a>,
    steps: (u8, u16),
    text: &'a [u8],
}

/// A record, or what is skipped before one.
#[derive(Debug, PartialEq)]
struct Piece {
    is_record: bool,
    text: Vec<u8>,
    end: Vec<u8>,
}

fn split(records: &Records, text: &[u8], step: usize) -> Result<Vec<Piece>, Broken> {
    let mut splitter = records.splits();
    let (mut at, mut end, mut pieces) = (0, 0, Vec::<Piece>::new());
    while at < text.len() {
        let found = splitter.find(&text[at..end], end == text.len())?;
        let (bytes, is_record, added) = match found {
            Found::More => {
                assert!(end < text.len(), "there is no more");
                end = text.len().min(end + step);
                continue;
            }
            Found::Skip { bytes, .. } => (bytes, false, Vec::new()),
            Found::Record { bytes, end } => (bytes, true, end),
            _ => unreachable!("a splitter finds nothing else"),
        };
        assert!(bytes > 0, "it goes on");
        let own = &text[at..at + bytes];
        at += bytes;
        // A pause of zeros may come in several pieces.
        match pieces.last_mut() {
            Some(last) if !last.is_record && !is_record => last.text.extend_from_slice(own),
            _ => pieces.push(Piece { is_record, text: own.to_vec(), end: added }),
        }
    }
    splitter.finish()?;
    Ok(pieces)
}

fuzz_target!(|input: Input| {
    let Input { kind, steps, text } = input;
    let records = match kind {
        Kind::Lines(delimiter) => Records::Lines(delimiter),
        Kind::Groups(delimiter, lines) => Records::Groups(delimiter, lines),
        Kind::Fastq => Records::Fastq,
        Kind::Csv(b'"' | b'\n' | b'\r', _) | Kind::Separated([]) | Kind::Started([]) => return,
        Kind::Csv(delimiter, has_loose_quotes) => {
            let mut csv = Csv::new(delimiter);
            csv.has_loose_quotes = has_loose_quotes;
            Records::Csv(csv)
        }
        Kind::Started(start) => Records::Started(start.to_vec()),
        Kind::TfRecord => Records::TfRecord,
        Kind::Separated(separator) => Records::Separated(separator.to_vec()),
        Kind::Samples(are_uneven) => Records::Samples { are_uneven },
    };
    let whole = split(&records, text, text.len().max(1));
    for step in [usize::from(steps.0) + 1, usize::from(steps.1) + 1] {
        assert_eq!(split(&records, text, step), whole);
    }
    let Ok(pieces) = whole else { return };
    assert!(pieces.iter().flat_map(|piece| &piece.text).eq(text));
    let count = pieces.len();
    for (number, piece) in pieces.iter().enumerate() {
        assert!(piece.end.is_empty() || number + 1 == count, "only the last lacks its end");
    }
    if let Records::Lines(delimiter) = records {
        assert_eq!(count, text.split_inclusive(|&byte| byte == delimiter).count());
    }
});
