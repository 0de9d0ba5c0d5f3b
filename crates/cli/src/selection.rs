//! [`Selection`]: which items are written, in which order.

use std::ops::Range;
use std::str::FromStr;

use bijective_shuffle::{Backend, Error, Permutation, Seed};
use bijective_shuffle_cli::files::FileOrder;
use serde::Serialize;

/// What the command line asks for.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    pub seed: Seed,
    pub backend: Backend,
    pub is_undone: bool,
    pub shard: Option<WorkerShard>,
    pub range: Option<PlaceRange>,
    /// The most items.
    pub head: Option<Head>,
}

impl Selection {
    /// The order of this many items: the share of the worker, of that the range, and of that the
    /// head. A range and a head end where the items do.
    pub fn order(&self, items: u64) -> Result<FileOrder, Error> {
        let way = if self.is_undone { FileOrder::unshuffle } else { FileOrder::shuffle };
        let mut order = way(items, self.seed).with_backend(self.backend);
        if let Some(WorkerShard { rank, ranks }) = self.shard {
            order = order.shard(rank, ranks)?;
        }
        let left = |order: &FileOrder| {
            let Range { start, end } = order.places();
            end - start
        };
        if let Some(PlaceRange { start, end }) = self.range {
            let len = left(&order);
            let end = end.unwrap_or(len).min(len);
            order = order.range(start.min(end)..end)?;
        }
        if let Some(head) = self.head {
            let len = left(&order);
            order = order.range(0..head.of(len).min(len))?;
        }
        Ok(order)
    }
}

/// How many items there are at most: a number, a share, or the smaller of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Head {
    pub count: u64,
    pub share: Option<Share>,
}

impl Head {
    /// The smaller of two.
    pub fn min(self, other: Self) -> Self {
        let share = self.share.into_iter().chain(other.share).min();
        Self { count: self.count.min(other.count), share }
    }

    /// How many of `items` items. Draws with repetition may be more than the items.
    pub fn of(self, items: u64) -> u64 {
        self.share.map_or(self.count, |share| self.count.min(share.of(items)))
    }

    /// Whether it is nothing, whatever there is.
    pub fn is_none(self) -> bool {
        self.of(u64::MAX) == 0
    }
}

impl FromStr for Head {
    type Err = &'static str;

    /// A number of items, or a share of all such as `1%`. A number that overflows is as good as
    /// the largest.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.ends_with('%') {
            let share = text.parse().map_err(|_| "invalid share: give one such as 1% or 0.5%")?;
            return Ok(Self { count: u64::MAX, share: Some(share) });
        }
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let count = is_number.then(|| text.parse().unwrap_or(u64::MAX));
        Ok(Self { count: count.ok_or("invalid line count")?, share: None })
    }
}

/// A part of all items, of at most 1, exactly as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Share {
    /// In units of the 10^18th part.
    units: u64,
}

impl Share {
    pub const ALL: Self = Self { units: 10_u64.pow(18) };

    pub const NONE: Self = Self { units: 0 };

    /// This share of a number of items, rounded down.
    pub fn of(self, items: u64) -> u64 {
        // Not above `items`.
        (u128::from(items) * u128::from(self.units) / u128::from(Self::ALL.units)) as u64
    }

    /// Both together, if they are not more than all.
    pub fn and(self, other: Self) -> Option<Self> {
        let units = self.units + other.units;
        (units <= Self::ALL.units).then_some(Self { units })
    }
}

impl FromStr for Share {
    type Err = &'static str;

    /// A number with a decimal point, or per cent.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (number, digits) = match text.strip_suffix('%') {
            Some(number) => (number, 16),
            None => (text, 18),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let is_number = (number.len() > 1 || !whole.is_empty())
            && (whole.bytes().chain(decimals.bytes())).all(|byte| byte.is_ascii_digit())
            && decimals.len() <= digits;
        let units =
            is_number.then(|| format!("{whole}{decimals:0<digits$}").parse().ok()).flatten();
        let units = units.filter(|&units| units <= Self::ALL.units);
        Ok(Self { units: units.ok_or("give a share of at most 1, such as 0.98 or 98%")? })
    }
}

