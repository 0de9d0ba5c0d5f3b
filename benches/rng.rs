//! Words and numbers a second of every generator and of peers: one thread unless the name says
//! otherwise. Results: benches/notes/rng.md.

use bijective_shuffle::rng::{
    Buffered, Fill, Generator, LaggedFibonacci521, LaggedFibonacci1279, Lcg32, Lcg64, Mwc,
    Philox4x32Rng, Streams, XorShift1024Weyl, Xorwow,
};
use divan::Bencher;
use divan::counter::ItemsCount;
use rand::rngs::{ChaCha8Rng, SmallRng};
use rand::{Rng, SeedableRng};

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().expect("made once");
    divan::main();
}

/// Numbers of a fill: in the caches, and not.
const LENGTHS: [usize; 2] = [1 << 13, 1 << 26];

/// Numbers of a fill in the caches.
const FEW: usize = LENGTHS[0];

/// Times fills, after checking that the first numbers are those of the second way.
fn fills<N: Copy + Default + PartialEq + core::fmt::Debug + Send + Sync>(
    bencher: Bencher,
    len: usize,
    check: impl FnOnce(&[N]),
    mut fill: impl FnMut(&mut [N]),
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

#[divan::bench(
    types = [
        Philox4x32Rng,
        Philox4x32Rng<7>,
        Lcg32,
        Lcg64,
        Mwc,
        LaggedFibonacci521,
        LaggedFibonacci1279,
        Xorwow,
        XorShift1024Weyl,
    ],
    args = LENGTHS,
)]
fn words<G: Generator>(bencher: Bencher, len: usize) {
    let mut rng = G::new(1, 0);
    fills(bencher, len, check_words::<G>, |out: &mut [u32]| rng.fill_u32(out));
}

#[divan::bench(types = [Philox4x32Rng, Lcg64], args = [1 << 26])]
fn words_on_all_threads<G: Generator>(bencher: Bencher, len: usize) {
    let threads = std::thread::available_parallelism().expect("known").get();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    let mut rng = G::new(1, 0);
    fills(bencher, len, check_words::<G>, |out: &mut [u32]| pool.install(|| rng.fill_u32(out)));
}

#[divan::bench(types = [Philox4x32Rng, Lcg32, Lcg64, Mwc, LaggedFibonacci521, Xorwow, XorShift1024Weyl])]
fn words_one_by_one<G: Generator>(bencher: Bencher) {
    let mut rng = G::new(1, 0);
    fills(bencher, FEW, check_words::<G>, |out: &mut [u32]| {
        for word in out {
            *word = rng.next_u32();
        }
    });
}

#[divan::bench(types = [Philox4x32Rng, Lcg32, Lcg64, Mwc, LaggedFibonacci521, Xorwow, XorShift1024Weyl])]
fn words_one_by_one_buffered<G: Generator>(bencher: Bencher) {
    let mut rng = Buffered::new(G::new(1, 0));
    fills(bencher, FEW, check_words::<G>, |out: &mut [u32]| out.fill_with(|| rng.next_u32()));
}

#[divan::bench(types = [Philox4x32Rng, Lcg32, Lcg64, Mwc, Xorwow, XorShift1024Weyl], args = LENGTHS)]
fn words_as_bytes<G: Generator>(bencher: Bencher, len: usize) {
    let mut rng = G::new(1, 0);
    bytes(bencher, len, |out| rng.fill_bytes(out));
}

/// The generators of the crate `rand`, `fastrand` and `rand_pcg` through their own bulk interface,
/// bytes.
fn bytes(bencher: Bencher, len: usize, mut fill: impl FnMut(&mut [u8])) {
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
            fills(bencher, len, check, |out: &mut [$type]| rng.$fill(out));
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

/// How many streams have rows of `words` words.
fn streams_of<G: Generator>(words: usize) -> u64 {
    (words / G::BLOCK) as u64
}

/// Words of a row, and of a fill.
#[divan::bench(
    types = [Philox4x32Rng, Lcg32, Lcg64, Mwc, Xorwow, XorShift1024Weyl, LaggedFibonacci521],
    args = [(1 << 9, 1 << 13), (1 << 12, 1 << 24), (1 << 18, 1 << 26), (1 << 18, 1 << 18)],
)]
fn streams<G: Generator>(bencher: Bencher, (row, words): (usize, usize)) {
    let mut streams = Streams::<G>::new(1, 0..streams_of::<G>(row)).expect("some");
    let check = |words: &[u32]| {
        let last = streams_of::<G>(row) - 1;
        let mut rng = G::new(1, last);
        let block = &words[last as usize * G::BLOCK..][..G::BLOCK];
        assert!(block.iter().all(|&word| word == rng.next_u32()));
    };
    fills(bencher, words, check, |out: &mut [u32]| streams.fill_u32(out));
}

#[divan::bench(sample_count = 5)]
fn start_xorshift_streams(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(4096_usize))
        .bench_local(|| Streams::<XorShift1024Weyl>::new(1, 0..4096).expect("some"));
}

#[divan::bench(sample_count = 5)]
fn search_multipliers(bencher: Bencher) {
    bencher
        .counter(ItemsCount::new(1000_usize))
        .bench_local(|| Mwc::multipliers().take(1000).fold(0, u32::wrapping_add));
}
