//! Chapters 4 to 9: bijections, and the orders that they give.

use bijective_shuffle::affine::Affine;
use bijective_shuffle::bijection::{CycleWalk, MulXorshift, Standard, Table, VariablePhilox};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Cursor, Permutations, bijection};

use super::case::Case;
use super::words::Counting;

pub(super) fn draws(case: &Case) {
    let (len, seed) = (case.length(), case.seed());
    let mut words = Counting { stream: seed.key_stream(Table::key_domain(len)), drawn: 0 };
    let table = Table::from_words(len, &mut words);
    assert_eq!(words.drawn, case.count("drawn"), "{}", case.what);
    case.assert_listed(&table.values()[..len as usize]);
    if len <= Standard::EXACT_MAX {
        case.assert_listed(&Permutation::new(len, seed).to_vec());
    }
}

pub(super) fn chains(case: &Case) {
    let f = MulXorshift::<10>::from_seed(case.length(), case.seed());
    assert_eq!(u64::from(f.bits()), case.count("bits"), "{}", case.what);
    assert_eq!(case.words("increments"), f.increments(), "{}", case.what);
    assert_eq!(case.words("multipliers"), f.multipliers(), "{}", case.what);
}

type Draw = fn(u64, Seed) -> Box<dyn Bijection>;

/// All families by name.
pub(super) fn all_families() -> impl Iterator<Item = (&'static str, Draw)> {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: Seed) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let families = bijective_shuffle_laws::families!(draw, "Affine" Affine);
    families.into_iter().map(|(name, draw)| (name, draw as Draw))
}

