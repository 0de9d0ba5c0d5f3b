//! Words and numbers a second of every generator and of peers: one thread unless the name says otherwise.

use bijective_shuffle::rng::{
    Fill, Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Multipliers, Mwc,
    Philox4x32Rng, Streams, XorShift1024Weyl, Xorwow,
};
use divan::Bencher;
use divan::counter::ItemsCount;
use rand::rngs::{ChaCha8Rng, SmallRng};
use rand::{Rng, SeedableRng};

fn main() {
    divan::main();
}

/// Numbers of a fill: in the caches, and not.
const LENGTHS: [usize; 2] = [1 << 13, 1 << 26];

/// Numbers of a fill in the caches.
const FEW: usize = LENGTHS[0];

/// One thread makes all; rayon's own thread, so that no other is woken.
fn one_thread<R: Send>(run: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread").install(run)
}

/// Times fills, after checking that the first numbers are those of the second way.
fn fills<N: Copy + Default + PartialEq + core::fmt::Debug + Send + Sync>(
    bencher: Bencher<'_, '_>,
    len: usize,
    check: impl FnOnce(&[N]),
    mut fill: impl FnMut(&mut [N]) + Send,
) {
    let mut out = vec![N::default(); len];
    fill(&mut out);
    check(&out);
    bencher.counter(ItemsCount::new(len)).bench_local(|| {
        fill(divan::black_box(&mut out));
    });
}

/// The words one by one.
fn check_words<G: Generator>(words: &[u32]) {
    let mut rng = G::new(1, 0);
    assert!(words[..1000].iter().all(|&word| word == rng.next_u32()));
}

#[divan::bench(types = [Philox4x32Rng, Philox4x32Rng<7>, Lcg32, Lcg64, Mwc, LaggedFibonacci521, LaggedFibonacci1279, Xorwow, XorShift1024Weyl], args = LENGTHS)]
fn words<G: Generator>(bencher: Bencher, len: usize) {
    let mut rng = G::new(1, 0);
    one_thread(|| fills(bencher, len, check_words::<G>, |out: &mut [u32]| rng.fill_u32(out)));
}

#[divan::bench(types = [Philox4x32Rng, Lcg64], args = [1 << 26])]
fn words_on_all_threads<G: Generator>(bencher: Bencher, len: usize) {
    let mut rng = G::new(1, 0);
    fills(bencher, len, check_words::<G>, |out: &mut [u32]| rng.fill_u32(out));
}

#[divan::bench(types = [Philox4x32Rng, Lcg64, Xorwow, XorShift1024Weyl])]
fn words_one_by_one<G: Generator>(bencher: Bencher) {
    let mut rng = G::new(1, 0);
    fills(bencher, FEW, check_words::<G>, |out: &mut [u32]| {
        for word in out {
            *word = rng.next_u32();
        }
    });
}

/// The generators of the crate `rand`, `fastrand` and `rand_pcg` through their own bulk interface, bytes.
fn bytes(bencher: Bencher, len: usize, mut fill: impl FnMut(&mut [u8]) + Send) {
    let mut out = vec![0_u8; 4 * len];
    fill(&mut out);
    assert!(out.iter().any(|&byte| byte != 0));
    bencher.counter(ItemsCount::new(len)).bench_local(|| fill(divan::black_box(&mut out)));
}

#[divan::bench(args = LENGTHS)]
fn words_peer_chacha8(bencher: Bencher, len: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    bytes(bencher, len, |out| rng.fill_bytes(out));
}

#[divan::bench(args = LENGTHS)]
fn words_peer_small(bencher: Bencher, len: usize) {
    let mut rng = SmallRng::seed_from_u64(1);
    bytes(bencher, len, |out| rng.fill_bytes(out));
}

#[divan::bench(args = LENGTHS)]
fn words_peer_fastrand(bencher: Bencher, len: usize) {
    let mut rng = fastrand::Rng::with_seed(1);
    bytes(bencher, len, |out| rng.fill(out));
}

#[divan::bench(args = LENGTHS)]
fn words_peer_pcg64mcg(bencher: Bencher, len: usize) {
    let mut rng = rand_pcg::Pcg64Mcg::seed_from_u64(1);
    bytes(bencher, len, |out| rng.fill_bytes(out));
}

#[divan::bench]
fn words_one_by_one_peer_chacha8(bencher: Bencher) {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    fills(bencher, FEW, |_| (), |out: &mut [u32]| out.fill_with(|| rng.next_u32()));
}

#[divan::bench]
fn words_one_by_one_peer_small(bencher: Bencher) {
    let mut rng = SmallRng::seed_from_u64(1);
    fills(bencher, FEW, |_| (), |out: &mut [u32]| out.fill_with(|| rng.next_u32()));
}

macro_rules! numbers {
    ($name:ident, $fill:ident, $type:ty) => {
        #[divan::bench(types = [Philox4x32Rng, Lcg64], args = LENGTHS)]
        fn $name<G: Generator>(bencher: Bencher, len: usize) {
            let mut rng = G::new(1, 0);
            let check = |numbers: &[$type]| {
                let mut few = [<$type>::default(); 100];
                G::new(1, 0).$fill(&mut few);
                assert_eq!(few, numbers[..100]);
            };
            one_thread(|| fills(bencher, len, check, |out: &mut [$type]| rng.$fill(out)));
        }
    };
}

numbers!(numbers_u64, fill_u64, u64);
numbers!(numbers_f32, fill_f32, f32);
numbers!(numbers_f64, fill_f64, f64);
numbers!(numbers_normal_f32, fill_normal_f32, f32);
numbers!(numbers_normal_f64, fill_normal_f64, f64);

#[divan::bench]
fn numbers_f64_peer_small(bencher: Bencher) {
    use rand::RngExt;
    let mut rng = SmallRng::seed_from_u64(1);
    fills(bencher, FEW, |_| (), |out: &mut [f64]| out.fill_with(|| rng.random()));
}

/// Rows of 4096 streams, which fit the caches, or of 2^18; words in all.
#[divan::bench(types = [Philox4x32Rng, Lcg32, Lcg64, Mwc, Xorwow, XorShift1024Weyl, LaggedFibonacci521], args = [(1 << 8, 1 << 14), (1 << 12, 1 << 24), (1 << 18, 1 << 26)])]
fn streams<G: Generator>(bencher: Bencher, (count, words): (usize, usize)) {
    one_thread(|| {
        let count = count / G::BLOCK;
        let mut streams = Streams::<G>::new(1, 0..count as u64).expect("some");
        let check = |words: &[u32]| {
            let mut rng = G::new(1, 3);
            assert!(words[3 * G::BLOCK..][..G::BLOCK].iter().all(|&word| word == rng.next_u32()));
        };
        if count > 3 {
            fills(bencher, words, check, |out: &mut [u32]| streams.fill_u32(out));
        }
    });
}

#[divan::bench(sample_count = 5)]
fn start_xorshift_streams(bencher: Bencher) {
    one_thread(|| {
        bencher
            .counter(ItemsCount::new(4096_usize))
            .bench_local(|| Streams::<XorShift1024Weyl>::new(1, 0..4096).expect("some"));
    });
}

#[divan::bench(sample_count = 5)]
fn search_multipliers(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(1000_usize))
        .bench_local(|| Multipliers::new().take(1000).fold(0, u32::wrapping_add));
}
