//! [`Plan`]: into which shards records go.

use std::collections::HashSet;
use std::path::Path;
use std::str::FromStr;

use bijective_shuffle_cli::dataset::{Codec, Index, Records, Shards};

use super::SetArguments;
use crate::failure::Failure;
use crate::selection::Share;

/// The most shards. A larger number is a slip, and the names alone would take all memory.
const MOST: u128 = 1_000_000;

/// What is known when shards are named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// The number of records that are written.
    pub(crate) items: u64,
    /// What the inputs have, and how many there are.
    pub(crate) found: u64,
    pub(crate) bytes: u64,
    pub(crate) inputs: u64,
}

impl Plan {
    /// The shards that are asked for.
    pub(super) fn shards(self, sets: &SetArguments, extension: &str) -> Result<Shards, Failure> {
        let sizes = match &sets.split {
            Some(Splits(splits)) => {
                sizes(splits, self.items).map_err(|why| Failure::new("--split", why))?
            }
            None => vec![self.items],
        };
        let counts: Vec<_> = sizes.iter().map(|&items| self.count(items, sets)).collect();
        let count = counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        if count > MOST {
            let why = format!("there would be {count}, and {MOST} are the most: ask for fewer");
            return Err(Failure::new("shards", why));
        }
        let even = sizes.into_iter().zip(counts);
        let mut even = even.map(|(items, count)| Shards::even("part", extension, items, count));
        let Some(Splits(splits)) = &sets.split else { return Ok(even.next().unwrap_or_default()) };
        let split = splits.iter().zip(even).map(|((name, _), shards)| shards.in_folder(name));
        Ok(split.fold(Shards::default(), Shards::and))
    }

    /// How many shards so many records make.
    fn count(self, items: u64, sets: &SetArguments) -> u64 {
        if let Some(count) = sets.shards {
            return count.get();
        }
        if let Some(most) = sets.shard_records {
            return items.div_ceil(most.get()).max(1);
        }
        // So much of all.
        let of = |all: u64| u128::from(all) * u128::from(items) / u128::from(self.found.max(1));
        let count = match sets.shard_bytes {
            Some(size) => of(self.bytes).div_ceil(size.bytes() as u128),
            None => of(self.inputs),
        };
        u64::try_from(count).unwrap_or(u64::MAX).max(1)
    }
}

/// Splits by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splits(Vec<(String, Size)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Size {
    Share(Share),
    Count(u64),
    Rest,
}

impl FromStr for Splits {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut splits, mut names) = (Vec::new(), HashSet::new());
        for split in text.split(',') {
            let named = split.split_once('=');
            let (name, size) = named.ok_or("give NAME=SHARE, with commas between several")?;
            if !is_name(name) {
                return Err(format!("`{name}` cannot be the name of a folder of shards"));
            }
            let size = match size {
                "rest" => Size::Rest,
                size if size.contains(['.', '%']) => Size::Share(size.parse()?),
                size => match size.parse() {
                    Ok(count) => Size::Count(count),
                    Err(_) => return Err(format!("{size} is no share, number or `rest`")),
                },
            };
            if !names.insert(name) {
                return Err(format!("{name} is given twice"));
            }
            splits.push((name.to_owned(), size));
        }
        if splits.iter().filter(|(_, size)| *size == Size::Rest).count() > 1 {
            return Err("there is one rest".to_owned());
        }
        Ok(Self(splits))
    }
}

/// Whether it can be the name of a folder that is not left out, beside the index.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['.', '_'])
        && !name.contains(['/', '\\'])
        && !name.eq_ignore_ascii_case(Index::FILE)
}

/// How many of so many records each split gets.
fn sizes(splits: &[(String, Size)], items: u64) -> Result<Vec<u64>, String> {
    // Shares begin and end where their sums say, so that nothing is lost by rounding.
    let (mut sum, mut end) = (Share::NONE, 0);
    let mut sizes = Vec::new();
    for (_, size) in splits {
        sizes.push(match size {
            Size::Share(share) => {
                sum = sum.and(*share).ok_or("the shares are more than 1 together")?;
                let start = end;
                end = sum.of(items);
                end - start
            }
            Size::Count(count) => *count,
            Size::Rest => 0,
        });
    }
    let all: u128 = sizes.iter().map(|&size| u128::from(size)).sum();
    let left = u128::from(items).checked_sub(all);
    match (left, splits.iter().position(|(_, size)| *size == Size::Rest)) {
        (Some(left), Some(rest)) => sizes[rest] = left as u64,
        (Some(0), None) => {}
        (None, _) => return Err(format!("the splits take {all} records, and there are {items}")),
        (Some(_), None) => {
            let why = "the splits take {all} of {items} records: give one of them `rest`";
            let why = why.replace("{all}", &all.to_string());
            return Err(why.replace("{items}", &items.to_string()));
        }
    }
    Ok(sizes)
}

/// The end of the names of shards, as that of the first input, without that of its compression.
pub(super) fn extension(first: &str, records: &Records) -> String {
    let path = Path::new(first);
    let path = if Codec::of_name(path) == Codec::Plain {
        path.to_owned()
    } else {
        path.with_extension("")
    };
    match (path.extension().and_then(|end| end.to_str()), records) {
        (Some(end), _) => end.to_owned(),
        (None, Records::Csv(_)) => "csv".to_owned(),
        (None, Records::Fastq) => "fastq".to_owned(),
        (None, Records::Samples { .. }) => "tar".to_owned(),
        (None, _) => "txt".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(text: &str, items: u64) -> Result<Vec<u64>, String> {
        sizes(&text.parse::<Splits>()?.0, items)
    }

    #[test]
    fn splits_have_all_records() {
        let three = "train=0.98,valid=0.01,test=0.01";
        for items in [0, 1, 99, 100, 101, 12_345, u64::MAX] {
            let sizes = sizes_of(three, items).unwrap();
            assert_eq!(sizes.iter().map(|&size| u128::from(size)).sum::<u128>(), items.into());
        }
        assert_eq!(sizes_of(three, 1000), Ok(vec![980, 10, 10]));
        assert_eq!(sizes_of("train=rest,valid=100", 1000), Ok(vec![900, 100]));
        assert_eq!(sizes_of("a=50%,b=25%,c=rest", 7), Ok(vec![3, 2, 2]));
        for (text, items) in [
            ("a=0.5", 10),
            ("a=0.5,b=0.6", 10),
            ("a=11,b=rest", 10),
            ("a=9", 10),
            ("a=0.5,a=0.5", 10),
            ("a=rest,b=rest", 10),
            ("a", 10),
            ("=1", 10),
            ("a=x", 10),
            (".a=rest", 10),
            ("../a=rest", 10),
            ("index.json=rest", 10),
            ("", 10),
        ] {
            assert!(sizes_of(text, items).is_err(), "{text}");
        }
    }

    #[test]
    fn shards_are_named_as_inputs() {
        let lines = Records::Lines(b'\n');
        assert_eq!(extension("x/a.jsonl.zst", &lines), "jsonl");
        assert_eq!(extension("x/a.tsv", &lines), "tsv");
        assert_eq!(extension("x/a.tgz", &Records::Samples { are_uneven: false }), "tar");
        assert_eq!(extension("x/a.gz", &Records::Csv(b',')), "csv");
        assert_eq!(extension("standard input", &lines), "txt");
    }
}