fn family(name: &str, len: u64, seed: Seed) -> Box<dyn Bijection> {
    let known = all_families().find(|(other, _)| *other == name);
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

pub(super) fn points(case: &Case) {
    let f = family(case.text("family"), case.length(), case.seed());
    assert_eq!(f.last(), case.word("last"), "{}", case.what);
    assert_points(&*f, case);
}

pub(super) fn lists(case: &Case) {
    let f = Table::new(case.counts("bijection")).unwrap();
    let p = Permutation::from_bijection(case.length(), f).unwrap();
    assert_eq!(p.to_vec(), case.counts("compacted"), "{}", case.what);
}

/// Compares a permutation with the head and the digest, by three ways to list it.
fn assert_order<B: Bijection>(p: &Permutation<B>, case: &Case) {
    let listed = p.to_vec();
    case.assert_listed(&listed);
    assert!(p.iter().eq(listed.iter().copied()), "iter: {}", case.what);
    let mut items: Vec<u64> = (0..p.len()).collect();
    p.apply_in_place(&mut items).unwrap();
    assert!(items == listed, "apply_in_place: {}", case.what);
}

pub(super) fn families(case: &Case) {
    let len = case.length();
    let f = family(case.text("family"), len, case.seed());
    assert_order(&Permutation::from_bijection(len, f).unwrap(), case);
}

/// The keys and permutations are those of `thrust::shuffle_copy`, dumped from Thrust itself.
pub(super) fn keyed(case: &Case) {
    let (len, bits) = (case.length(), u32::try_from(case.count("bits")).unwrap());
    let f = VariablePhilox::<24>::new(bits, case.words_u32("keys")).unwrap();
    let p = Permutation::from_bijection(len, f).unwrap();
    assert_order(&p, case);
    // The same values through 32-bit words.
    let narrow = f.to_word::<u32>().unwrap();
    let survivors = (0..=narrow.last()).map(|x| u64::from(narrow.forward(x))).filter(|&x| x < len);
    assert!(survivors.eq(p.iter()), "{}", case.what);
}

pub(super) fn standard(case: &Case) {
    assert_order(&Permutation::new(case.length(), case.seed()), case);
}

pub(super) fn walked_chains(case: &Case) {
    let len = case.length();
    let f = CycleWalk::<MulXorshift<10>>::from_seed(len, case.seed());
    assert_order(&Permutation::from_bijection(len, f).unwrap(), case);
}

pub(super) fn walks(case: &Case) {
    case.assert_listed(&Permutation::walk(case.length(), case.seed()).to_vec());
}

pub(super) fn places(case: &Case) {
    let p = Permutation::walk(case.length(), case.seed());
    let (places, items) = (case.words("places"), case.words("items"));
    assert_eq!(places.len(), items.len(), "{}", case.what);
    for (place, item) in places.into_iter().zip(items) {
        assert_eq!(p.get(place), Ok(item), "{}", case.what);
        assert_eq!(p.position(item), Ok(place), "{}", case.what);
    }
}

pub(super) fn rows(case: &Case) {
    let (first, count) = (case.word("first"), case.count("count"));
    let rows = Permutations::new(u64::MAX, case.length(), case.seed());
    let mut values = vec![0_u64; (count * case.length()) as usize];
    rows.write_rows(first, &mut values).unwrap();
    case.assert_listed(&values);
}

pub(super) fn inverses(case: &Case) {
    let (len, seed) = (case.length(), case.seed());
    let values = match case.text("order") {
        "new" => Permutation::new(len, seed).inverted().to_vec(),
        "walk" => Permutation::walk(len, seed).inverted().to_vec(),
        other => panic!("an unknown order: {other}"),
    };
    case.assert_listed(&values);
}

pub(super) fn shards(case: &Case) {
    let p = Permutation::walk(case.length(), 42);
    let mut shard = p.shard(case.count("rank"), case.count("ranks")).unwrap();
    let (start, end) = (case.word("start"), case.word("end"));
    assert_eq!(shard.remaining(), end - start, "{}", case.what);
    if start < end {
        let [first, last] = [start, end - 1].map(|place| p.get(place).ok());
        assert_eq!(shard.next(), first, "{}", case.what);
        assert_eq!(shard.next_back().or(first), last, "{}", case.what);
    }
}

/// The longest order for which a sample is also taken from a slice.
const IN_MEMORY: u64 = 1_000_000;

pub(super) fn samples(case: &Case) {
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

pub(super) fn ends(case: &Case) {
    let p = Permutation::new(case.length(), case.seed());
    let inverse = p.inverted();
    let (places, items) = (case.words("places"), case.words("items"));
    let count = places.len();
    for (&place, &item) in places.iter().zip(&items) {
        assert_eq!(p.get(place), Ok(item), "{}", case.what);
        assert_eq!(p.position(item), Ok(place), "{}", case.what);
        assert_eq!(inverse.get(item), Ok(place), "{}", case.what);
        assert_eq!(inverse.position(place), Ok(item), "{}", case.what);
    }
    let (first, last) = items.split_at(count / 2);
    assert_eq!(p.head(first.len() as u64).collect::<Vec<u64>>(), first, "{}", case.what);
    let end = p.range(p.len() - last.len() as u64..p.len()).unwrap();
    assert_eq!(end.collect::<Vec<u64>>(), last, "{}", case.what);
    assert!(p.iter().rev().take(last.len()).eq(last.iter().rev().copied()), "{}", case.what);
    for beyond in [p.len(), u64::MAX] {
        assert!(p.get(beyond).is_err(), "{}", case.what);
        assert!(p.position(beyond).is_err(), "{}", case.what);
    }
}

/// What a cursor of a case gives: how many items remain, and the next five.
fn resumed(case: &Case) -> Option<(u64, Vec<u64>)> {
    fn next<B: Bijection + Clone>(
        p: Permutation<B>,
        is_inverted: bool,
        text: &str,
    ) -> Option<(u64, Vec<u64>)> {
        let p = if is_inverted { p.inverted() } else { p };
        let cursor: Cursor = text.parse().ok()?;
        let items = p.resume(&cursor).ok()?;
        Some((items.remaining(), items.take(5).collect()))
    }
    let (len, seed) = (case.length(), case.seed());
    let (is_inverted, text) = (case.flag("inverted"), case.text("text"));
    match case.text("order") {
        "new" => next(Permutation::new(len, seed), is_inverted, text),
        "walk" => next(Permutation::walk(len, seed), is_inverted, text),
        other => panic!("an unknown order: {other}"),
    }
}

pub(super) fn cursors(case: &Case) {
    let expected = (case.count("remaining"), case.counts("head"));
    assert_eq!(resumed(case), Some(expected), "{}", case.what);
    let cursor: Cursor = case.text("text").parse().unwrap();
    assert_eq!(cursor.to_string(), case.text("text"));
}

pub(super) fn refused_cursors(case: &Case) {
    assert_eq!(resumed(case), None, "{}", case.what);
}

fn block_shuffle(case: &Case) -> bijection::BlockShuffle {
    let (block, window) = (case.word("block"), case.word("window"));
    bijection::BlockShuffle::new(case.length(), block, window, case.seed()).unwrap()
}

pub(super) fn reading(case: &Case) {
    let f = block_shuffle(case);
    let blocks = f.windows().flat_map(|window| window.blocks().collect::<Vec<u64>>());
    let first = case.counts("blocks");
    assert_eq!(blocks.take(first.len()).collect::<Vec<u64>>(), first, "{}", case.what);
}

pub(super) fn blocks(case: &Case) {
    let p = Permutation::from_bijection(case.length(), block_shuffle(case)).unwrap();
    assert_order(&p, case);
}

pub(super) fn points_of_blocks(case: &Case) {
    assert_points(&block_shuffle(case), case);
}
