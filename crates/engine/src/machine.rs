//! What the choice of a strategy needs to know about the machine.
//!
//! It is kept in numbers and not behind locks: two threads that ask first both look it up, and find
//! the same. A `OnceLock` that one of them has begun to fill stays closed in a child that is forked
//! in that moment.

use std::env;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// The assumed size of the last-level cache where it cannot be found out: that of one core complex
/// of a server.
const USUAL_CACHE: usize = 32 << 20;

/// The size in bytes of the last-level cache that a thread shares with its neighbours. It is looked
/// up once.
pub fn cache_bytes() -> usize {
    static BYTES: AtomicUsize = AtomicUsize::new(UNKNOWN);
    kept(&BYTES, || last_level_cache().unwrap_or(USUAL_CACHE))
}

/// The environment variable with the number of cores that is assumed, for tests of what machines
/// with more cores do: a pool has a crew if there is a core for each of its threads.
const CORES: &str = "BIJECTIVE_SHUFFLE_CORES";

/// The number of cores that this process may use, or the assumed one. It is looked up once.
pub fn cores() -> usize {
    static KEPT: AtomicUsize = AtomicUsize::new(UNKNOWN);
    let there_are = || thread::available_parallelism().map_or(1, usize::from);
    let assumed = || env::var(CORES).ok()?.parse().ok();
    kept(&KEPT, || assumed().unwrap_or_else(there_are))
}

/// Whether the processor is one of Intel's, of 64 bits. It is asked once.
pub fn is_intel() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        // Miri interprets no processor's instructions.
        if cfg!(miri) {
            return false;
        }
        static IS_INTEL: AtomicUsize = AtomicUsize::new(UNKNOWN);
        let ask = || {
            #[allow(unused_unsafe, reason = "later versions of Rust call it safe")]
            // SAFETY: every x86-64 processor has this instruction and its leaf 0.
            let leaf = unsafe { core::arch::x86_64::__cpuid(0) };
            [leaf.ebx, leaf.edx, leaf.ecx].map(u32::to_le_bytes).as_flattened() == b"GenuineIntel"
        };
        kept(&IS_INTEL, || usize::from(ask())) == 1
    }
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// What no question is answered with.
const UNKNOWN: usize = usize::MAX;

/// An answer, which is looked up if it is not known.
fn kept(answer: &AtomicUsize, look_up: impl FnOnce() -> usize) -> usize {
    match answer.load(Relaxed) {
        UNKNOWN => {
            let found = look_up();
            answer.store(found, Relaxed);
            found
        }
        known => known,
    }
}

/// The third or else the second of the first processor's levels that Linux lists. The data and the
/// instructions of the first level are 0 and 1.
fn last_level_cache() -> Option<usize> {
    let caches = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let size = |index: u32| fs::read_to_string(caches.join(format!("index{index}/size"))).ok();
    parse_size(size(3).or_else(|| size(2))?.trim())
}

/// Reads a size such as `32768K`.
fn parse_size(text: &str) -> Option<usize> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    #[cfg_attr(miri, ignore = "Miri asks no processor")]
    fn the_processor_is_one_of_those_that_linux_names() {
        let text = fs::read_to_string("/proc/cpuinfo").unwrap();
        assert_eq!(is_intel(), text.contains("GenuineIntel"));
    }

    #[test]
    fn an_answer_is_looked_up_once() {
        let answer = AtomicUsize::new(UNKNOWN);
        for _ in 0..2 {
            assert_eq!(kept(&answer, || 5), 5);
        }
        assert_eq!(kept(&answer, || panic!("it is known")), 5);
    }

    #[test]
    fn sizes_are_read() {
        assert_eq!(parse_size("48K"), Some(48 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("512"), Some(512));
        for strange in ["", "K", "0K", "12G", "x", "99999999999999999999K"] {
            assert_eq!(parse_size(strange), None, "{strange}");
        }
        assert!(cache_bytes() > 0);
    }
}
