//! [`Patience`]: waiting by asking again and again, until a time limit.

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// How often it is asked again at once, since most answers come within microseconds. Then the
/// thread sleeps in between.
const EAGER: u32 = 1000;
const SLEEP: Duration = Duration::from_micros(50);

/// One time of waiting.
#[derive(Debug)]
pub(in crate::cuda) struct Patience {
    since: Instant,
    limit: Duration,
    pauses: u32,
}

impl Patience {
    pub(in crate::cuda) fn new(limit: Duration) -> Self {
        Self { since: Instant::now(), limit, pauses: 0 }
    }

    /// Whether the time limit has passed.
    pub(in crate::cuda) fn is_over(&self) -> bool {
        self.since.elapsed() >= self.limit
    }

    /// Lets a moment pass, before it is asked again.
    pub(in crate::cuda) fn pause(&mut self) {
        if self.pauses < EAGER {
            self.pauses += 1;
            thread::yield_now();
        } else {
            thread::sleep(SLEEP);
        }
    }
}

/// Does something that could hang on a thread of its own, and leaves it behind when a time limit
/// has passed. Where no thread can be started it is done here, without a limit.
pub(super) fn within(limit: Duration, work: impl FnOnce() + Copy + Send + 'static) {
    let (done, wait) = mpsc::channel();
    let started = thread::Builder::new().name("nccl".into()).spawn(move || {
        work();
        // Nobody receives it any more if the limit has passed.
        let _ = done.send(());
    });
    match started {
        // Either it is done or the limit has passed: there is nothing more that could be tried.
        Ok(_) => drop(wait.recv_timeout(limit)),
        Err(_) => work(),
    }
}
