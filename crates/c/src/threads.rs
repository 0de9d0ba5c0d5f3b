//! The threads that the engine works on, as many as are asked for.

use std::sync::atomic::{AtomicUsize, Ordering};

use bindings::threads::{FEW_POINTS, pool, prepare_for_forks};
use library::rayon::ThreadPool;

use crate::status::{BS_ERROR_THREADS, Failure, Status, done};

/// Called when the library is loaded, before any thread may fork. If it fails, the first call that
/// starts threads tries again, and has the error.
#[used]
#[cfg_attr(all(unix, not(target_vendor = "apple")), unsafe(link_section = ".init_array"))]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
static AT_START: extern "C" fn() = {
    extern "C" fn at_start() {
        drop(prepare_for_forks());
    }
    at_start
};

/// The threads that were asked for; 0 if none were.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// This process's pool with as many threads as were asked for.
fn asked() -> Result<&'static ThreadPool, Failure> {
    pool(ASKED.load(Ordering::Relaxed)).map_err(|text| Failure::new(BS_ERROR_THREADS, text))
}

/// Does some work on this process's threads.
pub(crate) fn on_all<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Failure> {
    Ok(asked()?.install(work))
}

/// Does some work that evaluates points and writes bytes: on this process's threads, if either are
/// many. There are at least as many points as items, and few items may lie among many points.
pub(crate) fn on_points<T: Send>(
    points: u64,
    bytes: u64,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    if points < FEW_POINTS && bytes < 1 << 20 { Ok(work()) } else { on_all(work) }
}

/// Limits the threads that all calls of this process share from now on to `count`; 0 removes the
/// limit. Without a limit there are as many as the environment variable RAYON_NUM_THREADS says, or
/// one for each processor.
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
        let threads = asked()?.current_num_threads();
        // SAFETY: the caller promises memory for a number at `count`.
        unsafe { crate::memory::write(count, threads, "the number") }
    })
}
