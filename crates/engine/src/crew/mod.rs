//! A crew: the threads of one call, which stay awake from one of its jobs to the next.
//!
//! ```text
//! lead(call):                   each(count, task), on the leader:    a helper:
//!     make a crew                   open the job                     until it has looked in vain
//!     run the call                  ask the pool for helpers            for long:
//!     close the crew                take and do tasks                    if there is a new job:
//!                                   wait until all are done                  take and do tasks
//! ```
//!
//! A call has a few jobs, one after the other, and all threads do the tasks of each. The pool would
//! wake its threads one by one for each job, and let some sleep before the next. So one thread
//! leads a crew, and others of a pool join it once, as *helpers*, and look for jobs without
//! sleeping. The leader may be no thread of the pool: it then need not wait for one to wake up.
//!
//! The leader opens a job, takes tasks as everybody does, and when none is left, waits for those
//! who still have one. It never waits for a thread that has no task, and so does all of them if no
//! helper comes. A helper that has found nothing for long leaves, so that its thread can do
//! something else, or sleep; the next job asks for another.
//!
//! A leader that waits does nothing else. So no task may wait in the pool: its thread would do
//! other tasks meanwhile, among which may be a broadcast of rayon's, in which the leader has a
//! part. The broadcast waits for the leader, who waits for the task below it. That is why only
//! calls whose tasks run no code of others have crews. These tasks wait for each other at most
//! while one copies a block, or takes the next of some numbers.

#[cfg(all(test, target_pointer_width = "64"))]
mod model;
mod tasks;
#[cfg(test)]
mod tests;

