//! [`Turns`]: a value that the threads of Python use in turn.
//!
//! A class with methods of `&mut self` raises "Already borrowed" for the second of two threads. A
//! mutex alone does not do either: a thread that waits for it with the GIL may wait for one that
//! needs the GIL, one that waits without it sees no Ctrl-C, a fork leaves it locked in the child,
//! and a handler of a signal waits for the very call that it interrupts. So a thread that finds the
//! value taken looks at whose turn it is, and then waits a little at a time.

use std::ops::{Deref, DerefMut};
use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::thread;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// The longest wait between two looks whether the value is free.
const LONGEST_WAIT: Duration = Duration::from_millis(1);

pub(crate) struct Turns<T> {
    /// Whose [`Turn`] it is, as [`caller`] counts; 0 if it is nobody's.
    holder: AtomicU64,
    value: Mutex<T>,
}

impl<T> Turns<T> {
    pub(crate) fn new(value: T) -> Self {
        Self { holder: AtomicU64::new(0), value: Mutex::new(value) }
    }

    /// Waits for the value, and keeps it as long as the result lives. Meanwhile other threads of
    /// Python may run, and code of Python on this one.
    ///
    /// # Errors
    ///
    /// `RuntimeError` if nobody would ever give it back: a call of this very thread has it, or a
    /// thread that a fork has left behind. And what a handler of a signal raises.
    pub(crate) fn take(&self, py: Python<'_>) -> PyResult<Turn<'_, T>> {
        let value = self.lock(py)?;
        self.holder.store(caller(), Ordering::Relaxed);
        Ok(Turn { holder: &self.holder, value })
    }

    /// Waits for the value and calls a function with it, which keeps the GIL and runs no code of
    /// Python. So no other thread finds it taken, and it is not noted whose turn it is.
    ///
    /// # Errors
    ///
    /// Those of [`take`](Self::take).
    pub(crate) fn at_once<R>(&self, py: Python<'_>, f: impl FnOnce(&mut T) -> R) -> PyResult<R> {
        Ok(f(&mut *self.lock(py)?))
    }

    fn lock(&self, py: Python<'_>) -> PyResult<MutexGuard<'_, T>> {
        let mut wait = Duration::from_micros(20);
        loop {
            match self.value.try_lock() {
                Ok(value) => return Ok(value),
                // A value is sound whatever has panicked.
                Err(TryLockError::Poisoned(error)) => return Ok(error.into_inner()),
                Err(TryLockError::WouldBlock) => {}
            }
            let (holder, caller) = (self.holder.load(Ordering::Relaxed), caller());
            if holder == caller {
                return Err(PyRuntimeError::new_err(
                    "it is in use by the call that a handler of a signal, or a finalizer, has \
                     interrupted: use it when that call is done",
                ));
            }
            if holder != 0 && holder >> 32 != caller >> 32 {
                return Err(PyRuntimeError::new_err(
                    "it was in use by another thread when this process was forked from its \
                     parent: make a new one here",
                ));
            }
            py.detach(|| thread::sleep(wait));
            py.check_signals()?;
            wait = (2 * wait).min(LONGEST_WAIT);
        }
    }
}

/// A value while it is one thread's.
pub(crate) struct Turn<'a, T> {
    holder: &'a AtomicU64,
    value: MutexGuard<'a, T>,
}

impl<T> Deref for Turn<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for Turn<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        // The lock is opened after this. With the GIL, nobody looks in between.
        self.holder.store(0, Ordering::Relaxed);
    }
}

/// The number of this process and, in the lower half, of this thread. It is never 0.
fn caller() -> u64 {
    static THREADS: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static THREAD: u32 = THREADS.fetch_add(1, Ordering::Relaxed);
    }
    u64::from(process::id()) << 32 | THREAD.with(|&thread| u64::from(thread))
}
