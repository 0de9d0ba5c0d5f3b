//! [`Unfinished`]: files that are removed if the program is interrupted, and what a broken pipe
//! does.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The files that are not complete.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Whether the process is this program's own.
#[cfg(unix)]
static IS_OWN: AtomicBool = AtomicBool::new(false);

/// A file that is not complete. It is removed if a signal ends the program.
#[derive(Debug)]
pub(crate) struct Unfinished(PathBuf);

impl Unfinished {
    /// Creates a file. A signal waits for the end of it, so that no file is missed.
    pub(crate) fn create<F: AsRef<Path>>(
        create: impl FnOnce() -> io::Result<F>,
    ) -> io::Result<(F, Self)> {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        let file = create()?;
        let path = file.as_ref().to_owned();
        all.insert(path.clone());
        Ok((file, Self(path)))
    }
}

impl Drop for Unfinished {
    /// The file is complete, or was removed.
    fn drop(&mut self) {
        let mut all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
        all.remove(&self.0);
    }
}

/// Does what must not end halfway. A signal that would end the program waits for the end of it.
#[cfg(unix)]
pub(crate) fn undisturbed<T>(work: impl FnOnce() -> T) -> T {
    let _none_meanwhile = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Removes the files that are not complete. None can be created from then on.
#[cfg(unix)]
fn remove_unfinished() -> std::sync::MutexGuard<'static, BTreeSet<PathBuf>> {
    let all = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    for path in all.iter() {
        // There is no one to tell, and nothing else to do.
        let _ = std::fs::remove_file(path);
    }
    all
}

/// From now on the signals that end the program first remove what is not complete, unless they are
/// ignored. Among them is the one of a file that is mapped and has lost what is read of it. Those
/// of a program's own faults, such as an abort, are not heard.
#[cfg(unix)]
pub(crate) fn install() -> io::Result<()> {
    use signal_hook::consts::signal::{
        SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM,
        SIGXCPU, SIGXFSZ,
    };
    use signal_hook::iterator::Signals;

    const HEARD: [i32; 11] = [
        SIGALRM, SIGBUS, SIGHUP, SIGINT, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGVTALRM,
        SIGXCPU,
    ];

    IS_OWN.store(true, Ordering::Relaxed);
    // The standard library has a handler for it, to report the overflow of a stack. Called after
    // ours, that one would restore the default, and reading again would end the program at once.
    // SAFETY: the default is always valid, and nothing here needs the handler that is replaced.
    unsafe { libc::signal(SIGBUS, libc::SIG_DFL) };
    // A file that may not grow so large is an error of writing, which says more than the signal.
    // SAFETY: to ignore a signal is always valid.
    unsafe { libc::signal(SIGXFSZ, libc::SIG_IGN) };
    let mut signals = Signals::new(HEARD.into_iter().filter(|&signal| !is_ignored(signal)))?;
    std::thread::Builder::new().spawn(move || {
        if let Some(signal) = signals.forever().next() {
            let _none = remove_unfinished();
            if signal == SIGBUS {
                // The thread that reads gets it again and again until the program has ended.
                crate::streams::say(format_args!(
                    "bshuf: an input was cut short while it was read"
                ));
                std::process::exit(1);
            }
            let _ = signal_hook::low_level::emulate_default_handler(signal);
        }
    })?;
    Ok(())
}

/// Whether a signal was ignored when the program started, as `nohup` and shells arrange it.
#[cfg(unix)]
fn is_ignored(signal: libc::c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action `sigaction` only writes the present one, to where there is room
    // for it.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: all of it is integers and pointers, for which zeros are values, or was written.
    let action = unsafe { action.assume_init() };
    result == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Ends the program by `SIGPIPE`, as if the signal had not been ignored, when no one reads its
/// output any more. Other outputs that are not complete are removed. Within another program this
/// does nothing.
#[cfg(unix)]
pub(crate) fn end_by_broken_pipe() {
    if !IS_OWN.load(Ordering::Relaxed) {
        return;
    }
    let _none = remove_unfinished();
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// From now on an abort, as of a panic within a panic, has said why when it removes what is not
/// complete, and ends the program like any other failure.
#[cfg(unix)]
pub(crate) fn end_aborts() {
    // SAFETY: the thread that aborts does so of its own accord, outside of the allocator, so that
    // it may call what it could call anyway. It waits for no lock, and does not return.
    let heard = unsafe { signal_hook::low_level::register(libc::SIGABRT, || end_at_once()) };
    // Without it an abort ends the program too.
    drop(heard);
}

/// Ends the program as a failure that has been said, wherever it is. What is not complete is
/// removed.
pub(crate) fn end_at_once() -> ! {
    // This thread may be the one that has it.
    if let Ok(all) = UNFINISHED.try_lock() {
        for path in all.iter() {
            let _ = std::fs::remove_file(path);
        }
    }
    exit()
}

/// Ends the program as a failure that has been said, and does nothing else.
pub(crate) fn exit() -> ! {
    #[cfg(unix)]
    // SAFETY: it may be called at any time, and nothing runs after it.
    unsafe {
        libc::_exit(1)
    }
    #[cfg(not(unix))]
    std::process::exit(1)
}

#[cfg(not(unix))]
pub(crate) fn end_aborts() {}

#[cfg(not(unix))]
pub(crate) fn install() -> io::Result<()> {
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn end_by_broken_pipe() {}
