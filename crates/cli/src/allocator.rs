//! [`Allocator`]: the system's allocator, with one line for what it refuses.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::signals;

/// The system's allocator. What it refuses ends the program like any other failure.
///
/// Most of what allocates, here and in the crates that are used, has no way to fail: the standard
/// library would say so in its own words, and abort.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: all is done by `System`, whose results are passed on.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        granted(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract.
        granted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps to the same contract, and all memory is of `System`.
        granted(unsafe { System.realloc(memory, layout, size) }, size)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps to the same contract, and all memory is of `System`.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[inline]
fn granted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        refused(bytes);
    }
    memory
}

/// Says how much could not be had, and ends the program. It allocates nothing.
#[cold]
fn refused(bytes: usize) -> ! {
    thread_local! {
        static ENDS: Cell<bool> = const { Cell::new(false) };
    }
    static SAID: AtomicBool = AtomicBool::new(false);
    if ENDS.replace(true) {
        // What is done in the end was refused something too.
        signals::exit();
    }
    if SAID.swap(true, Ordering::Relaxed) {
        // Another thread is ending the program.
        loop {
            std::thread::park();
        }
    }
    let mut text = [0; 128];
    let mut room = &mut text[..];
    // There is room for any number.
    let _ = writeln!(room, "bshuf: out of memory: {bytes} bytes are refused: lower --memory");
    let left = room.len();
    say(&text[..text.len() - left]);
    signals::end_at_once()
}

/// Writes to standard error without a lock, which this thread may have.
#[cfg(unix)]
fn say(line: &[u8]) {
    // SAFETY: that many bytes are there to be read.
    let _ = unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

#[cfg(not(unix))]
fn say(line: &[u8]) {
    let _ = std::io::stderr().write_all(line);
}
