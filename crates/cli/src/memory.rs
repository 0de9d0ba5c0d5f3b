//! [`Memory`]: an amount of memory, as it is given on the command line.

use std::str::FromStr;

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

/// With less than this, there is no room for the blocks of a hundred buckets.
const LEAST: u64 = 1 << 20;

/// What is taken even where nearly nothing is available.
const LEAST_UNASKED: u64 = 64 << 20;

/// What is taken where the system does not say what it has.
const UNKNOWN: u64 = 1 << 30;

/// An amount of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Memory {
    bytes: u64,
}

impl Memory {
    /// Three quarters of what is available now, to the machine and to the process.
    pub(crate) fn available() -> Self {
        let kind = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(kind);
        let of_machine = system.available_memory();
        // What a group has free does not count its files in the cache, which make room.
        let of_group =
            system.cgroup_limits().map(|limits| limits.total_memory.saturating_sub(limits.rss));
        let available = of_group.map_or(of_machine, |of_group| of_machine.min(of_group));
        let bytes = if available == 0 { UNKNOWN } else { available / 4 * 3 };
        Self { bytes: bytes.max(LEAST_UNASKED) }
    }

    /// As far as it can be addressed.
    pub(crate) fn bytes(self) -> usize {
        usize::try_from(self.bytes).unwrap_or(usize::MAX)
    }
}

impl FromStr for Memory {
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
            Some(_) => Err("it takes at least 1M".to_owned()),
            None => Err("give a number and a unit, such as 512M".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read() {
        let bytes = |text: &str| text.parse::<Memory>().map(|memory| memory.bytes).ok();
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
        assert!(Memory::available().bytes() >= 1 << 20);
    }
}
