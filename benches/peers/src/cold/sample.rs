//! [`Sample`]: the first calls in a process, and how it hands them to the process that asked.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;
use std::time::{Duration, Instant};

use super::meters::{self, Peak};
use crate::contender::Seeded;
use crate::item::{ItemType, Numbered};
use crate::{ours, peers};

/// The calls of a sample: the first one, and those that show what it costs more.
pub(super) const CALLS: usize = 5;

/// The first calls in a process.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Sample {
    /// The most memory beyond the items, in bytes, if the system says so.
    pub(super) peak: Option<u64>,
    /// The first one first.
    pub(super) calls: Vec<Call>,
}

/// A call.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Call {
    pub(super) time: Duration,
    /// How many pages the process was given, if the system counts them.
    pub(super) faults: Option<u64>,
}

/// All contenders.
pub(super) fn contenders<T: Send + Sync + 'static>() -> Vec<Seeded<T>> {
    let mut all = ours::cold();
    all.extend(peers::cold());
    all
}

/// Takes a sample in this process.
///
/// # Errors
///
/// If there is no such contender.
///
/// # Panics
///
/// If it loses an item, or leaves all of them where they are.
pub(super) fn of(
    item: ItemType,
    contender: &str,
    len: usize,
    seeds: &[u64],
) -> Result<Sample, String> {
    let take = match item {
        ItemType::U8 => take::<u8>,
        ItemType::U32 => take::<u32>,
        ItemType::U64 => take::<u64>,
        ItemType::Bytes16 => take::<[u64; 2]>,
        ItemType::String => take::<String>,
        ItemType::Bytes64 => take::<[u64; 8]>,
    };
    take(contender, len, seeds)
}

/// Makes items, and shuffles them once with each seed.
fn take<T: Numbered>(name: &str, len: usize, seeds: &[u64]) -> Result<Sample, String> {
    let mut all = contenders::<T>().into_iter();
    let found = all.find(|contender| contender.name == name);
    let mut contender = found.ok_or_else(|| format!("there is no contender `{name}`"))?;
    drop(all);
    // By this thread alone, as the check below: other threads are for the contender to start.
    let mut items: Vec<T> = (0..len as u64).map(T::new).collect();
    let mut order = Order::of(&items);
    let peak = Peak::from_now_on();
    let mut calls = Vec::with_capacity(seeds.len());
    for &seed in seeds {
        let faults = meters::page_faults();
        let start = Instant::now();
        (contender.shuffle)(black_box(&mut items), seed);
        let time = start.elapsed();
        let faults = meters::page_faults().zip(faults).map(|(after, before)| after - before);
        calls.push(Call { time, faults });
        order = order.shuffled(&items, name);
    }
    Ok(Sample { peak: peak.and_then(|peak| peak.bytes()), calls })
}

/// Which items there are, and in which order.
struct Order {
    /// The same in every order of the same items.
    census: u64,
    /// Another in almost every other order.
    places: u64,
}

impl Order {
    fn of<T: Numbered>(items: &[T]) -> Self {
        let mut order = Self { census: 0, places: 0 };
        for (item, odd) in items.iter().zip((1_u64..).step_by(2)) {
            let print = item.fingerprint();
            order.census = order.census.wrapping_add(print);
            order.places = order.places.wrapping_add(print.wrapping_mul(odd));
        }
        order
    }

    /// The order after a shuffle, which is to have kept all items, and not their places.
    fn shuffled<T: Numbered>(self, items: &[T], name: &str) -> Self {
        let (new, len) = (Self::of(items), items.len());
        assert_eq!(new.census, self.census, "{name} lost some of {len} items");
        assert!(len < 100 || new.places != self.places, "{name} moved none of {len} items");
        new
    }
}

/// What stands for a number that the system does not give.
const UNKNOWN: &str = "-";

/// A line of text: the peak, and then nanoseconds and faults of each call.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |number: Option<u64>| number.map_or(UNKNOWN.into(), |number| number.to_string());
        f.write_str(&text(self.peak))?;
        let mut calls = self.calls.iter();
        calls.try_for_each(|call| write!(f, " {}:{}", call.time.as_nanos(), text(call.faults)))
    }
}

impl FromStr for Sample {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let failed = || format!("`{line}` is no sample");
        let optional = |text: &str| match text {
            UNKNOWN => Some(None),
            text => text.parse().ok().map(Some),
        };
        let call = |text: &str| {
            let (nanos, faults) = text.split_once(':')?;
            let time = Duration::from_nanos(nanos.parse().ok()?);
            Some(Call { time, faults: optional(faults)? })
        };
        let mut words = line.split_whitespace();
        let peak = words.next().and_then(optional).ok_or_else(failed)?;
        let calls = words.map(|word| call(word).ok_or_else(failed));
        Ok(Self { peak, calls: calls.collect::<Result<_, _>>()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_written_and_read() {
        let call = |nanos, faults| Call { time: Duration::from_nanos(nanos), faults };
        let calls = vec![call(12, Some(3)), call(4_000_000_000, None)];
        for (peak, text) in [(Some(5), "5 12:3 4000000000:-"), (None, "- 12:3 4000000000:-")] {
            let sample = Sample { peak, calls: calls.clone() };
            assert_eq!(sample.to_string(), text);
            assert_eq!(format!("{text}\n").parse(), Ok(sample));
        }
        for text in ["", "x", "5 12", "5 12:x", "5 -:3", "5 12:3:4", "12:3"] {
            assert!(text.parse::<Sample>().is_err(), "{text}");
        }
    }

    fn after(change: fn(&mut [u64])) {
        let mut items: Vec<u64> = (0..1000).collect();
        let order = Order::of(&items);
        change(&mut items);
        order.shuffled(&items, "test");
    }

    #[test]
    fn a_swap_passes_as_a_shuffle() {
        after(|items| items.swap(0, 1));
    }

    #[test]
    #[should_panic(expected = "test lost some of 1000 items")]
    fn a_loss_is_seen() {
        after(|items| items[0] = items[1]);
    }

    #[test]
    #[should_panic(expected = "test moved none of 1000 items")]
    fn laziness_is_seen() {
        after(|_| ());
    }
}
