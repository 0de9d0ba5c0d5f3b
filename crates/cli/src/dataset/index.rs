//! [`Index`]: what a folder of shards says of itself.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};

use serde_json::{Value, json};

use super::csv::Csv;
use super::records::{Form, Records};
use super::shards::WrittenShard;
use crate::files::NamedError;

/// What tells the file from others of that name.
const FORMAT: &str = "bshuf shards";

/// What a folder of shards says of itself, in its file `index.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The seed, without its epoch, as text.
    pub seed: String,
    /// The epoch.
    pub epoch: u64,
    /// What the records are and what stands before them; none if they are rows of tables, whose
    /// files say it themselves.
    pub form: Option<Form>,
    /// How many records were shuffled. The shards may have a part of them.
    pub records: u64,
    /// Whether the records were put back, and not shuffled.
    pub is_undone: bool,
    /// What a program says of the run, so that it knows it again.
    pub run: String,
    /// The shards, in their order.
    pub shards: Vec<WrittenShard>,
}

impl Index {
    /// The file's name.
    pub const FILE: &'static str = "index.json";

    /// The file's contents.
    pub fn to_json(&self) -> String {
        let shards: Vec<Value> = self.shards.iter().map(WrittenShard::to_json).collect();
        let value = json!({
            "format": FORMAT,
            "version": 1,
            "seed": self.seed,
            "epoch": self.epoch,
            "undone": self.is_undone,
            "form": self.form.as_ref().map(Form::to_json),
            "records": self.records,
            "run": self.run,
            "shards": shards,
        });
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
        let index = Self::of(&value);
        let why = "is an index of shards that this version does not understand";
        index.map(Some).ok_or_else(|| NamedError::io(path.display(), why))
    }

    fn of(value: &Value) -> Option<Self> {
        let shards = value["shards"]
            .as_array()?
            .iter()
            .map(WrittenShard::from_json)
            .collect::<Option<Vec<_>>>()?;
        (value["version"] == 1).then_some(())?;
        // No files have so many records, or so many bytes.
        for number in [|shard: &WrittenShard| shard.records, |shard: &WrittenShard| shard.bytes] {
            shards.iter().map(number).try_fold(0, u64::checked_add)?;
        }
        Some(Self {
            seed: value["seed"].as_str()?.to_owned(),
            epoch: value["epoch"].as_u64()?,
            records: value["records"].as_u64()?,
            is_undone: value["undone"].as_bool()?,
            form: match &value["form"] {
                Value::Null => None,
                form => Some(Form::from_json(form)?),
            },
            run: value["run"].as_str()?.to_owned(),
            shards,
        })
    }

    /// How many records the shards have together, or `u64::MAX` if that is less.
    pub fn shard_records(&self) -> u64 {
        self.shards.iter().map(|shard| shard.records).fold(0, u64::saturating_add)
    }

    /// Whether the shards have all records.
    pub fn is_whole(&self) -> bool {
        self.shard_records() == self.records
    }

    /// The shards in a folder, in their order, if its files are they.
    pub(super) fn check(&self, folder: &Path, files: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut others: HashSet<PathBuf> = files.into_iter().collect();
        let (mut shards, mut names) = (Vec::new(), HashSet::new());
        for shard in &self.shards {
            let path = folder.join(&shard.name);
            let is_within =
                shard.name.components().all(|part| matches!(part, Component::Normal(_)));
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

impl Form {
    fn to_json(&self) -> Value {
        let mut value = match &self.records {
            Records::Lines(end) => json!({"records": "lines", "end": end}),
            Records::Groups(end, lines) => json!({"records": "groups", "end": end, "lines": lines}),
            Records::Fastq => json!({"records": "fastq"}),
            Records::Csv(Csv { delimiter, is_uneven, has_loose_quotes }) => json!({
                "records": "csv",
                "delimiter": delimiter,
                "uneven": is_uneven,
                "loose_quotes": has_loose_quotes,
            }),
            Records::Separated(end) => json!({"records": "separated", "end": end}),
            Records::Started(start) => json!({"records": "started", "start": start}),
            Records::TfRecord => json!({"records": "tfrecord"}),
            Records::Samples { are_uneven } => json!({"records": "samples", "uneven": are_uneven}),
        };
        value["header_lines"] = self.headers.into();
        value["header_prefixes"] = json!(self.header_prefixes);
        value["text"] = self.is_text.into();
        value
    }

    fn from_json(value: &Value) -> Option<Self> {
        let byte = |value: &Value| u8::try_from(value.as_u64()?).ok();
        let bytes = |value: &Value| -> Option<Vec<u8>> {
            let bytes: Vec<u8> = value.as_array()?.iter().map(byte).collect::<Option<_>>()?;
            (!bytes.is_empty()).then_some(bytes)
        };
        let records = match value["records"].as_str()? {
            "lines" => Records::Lines(byte(&value["end"])?),
            "groups" => {
                let lines = u32::try_from(value["lines"].as_u64()?).ok()?;
                Records::Groups(byte(&value["end"])?, lines.try_into().ok()?)
            }
            "fastq" => Records::Fastq,
            "csv" => Records::Csv(Csv {
                delimiter: byte(&value["delimiter"])?,
                is_uneven: value["uneven"].as_bool()?,
                has_loose_quotes: value["loose_quotes"].as_bool()?,
            }),
            "separated" => Records::Separated(bytes(&value["end"])?),
            "started" => Records::Started(bytes(&value["start"])?),
            "tfrecord" => Records::TfRecord,
            "samples" => Records::Samples { are_uneven: value["uneven"].as_bool()? },
            _ => return None,
        };
        let prefixes = value["header_prefixes"].as_array()?;
        Some(Self {
            records,
            headers: value["header_lines"].as_u64()?,
            header_prefixes: prefixes.iter().map(bytes).collect::<Option<_>>()?,
            is_text: value["text"].as_bool()?,
        })
    }
}

impl WrittenShard {
    /// The shard as it is in an index.
    pub fn to_json(&self) -> Value {
        let Self { name, records, bytes, plain_bytes, sha256 } = self;
        json!({
            "name": name.to_string_lossy(),
            "records": records,
            "bytes": bytes,
            "plain_bytes": plain_bytes,
            "sha256": sha256,
        })
    }

    /// A shard of an index, if it is one.
    pub fn from_json(value: &Value) -> Option<Self> {
        Some(Self {
            name: value["name"].as_str()?.into(),
            records: value["records"].as_u64()?,
            bytes: value["bytes"].as_u64()?,
            plain_bytes: value["plain_bytes"].as_u64()?,
            sha256: value["sha256"].as_str()?.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(name: &str, records: u64, bytes: u64) -> WrittenShard {
        let (plain_bytes, sha256) = (0, String::new());
        WrittenShard { name: name.into(), records, bytes, plain_bytes, sha256 }
    }

    fn index(shards: Vec<WrittenShard>) -> Index {
        Index {
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
    fn an_index_of_more_records_than_can_be_counted_is_refused() {
        let shard = |records, bytes| shard("part-0", records, bytes);
        let read = |index: &Index| Index::of(&serde_json::from_str(&index.to_json()).unwrap());
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
