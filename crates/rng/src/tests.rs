//! Tests of what all generators have in common.

use proptest::prelude::*;
use rand_core::SeedableRng;

use super::number::{
    Bits, Distribution, ExponentialF32, ExponentialF64, F32, F64, MOST_NUMBERS, MOST_WORDS,
    NormalF32, NormalF64, U32, U64, memory,
};
use super::*;
use crate::GeneratorError;
use bijective_shuffle_core::Seed;
use bijective_shuffle_engine::simd::SimdLevel;

/// Runs a generic function for every generator.
macro_rules! for_each_generator {
    ($function:ident $(, $argument:expr)*) => {
        $function::<Philox4x32Rng>($($argument),*);
        $function::<Philox4x32Rng<7>>($($argument),*);
        $function::<Lcg32>($($argument),*);
        $function::<Lcg64>($($argument),*);
        $function::<Mwc>($($argument),*);
        $function::<LaggedFibonacci521>($($argument),*);
        $function::<LaggedFibonacci1279>($($argument),*);
        $function::<Xorwow>($($argument),*);
        $function::<XorShift1024Weyl>($($argument),*);
    };
}

/// The next words of a generator, one at a time.
fn words<G: Generator>(rng: &mut G, count: usize) -> Vec<u32> {
    (0..count).map(|_| rng.next_u32()).collect()
}

/// The numbers that a run of words makes, group by group.
fn numbers<D: Distribution>(words: &[u32]) -> Vec<D::Number> {
    let mut all = Vec::new();
    for group in words.chunks_exact(D::WORDS) {
        let mut of = [[0]; MOST_WORDS];
        for (of, &word) in of.iter_mut().zip(group) {
            of[0] = word;
        }
        let mut drawn = [[D::Number::default()]; MOST_NUMBERS];
        D::draw(&of, &mut drawn);
        all.extend(drawn[..D::NUMBERS].iter().map(|number| number[0]));
    }
    all
}

/// The bits of numbers, so that zeros of both signs differ.
fn bits<N: Bits>(numbers: &[N]) -> Vec<u32> {
    memory(&mut numbers.to_vec()).to_vec()
}

fn fills_are_the_words_in_order<G: Generator>() {
    fn check<G: Generator, D: Distribution>() {
        for skipped in [0, 1, 7] {
            for len in [0_usize, 1, 2, 3, 5, 31, 64, 100, 1000, 2049, 5000] {
                let mut one_by_one = G::new(42, 3);
                words(&mut one_by_one, skipped);
                let rng = one_by_one.clone();
                let groups = len.div_ceil(D::NUMBERS);
                let expected = numbers::<D>(&words(&mut one_by_one, groups * D::WORDS));
                let mut out = vec![D::Number::default(); len];
                for level in SimdLevel::all() {
                    let mut rng = rng.clone();
                    fill::draw_at::<G, D>(level, &mut rng, &mut out);
                    let what = format!("{rng:?}, {}, {len}", level.name());
                    assert_eq!(bits(&out), bits(&expected[..len]), "{what}");
                    assert_eq!(rng.next_u64(), one_by_one.clone().next_u64(), "after {what}");
                }
            }
        }
    }
    check::<G, U32>();
    check::<G, U64>();
    check::<G, F32>();
    check::<G, F64>();
    check::<G, NormalF32>();
    check::<G, NormalF64>();
    check::<G, ExponentialF32>();
    check::<G, ExponentialF64>();
}

#[test]
fn every_generator_fills_in_order() {
    for_each_generator!(fills_are_the_words_in_order);
}

fn bytes_are_words<G: Generator>() {
    let rng = G::new(7, 1);
    for len in [0_usize, 1, 3, 4, 5, 767, 768, 769, 2000, 6143, 6144, 6147] {
        let (mut filled, mut one_by_one) = (rng.clone(), rng.clone());
        let mut out = vec![0; len];
        filled.fill_bytes(&mut out);
        let expected: Vec<u8> = words(&mut one_by_one, len.div_ceil(4))
            .iter()
            .flat_map(|word| word.to_le_bytes())
            .collect();
        assert_eq!(out, expected[..len]);
        assert_eq!(filled.next_u32(), one_by_one.next_u32(), "after {len} bytes");
    }
}

