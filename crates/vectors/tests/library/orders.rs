//! Chapters 4 to 9: bijections, and the orders that they give.

use bijective_shuffle::affine::Affine;
use bijective_shuffle::bijection::{CycleWalk, MulXorshift, Standard, Table, VariablePhilox};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cursor, Permutations, bijection};

use crate::case::Case;
use crate::words::Counting;

pub(crate) fn draws(case: &Case) {
    let (len, seed) = (case.length(), case.seed());
    let mut words = Counting { stream: seed.key_stream(Table::key_domain(len)), drawn: 0 };
    let table = Table::from_words(len, &mut words);
    assert_eq!(words.drawn, case.count("drawn"), "{}", case.what);
    case.assert_listed(&table.values()[..len as usize]);
    if len <= Standard::EXACT_MAX {
        case.assert_listed(&Permutation::new(len, seed).to_vec());
    }
}

pub(crate) fn chains(case: &Case) {
    let f = MulXorshift::<10>::from_seed(case.length(), case.seed());
    assert_eq!(u64::from(f.bits()), case.count("bits"), "{}", case.what);
    assert_eq!(case.words("increments"), f.increments(), "{}", case.what);
    assert_eq!(case.words("multipliers"), f.multipliers(), "{}", case.what);
}

fn family(name: &str, len: u64, seed: Seed) -> Box<dyn Bijection> {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: Seed) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let mut families = bijective_shuffle_laws::families!(draw, "Affine" Affine).into_iter();
    let known = families.find(|(other, _)| *other == name);
    let (_, draw) = known.unwrap_or_else(|| panic!("an unknown family: {name}"));
    draw(len, seed)
}

/// Compares a bijection with its values at some slots, in both directions.
fn assert_points(f: &dyn Bijection, case: &Case) {
    let (slots, indexes) = (case.words("slots"), case.words("indexes"));
    assert_eq!(slots.len(), indexes.len(), "{}", case.what);
    for (slot, index) in slots.into_iter().zip(indexes) {
        assert_eq!(f.forward(slot), index, "{}", case.what);
        assert_eq!(f.inverse(index), slot, "{}", case.what);
    }
}

pub(crate) fn points(case: &Case) {
    let f = family(case.text("family"), case.length(), case.seed());
    assert_eq!(f.last(), case.word("last"), "{}", case.what);
    assert_points(&*f, case);
}

pub(crate) fn lists(case: &Case) {
    let f = Table::new(case.counts("bijection")).unwrap();
    let p = Permutation::from_bijection(case.length(), f).unwrap();
    assert_eq!(p.to_vec(), case.counts("compacted"), "{}", case.what);
}

pub(crate) fn families(case: &Case) {
    let len = case.length();
    let f = family(case.text("family"), len, case.seed());
    case.assert_listed(&Permutation::from_bijection(len, f).unwrap().to_vec());
}

pub(crate) fn keyed(case: &Case) {
    let bits = u32::try_from(case.count("bits")).unwrap();
    let f = VariablePhilox::<24>::new(bits, case.words_u32("keys")).unwrap();
    let values = Permutation::from_bijection(case.length(), f).unwrap().to_vec();
    // These heads are longer.
    let head = case.counts("head");
    assert_eq!(values[..head.len()], head, "{}", case.what);
    assert_eq!(crate::case::digest(&values), case.word("digest"), "{}", case.what);
}

pub(crate) fn standard(case: &Case) {
    case.assert_listed(&Permutation::new(case.length(), case.seed()).to_vec());
}

pub(crate) fn walked_chains(case: &Case) {
    let len = case.length();
    let f = CycleWalk::<MulXorshift<10>>::from_seed(len, case.seed());
    case.assert_listed(&Permutation::from_bijection(len, f).unwrap().to_vec());
}

pub(crate) fn walks(case: &Case) {
    case.assert_listed(&Permutation::walk(case.length(), case.seed()).to_vec());
}

pub(crate) fn places(case: &Case) {
    let p = Permutation::walk(case.length(), case.seed());
    let (places, items) = (case.words("places"), case.words("items"));
    assert_eq!(places.len(), items.len(), "{}", case.what);
    for (place, item) in places.into_iter().zip(items) {
        assert_eq!(p.get(place), Some(item), "{}", case.what);
        assert_eq!(p.position(item), Some(place), "{}", case.what);
    }
}

pub(crate) fn rows(case: &Case) {
    let (first, count) = (case.word("first"), case.count("count"));
    let rows = Permutations::new(u64::MAX, case.length(), case.seed());
    let mut values = vec![0_u64; (count * case.length()) as usize];
    rows.write_rows(first, &mut values).unwrap();
    case.assert_listed(&values);
}

pub(crate) fn inverses(case: &Case) {
    let (len, seed) = (case.length(), case.seed());
    let values = match case.text("order") {
        "new" => Permutation::new(len, seed).inverse().to_vec(),
        "walk" => Permutation::walk(len, seed).inverse().to_vec(),
        other => panic!("an unknown order: {other}"),
    };
    case.assert_listed(&values);
}

