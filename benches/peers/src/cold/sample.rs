//! [`Sample`]: the first calls in a process, and how it hands them to the process that asked.

use std::fmt;
use std::hint::black_box;
use std::time::Instant;

use super::meters::Peak;
use crate::contender::Seeded;
use crate::item::{ItemType, Numbered};
use crate::{ours, peers};

/// The calls of a sample: the first one, and those that show what it costs more.
pub(super) const CALLS: usize = 5;

/// The first calls in a process.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Sample {
    /// The most memory beyond the items, in bytes, if the system says so.
    pub(super) peak: Option<u64>,
    /// The first one first.
    pub(super) seconds: [f64; CALLS],
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
pub(super) fn of(item: ItemType, contender: &str, len: usize, seed: u64) -> Result<Sample, String> {
    let take = match item {
        ItemType::U32 => take::<u32>,
        ItemType::U64 => take::<u64>,
        ItemType::Bytes16 => take::<[u64; 2]>,
        ItemType::String => take::<String>,
        ItemType::Bytes64 => take::<[u64; 8]>,
    };
    take(contender, len, seed)
}

/// Makes items, and shuffles them with each of some seeds.
fn take<T: Numbered>(name: &str, len: usize, seed: u64) -> Result<Sample, String> {
    let mut all = contenders::<T>().into_iter();
    let found = all.find(|contender| contender.name == name);
    let mut contender = found.ok_or_else(|| format!("there is no contender `{name}`"))?;
    drop(all);
    // By this thread alone, as the check below: other threads are for the contender to start.
    let mut items: Vec<T> = (0..len as u64).map(T::new).collect();
    let mut order = Order::of(&items);
    let peak = Peak::from_now_on();
    let mut seconds = [0.0; CALLS];
    for (seed, seconds) in (seed..).zip(&mut seconds) {
        let start = Instant::now();
        (contender.shuffle)(black_box(&mut items), seed);
        // A clock may not see a call that moves a few items.
        *seconds = start.elapsed().as_secs_f64().max(1e-9);
        order = order.shuffled(&items, name);
    }
    Ok(Sample { peak: peak.and_then(|peak| peak.bytes()), seconds })
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

/// A line of text: the peak, -1 where the system does not give it, and then the seconds.
impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.peak.map_or(-1, |peak| peak as i64))?;
        self.seconds.iter().try_for_each(|seconds| write!(f, " {seconds:e}"))
    }
}

impl Sample {
    /// Reads such a line.
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(line).ok()?.split_whitespace();
        let peak: i64 = words.next()?.parse().ok()?;
        let seconds: Vec<f64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
        Some(Self { peak: u64::try_from(peak).ok(), seconds: seconds.try_into().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_cold_sample_sees_a_contender_that_loses_items() {
        after(|items| items[0] = items[1]);
    }

    #[test]
    #[should_panic(expected = "test moved none of 1000 items")]
    fn a_cold_sample_sees_a_contender_that_moves_no_items() {
        after(|_| ());
    }
}
