//! What a first call costs: each sample is a fresh process, whose first calls are timed one by one.
//!
//! A first call starts the pool of threads, and gets memory whose pages no one has touched. The
//! other commands measure what comes after that.

mod meters;
mod rows;
mod sample;

use std::env;
use std::error::Error;
use std::fs;
use std::process::{Command, Stdio};

use clap::ValueEnum;

pub(crate) use self::rows::Rows;
use self::rows::{Conditions, Row};
use self::sample::{CALLS, Sample, contenders};
use crate::arguments::{ColdCalls, ColdSample, Common};
use crate::contender::Choice;
use crate::item::ItemType;
use crate::machine::{self, Origin};
use crate::pages::{self, Pages};
use crate::standings::length;

/// Tells rayon how many threads the pool is to have that the first call starts.
const THREADS: &str = "RAYON_NUM_THREADS";

/// What is measured.
pub(crate) struct Plan<'a> {
    pub(crate) items: &'a [ItemType],
    pub(crate) lens: &'a [usize],
    pub(crate) choice: Choice<'a>,
    pub(crate) pages: Pages,
    pub(crate) repeats: usize,
    /// The first of the seeds.
    pub(crate) seed: u64,
}

/// Measures, prints, and writes what was asked for.
pub(crate) fn run(calls: &ColdCalls, common: &Common) -> Result<(), Box<dyn Error>> {
    let lengths = &calls.lengths;
    let powers = (lengths.from..=lengths.to).step_by(lengths.step);
    let lens: Vec<usize> = if calls.len.is_empty() {
        powers.map(|w| (1 << w) + 1).collect()
    } else {
        calls.len.clone()
    };
    let effort = common.effort();
    let system = machine::transparent();
    let pages = unasked(common.pages, &system);
    let each_number = format!(
        "the median over fresh processes, {} of each contender; contenders take turns, each time \
         in another order",
        effort.repeats
    );
    let asked = match pages {
        Pages::Default => "as the system's allocator gives them".to_owned(),
        pages => pages.to_string(),
    };
    let conditions = machine::conditions_of(&asked, effort.seed, &each_number);
    let of = Conditions {
        threads: rayon::current_num_threads().to_string(),
        pages: named(pages, &system).into(),
    };
    let origin = Origin::new(&machine::name())?;
    // After each length, so that a run that is interrupted leaves what it has measured.
    let write = |rows: &Rows| {
        let Some(file) = &common.csv else { return Ok(()) };
        fs::write(file, rows.csv(&of, &conditions, &origin))
            .map_err(|error| format!("{}: {error}", file.display()))
    };
    let plan = Plan {
        items: &calls.item,
        lens: &lens,
        choice: lengths.choice(common),
        pages,
        repeats: effort.repeats,
        seed: effort.seed,
    };
    let rows = measure(&plan, |rows| Ok(write(rows)?))?;
    println!("{}\n\n{}", conditions.join("\n"), rows.markdown());
    if let Some(file) = &common.csv {
        eprintln!(
            "written to {}; `benches/documents.py` brings it into the documents",
            file.display()
        );
    }
    Ok(())
}

/// Small pages need not be asked for where the system gives them unasked: it would cost the
/// contenders a call for each block.
fn unasked(pages: Pages, system: &str) -> Pages {
    match (pages, system) {
        (Pages::Small, "madvise" | "never") => Pages::Default,
        (pages, _) => pages,
    }
}

/// What the items are in, as rows have it. `system` is what the system does unless told.
fn named(pages: Pages, system: &str) -> &'static str {
    match (pages, system) {
        (Pages::Small, _) | (Pages::Default, "madvise" | "never") => "4 KiB",
        (Pages::Huge, _) | (Pages::Default, "always") => "huge",
        (Pages::Default, _) => "default",
    }
}

