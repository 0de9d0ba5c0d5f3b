//! Times permutation tests, and prints for each its name, the number of arrangements, the least
//! time of three runs in seconds, and a p-value; then the time to draw arrangements, once.
//!
//! ```console
//! cargo run --release -p bijective-shuffle-resample --example timings -- [PART OF A NAME..]
//! ```
//!
//! `crates/resample/oracles/peers.py` times other programs on the same data.

use std::time::Instant;

use bijective_shuffle::{KeyDomain, Seed};
use bijective_shuffle_resample::{
    Alternative, Design, Error, MaxT, Permanova, PermutationTest, Statistic, TwoSamples,
};

fn noise(len: usize, seed: u64) -> Vec<f64> {
    let mut words = Seed::new(seed).key_stream(KeyDomain::Exact(9));
    (0..len).map(|_| words.next_u64() as f64 / u64::MAX as f64).collect()
}

/// The least time of three runs, in seconds.
fn least(run: impl Fn() -> Result<f64, Error>) -> Result<(f64, f64), Error> {
    let (mut least, mut p) = (f64::INFINITY, 0.0);
    for _ in 0..3 {
        let start = Instant::now();
        p = run()?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok((least, p))
}

fn main() -> Result<(), Error> {
    let chosen: Vec<String> = std::env::args().skip(1).collect();
    let is_chosen =
        |name: &str| chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()));
    let row = |name: &str, permutations: u64, run: &dyn Fn() -> Result<f64, Error>| {
        if !is_chosen(name) {
            return Ok(());
        }
        let (seconds, p) = least(run)?;
        println!("{name}\t{permutations}\t{seconds:.4}\t{p}");
        Ok::<(), Error>(())
    };
    let values = noise(2000, 1);
    let groups = Design::groups(&[1000, 1000])?;
    let samples: [(&str, TwoSamples); 4] = [
        ("difference of means, 2 x 1000", TwoSamples::difference_of_means(&values, 1000)?),
        ("student t, 2 x 1000", TwoSamples::student_t(&values, 1000)?),
        ("welch t, 2 x 1000", TwoSamples::welch_t(&values, 1000)?),
        ("difference of medians, 2 x 1000", TwoSamples::difference_of_medians(&values, 1000)?),
    ];
    for (name, statistic) in &samples {
        let test = PermutationTest::new(&groups, statistic as &dyn Statistic).permutations(100_000);
        row(name, 100_000, &|| Ok(test.run()?.p_value()))?;
    }
    let short = noise(40, 2);
    let statistic = TwoSamples::difference_of_means(&short, 20)?;
    let design = Design::groups(&[20, 20])?;
    let test = PermutationTest::new(&design, &statistic).permutations(1_000_000);
    row("difference of means, 2 x 20", 1_000_000, &|| Ok(test.run()?.p_value()))?;
    let name = "PERMANOVA, 2000 rows, 4 groups";
    if is_chosen(name) {
        let rows = 2000;
        let points = noise(rows, 3);
        let distance = |k: usize| (points[k / rows] - points[k % rows]).abs();
        let distances: Vec<f64> = (0..rows * rows).map(distance).collect();
        let sizes = [500; 4];
        let statistic = Permanova::new(&distances, &sizes)?;
        let design = Design::groups(&sizes)?;
        let test = PermutationTest::new(&design, &statistic).alternative(Alternative::Greater);
        let test = test.permutations(9999);
        row(name, 9999, &|| Ok(test.run()?.p_value()))?;
    }
    let name = "max-T of t, 100 rows, 100000 columns";
    if is_chosen(name) {
        let (rows, columns) = (100, 100_000);
        let table = noise(rows * columns, 4);
        let design = Design::groups(&[50, 50])?;
        row(name, 10_000, &|| {
            let test = MaxT::student_t(&table, columns, 50)?.permutations(10_000);
            Ok(test.run(&design)?.iter().map(|column| column.corrected).fold(1.0, f64::min))
        })?;
    }
    for (name, design) in [
        ("rows of free(2000)", Design::free(2000)?),
        ("rows of groups(1000, 1000)", groups),
        ("rows of pairs(1000)", Design::pairs(1000)?),
        (
            "rows of 200 blocks of 10",
            Design::within(&(0..2000).map(|k| k % 200).collect::<Vec<_>>())?,
        ),
        (
            "rows of plots(free(200), within free(10))",
            Design::plots(Design::free(200)?, Design::free(10)?)?,
        ),
        ("rows of signs(2000)", Design::signs(2000)?),
    ] {
        let mut orders = vec![0_u32; 64 * 2000];
        let mut signs = vec![0; if design.is_signed() { orders.len() } else { 0 }];
        let start = Instant::now();
        if is_chosen(name) {
            for first in (0..2048).step_by(64) {
                design.write_rows(first, 42, &mut orders, &mut signs)?;
            }
            println!("{name}\t2048\t{:.4}", start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}
