//! One test, in this process: TestU01 has global variables, and writes to the standard output.

use std::error::Error;
use std::fs::File;
use std::io::stdout;
use std::os::fd::AsFd;

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::time::{ClockId, clock_gettime};

use crate::arguments::One;
use crate::contenders;
use crate::jobs::Job;
use crate::rows::{self, Row};
use crate::source::Feed;
use crate::testu01::battery_test;

/// Runs a test, and writes its rows to the standard output, where TestU01's reports do not go.
pub(crate) fn run(one: &One) -> Result<(), Box<dyn Error>> {
    let contender = contenders::find(&one.contender)
        .ok_or_else(|| format!("{}: no such generator", one.contender))?;
    if !(1..=one.battery.tests()).contains(&one.test) {
        return Err(
            format!("test {}: the battery has {} tests", one.test, one.battery.tests()).into()
        );
    }
    // The process that started this one has ended, and cannot stop it any more.
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let out = File::from(stdout().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;

    let job = Job { contender, battery: one.battery, test: one.test, seed: one.seed };
    let mut feed = Feed::new((contender.start)(job.generator_seed())?);
    let statistics = battery_test(job.battery, job.test, &mut feed)?;
    let seconds = processor_seconds();
    let row = |(i, (name, p)): (usize, (String, f64))| Row {
        generator: contender.generator.into(),
        order: contender.order.into(),
        battery: job.battery,
        seed: job.seed,
        test: job.test,
        statistic: i + 1,
        name,
        p,
        seconds,
    };
    let rows: Vec<Row> = statistics.into_iter().enumerate().map(row).collect();
    Ok(rows::write(out, &rows, true)?)
}

/// What this process has computed so far, to the millisecond: nobody wants more digits in the
/// results.
fn processor_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    (time.tv_sec as f64 * 1e3 + (time.tv_nsec as f64 * 1e-6).round()) / 1e3
}
