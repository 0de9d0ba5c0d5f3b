use core::sync::atomic::AtomicU32;

use rayon_core::{ThreadPool, ThreadPoolBuilder};

use super::*;

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Leads a crew of all threads of the pool, on any machine.
fn lead_all(mut run: impl FnMut()) {
    lead_others(rayon_core::current_num_threads() - 1, &mut run);
}

/// Has the crew do jobs of several sizes, and checks that each task was done once.
fn check_jobs(jobs: usize, inner: &(dyn Fn(usize) + Sync)) {
    for count in (0..jobs).map(|job| job * job % 40) {
        let done: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
        let task = |number: usize| {
            inner(number);
            done[number].fetch_add(1, Ordering::Relaxed);
        };
        assert!(each(count, &task));
        assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1));
    }
}

#[test]
fn a_crew_does_each_task_of_each_job_once() {
    for threads in [1, 2, 3, 8] {
        let jobs = if cfg!(miri) { 10 } else { 300 };
        pool(threads).install(|| lead_all(|| check_jobs(jobs, &|_| {})));
    }
    assert!(!each(3, &|_| unreachable!("this thread leads no crew")));
}

#[test]
fn a_leader_need_not_be_in_the_pool() {
    assert_eq!(rayon_core::current_thread_index(), None);
    lead_all(|| check_jobs(if cfg!(miri) { 10 } else { 300 }, &|_| {}));
}

#[test]
fn a_pool_has_a_crew_where_there_is_a_core_for_each_thread() {
    if let Ok(assumed) = std::env::var("BIJECTIVE_SHUFFLE_CORES") {
        assert_eq!(machine::cores().to_string(), assumed);
    }
    for threads in [1, LEAST_THREADS, LEAST_THREADS + 1, 9] {
        let has_crew = pool(threads).install(|| lead(&mut || assert!(each(1, &|_| {}))));
        let expected = threads >= LEAST_THREADS && threads <= machine::cores();
        assert_eq!(has_crew, expected, "{threads} threads");
    }
}

#[test]
fn helpers_leave_and_others_come() {
    pool(2).install(|| {
        lead_all(|| {
            for _ in 0..3 {
                check_jobs(3, &|_| {});
                thread::sleep(Duration::from_millis(5));
            }
        });
    });
}

/// Runs a function on a thread of a pool whose others are busy meanwhile.
fn run_beside_busy(others: usize, run: impl FnOnce() + Send) {
    let (begun, end) = (AtomicUsize::new(0), AtomicUsize::new(0));
    pool(1 + others).scope(|scope| {
        for _ in 0..others {
            scope.spawn(|_| {
                begun.fetch_add(1, Ordering::Relaxed);
                while end.load(Ordering::Relaxed) == 0 {
                    thread::yield_now();
                }
            });
        }
        while begun.load(Ordering::Relaxed) < others {
            thread::yield_now();
        }
        run();
        end.store(1, Ordering::Relaxed);
    });
}

#[test]
fn a_helper_leaves_when_its_shift_is_over() {
    pool(2).install(|| {
        lead_all(|| {
            let (helped, leader) = (AtomicUsize::new(0), rayon_core::current_thread_index());
            let count = || {
                let is_helper = rayon_core::current_thread_index() != leader;
                helped.fetch_add(is_helper.into(), Ordering::Relaxed);
                is_helper
            };
            each(2, &|_| {
                if count() {
                    thread::sleep(SHIFT);
                } else {
                    while helped.load(Ordering::Relaxed) == 0 {
                        thread::yield_now();
                    }
                }
            });
            // For one task, the leader asks for no helper.
            for _ in 0..if cfg!(miri) { 10 } else { 100_000 } {
                each(1, &|_| {
                    count();
                });
            }
            assert_eq!(helped.into_inner(), 1);
        });
    });
}

#[test]
fn a_crew_makes_do_without_threads_that_do_not_come() {
    run_beside_busy(2, || lead_all(|| check_jobs(20, &|_| {})));
}

#[test]
fn requests_for_busy_helpers_are_bounded() {
    let mut awaiting = 0;
    run_beside_busy(2, || {
        (0..10 * MOST_AWAITING).for_each(|_| lead_all(|| check_jobs(3, &|_| {})));
        awaiting = AWAITING.with(Arc::strong_count) - 1; // Without the thread's own.
    });
    assert_eq!(awaiting, MOST_AWAITING);
}

/// Tasks of the engine do not, and a crew stands it all the same, except beside broadcasts.
#[test]
fn tasks_may_wait_for_the_pool_and_lead_crews() {
    pool(3).install(|| {
        lead_all(|| {
            // The crew that is led already does these jobs too.
            lead_all(|| check_jobs(3, &|_| {}));
            check_jobs(7, &|number| {
                assert!(!each(1, &|_| {}), "while a thread does a task it leads no crew");
                rayon_core::join(|| (), || lead_all(|| check_jobs(number % 5, &|_| {})));
            });
        });
    });
    // Many leaders in one pool.
    pool(4).install(|| {
        rayon_core::scope(|scope| {
            (0..30).for_each(|_| scope.spawn(|_| lead_all(|| check_jobs(7, &|_| {}))));
        });
    });
}

#[test]
fn a_panic_is_the_leaders_and_the_crew_lives_on() {
    pool(3).install(|| {
        lead_all(|| {
            for bad in [0, 7, 19] {
                let done = AtomicUsize::new(0);
                let task = |number| {
                    done.fetch_add(1, Ordering::Relaxed);
                    assert!(number != bad, "task {number}");
                };
                let job = || each(20, &task);
                let panic = catch_unwind(AssertUnwindSafe(job)).unwrap_err();
                assert_eq!(panic.downcast_ref(), Some(&format!("task {bad}")));
                assert_eq!(done.into_inner(), 20);
                check_jobs(5, &|_| {});
            }
        });
        let unwound = catch_unwind(|| lead_all(|| panic!("of the leader")));
        assert!(unwound.is_err());
        assert!(!each(1, &|_| {}), "it leads no crew any more");
    });
}

#[test]
fn panic_payloads_that_panic_when_dropped_stop_no_crew() {
    struct Hostile;
    impl Drop for Hostile {
        fn drop(&mut self) {
            panic!("while it is dropped");
        }
    }
    pool(3).install(|| {
        lead_all(|| {
            let job = || each(20, &|_| std::panic::panic_any(Hostile));
            let panic = catch_unwind(AssertUnwindSafe(job)).unwrap_err();
            assert!(panic.is::<Hostile>());
            mem::forget(panic);
            check_jobs(5, &|_| {});
        });
    });
}
