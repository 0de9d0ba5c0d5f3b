//! [`Selection`]: which items are written, in which order.

use std::ops::Range;
use std::str::FromStr;

use bijective_shuffle::{Backend, Error, Permutation, Seed};
use bijective_shuffle_cli::files::Order;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selection {
    pub(crate) seed: Seed,
    pub(crate) backend: Backend,
    pub(crate) is_undone: bool,
    pub(crate) shard: Option<Shard>,
    pub(crate) range: Option<Places>,
    /// The most items.
    pub(crate) head: Option<u64>,
}

impl Selection {
    /// The order of this many items: the share of the worker, of that the range, and of that the
    /// head. A range and a head end where the items do.
    pub(crate) fn order(&self, items: u64) -> Result<Order, Error> {
        let way = if self.is_undone { Order::unshuffle } else { Order::shuffle };
        let mut order = way(items, self.seed).with_backend(self.backend);
        if let Some(Shard { rank, world }) = self.shard {
            order = order.shard(rank, world)?;
        }
        let left = |order: &Order| {
            let Range { start, end } = order.places();
            end - start
        };
        if let Some(Places { start, end }) = self.range {
            let len = left(&order);
            let end = end.unwrap_or(len).min(len);
            order = order.range(start.min(end)..end)?;
        }
        if let Some(head) = self.head {
            let len = left(&order);
            order = order.range(0..head.min(len))?;
        }
        Ok(order)
    }
}

/// Whether a back end can be had, found out before there is anything to shuffle.
pub(crate) fn check_backend(backend: Backend) -> Result<(), Error> {
    Permutation::new(0, 0).with_backend(backend).write_indexes::<u32>(&mut [])
}

/// One of several workers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shard {
    rank: u64,
    world: u64,
}

impl FromStr for Shard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shard = text.split_once('/').and_then(|(rank, world)| {
            Some(Self { rank: rank.parse().ok()?, world: world.parse().ok()? })
        });
        shard
            .filter(|shard| shard.rank < shard.world)
            .ok_or("give R/W, the rank of a worker, counted from 0, and the number of workers")
    }
}

/// Places of the shuffled order. There may be fewer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    start: u64,
    /// The end, or `None` for that of the order.
    end: Option<u64>,
}

impl FromStr for Places {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let places = text.split_once("..").and_then(|(start, end)| {
            let start = if start.is_empty() { 0 } else { start.parse().ok()? };
            let end = if end.is_empty() { None } else { Some(end.parse().ok()?) };
            Some(Self { start, end })
        });
        places
            .filter(|places| places.end.is_none_or(|end| places.start <= end))
            .ok_or("give A..B, the first place, counted from 0, and the one after the last")
    }
}

/// Whole numbers from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbers {
    pub(crate) first: u64,
    pub(crate) count: u64,
}

impl FromStr for Numbers {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once('-').and_then(|(first, last)| {
            let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
            // A range that ends just before it starts, such as `1-0`, is empty, as in `shuf`.
            let count = match last.checked_add(1) {
                Some(end) => end.checked_sub(first)?,
                // From 0 on there would be 2^64 numbers, which is too many to count.
                None => (last - first).checked_add(1)?,
            };
            Some(Self { first, count })
        });
        numbers.ok_or("invalid input range: give LO-HI, the first number and the last")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read() {
        let shard = |text: &str| text.parse::<Shard>().map(|shard| (shard.rank, shard.world)).ok();
        assert_eq!(shard("0/1"), Some((0, 1)));
        assert_eq!(shard("2/3"), Some((2, 3)));
        for text in ["", "3/3", "1", "/2", "1/", "-1/2", "a/b", "1/2/3"] {
            assert_eq!(shard(text), None, "{text}");
        }
        let places =
            |text: &str| text.parse::<Places>().map(|places| (places.start, places.end)).ok();
        assert_eq!(places("3..5"), Some((3, Some(5))));
        assert_eq!(places("..5"), Some((0, Some(5))));
        assert_eq!(places("3.."), Some((3, None)));
        assert_eq!(places("3..3"), Some((3, Some(3))));
        for text in ["", "3", "5..3", "3-5", "a..b", "1...2"] {
            assert_eq!(places(text), None, "{text}");
        }
        let numbers =
            |text: &str| text.parse::<Numbers>().map(|range| (range.first, range.count)).ok();
        assert_eq!(numbers("1-6"), Some((1, 6)));
        assert_eq!(numbers("5-5"), Some((5, 1)));
        assert_eq!(numbers("1-0"), Some((1, 0)));
        let last = u64::MAX;
        assert_eq!(numbers(&format!("1-{last}")), Some((1, last)));
        assert_eq!(numbers(&format!("{last}-{last}")), Some((last, 1)));
        for text in ["", "5", "6-1", "-1-3", "1-", "0-18446744073709551615", "x-y"] {
            assert_eq!(numbers(text), None, "{text}");
        }
    }
}