/// One sample of each contender after the other, again and again in random order, at each length of
/// each type. After each length `keep` gets all rows so far.
pub(crate) fn measure(
    plan: &Plan<'_>,
    mut keep: impl FnMut(&Rows) -> Result<(), Box<dyn Error>>,
) -> Result<Rows, Box<dyn Error>> {
    let names = contenders::<u64>().into_iter().map(|contender| contender.name);
    let names: Vec<&str> = names.filter(|name| plan.choice.takes(name)).collect();
    if names.is_empty() {
        return Err("no contender has such a name".into());
    }
    let mut seed = plan.seed;
    let mut rows = Rows(Vec::new());
    for &item in plan.items {
        for &len in plan.lens {
            eprintln!("{} of {}", length(len), item.name());
            let mut samples = vec![Vec::new(); names.len()];
            let mut turns: Vec<usize> = (0..names.len()).collect();
            for _ in 0..plan.repeats {
                // Memory that the process before had costs less than memory that nobody had for a
                // while, and no contender shall always come after the same one.
                fastrand::Rng::with_seed(seed).shuffle(&mut turns);
                for &turn in &turns {
                    let name = names[turn];
                    samples[turn].push(in_fresh_process(name, item, len, plan.pages, seed)?);
                    seed = seed.wrapping_add(CALLS as u64);
                }
            }
            let of_contender =
                |(name, samples): (&&str, &Vec<Sample>)| Row::new(name, item, len, samples);
            rows.0.extend(names.iter().zip(&samples).map(of_contender));
            keep(&rows)?;
        }
    }
    Ok(rows)
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
        .args(["--len", &len.to_string(), "--calls", &CALLS.to_string()])
        .args(["--pages", pages.get_name(), "--seed", &seed.to_string()])
        .env(THREADS, rayon::current_num_threads().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    let failed = |why: &str| format!("{contender}, {len} of {}: {why}", item.name());
    if !output.status.success() {
        return Err(failed(&output.status.to_string()).into());
    }
    let sample: Sample =
        String::from_utf8(output.stdout)?.parse().map_err(|why: String| failed(&why))?;
    if sample.calls.len() != CALLS {
        return Err(failed("another number of calls").into());
    }
    Ok(sample)
}

/// Takes a sample in this process, and prints it.
pub(crate) fn sample(arguments: &ColdSample, common: &Common) -> Result<(), Box<dyn Error>> {
    match common.pages {
        Pages::Default => pages::leave_to_the_system()?,
        pages => pages.choose(),
    }
    let first = common.effort().seed;
    let seeds: Vec<u64> =
        (0..arguments.calls as u64).map(|call| first.wrapping_add(call)).collect();
    println!("{}", sample::of(arguments.item, &arguments.contender, arguments.len, &seeds)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_contender_shuffles_items_of_every_type() {
        for &item in ItemType::value_variants() {
            for contender in contenders::<u64>() {
                let sample = sample::of(item, contender.name, 1000, &[1, 2, 3]).unwrap();
                assert_eq!(sample.calls.len(), 3);
                assert_eq!(sample.to_string().parse::<Sample>(), Ok(sample));
            }
            assert!(sample::of(item, "ours", 1000, &[1]).is_err());
        }
    }

    #[test]
    fn small_pages_are_asked_for_only_where_others_would_come() {
        for (pages, system, expected, name) in [
            (Pages::Small, "madvise", Pages::Default, "4 KiB"),
            (Pages::Small, "always", Pages::Small, "4 KiB"),
            (Pages::Small, "unknown", Pages::Small, "4 KiB"),
            (Pages::Default, "never", Pages::Default, "4 KiB"),
            (Pages::Default, "always", Pages::Default, "huge"),
            (Pages::Default, "unknown", Pages::Default, "default"),
            (Pages::Huge, "never", Pages::Huge, "huge"),
        ] {
            let chosen = unasked(pages, system);
            assert_eq!((chosen, named(chosen, system)), (expected, name), "{pages:?}, {system}");
        }
    }
}
