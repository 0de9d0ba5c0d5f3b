//! The threads that the engines work on.
//!
//! Not rayon's global pool: that does not survive a `fork`, by which many programs, data loaders
//! among them, start their workers. In the child its threads are gone, and the first call that
//! waits for them waits for ever. So a child forgets the pools of its parent, and makes its own. No
//! pool is ever freed: a parent's threads cannot be joined in a child, and another thread may be
//! about to work in a pool of this process.
//!
//! A child knows its parent's pools in two ways, since each fails alone. A handler of forks is not
//! run in a child if another thread sets it while the fork is under way. Numbers of processes are
//! the same in a child that begins a namespace of its own.

use std::process;
use std::ptr;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicPtr, Ordering};

use bijective_shuffle::rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool that this process made last. No lock, which another thread might hold during a fork.
static POOLS: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// A pool, and those that were made before it.
struct Pool {
    process: u32,
    asked: usize,
    pool: ThreadPool,
    before: *const Pool,
}

/// The pool that this process made last, or that for `asked` threads, among `next` and those before
/// it.
fn find(mut next: *const Pool, asked: Option<usize>) -> Option<&'static ThreadPool> {
    let process = process::id();
    // SAFETY: the pointer is null or comes from `Box::into_raw` in `pool`, which stored it with
    // `Release` after it was written, and it is never freed.
    while let Some(found) = unsafe { next.as_ref() } {
        if found.process == process && asked.is_none_or(|asked| asked == found.asked) {
            return Some(&found.pool);
        }
        next = found.before;
    }
    None
}

/// Registers fork handlers, so that a child starts without its parent's pools and with no lock
/// held. [`pool`] registers them too, but too late for a fork that is already under way. So a
/// package that is told of its start calls this there.
///
/// The first threads of rayon that look for work set up the memory of its queues behind a lock. A
/// child that is forked in that moment finds the lock closed, and its own threads would wait for
/// ever. So a fork begins by setting up that memory, or waits until another thread has done it.
///
/// # Errors
///
/// The text of what is wrong, if the system has no memory for it.
#[cfg(unix)]
pub fn prepare_for_forks() -> Result<(), String> {
    static IS_SEEN_TO: AtomicBool = AtomicBool::new(false);
    extern "C" fn set_up_queues() {
        drop(crossbeam_epoch::pin());
    }
    extern "C" fn forget() {
        POOLS.store(ptr::null_mut(), Ordering::Relaxed);
    }
    if IS_SEEN_TO.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the first function runs in the parent, where it may do anything that does not fork.
    // The other only stores to an atomic, which it may do in a child of any process.
    let code = unsafe { libc::pthread_atfork(Some(set_up_queues), None, Some(forget)) };
    if code != 0 {
        let error = std::io::Error::from_raw_os_error(code);
        return Err(format!("threads cannot be started: no handler of forks can be set: {error}"));
    }
    // After it has been set: no thread may go on without. Twice does no harm.
    IS_SEEN_TO.store(true, Ordering::Relaxed);
    Ok(())
}

/// Elsewhere processes are not copied.
///
/// # Errors
///
/// None.
#[cfg(not(unix))]
pub fn prepare_for_forks() -> Result<(), String> {
    Ok(())
}

/// The pool that this process made last, whatever it was asked for.
pub fn newest() -> Option<&'static ThreadPool> {
    find(POOLS.load(Ordering::Acquire), None)
}

/// This process's pool with as many threads as are asked for. For 0, rayon takes the number of
/// `RAYON_NUM_THREADS`, or of the processors.
///
/// # Errors
///
/// The text of what is wrong, if the threads cannot be started.
pub fn pool(asked: usize) -> Result<&'static ThreadPool, String> {
    let mut newest = POOLS.load(Ordering::Acquire);
    if let Some(pool) = find(newest, Some(asked)) {
        return Ok(pool);
    }
    prepare_for_forks()?;
    let builder = ThreadPoolBuilder::new()
        .num_threads(asked)
        .thread_name(|k| format!("bijective-shuffle-{k}"));
    let pool = builder.build().map_err(|error| format!("threads cannot be started: {error}"))?;
    let made =
        Box::into_raw(Box::new(Pool { process: process::id(), asked, pool, before: newest }));
    while let Err(others) =
        POOLS.compare_exchange(newest, made, Ordering::Release, Ordering::Acquire)
    {
        // Two pools for one number do no harm, and the next call finds the newer one.
        newest = others;
        // SAFETY: it comes from `Box::into_raw` above, and nobody else has seen it yet.
        unsafe { (*made).before = newest };
    }
    // SAFETY: it comes from `Box::into_raw`, and pools are never freed.
    Ok(&unsafe { &*made }.pool)
}

/// Fewer points than this are evaluated by the calling thread alone, so others need not be woken.
/// The library shares no fewer among threads; what it shares must not reach rayon's global pool.
pub const FEW_POINTS: u64 = 1 << 14;