/// Checks that a back end is there, before there is anything to shuffle.
pub fn check_backend(backend: Backend) -> Result<(), Error> {
    Permutation::new(0, 0).with_backend(backend).write_indexes::<u32>(&mut [])
}

/// One of several workers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct WorkerShard {
    pub rank: u64,
    pub ranks: u64,
}

impl FromStr for WorkerShard {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shard = text.split_once('/').and_then(|(rank, ranks)| {
            Some(Self { rank: rank.parse().ok()?, ranks: ranks.parse().ok()? })
        });
        shard
            .filter(|shard| shard.rank < shard.ranks)
            .ok_or("give R/W, the rank of a worker, counted from 0, and the number of workers")
    }
}

/// Places of the shuffled order. There may be fewer.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PlaceRange {
    start: u64,
    /// The end, or `None` for that of the order.
    end: Option<u64>,
}

impl FromStr for PlaceRange {
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
pub struct NumberRange {
    pub first: u64,
    pub count: u64,
}

impl FromStr for NumberRange {
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
    fn shards_and_places_are_parsed() {
        let shard =
            |text: &str| text.parse::<WorkerShard>().map(|shard| (shard.rank, shard.ranks)).ok();
        assert_eq!(shard("0/1"), Some((0, 1)));
        assert_eq!(shard("2/3"), Some((2, 3)));
        for text in ["", "3/3", "1", "/2", "1/", "-1/2", "a/b", "1/2/3"] {
            assert_eq!(shard(text), None, "{text}");
        }
        let places =
            |text: &str| text.parse::<PlaceRange>().map(|places| (places.start, places.end)).ok();
        assert_eq!(places("3..5"), Some((3, Some(5))));
        assert_eq!(places("..5"), Some((0, Some(5))));
        assert_eq!(places("3.."), Some((3, None)));
        assert_eq!(places("3..3"), Some((3, Some(3))));
        for text in ["", "3", "5..3", "3-5", "a..b", "1...2"] {
            assert_eq!(places(text), None, "{text}");
        }
        let head = |text: &str| text.parse::<Head>().map(|head| head.of(1000)).ok();
        assert_eq!(head("10"), Some(10));
        assert_eq!(head("99999999999999999999999"), Some(u64::MAX));
        assert_eq!(head("1%"), Some(10));
        assert_eq!(head("0.19%"), Some(1));
        assert_eq!(head("100%"), Some(1000));
        for text in ["", "-1", "1.5", "%", ".%", "101%", "1%%", "a%", "1e2", "0.00000000000000001%"]
        {
            assert_eq!(head(text), None, "{text}");
        }
        let least = |one: &str, other: &str| {
            let (one, other): (Head, Head) = (one.parse().unwrap(), other.parse().unwrap());
            one.min(other).of(1000)
        };
        assert_eq!(least("10%", "5"), 5);
        assert_eq!(least("10%", "500"), 100);
        assert_eq!(least("500", "400"), 400);
        assert_eq!(least("10%", "20%"), 100);
        let share = |text: &str| text.parse::<Share>().map(|share| share.of(u64::MAX)).ok();
        assert_eq!(share("1"), Some(u64::MAX));
        assert_eq!(share(".5"), Some(u64::MAX / 2));
        assert_eq!(share("50%"), Some(u64::MAX / 2));
        assert_eq!(share("0.000000000000000001"), Some(18));
        for text in ["", ".", "1.1", "2", "-0.5", "0.0000000000000000001"] {
            assert_eq!(share(text), None, "{text}");
        }
        let numbers =
            |text: &str| text.parse::<NumberRange>().map(|range| (range.first, range.count)).ok();
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
