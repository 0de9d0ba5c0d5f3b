//! Stable values: vectors made by a peer, and our own, made by a second implementation.

use bijective_shuffle::affine::Affine;
use bijective_shuffle::bijection::{BlockShuffle, VariablePhilox};
use bijective_shuffle::prelude::*;
use serde_json::Value;

/// FNV-1a, 64 bits, over the values as 64-bit little-endian words.
fn fnv1a64(values: impl Iterator<Item = u64>) -> u64 {
    values.flat_map(u64::to_le_bytes).fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    })
}

fn entries(json: &str) -> Vec<Value> {
    serde_json::from_str(json).expect("a list")
}

fn numbers(value: &Value) -> impl Iterator<Item = u64> {
    value.as_array().expect("a list").iter().map(|x| x.as_u64().expect("a number"))
}

/// Checks a permutation against an entry's head and hash.
fn check<B: Bijection>(p: &Permutation<B>, entry: &Value) {
    assert!(p.iter().zip(numbers(&entry["head"])).all(|(ours, theirs)| ours == theirs), "{entry}");
    let hash = u64::from_str_radix(entry["fnv1a64_le"].as_str().unwrap(), 16).unwrap();
    assert_eq!(fnv1a64(p.iter()), hash, "iter: {entry}");
    assert_eq!(fnv1a64(p.to_vec().into_iter()), hash, "to_vec: {entry}");
    let mut items: Vec<u64> = (0..p.len()).collect();
    p.apply_in_place(&mut items).unwrap();
    assert_eq!(fnv1a64(items.into_iter()), hash, "apply_in_place: {entry}");
}

/// The keys and permutations are those of `thrust::shuffle_copy`, dumped from Thrust itself.
#[test]
fn variable_philox_is_thrusts() {
    let entries = entries(include_str!("../vectors/thrust_shuffle.json"));
    assert_eq!(entries.len(), 23);
    for entry in &entries {
        let keys: Vec<u32> = numbers(&entry["keys"]).map(|key| key as u32).collect();
        let keys: [u32; 24] = keys.try_into().expect("24 keys");
        let bits = entry["bits"].as_u64().unwrap() as u32;
        let len = entry["len"].as_u64().unwrap();
        let f = VariablePhilox::<24>::new(bits, keys).unwrap();
        let p = Permutation::from_bijection(len, f).unwrap();
        check(&p, entry);
        // The same values through 32-bit words.
        let narrow = f.to_word::<u32>().unwrap();
        let survivors =
            (0..=narrow.last()).map(|x| u64::from(narrow.forward(x))).filter(|&x| x < len);
        assert!(survivors.eq(p.iter()), "{entry}");
    }
}

/// An entry's length and seed, with its epoch.
fn len_and_seed(entry: &Value) -> (u64, Seed) {
    let seed = match (&entry["seed"], &entry["seed_bytes"]) {
        (Value::String(decimal), _) => Seed::new(decimal.parse().unwrap()),
        (_, Value::String(hex)) => Seed::from_bytes(core::array::from_fn(|k| {
            u8::from_str_radix(&hex[2 * k..2 * k + 2], 16).unwrap()
        })),
        _ => panic!("no seed: {entry}"),
    };
    (
        entry["len"].as_u64().unwrap(),
        seed.with_epoch(entry["epoch"].as_str().unwrap().parse().unwrap()),
    )
}

/// The values are written by `vectors/make_vectors.py`. They are a promise: a change is a major
/// version.
#[test]
fn the_default_seed_path_is_stable() {
    let entries = entries(include_str!("../vectors/standard.json"));
    assert!(entries.len() >= 200);
    for entry in &entries {
        let (len, seed) = len_and_seed(entry);
        check(&Permutation::new(len, seed), entry);
    }
}

/// The same promise, for families by name.
#[test]
fn families_are_stable() {
    fn draw<F: FromSeed + Bijection + 'static>(len: u64, seed: Seed) -> Box<dyn Bijection> {
        Box::new(F::from_seed(len, seed))
    }
    let mut entries = entries(include_str!("../vectors/families.json"));
    for (name, draw) in bijective_shuffle::families!(draw, "Affine" Affine) {
        let (own, others): (Vec<_>, _) =
            entries.into_iter().partition(|entry| entry["family"] == name);
        assert!(own.len() >= 10, "{name} has no vectors");
        for entry in &own {
            let (len, seed) = len_and_seed(entry);
            check(&Permutation::from_bijection(len, draw(len, seed)).unwrap(), entry);
        }
        entries = others;
    }
    assert!(entries.is_empty(), "unknown families: {entries:?}");
}

/// The same promise, for shuffles of blocks.
#[test]
fn blocks_are_stable() {
    let entries = entries(include_str!("../vectors/blocks.json"));
    assert!(entries.len() >= 40);
    for entry in &entries {
        let (len, seed) = len_and_seed(entry);
        let [block, window] = ["block", "window"].map(|name| entry[name].as_u64().unwrap());
        let f = BlockShuffle::new(len, block, window, seed).unwrap();
        check(&Permutation::from_bijection(len, f).unwrap(), entry);
    }
}

/// The same promise, for the generators: streams and rows of numbers of every type, as bits.
#[test]
fn generators_are_stable() {
    use bijective_shuffle::rng::{
        Fill, Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc, Philox4x32Rng,
        Streams, XorShift1024Weyl, Xorwow,
    };

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
            other => panic!("an unknown type: {other}"),
        }
    }

    fn check<G: Generator>(entry: &Value, seed: Seed, len: usize) {
        let hash = u64::from_str_radix(entry["fnv1a64_le"].as_str().unwrap(), 16).unwrap();
        let [first, count] = ["first", "count"].map(|name| entry[name].as_u64().unwrap());
        let kind = entry["kind"].as_str().unwrap();
        let mut streams = Streams::<G>::new(seed, first..first + count).unwrap();
        let values = fill(kind, &mut streams, len);
        assert!(
            values.iter().copied().zip(numbers(&entry["head"])).all(|(a, b)| a == b),
            "{entry}"
        );
        assert_eq!(fnv1a64(values.into_iter()), hash, "{entry}");
        if count == 1 {
            let values = fill(kind, &mut G::new(seed, first), len);
            assert_eq!(fnv1a64(values.into_iter()), hash, "by itself: {entry}");
        }
    }

    let entries = entries(include_str!("../vectors/generators.json"));
    assert!(entries.len() >= 380);
    for entry in &entries {
        let check = match entry["generator"].as_str().unwrap() {
            "Philox4x32Rng" => check::<Philox4x32Rng>,
            "Lcg32" => check::<Lcg32>,
            "Lcg64" => check::<Lcg64>,
            "Mwc" => check::<Mwc>,
            "Xorwow" => check::<Xorwow>,
            "LaggedFibonacci521" => check::<LaggedFibonacci521>,
            "LaggedFibonacci1279" => check::<LaggedFibonacci1279>,
            "XorShift1024Weyl" => check::<XorShift1024Weyl>,
            other => panic!("an unknown generator: {other}"),
        };
        let (len, seed) = len_and_seed(entry);
        check(entry, seed, len as usize);
    }
}

/// The documentation's words for the order of a few lengths, so that a reader sees one.
#[test]
fn a_value_to_look_at() {
    assert_eq!(Permutation::new(10, 42).to_vec(), [4, 0, 6, 9, 1, 7, 5, 3, 8, 2]);
}
