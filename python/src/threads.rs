//! The threads that the engines work on.
//!
//! Not rayon's global pool: that does not survive a `fork`, by which data loaders start their
//! workers. In the child its threads are gone, and the first call that waits for them waits for
//! ever. So there is a pool of ours for each process, and a process that finds the pool of its
//! parent makes one of its own.

use std::process;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use bijective_shuffle::rayon::{ThreadPool, ThreadPoolBuilder};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The pool of the process with this number.
struct OfProcess {
    process: u32,
    pool: ThreadPool,
}

/// The current pool, which is never freed: those of parent processes have no threads here that
/// could be joined. No lock, which another thread of the parent might hold during the fork.
static CURRENT: AtomicPtr<OfProcess> = AtomicPtr::new(ptr::null_mut());

/// This process's pool. It has as many threads as `RAYON_NUM_THREADS` says, and otherwise one for
/// each processor.
fn pool() -> PyResult<&'static ThreadPool> {
    let process = process::id();
    let current = CURRENT.load(Ordering::Acquire);
    // SAFETY: the pointer is null or comes from `Box::into_raw` below, whose `Release` store has
    // made the contents visible, and it is never freed.
    if let Some(found) = unsafe { current.as_ref() }
        && found.process == process
    {
        return Ok(&found.pool);
    }
    let builder = ThreadPoolBuilder::new().thread_name(|k| format!("bijective-shuffle-{k}"));
    let failed = |error| PyRuntimeError::new_err(format!("threads cannot be started: {error}"));
    let made =
        Box::into_raw(Box::new(OfProcess { process, pool: builder.build().map_err(failed)? }));
    let replaced = CURRENT.compare_exchange(current, made, Ordering::AcqRel, Ordering::Acquire);
    let kept = match replaced {
        Ok(_) => made,
        Err(others) => {
            // SAFETY: it comes from `Box::into_raw` above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
            others
        }
    };
    // SAFETY: as above; another thread of this process has stored `others`, whose contents the
    // `Acquire` of the failed exchange has made visible.
    Ok(&unsafe { &*kept }.pool)
}

/// Does some work on this process's threads, while other threads of Python run.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool()?;
    Ok(py.detach(|| pool.install(work)))
}

/// Does some work on this process's threads, while no other thread of Python runs.
pub(crate) fn attached<T: Send>(work: impl FnOnce() -> T + Send) -> PyResult<T> {
    Ok(pool()?.install(work))
}

/// The number of threads that this process shuffles with.
#[pyfunction]
pub(crate) fn thread_count() -> PyResult<usize> {
    Ok(pool()?.current_num_threads())
}
