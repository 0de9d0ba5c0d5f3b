//! A permutation test: are two means as far apart as they are by chance?
//!
//! ```console
//! cargo run --release --example permutation_test
//! ```
//!
//! If the groups did not differ, every way to deal the values into two groups of these sizes would
//! be equally likely. The p-value is the share of those ways whose means are at least as far apart
//! as the observed ones. With few values all the ways can be gone through; with many, a random
//! sample of them has to do, drawn here as the rows of `Permutations`, so that anybody can draw the
//! same again, and any one of them alone.

use bijective_shuffle::Error;
use bijective_shuffle::prelude::*;

/// Days that mice survived after surgery, treated and not (Efron and Tibshirani, *An introduction
/// to the bootstrap*, 1993, table 2.1).
const TREATED: [i64; 7] = [94, 197, 16, 38, 99, 141, 23];
const CONTROL: [i64; 9] = [52, 104, 146, 10, 51, 30, 40, 27, 46];

const LEN: usize = TREATED.len() + CONTROL.len();

const RESAMPLES: u64 = 100_000;
const SEED: u64 = 42;

/// How far apart the means are if these are the treated, in units of one day by the product of the
/// sizes: as an integer, so that ties are exact.
fn distance(treated: i64, all: i64) -> i64 {
    (treated * CONTROL.len() as i64 - (all - treated) * TREATED.len() as i64).abs()
}

fn main() -> Result<(), Error> {
    let values: Vec<i64> = TREATED.into_iter().chain(CONTROL).collect();
    let all: i64 = values.iter().sum();
    let observed = distance(TREATED.iter().sum(), all);
    let days = observed as f64 / (TREATED.len() * CONTROL.len()) as f64;
    println!("The means are {days:.1} days apart.");

    // Every set of as many values as there are treated, as a mask.
    let (mut ways, mut extreme) = (0_u64, 0_u64);
    for mask in (0..1_u32 << LEN).filter(|mask| mask.count_ones() as usize == TREATED.len()) {
        let treated = (0..LEN).filter(|k| mask >> k & 1 == 1).map(|k| values[k]).sum();
        ways += 1;
        extreme += u64::from(distance(treated, all) >= observed);
    }
    let exact = extreme as f64 / ways as f64;
    println!("Exact p-value, {ways} ways:          {exact:.5}");

    // The first places of a random order are the treated.
    let resamples = Permutations::new(RESAMPLES, LEN as u64, SEED);
    let distances = resamples.par_map(|_, order: &[u32]| {
        distance(order[..TREATED.len()].iter().map(|&index| values[index as usize]).sum(), all)
    })?;
    let hits = distances.into_iter().filter(|&resampled| resampled >= observed).count();
    let estimate = hits as f64 / RESAMPLES as f64;
    let error = (exact * (1.0 - exact) / RESAMPLES as f64).sqrt();
    println!("Estimate, {RESAMPLES} resamples:        {estimate:.5}, standard error {error:.5}");
    // The observed order is one more way, which keeps an estimate from being 0 (Phipson and Smyth,
    // 2010).
    let reported = (hits + 1) as f64 / (RESAMPLES + 1) as f64;
    println!("As one would report it:            {reported:.5}");
    assert!((estimate - exact).abs() < 4.0 * error, "further off than chance allows");
    Ok(())
}
