//! [`Mapped`]: a file's bytes in memory, which all processes see that map it.

use std::ffi::c_void;
use std::fs::File;
use std::io;

/// Some bytes of a file, from its beginning.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "no other system has ranks"))]
#[derive(Debug)]
pub(super) struct Mapped {
    start: *mut c_void,
    bytes: usize,
}

// SAFETY: any thread may use the address and unmap the bytes.
unsafe impl Send for Mapped {}

// SAFETY: a shared `Mapped` only tells its address and its size.
unsafe impl Sync for Mapped {}

// Declared here, since two calls are not worth two crates; the standard library links them. The
// numbers are the same for every architecture, and offsets have 64 bits where there is CUDA.
#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::{c_int, c_void};

    pub(super) const READ_WRITE: c_int = 3;
    pub(super) const SHARED: c_int = 1;

    unsafe extern "C" {
        pub(super) fn mmap(
            address: *mut c_void,
            bytes: usize,
            protection: c_int,
            flags: c_int,
            file: c_int,
            offset: i64,
        ) -> *mut c_void;
        pub(super) fn munmap(start: *mut c_void, bytes: usize) -> c_int;
    }
}

impl Mapped {
    /// Maps the bytes for reading and writing.
    #[cfg(target_os = "linux")]
    pub(super) fn new(file: &File, bytes: usize) -> io::Result<Self> {
        use linux::{READ_WRITE, SHARED};
        use std::os::fd::AsRawFd;
        use std::ptr::null_mut;

        // SAFETY: the system chooses an address where nothing is, and checks the rest.
        let start =
            unsafe { linux::mmap(null_mut(), bytes, READ_WRITE, SHARED, file.as_raw_fd(), 0) };
        if start.addr() == usize::MAX {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start, bytes })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn new(_: &File, _: usize) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Where the bytes begin, which is the beginning of a page.
    pub(super) fn start(&self) -> *mut c_void {
        self.start
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(target_os = "linux")]
impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: these bytes have been mapped here, and nobody uses them any more. If they stayed,
        // nothing would be wrong.
        let _ = unsafe { linux::munmap(self.start, self.bytes) };
    }
}
