//! [`MemorySize`]: an amount of memory, as it is given on the command line, and what there is of
//! it.

use std::str::FromStr;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

#[cfg(target_os = "linux")]
use groups::Groups;

/// With less than this, there is no room for the blocks of a hundred buckets.
const LEAST: u64 = 1 << 20;

/// What is taken even where nearly nothing is available.
const LEAST_UNASKED: u64 = 64 << 20;

/// What is taken of memory where the system does not say what it has.
const UNKNOWN: u64 = 1 << 30;

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemorySize {
    bytes: u64,
}

impl MemorySize {
    /// Three quarters of what is available now, to the machine and to the process, and half of the
    /// addresses that are left to it, where they are limited: stacks and maps of files take some.
    pub(crate) fn available() -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let of_machine = System::new_with_specifics(kind).available_memory();
        let of_machine = if of_machine == 0 { UNKNOWN } else { of_machine };
        #[cfg(target_os = "linux")]
        let of_machine = Groups::of_process().left().unwrap_or(u64::MAX).min(of_machine);
        let bytes = (of_machine / 4 * 3).max(LEAST_UNASKED);
        let addresses = addresses_left().unwrap_or(u64::MAX);
        Self { bytes: bytes.min(addresses / 2).max(LEAST) }
    }

    /// Has the allocator give back large pieces at once, in a run with this many bytes of memory.
    /// It would keep pieces of up to 32 MiB for later, and does so where memory is plentiful.
    pub(crate) fn give_back(bytes: usize) {
        #[cfg(all(target_os = "linux", target_env = "gnu"))]
        {
            let threshold = (bytes / 64).clamp(128 << 10, 32 << 20);
            // SAFETY: it takes any number, and changes nothing that was allocated.
            unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, threshold as libc::c_int) };
        }
        #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
        let _ = bytes;
    }

    /// As far as it can be addressed.
    pub(crate) fn bytes(self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}

impl FromStr for MemorySize {
    type Err = String;

    /// A number of bytes, perhaps with one of the suffixes of coreutils.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let suffix = &text[digits.len()..];
        let (letter, base) = match suffix.to_ascii_uppercase().as_str() {
            "" | "B" => (None, 1024),
            suffix => {
                let mut letters = suffix.chars();
                let letter = letters.next();
                match letters.as_str() {
                    "" | "IB" => (letter, 1024),
                    "B" => (letter, 1000),
                    _ => return Err(format!("{suffix} is not a unit, such as K, M, G or T")),
                }
            }
        };
        let power = match letter {
            None => 0,
            Some(letter) => match "KMGT".find(letter) {
                Some(at) => at as u32 + 1,
                None => return Err(format!("{letter} is not a unit, such as K, M, G or T")),
            },
        };
        let unit = u64::pow(base, power);
        let bytes = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
        match bytes {
            Some(bytes) if bytes >= LEAST => Ok(Self { bytes }),
            Some(_) => Err("give at least 1M".to_owned()),
            None => Err("give a number and a unit, such as 512M".to_owned()),
        }
    }
}

/// How many bytes the process may still map, if there is a limit.
#[cfg(unix)]
#[allow(clippy::unnecessary_cast, reason = "limits have 32 bits on some machines")]
pub(crate) fn addresses_left() -> Option<u64> {
    let limit = |resource| {
        let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: 0 };
        // SAFETY: `getrlimit` only writes the limit, to where there is room for it.
        let result = unsafe { libc::getrlimit(resource, &raw mut limit) };
        (result == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as u64)
    };
    let limit = limit(libc::RLIMIT_AS).into_iter().chain(limit(libc::RLIMIT_DATA)).min()?;
    // The first number is that of pages that are mapped.
    let pages = std::fs::read_to_string("/proc/self/statm").ok();
    let pages: Option<u64> = pages.and_then(|text| text.split(' ').next()?.parse().ok());
    // SAFETY: `sysconf` has no preconditions.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let mapped = pages.map_or(limit / 2, |pages| pages.saturating_mul(page));
    Some(limit.saturating_sub(mapped))
}

#[cfg(not(unix))]
pub(crate) fn addresses_left() -> Option<u64> {
    None
}

/// What the groups of processes allow, by which Linux and its containers limit memory.
#[cfg(target_os = "linux")]
mod groups {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::UNKNOWN;

    /// The groups of a process, and where the system shows them.
    pub(super) struct Groups {
        /// What `/proc/self/cgroup` has.
        pub(super) text: String,
        /// `/sys/fs/cgroup`.
        pub(super) root: PathBuf,
    }

    /// What one version of the interface calls its files, and what they have.
    struct Names {
        folder: &'static str,
        limit: &'static str,
        /// What counts as used. Files in the cache do not, as they make room.
        used: &'static str,
    }

    const FIRST: Names =
        Names { folder: "memory", limit: "memory.limit_in_bytes", used: "total_rss" };
    const SECOND: Names = Names { folder: "", limit: "memory.max", used: "anon" };

