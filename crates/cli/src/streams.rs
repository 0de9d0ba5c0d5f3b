//! Standard streams: whether input and output were open when the program started, and [`say`].
//!
//! The standard library opens `/dev/null` in place of a stream that is closed, before `main`. What
//! is written then goes nowhere, and what is read is empty, without an error.

use std::fmt;
use std::io::{self, Write};

/// Writes a line to standard error. If that fails, there is no one left to tell.
pub(crate) fn say(line: fmt::Arguments) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Checks that there is a standard input.
pub(crate) fn check_input() -> io::Result<()> {
    at_start::check(0)
}

/// Checks that there is a standard output.
pub(crate) fn check_output() -> io::Result<()> {
    at_start::check(1)
}

#[cfg(any(target_os = "linux", target_vendor = "apple"))]
mod at_start {
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_CLOSED: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

    extern "C" fn look() {
        for (stream, is_closed) in (0..).zip(&IS_CLOSED) {
            // SAFETY: this only asks for the flags of a file, whether there is such a file or not.
            let flags = unsafe { libc::fcntl(stream, libc::F_GETFD) };
            is_closed.store(flags == -1, Ordering::Relaxed);
        }
    }

    // SAFETY: what this section has are functions that are called in turn before `main`, with
    // arguments that one without any ignores. This one needs nothing of the standard library.
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;

    pub(super) fn check(stream: usize) -> io::Result<()> {
        if IS_CLOSED[stream].load(Ordering::Relaxed) {
            return Err(io::Error::from_raw_os_error(libc::EBADF));
        }
        Ok(())
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
mod at_start {
    pub(super) fn check(_: usize) -> std::io::Result<()> {
        Ok(())
    }
}
