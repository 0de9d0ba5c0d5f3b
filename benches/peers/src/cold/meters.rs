//! What the system says about the most memory that this process had.

use std::fs::{self, OpenOptions};
use std::io::Write;

/// The memory that a process has beyond what it had at some time.
pub(super) struct Peak {
    before: u64,
}

impl Peak {
    /// From now on; none where the system cannot forget what there was before.
    pub(super) fn from_now_on() -> Option<Self> {
        // 5 resets the peak: proc_pid_clear_refs(5).
        OpenOptions::new().write(true).open("/proc/self/clear_refs").ok()?.write_all(b"5").ok()?;
        Some(Self { before: bytes("VmRSS")? })
    }

    /// The most bytes that there were beyond.
    pub(super) fn bytes(&self) -> Option<u64> {
        Some(bytes("VmHWM")?.saturating_sub(self.before))
    }
}

fn bytes(name: &str) -> Option<u64> {
    bytes_in(&fs::read_to_string("/proc/self/status").ok()?, name)
}

fn bytes_in(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_units_of_1024_bytes() {
        let status = "Name:\tVmHWM\nVmHWMX:\t1 kB\nVmHWM:\t    1936 kB\nVmRSS:\t12 MB\n";
        assert_eq!(bytes_in(status, "VmHWM"), Some(1936 * 1024));
        assert_eq!(bytes_in(status, "VmRSS"), None);
        assert_eq!(bytes_in(status, "VmPeak"), None);
    }
}
