//! Chapter 11: generators.

use bijective_shuffle::rand_core::Rng;
use bijective_shuffle::rng::{
    Fill, Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng,
    Streams, XorShift1024Weyl, Xorwow,
};

use super::case::{Case, digest};

/// Calls a generic function for the generator of a case.
macro_rules! by_generator {
    ($case:ident, $function:ident) => {
        match $case.text("generator") {
            "Philox4x32Rng" => $function::<Philox4x32Rng>($case),
            "Lcg32" => $function::<Lcg32>($case),
            "Lcg64" => $function::<Lcg64>($case),
            "Mwc" => $function::<Mwc>($case),
            "Xorwow" => $function::<Xorwow>($case),
            "LaggedFibonacci521" => $function::<LaggedFibonacci521>($case),
            "LaggedFibonacci1279" => $function::<LaggedFibonacci1279>($case),
            "XorShift1024Weyl" => $function::<XorShift1024Weyl>($case),
            other => panic!("an unknown generator: {other}"),
        }
    };
}

fn assert_words(rng: &mut impl Rng, case: &Case) {
    for word in case.words("words") {
        assert_eq!(u64::from(rng.next_u32()), word, "{}", case.what);
    }
}

pub(super) fn starts(case: &Case) {
    fn check<G: Generator>(case: &Case) {
        assert_words(&mut G::new(case.seed(), case.word("stream")), case);
    }
    by_generator!(case, check);
}

/// The first numbers of a kind, as bits.
fn fill(kind: &str, rng: &mut impl Fill, len: usize) -> Vec<u64> {
    macro_rules! drawn {
        ($fill:ident, $bits:expr) => {{
            let mut numbers = vec![Default::default(); len];
            rng.$fill(&mut numbers);
            numbers.into_iter().map($bits).collect()
        }};
    }
    match kind {
        "u32" => drawn!(fill_u32, u64::from),
        "u64" => drawn!(fill_u64, u64::from),
        "f32" => drawn!(fill_f32, |x| u64::from(f32::to_bits(x))),
        "f64" => drawn!(fill_f64, f64::to_bits),
        "normal_f32" => drawn!(fill_normal_f32, |x| u64::from(f32::to_bits(x))),
        "normal_f64" => drawn!(fill_normal_f64, f64::to_bits),
        "exponential_f32" => drawn!(fill_exponential_f32, |x| u64::from(f32::to_bits(x))),
        "exponential_f64" => drawn!(fill_exponential_f64, f64::to_bits),
        other => panic!("an unknown kind: {other}"),
    }
}

pub(super) fn numbers(case: &Case) {
    fn check<G: Generator>(case: &Case) {
        let (first, count, len) = (case.word("first"), case.count("count"), case.length());
        let mut streams = Streams::<G>::new(case.seed(), first..first + count).unwrap();
        let values = fill(case.text("kind"), &mut streams, len as usize);
        let head = case.words("bits_of_head");
        assert_eq!(values[..head.len()], head, "{}", case.what);
        assert_eq!(digest(&values), case.word("digest"), "{}", case.what);
    }
    by_generator!(case, check);
}

pub(super) fn bytes(case: &Case) {
    fn check<G: Generator>(case: &Case) {
        let digits = case.text("bytes");
        let mut bytes = vec![0; digits.len() / 2];
        G::new(case.seed(), case.word("stream")).fill_bytes(&mut bytes);
        let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, digits, "{}", case.what);
    }
    by_generator!(case, check);
}

pub(super) fn scaled(case: &Case) {
    let expected = case.words("bits_of_head");
    let (mean, deviation) = (case.count("mean") as f64, case.count("deviation") as f64);
    let mut rng = Philox4x32Rng::new(case.seed(), 0);
    let bits: Vec<u64> = match case.text("kind") {
        "normal_f32" => {
            let mut numbers = vec![0.0; expected.len()];
            rng.fill_normal_f32_with(mean as f32, deviation as f32, &mut numbers);
            numbers.into_iter().map(|x| u64::from(f32::to_bits(x))).collect()
        }
        "normal_f64" => {
            let mut numbers = vec![0.0; expected.len()];
            rng.fill_normal_f64_with(mean, deviation, &mut numbers);
            numbers.into_iter().map(f64::to_bits).collect()
        }
        other => panic!("an unknown kind: {other}"),
    };
    assert_eq!(bits, expected, "{}", case.what);
}

pub(super) fn different(case: &Case) {
    let (multiplier, stream) = (case.word("multiplier") as u32, case.word("stream"));
    assert_eq!(Mwc::multipliers().nth(stream as usize), Some(multiplier), "{}", case.what);
    assert_words(&mut Mwc::from_multiplier(multiplier, case.seed(), stream).unwrap(), case);
    let streams = Streams::<Mwc>::different(case.seed(), stream as usize + 1).unwrap();
    assert_words(&mut streams.generators()[stream as usize].clone(), case);
}

pub(super) fn leapfrog(case: &Case) {
    let (count, stream) = (case.count("count") as usize, case.word("stream") as usize);
    match case.text("generator") {
        "Lcg32" => {
            let streams = Streams::<Lcg32>::leapfrog(case.seed(), count).unwrap();
            assert_words(&mut streams.generators()[stream].clone(), case);
        }
        "Lcg64" => {
            let streams = Streams::<Lcg64>::leapfrog(case.seed(), count).unwrap();
            assert_words(&mut streams.generators()[stream].clone(), case);
        }
        other => panic!("an unknown generator: {other}"),
    }
}
