//! What one rank of many does for a shuffle of an array that is spread over them, step by step.
//!
//! All ranks are in this process, so that any number of them can be measured on one machine: one
//! rank's steps are timed, and the others only make what it receives. No transport is measured.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use bijective_shuffle::exchange::{Census, Division, Exchange};
use bijective_shuffle::prelude::*;

use crate::arguments::{Common, Ranks};
use crate::machine::{self, Origin};
use crate::measure::median;
use crate::sheet::Sheet;

/// The columns after the origin.
const COLUMNS: [&str; 9] = [
    "ranks",
    "items",
    "threads",
    "census_ns",
    "plan_ns",
    "pack_ns",
    "place_ns",
    "one_process_ns",
    "copy_ns",
];

/// Nanoseconds for each item of the rank, at one number of ranks.
pub(crate) struct Row {
    ranks: usize,
    /// The number of items that the rank holds.
    items: usize,
    census: f64,
    plan: f64,
    pack: f64,
    place: f64,
    /// A shuffle of as many items in one process, with a kept workspace.
    one_process: f64,
    copy: f64,
}

/// The times of a step, each in nanoseconds an item.
struct Times<'a> {
    items: usize,
    samples: &'a mut Vec<f64>,
}

impl Times<'_> {
    fn time<R>(&mut self, step: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        let result = step();
        self.samples.push(start.elapsed().as_nanos() as f64 / self.items as f64);
        result
    }
}

/// Measures what was asked for, and prints rows.
pub(crate) fn run(of: &Ranks, common: &Common) -> Result<(), Box<dyn Error>> {
    let effort = common.effort();
    let each_number = format!(
        "the median of {} shuffles, nanoseconds for each item of a rank, with all other \
         ranks in the same process",
        effort.repeats
    );
    let conditions = machine::conditions_of(&common.pages.to_string(), effort.seed, &each_number);
    let sheet = Sheet::new(Origin::new(&machine::name())?, common.csv(), &conditions, &COLUMNS)?;
    for &ranks in &of.ranks {
        let cells = measure(ranks, of.items, effort.repeats, effort.seed)?.cells();
        sheet.row(&cells.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// Measures one rank of many, each with the same number of items.
///
/// # Panics
///
/// If an item does not arrive where it belongs.
pub(crate) fn measure(
    ranks: usize,
    items: usize,
    repeats: usize,
    seed: u64,
) -> Result<Row, Box<dyn Error>> {
    // One item more than a power of two, where the domain has nearly twice as many slots as items.
    let len = items as u64 * ranks as u64 + 1;
    let division = Division::even(len, ranks);
    let rank = ranks / 2;
    let places = division.places(rank);
    let shard: Vec<u64> = places.clone().collect();
    let mut samples: [Vec<f64>; 6] = Default::default();
    let [census, plan, pack, place, one_process, copy] =
        samples.each_mut().map(|samples| Times { items: shard.len(), samples });
    let mut steps = (census, plan, pack, place, one_process, copy);
    let mut workspace = Workspace::new();
    let mut out = vec![0; shard.len()];
    for seed in (seed..).take(repeats + 1) {
        let p = Permutation::new(len, seed);
        black_box(steps.0.time(|| Census::part(&p, rank, ranks))?);
        let census = Census::new(&p)?;
        let plan = steps.1.time(|| Exchange::builder(&p, &census, &division, rank).shuffle())?;
        steps.2.time(|| plan.pack(&mut workspace, &shard, &mut out))?;
        let received = received(&p, &division, rank)?;
        steps.3.time(|| plan.place(&mut workspace, &received, &mut out))?;
        assert!(out.iter().copied().eq(p.range(places.clone())?), "an item is elsewhere");
        steps.4.time(|| workspace.shuffle(seed, &mut out))?;
        steps.5.time(|| out.copy_from_slice(&shard));
        black_box(&out);
    }
    // The first shuffle finds memory that no one has touched.
    let [census, plan, pack, place, one_process, copy] =
        samples.map(|samples| median(samples[1..].to_vec()));
    Ok(Row { ranks, items, census, plan, pack, place, one_process, copy })
}

/// What a rank receives, from rank 0 first: the items are their own indexes.
fn received(p: &Permutation, division: &Division, rank: usize) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut of_ranks = vec![Vec::new(); division.ranks()];
    let bounds: Vec<u64> = (0..division.ranks()).map(|rank| division.places(rank).end).collect();
    for index in p.range(division.places(rank))? {
        of_ranks[bounds.partition_point(|&end| end <= index)].push(index);
    }
    Ok(of_ranks.concat())
}

impl Row {
    fn cells(&self) -> [String; COLUMNS.len()] {
        let Self { ranks, items, census, plan, pack, place, one_process, copy } = self;
        let number = |value: &f64| format!("{value:.3}");
        [
            ranks.to_string(),
            items.to_string(),
            rayon::current_num_threads().to_string(),
            number(census),
            number(plan),
            number(pack),
            number(place),
            number(one_process),
            number(copy),
        ]
    }
}