#[test]
fn every_generator_fills_bytes() {
    for_each_generator!(bytes_are_words);
}

fn buffered_words_are_the_words<G: Generator>() {
    let mut rng = G::new(7, 1);
    rng.next_u32();
    let mut buffered = Buffered::new(rng.clone());
    let mut bytes = [[0; 2000]; 2];
    // A round takes 7 words, so each request meets every position in the buffer, including its end.
    for round in 0..400 {
        assert_eq!(buffered.next_u32(), rng.next_u32(), "{round}");
        assert_eq!(buffered.next_u64(), rng.next_u64(), "{round}");
        // One request for more than the buffer holds.
        let len = if round == 300 { 2000 } else { 13 };
        buffered.fill_bytes(&mut bytes[0][..len]);
        rng.fill_bytes(&mut bytes[1][..len]);
        assert_eq!(bytes[0], bytes[1], "{round}");
    }
}

#[test]
fn every_generator_can_be_buffered() {
    for_each_generator!(buffered_words_are_the_words);
    let mut buffered = Buffered::<Philox4x32Rng>::seed_from_u64(5);
    assert_eq!(buffered.next_u32(), Philox4x32Rng::<10>::seed_from_u64(5).next_u32());
    assert!(format!("{buffered:?}").ends_with("ahead: 191 }"));
}

fn rows_are_laid_out_as_documented<G: Generator>(counts: &[usize]) {
    fn check<G: Generator, D: Distribution>(count: usize, rows: usize) {
        let streams = Streams::<G>::new(Seed::new(5).with_epoch(2), 3..3 + count as u64).unwrap();
        let mut generators = streams.generators().to_vec();
        let row = streams.row_len();
        let mut at_levels: Vec<_> =
            SimdLevel::all().map(|level| (level, streams.clone())).collect();
        let paired = rows.next_multiple_of(D::NUMBERS);
        // Whole rows and part of one, twice.
        for len in [rows * row, rows * row - row / 2, row / 3 + 1] {
            let rows = if len > row { paired } else { D::NUMBERS };
            let rows = if G::BLOCK == 1 { rows } else { len.div_ceil(row) };
            let mut expected = vec![D::Number::default(); rows * row];
            for (i, generator) in generators.iter_mut().enumerate() {
                let drawn = rows * G::BLOCK / D::NUMBERS * D::WORDS;
                let numbers = numbers::<D>(&words(generator, drawn));
                for (t, block) in numbers.chunks_exact(G::BLOCK).enumerate() {
                    expected[(t * count + i) * G::BLOCK..][..G::BLOCK].copy_from_slice(block);
                }
            }
            for (level, streams) in &mut at_levels {
                let mut out = vec![D::Number::default(); len];
                streams::draw_at::<G, D>(*level, streams, &mut out);
                let what = format!("{count} streams, {rows} rows, {}", level.name());
                assert_eq!(bits(&out), bits(&expected[..len]), "{what}");
            }
        }
        let next = |rng: &G| rng.clone().next_u64();
        for (_, streams) in at_levels {
            assert!(streams.generators().iter().map(next).eq(generators.iter().map(next)));
        }
    }
    for &count in counts {
        for rows in [1, 2, 3, 4] {
            check::<G, U32>(count, rows);
            check::<G, U64>(count, rows);
            check::<G, F32>(count, rows);
            check::<G, F64>(count, rows);
            check::<G, NormalF32>(count, rows);
            check::<G, NormalF64>(count, rows);
            check::<G, ExponentialF32>(count, rows);
            check::<G, ExponentialF64>(count, rows);
        }
    }
}

#[test]
fn rows_of_every_generator_are_laid_out_as_documented() {
    for_each_generator!(rows_are_laid_out_as_documented, &[1, 2, 5, 33]);
    let counts = [31, 32, 63, 64, 65, 200];
    rows_are_laid_out_as_documented::<Philox4x32Rng>(&counts);
    rows_are_laid_out_as_documented::<Lcg32>(&counts);
    rows_are_laid_out_as_documented::<Mwc>(&counts);
}

