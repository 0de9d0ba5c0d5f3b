//! Runs generators through the batteries of TestU01, each test in a process of its own. See
//! `README.md`.

mod arguments;
mod battery;
mod contenders;
mod curand;
mod jobs;
mod one;
mod rows;
mod run;
mod source;
mod testu01;

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
        Command::Missing(missing) => run::missing(missing),
        Command::Merge(merge) => rows::merge(&merge.csv, &merge.into),
        Command::List => {
            for contender in contenders::all() {
                println!("{}", contender.name());
            }
            Ok(())
        }
        Command::One(job) => one::run(job),
    }
}
