//! Runs generators through the batteries of TestU01, each test in a process of its own, and makes
//! the table of the results beside those of the paper. See `README.md`.

mod arguments;
mod battery;
mod complexity;
mod contenders;
mod curand;
mod estimate;
mod jobs;
mod one;
mod paper;
mod report;
mod rows;
mod run;
mod source;
mod testu01;
mod verdict;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};
use crate::battery::Battery;

fn main() -> ExitCode {
    match command(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("testu01: {error}");
            ExitCode::FAILURE
        }
    }
}

fn command(command: &Command) -> Result<(), Box<dyn Error>> {
    match command {
        Command::Small(batch) => run::battery(Battery::SmallCrush, batch),
        Command::Crush(batch) => run::battery(Battery::Crush, batch),
        Command::Big(batch) => run::battery(Battery::BigCrush, batch),
        Command::Retest(retest) => run::retest(retest),
        Command::Missing(missing) => run::missing(missing),
        Command::Merge(merge) => rows::merge(&merge.csv, &merge.into),
        Command::Report(files) => report::run(files),
        Command::Complexity(arguments) => complexity::run(arguments),
        Command::Curand(arguments) => curand::compare(arguments),
        Command::List => {
            for contender in contenders::all() {
                println!("{:28} {}", contender.name(), contender.text);
            }
            Ok(())
        }
        Command::One(job) => one::run(job),
    }
}