fn streams_of_all_kinds_differ<G: Generator>() {
    let mut seen = Vec::new();
    for seed in 0..3 {
        for epoch in 0..3 {
            for stream in 0..3 {
                let mut rng = G::new(Seed::new(seed).with_epoch(epoch), stream);
                let mut again = G::new(Seed::new(seed).with_epoch(epoch), stream);
                assert_eq!(words(&mut rng, 70), words(&mut again, 70));
                seen.push(rng.next_u64());
            }
        }
    }
    seen.push(G::new([0; 32], 0).next_u64());
    let count = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), count);
    assert_eq!(
        G::new(7, 0).next_u64(),
        <G as Generator>::new(Seed::new(7).with_epoch(0), 0).next_u64()
    );
}

#[test]
fn seeds_epochs_and_streams_do_not_add_up() {
    for_each_generator!(streams_of_all_kinds_differ);
}

/// Fills give the same on any number of threads. There are enough numbers to be shared among them.
#[test]
fn long_fills_do_not_depend_on_the_threads() {
    fn check<F: Fill + Clone + Send + Sync>(what: &str, start: &F, len: usize) {
        let fill = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let mut rng = start.clone();
            let (mut words, mut normal) = (vec![0; len], vec![0.0; len / 2]);
            let mut uniform = vec![0.0; len / 3];
            pool.install(|| {
                rng.fill_u32(&mut words);
                rng.fill_normal_f64(&mut normal);
                rng.fill_f32(&mut uniform);
                rng.fill_u32(&mut words[len / 2..]);
            });
            (words, bits(&normal), bits(&uniform))
        };
        let expected = fill(1);
        for threads in [2, 3, 16] {
            assert!(fill(threads) == expected, "{what}, {threads} threads");
        }
    }
    fn both<G: Generator>() {
        let what = core::any::type_name::<G>();
        let mut rng = G::new(1, 2);
        rng.next_u32();
        // The last normal number is without the second of its pair.
        check(what, &rng, 300_002);
        check(what, &Streams::<G>::new(1, 7..307).unwrap(), 300 * G::BLOCK * 2 + 170_000);
    }
    for_each_generator!(both);
}

/// Compares a long fill with words taken one at a time.
#[test]
fn long_fills_are_in_order() {
    fn check<G: Generator>() {
        let mut rng = G::new(1, 2);
        let mut out = vec![0; 2 * tuning::TASK + 1000];
        rng.clone().fill_u32(&mut out);
        assert!(out.iter().all(|&word| word == rng.next_u32()), "{rng:?}");
    }
    for_each_generator!(check);
}

fn states_are_complete<G: Generator>() {
    let mut rng = G::new(9, 1 << 40);
    words(&mut rng, G::BLOCK * 3);
    let mut state = vec![0; G::STATE];
    rng.save(&mut state);
    // A whole number of blocks.
    assert_eq!(words(&mut G::load(&state), 2560), words(&mut rng, 2560));
    // The rest of a block is dropped.
    let mut block = vec![0; G::BLOCK];
    let mut begun = rng.clone();
    begun.next_u32();
    begun.fill_block(&mut block);
    let mut expected = words(&mut rng, 2 * G::BLOCK + 1);
    // A generator whose state advances word by word drops nothing.
    let first = if goes_on_by_blocks::<G>() { G::BLOCK } else { 1 };
    expected.drain(..first);
    assert_eq!(block, expected[..G::BLOCK]);
}

/// Whether the state advances by whole blocks: Philox's does, and that of the xorshift whose words
/// are a block.
fn goes_on_by_blocks<G: Generator>() -> bool {
    matches!(G::BLOCK, 4 | 32)
}

#[test]
fn states_of_every_generator_are_complete() {
    for_each_generator!(states_are_complete);
}

fn seedable<G: Generator + SeedableRng<Seed = [u8; 32]>>() {
    assert_eq!(G::from_seed([3; 32]).next_u64(), <G as Generator>::new([3; 32], 0).next_u64());
    assert_eq!(G::seed_from_u64(3).next_u64(), <G as Generator>::new(3, 0).next_u64());
    // Bytes are those of the words.
    let mut bytes = [0; 11];
    let mut rng = G::seed_from_u64(3);
    let mut same = rng.clone();
    rng.fill_bytes(&mut bytes);
    assert_eq!(bytes[..8], same.next_u64().to_le_bytes());
    assert_eq!(bytes[8..], same.next_u32().to_le_bytes()[..3]);
}

