//! Calls in pools whose threads stay awake, which need a core each: in a child whose machine is
//! assumed to have eight.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bijective_shuffle::bijection::{Compose, Inverse, Standard};
use bijective_shuffle::prelude::*;
use bijective_shuffle::{Serial, Strategy, Trusted, TrustedBijection};
use rayon::ThreadPoolBuilder;

/// Set for the process in which the calls are made.
const CHILD: &str = "BIJECTIVE_SHUFFLE_TEST_CREWS";

/// Longer than the child takes on a machine with much else to do. It only tells threads that wait
/// for each other from slow ones.
const PATIENCE: Duration = Duration::from_secs(600);

/// A trusted bijection whose methods use the pool.
#[derive(Debug)]
struct InTasks(Standard);

impl Bijection for InTasks {
    fn last(&self) -> u64 {
        self.0.last()
    }

    fn forward(&self, slot: u64) -> u64 {
        self.0.forward(slot)
    }

    fn inverse(&self, index: u64) -> u64 {
        self.0.inverse(index)
    }

    fn forward_run(&self, first: u64, out: &mut [u64]) {
        in_two(first, out, |first, out| self.0.forward_run(first, out));
    }

    fn inverse_run(&self, first: u64, out: &mut [u64]) {
        in_two(first, out, |first, out| self.0.inverse_run(first, out));
    }

    fn trusted(&self) -> Option<Trusted<'_>> {
        Some(Trusted::new(self).panic_free())
    }
}

// SAFETY: all values are those of a trusted bijection.
unsafe impl TrustedBijection for InTasks {}

/// Writes a run in two tasks. Mostly another thread takes the second, and this one waits for it,
/// and does others' tasks meanwhile.
fn in_two(first: u64, out: &mut [u64], write: impl Fn(u64, &mut [u64]) + Sync) {
    let middle = out.len() / 2;
    let (left, right) = out.split_at_mut(middle);
    let is_taken = AtomicBool::new(false);
    let give_way = |times: u32, until: &AtomicBool| {
        (0..times).take_while(|_| !until.load(Ordering::Relaxed)).for_each(|_| thread::yield_now());
    };
    rayon::join(
        || {
            write(first, left);
            give_way(20, &is_taken);
        },
        || {
            is_taken.store(true, Ordering::Relaxed);
            write(first + middle as u64, right);
            give_way(4, &AtomicBool::new(false));
        },
    );
}

#[test]
fn a_bijection_may_wait_for_the_pool_beside_broadcasts() {
    if std::env::var_os(CHILD).is_some() {
        return shuffle_beside_broadcasts();
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("crews::a_bijection_may_wait_for_the_pool_beside_broadcasts")
        .env(CHILD, "1")
        .env("BIJECTIVE_SHUFFLE_CORES", "8")
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("threads wait for each other");
        }
        thread::sleep(Duration::from_millis(10));
    };
    assert!(status.success(), "{status}");
}

/// Ends the broadcasts, also when a check fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn shuffle_beside_broadcasts() {
    const LEN: u64 = 1 << 17 | 1;
    let family = || InTasks(Standard::from_seed(LEN, 1));
    let forms: [Box<dyn Bijection>; 3] = [
        Box::new(family()),
        Box::new(Inverse::new(family())),
        Box::new(Compose::new(family(), Standard::from_seed(LEN, 2)).unwrap()),
    ];
    for (threads, f) in [4, 8, 4].into_iter().zip(&forms) {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                // A thread of the pool begins it, and waits for all others.
                while !is_done.load(Ordering::Relaxed) {
                    pool.install(|| rayon::broadcast(|_| ()));
                }
            });
            let _done = Done(&is_done);
            pool.install(|| check(&**f, LEN));
        });
    }
}

/// Shuffles and undoes it in every way that evaluates the bijection while items move.
fn check(f: &dyn Bijection, len: u64) {
    let items: Vec<u64> = (0..len).collect();
    let mut expected = items.clone();
    Serial.shuffle(f, &mut expected).unwrap();
    for strategy in [Strategy::Direct, Strategy::Partitioned, Strategy::InPlace] {
        let mut workspace = Workspace::new().with_strategy(strategy);
        let (mut moved, mut copied) = (items.clone(), vec![0; items.len()]);
        workspace.shuffle(f, &mut moved).unwrap();
        assert_eq!(moved, expected);
        workspace.unshuffle(f, &mut moved).unwrap();
        assert_eq!(moved, items);
        workspace.shuffle_into(f, &items, &mut copied).unwrap();
        assert_eq!(copied, expected);
        workspace.shuffle_together(f, (&mut moved, &mut copied)).unwrap();
        workspace.unshuffle_together(f, (&mut copied, &mut moved)).unwrap();
        assert!(moved == items && copied == expected);
    }
}
