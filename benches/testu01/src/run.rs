//! Runs jobs in processes of their own, some at once, and adds what they find to a file.

use std::error::Error;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::arguments::{Batch, Missing, Pool, Retest};
use crate::battery::Battery;
use crate::estimate::Estimates;
use crate::jobs::{self, Job};
use crate::rows::{self, Appender, Row};

/// How often a process is asked whether it has ended.
const POLL: Duration = Duration::from_millis(20);

/// How much longer a test may take than it is expected to, and still end in time.
const MARGIN: f64 = 1.2;

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

/// Runs suspicious tests again.
pub(crate) fn retest(retest: &Retest) -> Result<(), Box<dyn Error>> {
    let before = rows_so_far(&retest.pool)?;
    run(jobs::of_suspicious(&before, retest.battery, &retest.seeds), &before, &retest.pool)
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
    let mut jobs = jobs::missing(jobs, before);
    let estimates = Estimates::new(before);
    longest_first(&mut jobs, &estimates);
    eprintln!("{asked} tests, {} of them to run", jobs.len());
    let deadline = pool.limit.map(|seconds| Instant::now() + Duration::from_secs(seconds.into()));
    let work = Mutex::new(Work {
        jobs,
        estimates,
        appender: Appender::open(&pool.csv)?,
        errors: Vec::new(),
    });
    thread::scope(|scope| {
        for _ in 0..pool.jobs.get() {
            scope.spawn(|| {
                loop {
                    let Some(job) = next(&mut lock(&work), deadline) else { break };
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

/// Generator by generator, as they come, so that few are left incomplete when the time is up; of
/// each the longest test first, so that all processes are busy to the end.
fn longest_first(jobs: &mut [Job], estimates: &Estimates) {
    let seconds = |job: &Job| estimates.elsewhere(job.battery, job.test);
    let key = |job: &Job| (job.contender, job.battery, job.seed);
    for group in jobs.chunk_by_mut(|a, b| key(a) == key(b)) {
        group.sort_by(|a, b| seconds(b).total_cmp(&seconds(a)));
    }
}

/// What the threads share.
struct Work {
    /// Those not begun, or stopped.
    jobs: Vec<Job>,
    estimates: Estimates,
    appender: Appender,
    errors: Vec<String>,
}

impl Work {
    fn end(&mut self, job: Job, result: Result<Option<Vec<Row>>, Box<dyn Error>>) {
        let written = result.and_then(|rows| match rows {
            None => {
                self.jobs.push(job);
                Ok(())
            }
            Some(rows) => {
                let seconds = rows.first().map_or(0.0, |row| row.seconds);
                self.estimates.learn(job.battery, job.test, seconds);
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

/// The first job of those left that is expected to end in time.
fn next(work: &mut Work, deadline: Option<Instant>) -> Option<Job> {
    let left =
        deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()).as_secs_f64());
    let fits = |job: &Job| {
        left.is_none_or(|left| MARGIN * work.estimates.here(job.battery, job.test) < left)
    };
    let place = work.jobs.iter().position(fits)?;
    Some(work.jobs.remove(place))
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
    use crate::contenders;

    #[test]
    fn long_tests_come_first_and_those_that_end_too_late_wait() {
        let [a, b] = [&contenders::all()[0], &contenders::all()[1]];
        let job = |contender, test| Job { contender, battery: Battery::Crush, test, seed: 1 };
        let mut jobs: Vec<Job> =
            [a, b].into_iter().flat_map(|c| (1..=96).map(move |t| job(c, t))).collect();
        let estimates = Estimates::new(&[]);
        longest_first(&mut jobs, &estimates);
        assert!(jobs[..96].iter().all(|job| job.contender == a));
        let seconds: Vec<f64> =
            jobs[96..].iter().map(|job| estimates.here(job.battery, job.test)).collect();
        assert!(seconds.is_sorted_by(|x, y| x >= y));
        assert!(seconds[0] > seconds[95], "all take the same");

        let folder = tempfile::tempdir().unwrap();
        let appender = Appender::open(&folder.path().join("rows.csv")).unwrap();
        let mut work = Work { jobs: jobs[96..].to_vec(), estimates, appender, errors: Vec::new() };
        let soon = Instant::now() + Duration::from_secs_f64(seconds[50]);
        let chosen = next(&mut work, Some(soon)).unwrap();
        assert!(work.estimates.here(chosen.battery, chosen.test) < seconds[50]);
        assert_eq!(next(&mut work, None), Some(jobs[96]));
        assert_eq!(next(&mut work, Some(Instant::now())), None);
        assert_eq!(work.jobs.len(), 94);
    }

    #[test]
    fn a_process_is_stopped_when_the_time_is_up() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(wait(&mut child, Some(Instant::now())).unwrap().is_none());
        let mut child = Command::new("true").spawn().unwrap();
        assert!(wait(&mut child, None).unwrap().unwrap().success());
    }
}
