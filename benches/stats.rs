//! What a sample costs each statistical test, without drawing it: permutations a second, one
//! thread.

use bijective_shuffle::Permutation;
use bijective_shuffle_stats::{
    Cycles, Differences, Displacement, Distance, FixedPoints, Mmd, Orders, Places, Signs,
    Successors, Test,
};
use divan::Bencher;
use divan::counter::ItemsCount;

fn main() {
    divan::main();
}

const LENGTHS: [usize; 3] = [5, 100, 1000];

/// How many samples are judged over and over: enough to keep the branch predictor from learning
/// them by heart.
const SAMPLES: usize = 512;

/// Times a test that records samples, and checks that it has seen them.
fn records(bencher: Bencher, len: usize, mut test: impl Test) {
    let samples: Vec<Vec<u32>> = (0..SAMPLES as u64)
        .map(|seed| {
            let mut sample = vec![0; len];
            Permutation::new(len as u64, seed).write_indexes(&mut sample).expect("it fits");
            sample
        })
        .collect();
    bencher.counter(ItemsCount::new(SAMPLES)).bench_local(|| {
        samples.iter().for_each(|sample| test.record(divan::black_box(sample)));
    });
    assert!(test.outcome().samples >= SAMPLES as u64, "samples were not seen");
}

macro_rules! bench {
    ($($name:ident, $lengths:expr, $make:expr;)*) => {$(
        #[divan::bench(args = $lengths)]
        fn $name(bencher: Bencher, len: usize) {
            records(bencher, len, $make(len));
        }
    )*};
}

bench! {
    orders, [5, 8], Orders::new;
    mmd_by_pairs, LENGTHS, Mmd::pairs;
    mmd_against_identity, LENGTHS, Mmd::identity;
    signs, LENGTHS, Signs::new;
    places, LENGTHS, Places::new;
    places_in_4_bins, LENGTHS, |len| Places::coarse(len, 4);
    displacement, LENGTHS, |len| Displacement::new(len, Distance::Absolute);
    displacement_squared, LENGTHS, |len| Displacement::new(len, Distance::Squared);
    successors, LENGTHS, Successors::new;
    differences, LENGTHS, Differences::new;
    cycles, LENGTHS, Cycles::new;
    fixed_points, LENGTHS, FixedPoints::new;
}