#[test]
fn every_generator_is_seedable() {
    for_each_generator!(seedable);
}

fn shows_its_state<G: Generator>(name: &str) {
    let mut rng = G::new(1, 2);
    let before = format!("{rng:?}");
    assert!(before.starts_with(name) && before.len() < 160, "{before}");
    for _ in 0..G::BLOCK {
        rng.next_u32();
    }
    assert_ne!(format!("{rng:?}"), before);
    let streams = format!("{:?}", Streams::<G>::new(1, 2..5).unwrap());
    assert_eq!(streams, format!("Streams {{ len: 3, first: {before}, .. }}"));
}

#[test]
fn debug_is_short() {
    shows_its_state::<Philox4x32Rng>("Philox4x32Rng { rounds: 10, ");
    shows_its_state::<Lcg32>("Congruential { ");
    shows_its_state::<Lcg64>("Congruential { ");
    shows_its_state::<Mwc>("Mwc { ");
    shows_its_state::<LaggedFibonacci521>("LaggedFibonacci { lags: (521, 353), ");
    shows_its_state::<LaggedFibonacci1279>("LaggedFibonacci { lags: (1279, 861), ");
    shows_its_state::<Xorwow>("Xorwow { ");
    shows_its_state::<XorShift1024Weyl>("XorShift1024Weyl { ");
}

fn keys_shuffles<G: Generator>() {
    use bijective_shuffle::affine::Affine;
    use bijective_shuffle::bijection::{GridFeistel, MulXorshift, Standard, Table, VariablePhilox};
    use bijective_shuffle::prelude::*;
    let mut rng = G::new(1, 2);
    let mut drawn: Vec<Vec<u64>> = Vec::new();
    for f in [
        Box::new(VariablePhilox::<24>::from_rng(1000, &mut rng)) as Box<dyn Bijection>,
        Box::new(MulXorshift::<10>::from_rng(1000, &mut rng)),
        Box::new(GridFeistel::<12>::from_rng(1000, &mut rng)),
        Box::new(Table::<u64>::from_rng(1000, &mut rng)),
        Box::new(Standard::from_rng(1000, &mut rng)),
        Box::new(Affine::<u64>::from_rng(1000, &mut rng)),
    ] {
        drawn.push(Permutation::from_bijection(1000, f).unwrap().to_vec());
    }
    let seed = Seed::from_rng(&mut rng);
    drawn.push(Permutation::new(1000, seed).to_vec());
    for order in &mut drawn {
        assert!(!order.is_sorted());
        order.sort_unstable();
        assert!(order.iter().copied().eq(0..1000));
    }
}

#[test]
fn every_generator_keys_bijections() {
    for_each_generator!(keys_shuffles);
}

#[test]
fn ensembles_need_streams() {
    assert_eq!(Streams::<Xorwow>::new(1, 5..5).unwrap_err(), GeneratorError::NoStreams);
    assert_eq!(Streams::<Mwc>::from_generators(Vec::new()).unwrap_err(), GeneratorError::NoStreams);
    assert_eq!(Streams::<Mwc>::different(1, 0).unwrap_err(), GeneratorError::NoStreams);
    assert_eq!(Streams::<Lcg32>::leapfrog(1, 0).unwrap_err(), GeneratorError::NoStreams);
    let error = Streams::<LaggedFibonacci1279>::new(1, 0..u64::MAX).unwrap_err();
    assert!(matches!(error, GeneratorError::OutOfMemory { .. }));
}

#[test]
fn numbers_are_as_documented() {
    assert_eq!(numbers::<U64>(&[1, 2]), [1 | 2 << 32]);
    assert_eq!(
        numbers::<F32>(&[255, 256, u32::MAX]),
        [0.0, 0.5_f32.powi(24), 1.0 - 0.5_f32.powi(24)]
    );
    let top = [u32::MAX, u32::MAX];
    assert_eq!(numbers::<F64>(&top), [1.0 - 0.5_f64.powi(53)]);
    assert_eq!(numbers::<F64>(&[1 << 11, 0]), [0.5_f64.powi(53)]);
    assert_eq!(numbers::<F64>(&[0, 1 << 31]), [0.5]);
}

