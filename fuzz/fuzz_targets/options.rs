//! Any shard, range and head of any number of items, as they are given on the command line: the
//! places are those that a list of all of them has there.
#![no_main]

use arbitrary::Arbitrary;
use bijective_shuffle::{Backend, Permutation, Seed};
use bijective_shuffle_cli::selection::{self, Head, PlaceRange, Selection, WorkerShard};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
struct Input<'a> {
    items: u16,
    seed: u64,
    is_undone: bool,
    shard: Option<(u16, u16)>,
    range: Option<(Option<u32>, Option<u32>)>,
    head: Option<u64>,
    /// Something that may be no option at all.
    text: &'a str,
}

fuzz_target!(|input: Input| {
    let Input { items, seed, is_undone, shard, range, head, text } = input;
    let _ = (text.parse::<WorkerShard>().is_ok(), text.parse::<PlaceRange>().is_ok());
    let _ = text.parse::<selection::NumberRange>();
    if let Ok(head) = text.parse::<Head>() {
        assert!(head.share.is_none_or(|share| share.of(items.into()) <= items.into()));
    }
    let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
    let shard_text = shard.map(|(rank, ranks)| format!("{rank}/{ranks}"));
    let range_text = range.map(|(start, end)| format!("{}..{}", number(start), number(end)));
    let parsed_shard = shard_text.map(|text| text.parse());
    let parsed_range = range_text.map(|text| text.parse());
    let is_shard = shard.is_none_or(|(rank, ranks)| rank < ranks);
    let is_range = range.is_none_or(|(start, end)| end.is_none_or(|end| start.unwrap_or(0) <= end));
    assert_eq!(parsed_shard.as_ref().is_none_or(Result::is_ok), is_shard);
    assert_eq!(parsed_range.as_ref().is_none_or(Result::is_ok), is_range);
    let (Ok(shard_option), Ok(range_option)) = (parsed_shard.transpose(), parsed_range.transpose())
    else {
        return;
    };
    let selection = Selection {
        seed: Seed::new(seed),
        backend: Backend::Cpu,
        is_undone,
        shard: shard_option,
        range: range_option,
        head: head.map(|count| Head { count, share: None }),
    };
    let permutation = Permutation::new(items.into(), seed);
    let all = if is_undone { permutation.inverted().to_vec() } else { permutation.to_vec() };
    let mut expected = &all[..];
    if let Some((rank, ranks)) = shard {
        let bound = |rank: usize| expected.len() * rank / usize::from(ranks);
        expected = &expected[bound(rank.into())..bound(usize::from(rank) + 1)];
    }
    if let Some((start, end)) = range {
        let end = end.map_or(expected.len(), |end| expected.len().min(end as usize));
        expected = &expected[end.min(start.unwrap_or(0) as usize)..end];
    }
    if let Some(head) = head {
        expected = &expected[..expected.len().min(usize::try_from(head).unwrap_or(usize::MAX))];
    }
    let order = selection.order(items.into()).expect("it is a part");
    assert_eq!(order.indexes::<u64>().expect("there is room"), expected);
});
