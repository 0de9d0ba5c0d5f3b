//! The code of the tasks, compiled with loom's atomics: for every order of the threads' steps, and
//! whatever value a load may return, each task of each job is done once, with all that was written
//! before the job, and the leader sees all that was done.
//!
//! What is bounded: there are a leader and one or two helpers, up to two jobs, and two
//! interruptions of a thread that could go on. A leader that waited for ever would exceed loom's
//! limit of steps, and so fail.

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::Arc;
use loom::thread;

/// What a model does otherwise than the crew.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// Nothing.
    Code,
    /// Its leader goes on before all tasks are done.
    DoesNotWait,
    /// Its members say that a task is done, and then do it.
    SaysSoFirst,
}

/// How often a helper looks for a job before it leaves.
const LOOKS: usize = 2;

/// What a thread that takes a task relies on.
const SEEN: &str = "who takes a task sees its job";

/// The states of a job.
const CLOSED: usize = 0;
const OPEN: usize = 1;

struct Job {
    /// The leader alone writes to it.
    state: UnsafeCell<usize>,
    /// How often each task was done.
    done: Vec<UnsafeCell<usize>>,
}

// SAFETY: the cells are what is tested: loom fails where two threads may use one at a time.
unsafe impl Sync for Job {}

// SAFETY: numbers may be dropped by any thread, and the cells' uses are what loom watches.
unsafe impl Send for Job {}

impl Job {
    fn of(count: usize) -> Self {
        let done = (0..count).map(|_| UnsafeCell::new(0)).collect();
        Self { state: UnsafeCell::new(CLOSED), done }
    }

    fn set(&self, state: usize) {
        // SAFETY: loom fails where another thread may be reading.
        self.state.with_mut(|place| unsafe { *place = state });
    }

    fn work(&self, number: usize) {
        // SAFETY: loom fails where the leader may be writing.
        assert_eq!(self.state.with(|state| unsafe { *state }), OPEN);
        // SAFETY: loom fails where another thread may be reading or writing.
        self.done.get(number).expect(SEEN).with_mut(|done| unsafe { *done += 1 });
    }

    /// Whether each task was done once.
    fn is_done(&self) -> bool {
        // SAFETY: loom fails where another thread may be writing.
        self.done.iter().all(|done| done.with(|done| unsafe { *done } == 1))
    }
}

/// A module with the code and a model of it, whose releases and acquires have these orderings.
macro_rules! model {
    ($name:ident, $release:ident, $acquire:ident) => {
        // The folder of its files.
        #[path = "."]
        mod $name {
            use super::*;
            use tasks::Tasks;

            mod atomic {
                pub(super) use loom::sync::atomic::{AtomicPtr, AtomicUsize};

                pub(super) struct Ordering;

                #[expect(non_upper_case_globals, reason = "the names are those of the variants")]
                impl Ordering {
                    pub(super) const Relaxed: loom::sync::atomic::Ordering =
                        loom::sync::atomic::Ordering::Relaxed;
                    pub(super) const Release: loom::sync::atomic::Ordering =
                        loom::sync::atomic::Ordering::$release;
                    pub(super) const Acquire: loom::sync::atomic::Ordering =
                        loom::sync::atomic::Ordering::$acquire;
                }
            }

            // In it `super::atomic` are loom's.
            #[allow(
                clippy::duplicate_mod,
                reason = "the same code with other atomics is the point"
            )]
            #[path = "tasks.rs"]
            mod tasks;

            /// `Crew::work`.
            fn work(variant: Variant, tasks: &Tasks<Job>, member: usize) {
                let mut done = 0;
                while let Some((number, job)) = tasks.take(member) {
                    if variant == Variant::SaysSoFirst {
                        tasks.have_done(1);
                    } else {
                        done += 1;
                    }
                    // SAFETY: the jobs live as long as the model, and there is one or none.
                    unsafe { job.as_ref() }.expect(SEEN).work(number);
                }
                tasks.have_done(done);
            }

            /// `Crew::help`.
            fn help(variant: Variant, tasks: &Tasks<Job>, member: usize) {
                let (mut round, mut looks) = (0, 0);
                while looks < LOOKS {
                    match tasks.round() {
                        None => return,
                        Some(same) if same == round => {
                            thread::yield_now();
                            looks += 1;
                        }
                        Some(next) => {
                            (round, looks) = (next, 0);
                            work(variant, tasks, member);
                        }
                    }
                }
            }

            /// Has a crew with this many helpers do jobs of this many tasks.
            pub(super) fn check(variant: Variant, helpers: usize, jobs: &'static [usize]) {
                let mut model = Builder::new();
                model.preemption_bound = Some(2);
                model.check(move || {
                    let jobs: Arc<Vec<Job>> = Arc::new(jobs.iter().map(|&n| Job::of(n)).collect());
                    let tasks = Arc::new(Tasks::new(1 + helpers));
                    let helper = |member| {
                        let (tasks, jobs) = (Arc::clone(&tasks), Arc::clone(&jobs));
                        thread::spawn(move || {
                            help(variant, &tasks, member);
                            drop(jobs);
                        })
                    };
                    let helpers: Vec<_> = (1..=helpers).map(helper).collect();
                    for job in jobs.iter() {
                        job.set(OPEN);
                        tasks.open(job.done.len(), core::ptr::from_ref(job).cast_mut());
                        work(variant, &tasks, 0);
                        while variant != Variant::DoesNotWait && !tasks.are_done() {
                            thread::yield_now();
                        }
                        assert!(job.is_done(), "each task is done once");
                        job.set(CLOSED);
                    }
                    tasks.close();
                    helpers.into_iter().for_each(|helper| helper.join().unwrap());
                });
            }
        }
    };
}

model!(code, Release, Acquire);
model!(weak_release, Relaxed, Acquire);
model!(weak_acquire, Release, Relaxed);

#[test]
fn each_task_is_done_once_in_any_order_of_steps() {
    for jobs in [&[1][..], &[3], &[0, 1], &[2, 1]] {
        code::check(Variant::Code, 1, jobs);
    }
    code::check(Variant::Code, 2, &[2]);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_leader_that_does_not_wait_is_noticed() {
    code::check(Variant::DoesNotWait, 1, &[2, 1]);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_task_that_is_said_to_be_done_too_early_is_noticed() {
    code::check(Variant::SaysSoFirst, 1, &[2, 1]);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "overflow"))]
#[cfg_attr(not(debug_assertions), should_panic(expected = "who takes a task sees its job"))]
fn releases_that_are_weaker_are_noticed() {
    weak_release::check(Variant::Code, 1, &[2, 1]);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "overflow"))]
#[cfg_attr(not(debug_assertions), should_panic(expected = "who takes a task sees its job"))]
fn acquires_that_are_weaker_are_noticed() {
    weak_acquire::check(Variant::Code, 1, &[2, 1]);
}
