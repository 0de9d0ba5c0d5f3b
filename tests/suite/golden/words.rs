//! Chapters 1 to 4: numbers, Philox, keys, and what a draw takes.

use bijective_shuffle::bijection::Lcg;
use bijective_shuffle::rng::Philox4x32;
use bijective_shuffle::{FromSeed, KeyDomain, Seed, Word, Words};

use super::case::{Case, digest};

pub(super) fn bits(case: &Case) {
    let bits = u32::try_from(case.count("bits")).unwrap();
    assert_eq!(Lcg::key_domain(case.length()), KeyDomain::Bits(bits), "{}", case.what);
}

// The library's products are those of the processor.
pub(super) fn products(case: &Case) {
    let product = u128::from(case.word("a")) * u128::from(case.word("b"));
    let parts = u128::from(case.word("high")) << 64 | u128::from(case.word("low"));
    assert_eq!(product, parts, "{}", case.what);
}

pub(super) fn odd_inverses(case: &Case) {
    let mask = u64::low_mask(u32::try_from(case.count("bits")).unwrap());
    let inverse = case.word("number").odd_inverse() & mask;
    assert_eq!(inverse, case.word("inverse"), "{}", case.what);
}

/// The seed of these words.
fn seed_of(words: &[u64]) -> Seed {
    match words {
        [word] => Seed::new(*word),
        _ => {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            Seed::from_bytes(bytes.try_into().expect("four words"))
        }
    }
}

pub(super) fn seeds(case: &Case) {
    let seed = seed_of(&case.words("words")).with_epoch(case.word("epoch"));
    assert_eq!(case.text("text").parse(), Ok(seed), "{}", case.what);
    assert_eq!(seed.to_string(), case.text("written"), "{}", case.what);
}

pub(super) fn refused_seeds(case: &Case) {
    assert!(case.text("text").parse::<Seed>().is_err(), "{}", case.what);
}

pub(super) fn digests(case: &Case) {
    assert_eq!(digest(&case.words("values")), case.word("digest"), "{}", case.what);
}

/// The library keeps this function to itself: cursors and states show what it gives there.
pub(super) fn checks(case: &Case) {
    let check = case.words("values").into_iter().fold(0, |check: u64, word| {
        let x = (check ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    });
    assert_eq!(check, case.word("check"), "{}", case.what);
}

pub(super) fn philox(case: &Case) {
    let block = Philox4x32::<10>::new(case.words_u32("key")).block(case.words_u32("counter"));
    assert_eq!(block, case.words_u32("output"), "{}", case.what);
}

pub(super) fn domains(case: &Case) {
    let value = case.word("value");
    let domain = match case.text("kind") {
        "bits" => KeyDomain::Bits(u32::try_from(value).unwrap()),
        "exact" => KeyDomain::Exact(value),
        "blocks" => KeyDomain::Blocks,
        "generator" => KeyDomain::Generator(u32::try_from(value).unwrap()),
        _ => panic!("{}", case.what),
    };
    let counter = [0, u32::try_from(case.word("word")).unwrap(), 0, 0];
    let mut stream = Seed::new(0).key_stream(domain);
    let block = [(); 4].map(|()| stream.next_u32());
    assert_eq!(block, Philox4x32::<10>::new([0, 0]).block(counter), "{}", case.what);
}

/// A domain that has this word.
fn domain_of(word: u64) -> KeyDomain {
    match word {
        0..=64 => KeyDomain::Bits(word as u32),
        0x4000_0000 => KeyDomain::Blocks,
        0x2000_0000..0x4000_0000 => KeyDomain::Generator((word - 0x2000_0000) as u32),
        0x8000_0000..=0xFFFF_FFFF => KeyDomain::Exact(word - 0x8000_0000),
        _ => panic!("no domain has the word {word:#x}"),
    }
}

pub(super) fn streams(case: &Case) {
    let mut stream = case.seed().key_stream(domain_of(case.word("domain")));
    for word in case.words("words") {
        assert_eq!(u64::from(stream.next_u32()), word, "{}", case.what);
    }
}

/// The library keeps children to itself: shuffles of blocks and generators show them.
pub(super) fn children(case: &Case) {
    let (seed, domain) = (case.seed(), domain_of(case.word("domain")));
    let is_long = seed.with_epoch(0).to_string().len() == 64;
    let mut stream = seed.key_stream(domain);
    let words: Vec<u64> = (0..if is_long { 4 } else { 1 }).map(|_| stream.next_u64()).collect();
    assert_eq!(seed_of(&words).to_string(), case.text("child"), "{}", case.what);
}

/// A draw shows what its batches are: by how many words it takes, and by its values.
pub(super) fn batches(case: &Case) {
    let range = case.word("range");
    let (count, product) = (case.count("count"), case.word("product"));
    let whole: u128 = (0..count).map(|k| u128::from(range - k)).product();
    assert_eq!(whole, u128::from(product), "{}", case.what);
    assert!(count == 1 || product <= 1 << 56, "{}", case.what);
    let next = u128::from(range - count) * whole;
    assert!(range - count < 2 || next > 1 << 56, "{}", case.what);
}

/// A stream that counts the words of 64 bits which it gives.
pub(super) struct Counting<R> {
    pub(super) stream: R,
    pub(super) drawn: u64,
}

impl<R: Words> Words for Counting<R> {
    fn next_u32(&mut self) -> u32 {
        panic!("a draw takes words of 64 bits")
    }

    fn next_u64(&mut self) -> u64 {
        self.drawn += 1;
        self.stream.next_u64()
    }
}
