//! The threads that the engine works on.
//!
//! Not rayon's global pool: that does not survive a `fork`, by which many programs start their
//! workers. In the child its threads are gone, and the first call that waits for them waits for
//! ever. So a child forgets the pools of its parent, and makes its own. No pool is ever freed: a
//! parent's threads cannot be joined in a child, and another thread may be about to work in a pool
//! of this process.

use std::ptr;
#[cfg(unix)]
use std::sync::atomic::AtomicBool;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use library::rayon::{ThreadPool, ThreadPoolBuilder};

use crate::status::{BS_ERROR_THREADS, Failure, Status, done};

/// The threads that were asked for; 0 if none were.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// The pool that this process made last. No lock, which another thread might hold during a fork.
static POOLS: AtomicPtr<Pool> = AtomicPtr::new(ptr::null_mut());

/// A pool, and those that were made before it.
struct Pool {
    asked: usize,
    pool: ThreadPool,
    before: *const Pool,
}

/// The pool that was made for `asked` threads, among `next` and those before it.
fn find(mut next: *const Pool, asked: usize) -> Option<&'static ThreadPool> {
    // SAFETY: the pointer is null or comes from `Box::into_raw` in `pool`, which stored it with
    // `Release` after it was written, and it is never freed.
    while let Some(found) = unsafe { next.as_ref() } {
        if found.asked == asked {
            return Some(&found.pool);
        }
        next = found.before;
    }
    None
}

/// Sees to it that a child begins without pools.
#[cfg(unix)]
fn forget_in_children() -> Result<(), Failure> {
    static IS_SEEN_TO: AtomicBool = AtomicBool::new(false);
    extern "C" fn forget() {
        POOLS.store(ptr::null_mut(), Ordering::Relaxed);
    }
    if IS_SEEN_TO.load(Ordering::Relaxed) {
        return Ok(());
    }
    // SAFETY: the function only stores to an atomic, which it may do in a child of any process.
    let code = unsafe { libc::pthread_atfork(None, None, Some(forget)) };
    if code != 0 {
        let error = std::io::Error::from_raw_os_error(code);
        let text = format!("threads cannot be started: no handler of forks can be set: {error}");
        return Err(Failure::new(BS_ERROR_THREADS, text));
    }
    // After it has been set: no thread may go on without. Twice does no harm.
    IS_SEEN_TO.store(true, Ordering::Relaxed);
    Ok(())
}

/// Elsewhere processes are not copied.
#[cfg(not(unix))]
fn forget_in_children() -> Result<(), Failure> {
    Ok(())
}

/// This process's pool with as many threads as were asked for.
fn pool() -> Result<&'static ThreadPool, Failure> {
    let asked = ASKED.load(Ordering::Relaxed);
    let mut newest = POOLS.load(Ordering::Acquire);
    if let Some(pool) = find(newest, asked) {
        return Ok(pool);
    }
    forget_in_children()?;
    // Without a number, rayon takes that of RAYON_NUM_THREADS, or of the processors.
    let builder = ThreadPoolBuilder::new()
        .num_threads(asked)
        .thread_name(|k| format!("bijective-shuffle-{k}"));
    let failed =
        |error| Failure::new(BS_ERROR_THREADS, format!("threads cannot be started: {error}"));
    let pool = builder.build().map_err(failed)?;
    let made = Box::into_raw(Box::new(Pool { asked, pool, before: newest }));
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

/// Does some work on this process's threads.
pub(crate) fn on_all<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    Ok(pool()?.install(work))
}

/// Fewer points than this are evaluated by the calling thread alone, so others need not be woken.
/// The library shares no fewer among threads; what it shares must not reach rayon's global pool.
pub(crate) const FEW: u64 = 1 << 14;

/// Does some work that evaluates points and writes bytes: on this process's threads, if either are
/// many. There are at least as many points as items, and few items may lie among many points.
pub(crate) fn on_points<T: Send>(
    points: u64,
    bytes: u64,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    if points < FEW && bytes < 1 << 20 { Ok(work()) } else { on_all(work) }
}

/// Limits the threads that all calls from now on share to `count`, in the whole process; 0 takes
/// the limit away. Without one there are as many as the environment variable RAYON_NUM_THREADS
/// says, or else one for each processor.
///
/// The threads of each number that was asked for are started when they are first needed, and kept.
/// After a fork, the child starts threads of its own.
#[unsafe(no_mangle)]
pub extern "C" fn bs_set_threads(count: usize) -> Status {
    done(|| {
        /// More would only wait for each other.
        const MOST: usize = 1 << 12;
        if count > MOST {
            let text = format!("{count} threads were asked for: at most {MOST} can be");
            return Err(Failure::argument(text));
        }
        ASKED.store(count, Ordering::Relaxed);
        Ok(())
    })
}

/// Writes the number of threads that calls share to `*count`, and starts them if there are none
/// yet.
///
/// # Safety
///
/// `count` leads to memory for a number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bs_threads(count: *mut usize) -> Status {
    done(|| {
        let threads = pool()?.current_num_threads();
        // SAFETY: as the caller promises.
        unsafe { crate::memory::write(count, threads, "the number") }
    })
}
