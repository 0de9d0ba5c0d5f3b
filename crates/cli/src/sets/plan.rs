//! [`ShardPlan`]: into which shards records go.

use std::path::Path;

use bijective_shuffle_cli::dataset::{Records, Shards};
use bijective_shuffle_cli::formats::{Codec, other_packer_of_name};

use crate::arguments::SetArguments;
use crate::failure::Failure;

/// The most shards. A larger number is a slip, and the names alone would take all memory.
const MOST: u128 = 1_000_000;

/// What is known when shards are named.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShardPlan {
    /// The number of records that are written.
    pub(crate) items: u64,
    /// What the inputs have, and how many there are.
    pub(crate) found: u64,
    pub(crate) bytes: u64,
    pub(crate) inputs: u64,
}

impl ShardPlan {
    /// The shards that are asked for.
    pub(super) fn shards(self, sets: &SetArguments, extension: &str) -> Result<Shards, Failure> {
        let sizes = match &sets.split {
            Some(splits) => splits.sizes(self.items).map_err(|why| Failure::new("--split", why))?,
            None => vec![self.items],
        };
        let counts: Vec<_> = sizes.iter().map(|&items| self.count(items, sets)).collect();
        let count = counts.iter().map(|&count| u128::from(count)).sum::<u128>();
        if count > MOST {
            let why = format!("there would be {count}, but {MOST} are the most: ask for fewer");
            return Err(Failure::new("shards", why));
        }
        let even = sizes.into_iter().zip(counts);
        let mut even = even.map(|(items, count)| Shards::even("part", extension, items, count));
        let Some(splits) = &sets.split else { return Ok(even.next().unwrap_or_default()) };
        let split = splits.names().zip(even).map(|(name, shards)| shards.in_folder(name));
        Ok(split.fold(Shards::default(), Shards::and))
    }

    /// How many shards this many records make.
    fn count(self, items: u64, sets: &SetArguments) -> u64 {
        if let Some(count) = sets.shards {
            return count.get();
        }
        if let Some(most) = sets.shard_records {
            return items.div_ceil(most.get()).max(1);
        }
        // The records' part of all.
        let of = |all: u64| u128::from(all) * u128::from(items) / u128::from(self.found.max(1));
        let count = match sets.shard_bytes {
            Some(size) => of(self.bytes).div_ceil(size.bytes() as u128),
            None => of(self.inputs),
        };
        u64::try_from(count).unwrap_or(u64::MAX).max(1)
    }
}

/// The end of the names of shards, as that of the first input, without that of its compression.
pub(super) fn extension(first: &str, records: &Records) -> String {
    let path = Path::new(first);
    let is_plain = Codec::of_name(path) == Codec::Plain && other_packer_of_name(path).is_none();
    let path = if is_plain { path.to_owned() } else { path.with_extension("") };
    match (path.extension().and_then(|end| end.to_str()), records) {
        // Programs that write TFRecords number their shards behind the end of the name.
        (Some(end), Records::TfRecord) => end.split('-').next().unwrap_or(end).to_owned(),
        (Some(end), _) => end.to_owned(),
        (None, Records::Csv(_)) => "csv".to_owned(),
        (None, Records::Fastq) => "fastq".to_owned(),
        (None, Records::TfRecord) => "tfrecord".to_owned(),
        (None, Records::Samples { .. }) => "tar".to_owned(),
        (None, _) => "txt".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use bijective_shuffle_cli::dataset::Csv;

    use super::*;

    #[test]
    fn shards_are_named_as_inputs() {
        let lines = Records::Lines(b'\n');
        assert_eq!(extension("x/a.jsonl.zst", &lines), "jsonl");
        assert_eq!(extension("x/a.tsv", &lines), "tsv");
        assert_eq!(extension("x/a.tsv.xz", &lines), "tsv");
        assert_eq!(extension("x/a.tgz", &Records::Samples { are_uneven: false }), "tar");
        assert_eq!(extension("x/a.gz", &Records::Csv(Csv::new(b','))), "csv");
        assert_eq!(extension("a.tfrecord-00000-of-00010", &Records::TfRecord), "tfrecord");
        assert_eq!(extension("a", &Records::TfRecord), "tfrecord");
        assert_eq!(extension("standard input", &lines), "txt");
    }
}
