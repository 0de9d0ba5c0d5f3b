//! The threads that the engines work on, and work that looks for Ctrl-C meanwhile.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use bijective_shuffle::rayon::{ThreadPool, ThreadPoolBuilder};
use bijective_shuffle_bindings::threads;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

/// How long a thread of Python waits for work before it looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);

/// The number of threads that `RAYON_NUM_THREADS` says; 0, for as many as there are processors, if
/// it says none. rayon itself takes what is no number for none.
fn asked_threads() -> PyResult<usize> {
    let Some(text) = env::var_os("RAYON_NUM_THREADS").filter(|text| !text.is_empty()) else {
        return Ok(0);
    };
    text.to_str().and_then(|text| text.trim().parse().ok()).ok_or_else(|| {
        PyValueError::new_err(format!(
            "the environment variable RAYON_NUM_THREADS is {text:?}: set it to a number of \
             threads, or unset it for one on each processor"
        ))
    })
}

/// This process's pool, of [`asked_threads`].
fn pool() -> PyResult<&'static ThreadPool> {
    match threads::newest() {
        Some(pool) => Ok(pool),
        None => threads::pool(asked_threads()?).map_err(PyRuntimeError::new_err),
    }
}

/// Whether work is to end before it is done. Its results are then dropped.
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// For work that is too short to be stopped.
    pub(crate) const fn never() -> Self {
        Self(AtomicBool::new(false))
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does some work on this process's threads, while other threads of Python run and the calling one
/// looks for Ctrl-C. The work looks often whether it is to stop.
///
/// # Errors
///
/// What a handler of a signal raises; the work may have come to its end all the same.
pub(crate) fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> T + Send,
) -> PyResult<T> {
    let stop = Stop::never();
    watched(py, || work(&stop), |py| py.check_signals().inspect_err(|_| stop.set()))
}

/// Does some work on this process's threads, while other threads of Python run and the calling one
/// looks again and again. A look that ends in an error has to make the work end, too.
///
/// # Errors
///
/// That of a look; the work may have come to its end all the same.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    watched_on(pool()?, py, work, look)
}

/// [`watched`] on threads of its own, as many as this process has, for work that waits for disks:
/// it would keep others from a thread for as long as it takes.
///
/// # Errors
///
/// As [`watched`], and if there are no such threads.
#[cfg(feature = "files")]
pub(crate) fn watched_apart<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let own = ThreadPoolBuilder::new().num_threads(thread_count()?).build();
    let failed = |error| PyRuntimeError::new_err(format!("threads cannot be started: {error}"));
    watched_on(&own.map_err(failed)?, py, work, look)
}

fn watched_on<T: Send>(
    pool: &ThreadPool,
    py: Python<'_>,
    work: impl FnOnce() -> T + Send,
    mut look: impl FnMut(Python<'_>) -> PyResult<()> + Send,
) -> PyResult<T> {
    let waited = py.detach(|| -> PyResult<_> {
        let (sender, receiver) = sync_channel(1);
        // It waits for the work, also after an error.
        pool.in_place_scope(|scope| {
            scope.spawn(move |_| {
                // The receiver may have gone after an error.
                let _ = sender.send(work());
            });
            loop {
                match receiver.recv_timeout(LOOK) {
                    Ok(done) => return Ok(Some(done)),
                    // The work has panicked, which goes on where the scope ends.
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                    Err(RecvTimeoutError::Timeout) => Python::attach(&mut look)?,
                }
            }
        })
    })?;
    Ok(waited.expect("work that has not panicked"))
}

/// Does some work on this process's threads, while other threads of Python run. It cannot be
/// interrupted.
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
