//! [`start`]: the threads that all work is shared among.

use std::num::NonZeroUsize;
use std::thread;

use rayon::ThreadPoolBuilder;

use crate::failure::{Failure, FailureContext};
use crate::memory::addresses_left;

/// What a thread takes of the addresses: its stack, and what an allocator may set aside for it.
const ADDRESSES: u64 = 64 << 20;

/// Starts as many threads as there are cores, or as `RAYON_NUM_THREADS` says, and fewer where the
/// addresses of the process are limited.
///
/// # Errors
///
/// That they cannot be started, which would otherwise be a panic at the first use of them, or that
/// the variable is not a number, for which rayon would start as many as there are cores.
pub(crate) fn start() -> Result<(), Failure> {
    let asked = std::env::var_os("RAYON_NUM_THREADS").filter(|text| !text.is_empty());
    if let Some(text) = &asked
        && text.to_str().is_none_or(|text| text.parse::<usize>().is_err())
    {
        return Err(Failure::new("RAYON_NUM_THREADS", format!("{text:?} is not a number")));
    }
    let mut builder = ThreadPoolBuilder::new();
    if let Some(addresses) = addresses_left()
        && asked.is_none()
    {
        let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get) as u64;
        builder = builder.num_threads((addresses / ADDRESSES).clamp(1, cores) as usize);
    }
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // The allocator of glibc would have memory for each thread, which keeps what was given back
        // to it from the other threads and the system, and reserve 128 MiB for a moment for each.
        // What is allocated here is large, and seldom, so that threads do not wait for each other.
        //
        // SAFETY: it changes a setting of the allocator, and no other thread runs yet.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
    builder.build_global().context("threads cannot be started")
}