/// The Kolmogorov-Smirnov statistic: the greatest distance between a sample's distribution and the
/// exact one, times the square root of the sample's size. By chance it exceeds 1.95 once in a
/// thousand times.
fn distance(mut numbers: Vec<f64>, exact: impl Fn(f64) -> f64) -> f64 {
    numbers.sort_unstable_by(f64::total_cmp);
    let count = numbers.len() as f64;
    let distances = (0..).zip(&numbers).map(|(k, &number)| {
        let (below, exact) = (f64::from(k) / count, exact(number));
        (exact - below).abs().max((exact - below - 1.0 / count).abs())
    });
    distances.fold(0.0, f64::max) * count.sqrt()
}

#[test]
fn exponential_numbers_have_their_distribution() {
    const COUNT: usize = 400_000;
    let exact = |x: f64| -(-x).exp_m1();
    let mut rng = Philox4x32Rng::<10>::new(1, 0);
    let (mut singles, mut doubles) = (vec![0.0_f32; COUNT], vec![0.0; COUNT]);
    rng.fill_exponential_f32(&mut singles);
    rng.fill_exponential_f64(&mut doubles);
    let singles: Vec<f64> = singles.into_iter().map(f64::from).collect();
    for numbers in [singles, doubles] {
        let moment = |k| numbers.iter().map(|x| x.powi(k)).sum::<f64>() / COUNT as f64;
        // Five standard deviations: that of x is 1, and that of x^2 the square root of 20.
        assert!((moment(1) - 1.0).abs() < 0.008, "mean {}", moment(1));
        assert!((moment(2) - 2.0).abs() < 0.036, "second moment {}", moment(2));
        assert!(distance(numbers, exact) < 1.95);
    }
}

#[test]
fn normal_numbers_have_their_mean_and_deviation() {
    use statrs::distribution::{ContinuousCDF, Normal};
    const COUNT: usize = 400_000;
    let exact = Normal::new(-3.0, 0.25).unwrap();
    let mut rng = Philox4x32Rng::<10>::new(2, 0);
    let (mut singles, mut doubles) = (vec![0.0_f32; COUNT], vec![0.0; COUNT]);
    rng.fill_normal_f32_with(-3.0, 0.25, &mut singles);
    rng.fill_normal_f64_with(-3.0, 0.25, &mut doubles);
    for numbers in [singles.iter().copied().map(f64::from).collect(), doubles.clone()] {
        assert!(distance(numbers, |x| exact.cdf(x)) < 1.95);
    }
    // They are the plain numbers, scaled, also where many threads share them.
    let mut rng = Philox4x32Rng::<10>::new(2, 0);
    let (mut plain_singles, mut plain) = (vec![0.0_f32; COUNT], vec![0.0; COUNT]);
    rng.fill_normal_f32(&mut plain_singles);
    rng.fill_normal_f64(&mut plain);
    assert!(plain_singles.iter().zip(&singles).all(|(x, y)| -3.0 + 0.25 * x == *y));
    assert!(plain.iter().zip(&doubles).all(|(x, y)| -3.0 + 0.25 * x == *y));
    let mut streams = Streams::<Lcg64>::new(2, 0..10).unwrap();
    let mut scaled = vec![0.0; 100];
    streams.clone().fill_normal_f64_with(1.0, 2.0, &mut scaled);
    streams.fill_normal_f64(&mut plain[..100]);
    assert!(plain.iter().zip(scaled).all(|(x, y)| 1.0 + 2.0 * x == y));
}

proptest! {
    #[test]
    fn words_in_order_become_numbers_in_order(
        pairs in 0_usize..100,
        words in prop::collection::vec(any::<u32>(), 400),
    ) {
        let mut out = vec![0.0; 2 * pairs];
        memory(&mut out).copy_from_slice(&words[..4 * pairs]);
        convert::in_order::<NormalF64>(SimdLevel::current(), &mut out);
        prop_assert_eq!(bits(&out), bits(&numbers::<NormalF64>(&words)[..2 * pairs]));
    }
}
