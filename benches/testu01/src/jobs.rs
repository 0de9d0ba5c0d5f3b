//! [`Job`]: one test of one generator; and which of them there are to run.

use std::collections::HashSet;
use std::error::Error;

use crate::arguments::Batch;
use crate::battery::Battery;
use crate::contenders::{self, Contender};
use crate::rows::Row;

/// One test of one generator.
#[derive(Clone, Copy)]
pub(crate) struct Job {
    pub(crate) contender: &'static Contender,
    pub(crate) battery: Battery,
    pub(crate) test: usize,
    pub(crate) seed: u32,
}

impl Job {
    /// The seed of the generator: another one for each test, so that tests in processes of their
    /// own do not all see the same words.
    pub(crate) fn generator_seed(&self) -> u64 {
        u64::from(self.seed) << 32 | (self.battery as u64) << 16 | self.test as u64
    }
}

/// What a batch asks for: generator by generator.
pub(crate) fn of_batch(battery: Battery, batch: &Batch) -> Result<Vec<Job>, Box<dyn Error>> {
    let contenders = contenders::matching(&batch.only, batch.order.as_deref())?;
    if let Some((_, last)) = batch.tests.iter().find(|(_, last)| *last > battery.tests()) {
        return Err(format!("test {last}: the battery has {} tests", battery.tests()).into());
    }
    let chosen = |test: &usize| {
        batch.tests.is_empty()
            || batch.tests.iter().any(|(first, last)| (first..=last).contains(&test))
    };
    let tests: Vec<usize> = (1..=battery.tests()).filter(chosen).collect();
    let seed = batch.seed;
    Ok(contenders
        .into_iter()
        .flat_map(|contender| tests.iter().map(move |&test| Job { contender, battery, test, seed }))
        .collect())
}

/// The seed of the tables.
const SEED: u32 = 1;

/// The generators whose BigCrush the paper has.
const IN_THE_PAPER: [&str; 8] = [
    "lcg64/streams",
    "fibonacci1279/sequence",
    "xorwow/sequence",
    "xorshift/warp",
    "philox7/sequence",
    "philox10/sequence",
    "curand/xorwow",
    "curand/mtgp32",
];

/// What the tables are to have of these generators: SmallCrush and Crush, and BigCrush where the
/// paper has it. The short batteries come first.
pub(crate) fn of_tables(
    only: &[String],
    battery: Option<Battery>,
) -> Result<Vec<Job>, Box<dyn Error>> {
    let contenders = contenders::matching(only, None)?;
    let mut jobs = Vec::new();
    for of in Battery::ALL.into_iter().filter(|of| battery.is_none_or(|battery| battery == *of)) {
        let wanted = |contender: &&Contender| {
            of != Battery::BigCrush || IN_THE_PAPER.contains(&&*contender.name())
        };
        for contender in contenders.iter().copied().filter(wanted) {
            let job = |test| Job { contender, battery: of, test, seed: SEED };
            jobs.extend((1..=of.tests()).map(job));
        }
    }
    Ok(jobs)
}

/// Those jobs that have no rows yet.
pub(crate) fn missing(jobs: Vec<Job>, rows: &[Row]) -> Vec<Job> {
    let done: HashSet<_> = rows
        .iter()
        .map(|r| (r.generator.as_str(), r.order.as_str(), r.battery, r.test, r.seed))
        .collect();
    let is_done = |job: &Job| {
        let contender = job.contender;
        done.contains(&(contender.generator, contender.order, job.battery, job.test, job.seed))
    };
    jobs.into_iter().filter(|job| !is_done(job)).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::arguments::{Arguments, Command};

    fn batch(arguments: &str) -> Batch {
        let line = format!("testu01 small --csv x.csv {arguments}");
        let Command::Small(batch) = Arguments::parse_from(line.split_whitespace()).command else {
            unreachable!()
        };
        batch
    }

    fn row(job: &Job, p: f64) -> Row {
        Row {
            generator: job.contender.generator.into(),
            order: job.contender.order.into(),
            battery: job.battery,
            seed: job.seed,
            test: job.test,
            statistic: 1,
            name: "x".into(),
            p,
            seconds: 1.0,
        }
    }

    #[test]
    fn a_batch_is_what_was_asked_for_less_what_is_there() {
        let all = of_batch(Battery::SmallCrush, &batch("")).unwrap();
        assert_eq!(all.len(), 10 * contenders::matching(&[], None).unwrap().len());
        let some = of_batch(Battery::SmallCrush, &batch("--only mt19937 --tests 2,4-6")).unwrap();
        assert_eq!(some.iter().map(|job| job.test).collect::<Vec<_>>(), [2, 4, 5, 6]);
        let left = missing(some.clone(), &[row(&some[1], 0.5)]);
        assert_eq!(left.iter().map(|job| job.test).collect::<Vec<_>>(), [2, 5, 6]);
        let other_seed =
            of_batch(Battery::SmallCrush, &batch("--only mt19937 --tests 4 --seed 2")).unwrap();
        assert_eq!(missing(other_seed, &[row(&some[1], 0.5)]).len(), 1);
        assert!(of_batch(Battery::SmallCrush, &batch("--tests 11")).is_err());
        assert!(of_batch(Battery::SmallCrush, &batch("--only mt")).is_err());
    }

    #[test]
    fn the_tables_have_what_the_paper_ran_and_no_other_long_battery() {
        let jobs = of_tables(&[], None).unwrap();
        let has = |name: &str, battery: Battery| {
            let is = |job: &&Job| job.contender.name() == name && job.battery == battery;
            jobs.iter().filter(is).count()
        };
        assert_eq!(has("lcg64/streams", Battery::BigCrush), 106);
        assert_eq!(has("xorshift/streams", Battery::Crush), 96);
        assert_eq!(has("xorshift/streams", Battery::BigCrush), 0);
        assert!(jobs.is_sorted_by_key(|job| job.battery));
        let names = ["xorwow/sequence".to_owned()];
        assert_eq!(of_tables(&names, Some(Battery::SmallCrush)).unwrap().len(), 10);
    }

    #[test]
    fn no_two_tests_have_one_seed() {
        let mut seeds = HashSet::new();
        for battery in Battery::ALL {
            for test in 1..=battery.tests() {
                for seed in [0, 1, u32::MAX] {
                    let job = Job { contender: &contenders::all()[0], battery, test, seed };
                    assert!(seeds.insert(job.generator_seed()));
                }
            }
        }
    }
}
