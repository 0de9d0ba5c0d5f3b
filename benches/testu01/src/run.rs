//! Runs jobs in processes of their own, some at once, and adds what they find to a file.

use std::collections::VecDeque;
use std::error::Error;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::{Batch, Missing, Pool};
use crate::battery::Battery;
use crate::jobs::{self, Job};
use crate::rows::{self, Appender, Row};

/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// Runs tests of a battery.
pub(crate) fn battery(battery: Battery, batch: &Batch) -> Result<(), Box<dyn Error>> {
    let before = rows_so_far(&batch.pool)?;
    run(jobs::of_batch(battery, batch)?, &before, &batch.pool)
}

/// Runs what the tables lack.
pub(crate) fn missing(missing: &Missing) -> Result<(), Box<dyn Error>> {
    let mut before = rows_so_far(&missing.pool)?;
    for file in &missing.done {
        before.extend(rows::read_file(file)?);
    }
    run(jobs::of_tables(&missing.only, missing.battery)?, &before, &missing.pool)
}

fn rows_so_far(pool: &Pool) -> Result<Vec<Row>, Box<dyn Error>> {
    if pool.csv.exists() && pool.csv.metadata()?.len() > 0 {
        rows::read_file(&pool.csv)
    } else {
        Ok(Vec::new())
    }
}

fn run(jobs: Vec<Job>, before: &[Row], pool: &Pool) -> Result<(), Box<dyn Error>> {
    let asked = jobs.len();
    let jobs = jobs::missing(jobs, before);
    eprintln!("{asked} tests, {} of them to run", jobs.len());
    let deadline = pool.limit.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let (jobs, appender) = (VecDeque::from(jobs), Appender::open(&pool.csv)?);
    let work = Mutex::new(Work { jobs, appender, errors: Vec::new() });
    thread::scope(|scope| {
        for _ in 0..pool.jobs.get() {
            scope.spawn(|| {
                loop {
                    let Some(job) = lock(&work).next(deadline) else { break };
                    let result = run_one(&job, deadline);
                    lock(&work).end(job, result);
                }
            });
        }
    });
    let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
    if !work.jobs.is_empty() {
        eprintln!("time is up: {} tests are left", work.jobs.len());
    }
    if work.errors.is_empty() { Ok(()) } else { Err(work.errors.join("\n").into()) }
}

/// What the threads share.
struct Work {
    /// Those not begun, or stopped.
    jobs: VecDeque<Job>,
    appender: Appender,
    errors: Vec<String>,
}

impl Work {
    fn next(&mut self, deadline: Option<Instant>) -> Option<Job> {
        let in_time = deadline.is_none_or(|deadline| Instant::now() < deadline);
        in_time.then(|| self.jobs.pop_front()).flatten()
    }

    fn end(&mut self, job: Job, result: Result<Option<Vec<Row>>, Box<dyn Error>>) {
        let written = result.and_then(|rows| match rows {
            None => {
                self.jobs.push_back(job);
                Ok(())
            }
            Some(rows) => {
                let seconds = rows.first().map_or(0.0, |row| row.seconds);
                let values: Vec<String> = rows.iter().map(|row| format!("{:.3e}", row.p)).collect();
                let (name, test) = (job.contender.name(), job.test);
                eprintln!(
                    "{name} {} {test}: {seconds:.1} s, p = {}",
                    job.battery.argument(),
                    values.join(" ")
                );
                self.appender.append(&rows)
            }
        });
        if let Err(error) = written {
            let (name, test) = (job.contender.name(), job.test);
            self.errors.push(format!("{name} {} {test}: {error}", job.battery.argument()));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs a job in a process; none if it was stopped because the time was up.
fn run_one(job: &Job, deadline: Option<Instant>) -> Result<Option<Vec<Row>>, Box<dyn Error>> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("one")
        .arg(job.contender.name())
        .arg(job.battery.argument())
        .arg(job.test.to_string())
        .arg(job.seed.to_string())
        // Each process has a core, and no more.
        .env("RAYON_NUM_THREADS", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    // A few lines, which fit the pipe: the process ends before anyone reads them.
    let Some(status) = wait(&mut child, deadline)? else { return Ok(None) };
    if !status.success() {
        return Err(format!("the process ended with {status}").into());
    }
    let mut text = Vec::new();
    child.stdout.take().ok_or("no output")?.read_to_end(&mut text)?;
    let rows = rows::read(text.as_slice())?;
    if rows.is_empty() { Err("no results".into()) } else { Ok(Some(rows)) }
}

/// Waits for a process, and kills it when the time is up.
fn wait(
    child: &mut Child,
    deadline: Option<Instant>,
) -> Result<Option<std::process::ExitStatus>, Box<dyn Error>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(POLL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_stopped_when_the_time_is_up() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(wait(&mut child, Some(Instant::now())).unwrap().is_none());
        let mut child = Command::new("true").spawn().unwrap();
        assert!(wait(&mut child, None).unwrap().unwrap().success());
    }
}
