//! [`ShardIndex`]: what a folder of shards says of itself.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::records::RecordForm;
use super::shards::WrittenShard;
use crate::files::NamedError;

/// What tells the file from others of that name.
const FORMAT: &str = "bshuf shards";

const VERSION: u64 = 1;

/// The index of a folder of shards: its file `index.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ShardIndex {
    /// The seed, without its epoch, as text.
    pub seed: String,
    /// The epoch.
    pub epoch: u64,
    /// The kind of the records, and the header before them; none for rows of tables, whose files
    /// state it themselves.
    pub form: Option<RecordForm>,
    /// How many records were shuffled. The shards may have a part of them.
    pub records: u64,
    /// Whether a shuffle of the records was undone.
    #[serde(rename = "undone")]
    pub is_undone: bool,
    /// A text by which the program recognises the run.
    pub run: String,
    /// The shards, in their order.
    pub shards: Vec<WrittenShard>,
}

impl ShardIndex {
    /// The file's name.
    pub const FILE: &'static str = "index.json";

    /// The file's contents.
    pub fn to_json(&self) -> String {
        let mut value = json!(self);
        value["format"] = FORMAT.into();
        value["version"] = VERSION.into();
        format!("{value:#}\n")
    }

    /// Reads the index of a folder, if it has one.
    ///
    /// # Errors
    ///
    /// Those of reading it; that it is one of ours and cannot be understood.
    pub fn read(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.join(Self::FILE);
        // To read a pipe of this name would never end.
        if path.metadata().is_ok_and(|found| !found.is_file()) {
            return Ok(None);
        }
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(NamedError::io(path.display(), error)),
        };
        let Ok(value) = serde_json::from_slice::<Value>(&text) else { return Ok(None) };
        if value["format"] != FORMAT {
            return Ok(None);
        }
        let index = Self::of(value);
        let why = "is an index of shards that this version does not understand";
        index.map(Some).ok_or_else(|| NamedError::io(path.display(), why))
    }

    fn of(value: Value) -> Option<Self> {
        let is_known = value["version"] == VERSION;
        let index: Self = serde_json::from_value(value).ok().filter(|_| is_known)?;
        // No files have as many records or bytes as overflow.
        for number in [|shard: &WrittenShard| shard.records, |shard: &WrittenShard| shard.bytes] {
            index.shards.iter().map(number).try_fold(0, u64::checked_add)?;
        }
        index.form.as_ref().is_none_or(RecordForm::can_be).then_some(index)
    }

    /// The number of records in all shards, at most `u64::MAX`.
    pub fn shard_records(&self) -> u64 {
        self.shards.iter().map(|shard| shard.records).fold(0, u64::saturating_add)
    }

    /// Whether the shards contain all records.
    pub fn is_whole(&self) -> bool {
        self.shard_records() == self.records
    }

    /// The shards in a folder, in their order, if its files are they.
    pub(super) fn check(&self, folder: &Path, files: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut others: HashSet<PathBuf> = files.into_iter().collect();
        let (mut shards, mut names) = (Vec::new(), HashSet::new());
        for shard in &self.shards {
            let path = folder.join(&shard.name);
            let is_within = shard.name.components().all(|one| matches!(one, Component::Normal(_)));
            if !is_within {
                let why = "is outside of the folder whose index has it as a shard: mend its \
                           index.json, or remove that and name the files";
                return Err(NamedError::io(path.display(), why));
            }
            if !names.insert(&shard.name) {
                let why = "is twice in the folder's index: mend index.json, or remove it and name \
                           the files";
                return Err(NamedError::io(path.display(), why));
            }
            others.remove(&path);
            // It may be behind a link to a folder, which is not looked through.
            let found = path.metadata().ok().filter(Metadata::is_file);
            let why = match found {
                None => "is missing, and is a shard of the folder's index",
                Some(found) if found.len() != shard.bytes => {
                    "has another size than in the folder's index"
                }
                Some(_) => {
                    shards.push(path);
                    continue;
                }
            };
            return Err(NamedError::io(path.display(), why));
        }
        match others.into_iter().min() {
            None => Ok(shards),
            Some(other) => {
                let why = "is not a shard of the folder's index, index.json: remove one of them";
                Err(NamedError::io(other.display(), why))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::{Csv, Records};

    fn shard(name: &str, records: u64, bytes: u64) -> WrittenShard {
        let (plain_bytes, sha256) = (0, String::new());
        WrittenShard { name: name.into(), records, bytes, plain_bytes, sha256 }
    }

    fn index(shards: Vec<WrittenShard>) -> ShardIndex {
        ShardIndex {
            seed: "42".to_owned(),
            epoch: 0,
            form: None,
            records: 3,
            is_undone: false,
            run: String::new(),
            shards,
        }
    }

    #[test]
    fn shards_are_files_of_the_folder_and_each_is_there_once() {
        let all = tempfile::tempdir().unwrap();
        let folder = all.path().join("shards");
        fs::create_dir_all(folder.join("train")).unwrap();
        for path in ["shards/train/a", "shards/b", "other"] {
            fs::write(all.path().join(path), b"1\n").unwrap();
        }
        let files = || vec![folder.join("b"), folder.join("train/a")];
        let check = |names: &[&str]| {
            let shards = names.iter().map(|name| shard(name, 1, 2)).collect();
            index(shards).check(&folder, files()).map_err(|error| error.to_string())
        };
        let own = check(&["train/a", "b"]).unwrap();
        assert_eq!(own, [folder.join("train/a"), folder.join("b")]);
        for again in ["b", "./b", "train/../b"] {
            let why = check(&["train/a", "b", again]).unwrap_err();
            let is_named = why.contains("is twice in") || why.contains("is outside of");
            assert!(is_named, "{again}: {why}");
        }
        let outside = all.path().join("other");
        for name in ["../other", "train/../../other", "..", outside.to_str().unwrap()] {
            let why = check(&["train/a", "b", name]).unwrap_err();
            assert!(why.contains("is outside of the folder"), "{name}: {why}");
        }
    }

    #[test]
    fn records_of_every_kind_are_read_as_they_were_written() {
        let loose = Csv { delimiter: b'\t', is_uneven: true, has_loose_quotes: true };
        let lines = std::num::NonZeroU32::new(u32::MAX).unwrap();
        for records in [
            Records::Lines(0),
            Records::Groups(b'\n', lines),
            Records::Fastq,
            Records::Csv(Csv::new(b',')),
            Records::Csv(loose),
            Records::Separated(vec![0, 0xFF, b'"']),
            Records::Started(b">".to_vec()),
            Records::TfRecord,
            Records::Samples { are_uneven: false },
            Records::Samples { are_uneven: true },
        ] {
            // A new kind belongs into the list.
            match &records {
                Records::Lines(_) | Records::Groups(..) | Records::Fastq | Records::Csv(_) => {}
                Records::Separated(_) | Records::Started(_) | Records::TfRecord => {}
                Records::Samples { .. } => {}
            }
            let form = RecordForm { is_text: true, ..RecordForm::new(records) };
            let header_prefixes = vec![b"##".to_vec(), vec![0xFF]];
            let of_header = RecordForm { headers: 1 << 40, header_prefixes, ..form.clone() };
            for form in [form, of_header] {
                let written = ShardIndex { form: Some(form), ..index(vec![shard("a", 3, 4)]) };
                let folder = tempfile::tempdir().unwrap();
                fs::write(folder.path().join(ShardIndex::FILE), written.to_json()).unwrap();
                assert_eq!(ShardIndex::read(folder.path()).unwrap(), Some(written));
            }
        }
    }

    #[test]
    fn an_index_of_more_records_than_can_be_counted_is_refused() {
        let shard = |records, bytes| shard("part-0", records, bytes);
        let read =
            |index: &ShardIndex| ShardIndex::of(serde_json::from_str(&index.to_json()).unwrap());
        let half = 1 << 63;
        // Modulo 2^64 these are 3 records, or 3 bytes.
        let records = index(vec![shard(half + 2, 1), shard(half + 1, 1)]);
        assert_eq!((records.shard_records(), records.is_whole()), (u64::MAX, false));
        assert_eq!(read(&records), None);
        assert_eq!(read(&index(vec![shard(1, half + 2), shard(2, half + 1)])), None);
        let honest = index(vec![shard(1, half), shard(2, half - 1)]);
        assert_eq!(read(&honest), Some(honest.clone()));
        assert!(honest.is_whole());
    }
}
