//! [`Index`]: what a folder of shards says of itself.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::shards::WrittenShard;
use crate::files::NamedError;

/// The file's name.
pub(super) const INDEX: &str = "index.json";

/// What tells the file from others of that name.
const FORMAT: &str = "bshuf shards";

/// What a folder of shards says of itself, in its file `index.json`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    /// The seed, without its epoch, as text.
    pub seed: String,
    /// The epoch.
    pub epoch: u64,
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
    /// The file's contents.
    pub fn to_json(&self) -> String {
        let shards: Vec<Value> = self.shards.iter().map(WrittenShard::to_json).collect();
        let value = json!({
            "format": FORMAT,
            "version": 1,
            "seed": self.seed,
            "epoch": self.epoch,
            "undone": self.is_undone,
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
        let path = folder.join(INDEX);
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
            .collect::<Option<_>>()?;
        (value["version"] == 1).then_some(())?;
        Some(Self {
            seed: value["seed"].as_str()?.to_owned(),
            epoch: value["epoch"].as_u64()?,
            records: value["records"].as_u64()?,
            is_undone: value["undone"].as_bool()?,
            run: value["run"].as_str()?.to_owned(),
            shards,
        })
    }

    /// Whether the shards have all records.
    pub fn is_whole(&self) -> bool {
        self.shards.iter().map(|shard| shard.records).sum::<u64>() == self.records
    }

    /// The shards in a folder, in their order, if its files are they.
    pub(super) fn check(&self, folder: &Path, files: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut others: HashSet<PathBuf> = files.into_iter().collect();
        let mut shards = Vec::new();
        for shard in &self.shards {
            let path = folder.join(&shard.name);
            let why = if !others.remove(&path) {
                "is missing, and is a shard of the folder's index"
            } else if path.metadata().map_or(0, |found| found.len()) != shard.bytes {
                "has another size than in the folder's index"
            } else {
                shards.push(path);
                continue;
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
