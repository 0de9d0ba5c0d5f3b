//! [`NamedSplits`]: into which folders of shards records are divided.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::str::FromStr;

use bijective_shuffle_cli::dataset::ShardIndex;
use serde::Serialize;

use crate::selection::Share;

/// Splits by their names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct NamedSplits(Vec<(String, Size)>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Size {
    Share(Share),
    Count(u64),
    Rest,
}

impl NamedSplits {
    /// The names, each of which is that of a folder.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    /// How many of `items` records each split gets: at least one, unless its share is 0 or it has a
    /// count.
    pub(crate) fn sizes(&self, items: u64) -> Result<Vec<u64>, String> {
        // Shares begin and end where their sums say, so that nothing is lost by rounding.
        let (mut sum, mut end) = (Share::NONE, 0);
        let mut sizes = Vec::new();
        for (_, size) in &self.0 {
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
        match (left, self.0.iter().position(|(_, size)| *size == Size::Rest)) {
            (Some(left), Some(rest)) => sizes[rest] = left as u64,
            (Some(0), None) => {}
            (None, _) => {
                return Err(format!("the splits take {all} records, but there are {items}"));
            }
            (Some(_), None) => {
                let why = "the splits take {all} of {items} records: give one of them `rest`";
                let why = why.replace("{all}", &all.to_string());
                return Err(why.replace("{items}", &items.to_string()));
            }
        }
        self.leave_none_empty(&mut sizes)?;
        Ok(sizes)
    }

    /// Gives each split that has a share, and the rest, one record of the largest of them where
    /// rounding left it without.
    fn leave_none_empty(&self, sizes: &mut [u64]) -> Result<(), String> {
        let has_share = |&at: &usize| match self.0[at].1 {
            Size::Share(share) => share != Share::NONE,
            Size::Count(_) => false,
            Size::Rest => true,
        };
        let shared: Vec<usize> = (0..sizes.len()).filter(has_share).collect();
        while let Some(&empty) = shared.iter().find(|&&at| sizes[at] == 0) {
            let largest = shared.iter().copied().max_by_key(|&at| (sizes[at], Reverse(at)));
            let largest = largest.filter(|&at| sizes[at] > 1).ok_or_else(|| {
                let (items, splits) = (sizes.iter().sum::<u64>(), shared.len());
                format!(
                    "{items} records are too few for {splits} splits by shares or `rest`, and {} \
                     would be empty",
                    self.0[empty].0
                )
            })?;
            sizes[largest] -= 1;
            sizes[empty] += 1;
        }
        Ok(())
    }
}

impl FromStr for NamedSplits {
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
                    Err(_) => return Err(format!("{size} is not a share, a number or `rest`")),
                },
            };
            // Some systems take upper and lower case alike, and one set would replace another.
            if !names.insert(name.to_lowercase()) {
                return Err(format!("{name} is given twice, perhaps in upper and lower case"));
            }
            splits.push((name.to_owned(), size));
        }
        if splits.iter().filter(|(_, size)| *size == Size::Rest).count() > 1 {
            return Err("`rest` can be given only once".to_owned());
        }
        Ok(Self(splits))
    }
}

/// Whether it can be the name of a folder that is not left out, beside the index.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(['.', '_'])
        && !name.ends_with(['.', ' '])
        && !name.contains(['/', '\\', ':'])
        && !name.eq_ignore_ascii_case(ShardIndex::FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(text: &str, items: u64) -> Result<Vec<u64>, String> {
        text.parse::<NamedSplits>()?.sizes(items)
    }

    #[test]
    fn splits_have_all_records() {
        let three = "train=0.98,valid=0.01,test=0.01";
        for items in [3, 99, 100, 101, 12_345, u64::MAX] {
            let sizes = sizes_of(three, items).unwrap();
            assert_eq!(sizes.iter().map(|&size| u128::from(size)).sum::<u128>(), items.into());
        }
        assert_eq!(sizes_of(three, 1000), Ok(vec![980, 10, 10]));
        assert_eq!(sizes_of("train=rest,valid=100", 1000), Ok(vec![900, 100]));
        assert_eq!(sizes_of("a=50%,b=25%,c=rest", 7), Ok(vec![3, 2, 2]));
        // No split is empty, and others are as shares say.
        assert_eq!(sizes_of("test=.1,train=.9", 3), Ok(vec![1, 2]));
        assert_eq!(sizes_of(three, 3), Ok(vec![1, 1, 1]));
        assert_eq!(sizes_of("a=rest,b=1%,c=5", 7), Ok(vec![1, 1, 5]));
        assert_eq!(sizes_of("a=0%,b=rest", 1), Ok(vec![0, 1]));
        for shares in [[1, 9], [5, 5], [0, 10], [10, 0]] {
            let given = shares.iter().filter(|&&share| share > 0).count() as u64;
            for items in 0..40 {
                let text = format!("a={}%,b={}%", 10 * shares[0], 10 * shares[1]);
                let Ok(sizes) = sizes_of(&text, items) else {
                    assert!(items < given, "{text} of {items}");
                    continue;
                };
                assert!(items >= given && sizes.iter().sum::<u64>() == items);
                for (size, share) in sizes.iter().zip(shares) {
                    assert_eq!(*size > 0, share > 0, "{text} of {items}");
                    assert!(
                        (10 * size).abs_diff(items * share) < 10 || *size == 1 || items - size == 1
                    );
                }
            }
        }
        for (text, items) in [
            ("a=0.5", 10),
            ("a=0.5,b=0.6", 10),
            ("a=11,b=rest", 10),
            ("a=9", 10),
            ("a=98%,b=1%,c=1%", 2),
            ("a=rest,b=10", 10),
            ("a=rest", 0),
            ("a=0.5,a=0.5", 10),
            ("a=0.5,A=0.5", 10),
            ("a.=0.5,b=0.5", 10),
            ("c:a=0.5,b=0.5", 10),
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
}