use core::any::Any;
use core::cell::Cell;
use core::hint;
use core::mem;
use core::panic::AssertUnwindSafe;
use core::sync::atomic;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::panic::{catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Instant;

use super::machine;
use tasks::Tasks;

// What chose these is in benches/notes/cpu.md, "Threads that stay awake".

/// The least threads of a pool for a crew.
const LEAST_THREADS: usize = 2;

/// How often a helper looks for a job before it leaves. After 150 looks, 16 threads of a Xeon had
/// 0.86 of the speed at 2^20 + 1 items that they have after 300.
const LOOKS: usize = 1000;

/// How often it looks where other threads lead crews as well, which it could help meanwhile. After
/// 300 looks two shuffles at the same time had 0.82 to 0.88 of the speed that they had after 150.
const FEW_LOOKS: usize = 150;

/// After this many looks, who waits gives way to other threads before the next.
const SPINS: usize = 100;

/// A thread asks for no more helpers while those of this many of its calls have not come. The
/// threads of the pool are busy then, and what waits for them would grow by each call: by 1.3 KB
/// where each of 16 threads called at 2^17 + 1 again and again.
const MOST_AWAITING: usize = 16;

/// After so long a helper leaves when a job has no more tasks for it, so that its thread goes on
/// with what it has interrupted, or with what else waits in the pool. Small tasks beside shuffles
/// of 2^27 items by 8 threads waited 0.92 and 1.04 s at the median before, about a whole shuffle,
/// and 0.15 s with it. Most calls are shorter, and so pay for looks at a clock alone.
const SHIFT: Duration = Duration::from_millis(100);

/// The number of crews of this process.
static CREWS: AtomicUsize = AtomicUsize::new(0);

type Task<'a> = &'a (dyn Fn(usize) + Sync);

thread_local! {
    /// The crew that this thread leads, unless it is doing a job of it.
    static LED: Cell<Option<Arc<Crew>>> = const { Cell::new(None) };

    /// The number of crews that this thread has led.
    static COUNT: Cell<usize> = const { Cell::new(0) };

    /// What the crews share that this thread has led and whose helpers have not all come and gone.
    static AWAITING: Arc<()> = Arc::default();
}

/// Sets which crew this thread leads, and returns which it has led. A thread that ends leads none.
fn replace(crew: Option<Arc<Crew>>) -> Option<Arc<Crew>> {
    LED.try_with(|led| led.replace(crew)).ok().flatten()
}

/// Runs a function whose jobs are done by a crew, if the pool can have one: threads that wait
/// without sleeping need cores of their own. No task of theirs waits for another thread. Returns
/// `false`, with nothing done, if the pool can have none.
pub(super) fn lead(run: &mut dyn FnMut()) -> bool {
    let threads = rayon_core::current_num_threads();
    let has_cores = (LEAST_THREADS..=machine::cores()).contains(&threads);
    if has_cores {
        lead_others(threads - 1, run);
    }
    has_cores
}

/// The number of crews that this thread has led.
pub(super) fn count() -> usize {
    COUNT.get()
}

/// Runs a function whose jobs are done by this thread and others of the pool.
fn lead_others(others: usize, run: &mut dyn FnMut()) {
    /// Ends what this thread leads, also when it unwinds.
    struct End;
    impl Drop for End {
        fn drop(&mut self) {
            if let Some(crew) = replace(None) {
                crew.tasks.close();
            }
            CREWS.fetch_sub(1, Ordering::Relaxed);
        }
    }

    let led = replace(None);
    if led.is_some() {
        // The crew that this thread leads already does these jobs too.
        replace(led);
        return run();
    }
    let (tasks, helpers) = (Tasks::new(1 + others), AtomicUsize::new(0));
    let leader = rayon_core::current_thread_index();
    let awaiting = AWAITING.try_with(Arc::clone).unwrap_or_default();
    CREWS.fetch_add(1, Ordering::Relaxed);
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
    replace(Some(Arc::new(Crew { tasks, leader, helpers, panic: Mutex::new(None), awaiting })));
    let _end = End;
    run();
}

/// Has the crew that this thread leads do a job: calls a task with each number below `count`.
/// Returns `false`, with nothing done, if it leads none.
pub(super) fn each(count: usize, task: Task) -> bool {
    let Some(crew) = replace(None) else { return false };
    let panic = crew.each(count, task);
    replace(Some(crew));
    panic.is_none_or(|panic| resume_unwind(panic))
}

struct Crew {
    tasks: Tasks<Task<'static>>,
    /// The leader's number in the pool, if it is one of its threads.
    leader: Option<usize>,
    /// The number of helpers that the pool was asked for, without those that have left.
    helpers: AtomicUsize,
    /// What a task has panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// That of its leader.
    awaiting: Arc<()>,
}

impl Crew {
    /// Does a job, and returns what a task has panicked with.
    fn each(self: &Arc<Self>, count: usize, task: Task) -> Option<Box<dyn Any + Send>> {
        // SAFETY: only the lifetime is another. Who takes a task calls it before saying that it is
        // done, and this function waits until all have said so.
        let mut task: Task<'static> = unsafe { mem::transmute::<Task, Task>(task) };
        self.tasks.open(count, &mut task);
        // Besides others, this crew and its leader have it.
        if Arc::strong_count(&self.awaiting) < MOST_AWAITING + 2 {
            let wanted = count.min(self.tasks.members()).saturating_sub(1);
            let missing = wanted.saturating_sub(self.helpers.load(Ordering::Relaxed));
            self.helpers.fetch_add(missing, Ordering::Relaxed);
            self.ask_for(missing);
        }
        self.work(self.leader.unwrap_or(0));
        let mut looks = 0;
        while !self.tasks.are_done() {
            pause(looks);
            looks += 1;
        }
        self.panic.lock().expect("nobody panics with it").take()
    }

    /// Asks the pool for helpers, of whom each asks for some: to wake a thread takes a while for
    /// the one that does it, too.
    fn ask_for(self: &Arc<Self>, mut helpers: usize) {
        while helpers > 0 {
            let (crew, others) = (self.clone(), helpers / 2);
            rayon_core::spawn(move || {
                crew.ask_for(others);
                crew.help();
            });
            helpers -= others + 1;
        }
    }

    /// Does tasks of all jobs, until there will be none or has been none for long.
    fn help(&self) {
        let number = rayon_core::current_thread_index().unwrap_or(0);
        // The same in each call: what a thread has touched is in its core's cache in the next. A
        // leader from outside the pool is member 0.
        let member = match self.leader {
            Some(_) => number,
            None => 1 + number % (self.tasks.members() - 1).max(1),
        };
        let came = Instant::now();
        let (mut round, mut looks) = (0, 0);
        while looks < FEW_LOOKS || looks < LOOKS && CREWS.load(Ordering::Relaxed) == 1 {
            match self.tasks.round() {
                None => return,
                Some(same) if same == round => {
                    pause(looks);
                    looks += 1;
                }
                Some(next) => {
                    (round, looks) = (next, 0);
                    self.work(member);
                    if came.elapsed() > SHIFT {
                        break;
                    }
                }
            }
        }
        self.helpers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Does tasks of a job, as a member, until none is left.
    fn work(&self, member: usize) {
        let mut done = 0;
        while let Some((number, task)) = self.tasks.take(member) {
            // SAFETY: the leader keeps the task until this thread has said that it is done.
            let task = unsafe { *task };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| task(number))) {
                // Dropping one that has come before might panic too, and then nobody would say that
                // these tasks are done.
                mem::forget(self.panic.lock().expect("nobody panics with it").replace(panic));
            }
            done += 1;
        }
        self.tasks.have_done(done);
    }
}

/// Waits for a moment, after this many others.
fn pause(before: usize) {
    match before {
        ..SPINS => hint::spin_loop(),
        SPINS..LOOKS => thread::yield_now(),
        // Only a leader waits for so long. Who is waited for may need this very core.
        LOOKS.. => thread::sleep(Duration::from_micros(50)),
    }
}
