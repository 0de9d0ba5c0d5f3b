//! What a first call costs: each sample is a fresh process, whose first calls are timed one by one.
//!
//! A first call starts the pool of threads, and gets memory whose pages no one has touched. The
//! other commands measure what comes after that.

mod meters;
mod sample;

use std::env;
use std::error::Error;
use std::process::{Command, Stdio};

use clap::ValueEnum;

use self::sample::{CALLS, Sample, contenders};
use crate::arguments::{ColdCalls, ColdSample, Common};
use crate::contender::Choice;
use crate::item::ItemType;
use crate::machine::{self, Origin};
use crate::measure::{Effort, median};
use crate::pages::Pages;
use crate::sheet::Sheet;

/// Tells rayon how many threads the pool is to have that the first call starts.
const THREADS: &str = "RAYON_NUM_THREADS";

/// The columns after the origin.
const COLUMNS: [&str; 8] = [
    "name",
    "item",
    "item_bytes",
    "length",
    "threads",
    "first_items_per_second",
    "later_items_per_second",
    "peak_bytes_per_item",
];

/// What is measured.
pub(crate) struct Plan<'a> {
    pub(crate) items: &'a [ItemType],
    pub(crate) lens: &'a [usize],
    pub(crate) choice: Choice<'a>,
    pub(crate) pages: Pages,
    pub(crate) effort: Effort,
}

/// Measures what was asked for, and prints rows.
pub(crate) fn run(calls: &ColdCalls, common: &Common) -> Result<(), Box<dyn Error>> {
    let lens: Vec<usize> = if calls.len.is_empty() {
        calls.lengths.powers().map(|w| (1 << w) + 1).collect()
    } else {
        calls.len.clone()
    };
    let effort = common.effort();
    let each_number = format!(
        "the median over fresh processes, {} of each contender; contenders take turns, each time \
         in another order",
        effort.repeats
    );
    let conditions = machine::conditions_of(&common.pages.to_string(), effort.seed, &each_number);
    let sheet = Sheet::new(Origin::new(&machine::name())?, common.csv(), &conditions, &COLUMNS)?;
    let choice = calls.lengths.choice(common);
    let plan = Plan { items: &calls.item, lens: &lens, choice, pages: common.pages, effort };
    measure(&plan, |row| sheet.row(&row.each_ref().map(String::as_str)))
}

/// One sample of each contender after the other, again and again in random order, at each length of
/// each type. `keep` gets the rows.
pub(crate) fn measure(
    plan: &Plan<'_>,
    mut keep: impl FnMut(&[String; COLUMNS.len()]) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let names = contenders::<u64>().into_iter().map(|contender| contender.name);
    let names: Vec<&str> = names.filter(|name| plan.choice.takes(name)).collect();
    if names.is_empty() {
        return Err("no contender has such a name".into());
    }
    let mut seed = plan.effort.seed;
    for &item in plan.items {
        for &len in plan.lens {
            let mut samples = vec![Vec::new(); names.len()];
            let mut turns: Vec<usize> = (0..names.len()).collect();
            for _ in 0..plan.effort.repeats {
                // Memory that the process before had costs less than memory that nobody had for a
                // while, and no contender shall always come after the same one.
                fastrand::Rng::with_seed(seed).shuffle(&mut turns);
                for &turn in &turns {
                    let name = names[turn];
                    samples[turn].push(in_fresh_process(name, item, len, plan.pages, seed)?);
                    seed = seed.wrapping_add(CALLS as u64);
                }
            }
            for (name, samples) in names.iter().zip(&samples) {
                keep(&row(name, item, len, samples))?;
            }
        }
    }
    Ok(())
}

/// The cells of a contender: medians of some processes, each with one call or more after the first.
fn row(name: &str, item: ItemType, len: usize, samples: &[Sample]) -> [String; COLUMNS.len()] {
    let medians = |number: &dyn Fn(&Sample) -> f64| median(samples.iter().map(number).collect());
    let speed = |seconds: f64| format!("{:.0}", len as f64 / seconds);
    let peak = samples.iter().filter_map(|sample| sample.peak).map(|peak| peak as f64);
    let peak: Vec<f64> = peak.collect();
    [
        name.into(),
        item.name().into(),
        item.bytes().to_string(),
        len.to_string(),
        rayon::current_num_threads().to_string(),
        speed(medians(&|sample| sample.seconds[0])),
        speed(medians(&|sample| median(sample.seconds[1..].to_vec()))),
        // What was not measured.
        if peak.is_empty() { "-".into() } else { format!("{:.3}", median(peak) / len as f64) },
    ]
}

/// Takes a sample in a process that has done nothing else.
fn in_fresh_process(
    contender: &str,
    item: ItemType,
    len: usize,
    pages: Pages,
    seed: u64,
) -> Result<Sample, Box<dyn Error>> {
    let value = |value: Option<clap::builder::PossibleValue>| value.expect("none is skipped");
    let (item_name, pages) = (value(item.to_possible_value()), value(pages.to_possible_value()));
    let output = Command::new(env::current_exe()?)
        .arg("cold-sample")
        .args(["--contender", contender, "--item", item_name.get_name()])
        .args(["--len", &len.to_string(), "--pages", pages.get_name(), "--seed", &seed.to_string()])
        .env(THREADS, rayon::current_num_threads().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let sample = output.status.success().then(|| Sample::parse(&output.stdout)).flatten();
    sample.ok_or_else(|| format!("no sample of {contender}, {len} of {}", item.name()).into())
}

/// Takes a sample in this process, and prints it.
pub(crate) fn sample(arguments: &ColdSample, common: &Common) -> Result<(), Box<dyn Error>> {
    common.pages.choose();
    let seed = common.effort().seed;
    println!("{}", sample::of(arguments.item, &arguments.contender, arguments.len, seed)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_shuffles_items_of_every_type() {
        for &item in ItemType::value_variants() {
            for contender in contenders::<u64>() {
                let sample = sample::of(item, contender.name, 1000, 1).unwrap();
                assert_eq!(Sample::parse(sample.to_string().as_bytes()), Some(sample));
            }
            assert!(sample::of(item, "ours", 1000, 1).is_err());
        }
    }

    #[test]
    fn medians_are_of_calls_first_and_then_of_processes() {
        let sample = |seconds, peak| Sample { seconds, peak };
        let samples = [
            sample([1e-6, 1e-7, 2e-7, 4e-7, 8e-7], Some(16000)),
            sample([2e-6, 1e-7, 1e-7, 1e-7, 1e-7], None),
            sample([4e-6, 5e-7, 5e-7, 5e-7, 5e-7], Some(8000)),
        ];
        let row = row("x", ItemType::U64, 1000, &samples);
        assert_eq!(row[5..], ["500000000", "3333333333", "12.000"]);
    }
}
