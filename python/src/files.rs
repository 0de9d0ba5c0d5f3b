//! [`shuffle_files`]: what the module `files` of the package stands on, the program `bshuf` within
//! this process.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::argument::List;

#[cfg(feature = "files")]
mod enabled {
    use std::io;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
    use std::sync::{Arc, Mutex, PoisonError};

    use bijective_shuffle_cli::program::{self, Failure, Host};
    use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};

    use super::*;
    use crate::threads::watched_apart;

    /// How far a run is, and whether it is to end.
    #[derive(Default)]
    struct Run {
        /// What it does, and over how many bytes.
        phase: Mutex<(&'static str, Option<u64>)>,
        done: AtomicU64,
        is_stopped: AtomicBool,
    }

    impl Host for Run {
        fn begin(&self, phase: &'static str, bytes: Option<u64>) {
            let mut current = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
            *current = (phase, bytes);
            self.done.store(0, Ordering::Relaxed);
        }

        fn advance(&self, bytes: u64) -> io::Result<()> {
            if self.is_stopped.load(Ordering::Relaxed) {
                // The reason is kept by the code that stopped the run.
                return Err(io::ErrorKind::Other.into());
            }
            self.done.fetch_add(bytes, Ordering::Relaxed);
            Ok(())
        }
    }

    impl Run {
        /// Says how far it is.
        fn tell(&self, py: Python<'_>, progress: Option<&Py<PyAny>>) -> PyResult<()> {
            let Some(progress) = progress else { return Ok(()) };
            let (phase, bytes) = *self.phase.lock().unwrap_or_else(PoisonError::into_inner);
            progress.call1(py, (phase, self.done.load(Ordering::Relaxed), bytes)).map(drop)
        }
    }

    pub(super) fn shuffle(
        py: Python<'_>,
        arguments: Vec<OsString>,
        progress: Option<&Py<PyAny>>,
    ) -> PyResult<String> {
        let run = Arc::new(Run::default());
        let host = Arc::clone(&run);
        let look = |py: Python<'_>| {
            let goes_on = py.check_signals().and_then(|()| run.tell(py, progress));
            goes_on.inspect_err(|_| run.is_stopped.store(true, Ordering::Relaxed))
        };
        let done = watched_apart(py, || program::run(arguments, host), look)?;
        let report = done.map_err(|failure| exception(&failure))?;
        run.tell(py, progress)?;
        Ok(report)
    }

    /// A `MemoryError`, or an `OSError` of the class that belongs to the system's number, if there
    /// is one.
    fn exception(failure: &Failure) -> PyErr {
        if failure.kind() == io::ErrorKind::OutOfMemory {
            return PyMemoryError::new_err(failure.to_string());
        }
        let (what, why) = (failure.what().to_owned(), failure.why());
        let Some(number) = failure.os_error() else {
            return PyValueError::new_err(failure.to_string());
        };
        let why = why.replace(&format!(" (os error {number})"), "");
        if cfg!(windows) {
            return PyOSError::new_err((0, why, what, number));
        }
        PyOSError::new_err((number, why, what))
    }
}

/// Does what `bshuf` does with these arguments, and returns the report that it writes with
/// `--stats`. `progress` is called with the phase, the bytes that are done in it, and how many it
/// has.
#[cfg(feature = "files")]
#[pyfunction]
#[pyo3(signature = (arguments, progress = None))]
pub(crate) fn shuffle_files(
    py: Python<'_>,
    arguments: List<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    enabled::shuffle(py, arguments.0, progress.as_ref())
}

/// Says that this build does not shuffle files.
#[cfg(not(feature = "files"))]
#[pyfunction]
#[pyo3(signature = (arguments, progress = None))]
#[expect(unused_variables)]
pub(crate) fn shuffle_files(
    arguments: List<OsString>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let why = "this build of bijective_shuffle was made without the feature `files`";
    Err(pyo3::exceptions::PyNotImplementedError::new_err(why))
}