    impl Groups {
        pub(super) fn of_process() -> Self {
            let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
            Self { text, root: PathBuf::from("/sys/fs/cgroup") }
        }

        /// The group whose controllers are listed between two colons.
        fn group(&self, is_wanted: impl Fn(&str) -> bool) -> Option<&Path> {
            self.text.lines().find_map(|line| {
                let (controllers, group) = line.split_once(':')?.1.split_once(':')?;
                is_wanted(controllers).then(|| Path::new(group))
            })
        }

        /// How much memory is left in the group, and in those that it is in, if any has a limit. A
        /// group that cannot be looked at may have one.
        pub(super) fn left(&self) -> Option<u64> {
            let has_memory = |controllers: &str| controllers.split(',').any(|one| one == "memory");
            let (names, group) = match self.group(has_memory) {
                Some(group) => (FIRST, group),
                None => (SECOND, self.group(str::is_empty).unwrap_or(Path::new("/"))),
            };
            let root = self.root.join(names.folder);
            let within = group.strip_prefix("/").unwrap_or(Path::new(""));
            // In a container the group may be the root, whatever its name outside.
            let is_seen = root.join(within).is_dir() || root.join(names.limit).is_file();
            if !is_seen && !within.as_os_str().is_empty() {
                return Some(UNKNOWN);
            }
            within.ancestors().filter_map(|group| left_of(&root.join(group), &names)).min()
        }
    }

    fn left_of(group: &Path, names: &Names) -> Option<u64> {
        // It is `max` where there is no limit.
        let limit: u64 = fs::read_to_string(group.join(names.limit)).ok()?.trim().parse().ok()?;
        let used = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let used = used.lines().find_map(|line| {
            let (name, bytes) = line.split_once(' ')?;
            (name == names.used).then(|| bytes.parse().ok())?
        });
        Some(limit.saturating_sub(used.unwrap_or(0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        let bytes = |text: &str| text.parse::<MemorySize>().map(|memory| memory.bytes).ok();
        assert_eq!(bytes("1048576"), Some(1 << 20));
        assert_eq!(bytes("1048576b"), Some(1 << 20));
        assert_eq!(bytes("2048K"), Some(2 << 20));
        assert_eq!(bytes("256M"), Some(256 << 20));
        assert_eq!(bytes("1GiB"), Some(1 << 30));
        assert_eq!(bytes("3gb"), Some(3_000_000_000));
        assert_eq!(bytes("2t"), Some(2 << 40));
        for text in ["", "M", "1", "1023K", "-1G", "1.5G", "1X", "1Mi", "99999999T", "1MM"] {
            assert_eq!(bytes(text), None, "{text}");
        }
        assert!(MemorySize::available().bytes() >= 1 << 20);
    }

    /// A folder that looks like that of the groups, with limits in some of them.
    #[cfg(target_os = "linux")]
    fn left(text: &str, files: &[(&str, &str)]) -> Option<u64> {
        let root = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        Groups { text: text.to_owned(), root: root.path().to_owned() }.left()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn groups_limit_memory() {
        let stat = "file 7\nanon 300\n";
        // The second version of the interface: no limit, and one in the group or above it.
        assert_eq!(left("0::/\n", &[("memory.stat", stat)]), None);
        assert_eq!(left("0::/a/b\n", &[("a/b/memory.max", "max\n")]), None);
        let files =
            [("a/b/memory.max", "max\n"), ("a/memory.max", "1000\n"), ("a/memory.stat", stat)];
        assert_eq!(left("0::/a/b\n", &files), Some(700));
        let files =
            [("a/memory.max", "1000"), ("a/b/memory.max", "200"), ("a/b/memory.stat", stat)];
        assert_eq!(left("0::/a/b\n", &files), Some(0));
        // A container sees its group as the root, under its own name or the one outside.
        let files = [("memory.max", "1000\n"), ("memory.stat", stat)];
        for text in ["0::/\n", "0::/docker/1234\n", "", "0::/../..\n"] {
            assert_eq!(left(text, &files), Some(700), "{text}");
        }
        // The first version.
        let text = "5:cpu,cpuacct:/x\n4:memory:/a\n0::/a\n";
        let files = [
            ("memory/a/memory.limit_in_bytes", "1000\n"),
            ("memory/a/memory.stat", "rss 1\ntotal_rss 400\n"),
            ("memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ];
        assert_eq!(left(text, &files), Some(600));
        let text = "9:blkio,memory:/docker/1234\n";
        assert_eq!(left(text, &[("memory/memory.limit_in_bytes", "1000\n")]), Some(1000));
        // A group that cannot be looked at, by either.
        for text in ["4:memory:/a\n", "0::/a/b\n"] {
            assert_eq!(left(text, &[]), Some(UNKNOWN), "{text}");
        }
    }
}