pub(crate) fn shards(case: &Case) {
    let p = Permutation::walk(case.length(), 42);
    let mut shard = p.shard(case.count("rank"), case.count("ranks")).unwrap();
    let (start, end) = (case.word("start"), case.word("end"));
    assert_eq!(shard.left(), end - start, "{}", case.what);
    if start < end {
        assert_eq!(shard.next(), p.get(start), "{}", case.what);
        assert_eq!(shard.next_back().or_else(|| p.get(start)), p.get(end - 1), "{}", case.what);
    }
}

/// The longest order of which a sample is also taken from a slice.
const IN_MEMORY: u64 = 1_000_000;

pub(crate) fn samples(case: &Case) {
    let (len, seed, items) = (case.length(), case.seed(), case.words("items"));
    let count = case.count("count") as usize;
    let p = Permutation::new(len, seed);
    assert_eq!(p.head(count as u64).collect::<Vec<u64>>(), items, "{}", case.what);
    if len <= IN_MEMORY {
        let all: Vec<u64> = (0..len).collect();
        assert_eq!(p.sample(&all, count).unwrap(), items, "{}", case.what);
        assert_eq!(all.par_bijective_sample(count, seed), items, "{}", case.what);
        assert_eq!(all.par_bijective_shuffled(seed)[..count], items, "{}", case.what);
    }
}

pub(crate) fn ends(case: &Case) {
    let p = Permutation::new(case.length(), case.seed());
    let inverse = p.inverse();
    let (places, items) = (case.words("places"), case.words("items"));
    let count = places.len();
    for (&place, &item) in places.iter().zip(&items) {
        assert_eq!(p.try_get(place), Ok(Some(item)), "{}", case.what);
        assert_eq!(p.try_position(item), Ok(Some(place)), "{}", case.what);
        assert_eq!(inverse.try_get(item), Ok(Some(place)), "{}", case.what);
        assert_eq!(inverse.try_position(place), Ok(Some(item)), "{}", case.what);
    }
    let (first, last) = items.split_at(count / 2);
    assert_eq!(p.head(first.len() as u64).collect::<Vec<u64>>(), first, "{}", case.what);
    let end = p.range(p.len() - last.len() as u64..p.len()).unwrap();
    assert_eq!(end.collect::<Vec<u64>>(), last, "{}", case.what);
    assert!(p.iter().rev().take(last.len()).eq(last.iter().rev().copied()), "{}", case.what);
    for beyond in [p.len(), u64::MAX] {
        assert_eq!(p.try_get(beyond), Ok(None), "{}", case.what);
        assert_eq!(p.try_position(beyond), Ok(None), "{}", case.what);
    }
}

/// What a cursor of a case gives: how many items are left, and the next five.
fn resumed(case: &Case) -> Option<(u64, Vec<u64>)> {
    fn next<B: Bijection + Clone>(
        p: Permutation<B>,
        is_inverted: bool,
        text: &str,
    ) -> Option<(u64, Vec<u64>)> {
        let p = if is_inverted { p.inverse() } else { p };
        let cursor: Cursor = text.parse().ok()?;
        let items = p.resume(&cursor).ok()?;
        Some((items.left(), items.take(5).collect()))
    }
    let (len, seed) = (case.length(), case.seed());
    let (is_inverted, text) = (case.flag("inverted"), case.text("text"));
    match case.text("order") {
        "new" => next(Permutation::new(len, seed), is_inverted, text),
        "walk" => next(Permutation::walk(len, seed), is_inverted, text),
        other => panic!("an unknown order: {other}"),
    }
}

pub(crate) fn cursors(case: &Case) {
    let expected = (case.count("left"), case.counts("head"));
    assert_eq!(resumed(case), Some(expected), "{}", case.what);
    let cursor: Cursor = case.text("text").parse().unwrap();
    assert_eq!(cursor.to_string(), case.text("text"));
}

pub(crate) fn refused_cursors(case: &Case) {
    assert_eq!(resumed(case), None, "{}", case.what);
}

fn block_shuffle(case: &Case) -> bijection::BlockShuffle {
    let (block, window) = (case.word("block"), case.word("window"));
    bijection::BlockShuffle::new(case.length(), block, window, case.seed()).unwrap()
}

pub(crate) fn reading(case: &Case) {
    let f = block_shuffle(case);
    let blocks = f.windows().flat_map(|window| window.blocks().collect::<Vec<u64>>());
    let first = case.counts("blocks");
    assert_eq!(blocks.take(first.len()).collect::<Vec<u64>>(), first, "{}", case.what);
}

pub(crate) fn blocks(case: &Case) {
    let p = Permutation::from_bijection(case.length(), block_shuffle(case)).unwrap();
    case.assert_listed(&p.to_vec());
}

pub(crate) fn points_of_blocks(case: &Case) {
    assert_points(&block_shuffle(case), case);
}
