//! The command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::battery::Battery;

/// Run the generators of bijective-shuffle through the batteries of TestU01.
#[derive(Parser)]
#[command(name = "testu01")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// SmallCrush: 10 tests, 15 statistics, seconds
    Small(Batch),
    /// Crush: 96 tests, 144 statistics, a quarter of an hour and more
    Crush(Batch),
    /// BigCrush: 106 tests, 160 statistics, hours
    Big(Batch),
    /// Run what the table lacks: SmallCrush, Crush, and BigCrush where the paper has it; the short
    /// batteries first
    Missing(Missing),
    /// Sort results into the files of a folder: small.csv, crush.csv and big.csv
    Merge(Merge),
    /// Name the generators, and the orders in which their words are used
    List,
    /// Run one test, and write its rows: what the processes do that the others start
    #[command(hide = true)]
    One(One),
}

/// Which tests of a battery are run, and how.
#[derive(Args, Clone)]
pub(crate) struct Batch {
    /// Only these generators: `lcg32` in all its orders, `lcg32/streams` in one; all if not given
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Only this order: `sequence`, `streams`, ...
    #[arg(long, value_name = "ORDER")]
    pub(crate) order: Option<String>,

    /// Only these tests of the battery, from 1: `1,5-8`; all if not given
    #[arg(long, value_name = "I,...", value_delimiter = ',', value_parser = tests)]
    pub(crate) tests: Vec<(usize, usize)>,

    /// The seeds are made from this number, the test and the battery
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u32,

    #[command(flatten)]
    pub(crate) pool: Pool,
}

/// How tests are run, and where their results go.
#[derive(Args, Clone)]
pub(crate) struct Pool {
    /// How many tests run at once, each in a process of its own
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) jobs: NonZeroUsize,

    /// Stop after this many seconds: what is finished by then is written
    #[arg(long, value_name = "SECONDS")]
    pub(crate) limit: Option<u32>,

    /// Add the results to this file; tests that it has already are left out
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: PathBuf,
}

/// What is missing.
#[derive(Args)]
pub(crate) struct Missing {
    /// Only these generators, as for a battery
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(crate) only: Vec<String>,

    /// Only this battery
    #[arg(long, value_name = "BATTERY")]
    pub(crate) battery: Option<Battery>,

    /// Files with results that there are: what they have is left out
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) done: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) pool: Pool,
}

/// What is merged.
#[derive(Args)]
pub(crate) struct Merge {
    /// Files with results
    #[arg(required = true, value_name = "FILE")]
    pub(crate) csv: Vec<PathBuf>,

    /// The folder; rows that its files have are left out
    #[arg(long, value_name = "FOLDER")]
    pub(crate) into: PathBuf,
}

/// One test.
#[derive(Args)]
pub(crate) struct One {
    /// The generator and its order
    pub(crate) contender: String,
    /// The battery
    pub(crate) battery: Battery,
    /// The test, from 1
    pub(crate) test: usize,
    /// The number that seeds are made from
    pub(crate) seed: u32,
}

/// Reads `5` or `5-8`.
fn tests(text: &str) -> Result<(usize, usize), String> {
    let read = |text: &str| text.trim().parse::<usize>().map_err(|error| error.to_string());
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let (first, last) = (read(first)?, read(last)?);
    if first == 0 || first > last {
        return Err("tests are numbered from 1, the first before the last".into());
    }
    Ok((first, last))
}

#[cfg(test)]
mod tests_of_arguments {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_of_testu01_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn tests_are_single_or_runs() {
        assert_eq!(tests("5"), Ok((5, 5)));
        assert_eq!(tests("5-8"), Ok((5, 8)));
        for text in ["", "0", "8-5", "a", "5-", "-5"] {
            assert!(tests(text).is_err(), "{text}");
        }
    }
}
