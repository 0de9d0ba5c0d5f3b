//! One rank's share of the indexes of a permutation that no machine holds, such as Paraperm's of
//! 2^41 numbers on 131,072 cores (ACM TOMS 947), each of which makes 2^24 of them.
//!
//! A rank needs nothing from the others, so one of them tells what all would take.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::time::Instant;

use bijective_shuffle::prelude::*;

use crate::arguments::{Common, Share};
use crate::machine::{self, Origin};
use crate::measure::median;

/// The columns after the origin.
pub(crate) const COLUMNS: [&str; 5] = ["bits", "ranks", "items", "processes", "ns"];

/// Measures, prints, and writes what was asked for.
pub(crate) fn run(of: &Share, common: &Common) -> Result<(), Box<dyn Error>> {
    let effort = common.effort();
    let each_number = format!(
        "the median of {} shares, on one thread, in nanoseconds for each index, which is written \
         to memory",
        effort.repeats
    );
    let conditions = machine::conditions_of(&common.pages.to_string(), effort.seed, &each_number);
    let origin = Origin::new(&machine::name())?;
    let mut text: String = conditions.iter().map(|line| format!("# {line}\n")).collect();
    let (items, ns) = measure(of, effort.repeats, effort.seed)?;
    let cells = [of.bits.into(), of.ranks, items, of.processes].map(|number| number.to_string());
    let ns = format!("{ns:.3}");
    let cells = [&*cells[0], &*cells[1], &*cells[2], &*cells[3], &ns];
    text += &format!("{}\n{}\n", origin.head(&COLUMNS), origin.row(&cells));
    println!("{}\n{}", COLUMNS.join(","), cells.join(","));
    if let Some(file) = &common.csv {
        fs::write(file, &text).map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(())
}

/// The number of indexes in one rank's share, and the nanoseconds for each.
///
/// # Panics
///
/// If an index is not at the place that the permutation says.
pub(crate) fn measure(of: &Share, repeats: usize, seed: u64) -> Result<(u64, f64), Box<dyn Error>> {
    let rank = of.ranks / 2;
    let mut samples = Vec::new();
    let mut indexes: Vec<u64> = Vec::new();
    for seed in (seed..).take(repeats + 1) {
        // The length fills the domain, so a share begins where it begins.
        let p = Permutation::walk(1 << of.bits, seed);
        indexes.clear();
        let start = Instant::now();
        p.shard(rank, of.ranks)?.for_each(|index| indexes.push(index));
        samples.push(start.elapsed().as_nanos() as f64 / indexes.len() as f64);
        let first = (u128::from(p.len()) * u128::from(rank) / u128::from(of.ranks)) as u64;
        for (place, &index) in (first..).zip(&indexes).step_by(1000) {
            assert_eq!(p.position(index), Ok(Some(place)), "an index is elsewhere");
        }
        black_box(&indexes);
    }
    // The first share finds memory that no one has touched.
    Ok((indexes.len() as u64, median(samples[1..].to_vec())))
}
