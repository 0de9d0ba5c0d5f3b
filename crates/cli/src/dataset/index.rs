//! [`Index`]: what a folder of shards says of itself.

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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
            .collect::<Option<_>>()?;
        (value["version"] == 1).then_some(())?;
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

    /// How many records the shards have together.
    pub fn shard_records(&self) -> u64 {
        self.shards.iter().map(|shard| shard.records).sum()
    }

    /// Whether the shards have all records.
    pub fn is_whole(&self) -> bool {
        self.shard_records() == self.records
    }

    /// The shards in a folder, in their order, if its files are they.
    pub(super) fn check(&self, folder: &Path, files: Vec<PathBuf>) -> io::Result<Vec<PathBuf>> {
        let mut others: HashSet<PathBuf> = files.into_iter().collect();
        let mut shards = Vec::new();
        for shard in &self.shards {
            let path = folder.join(&shard.name);
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
            Records::Csv(delimiter) => json!({"records": "csv", "delimiter": delimiter}),
            Records::Separated(end) => json!({"records": "separated", "end": end}),
            Records::Samples { are_uneven } => json!({"records": "samples", "uneven": are_uneven}),
        };
        value["header_lines"] = self.headers.into();
        value
    }

    fn from_json(value: &Value) -> Option<Self> {
        let byte = |value: &Value| u8::try_from(value.as_u64()?).ok();
        let records = match value["records"].as_str()? {
            "lines" => Records::Lines(byte(&value["end"])?),
            "groups" => {
                let lines = u32::try_from(value["lines"].as_u64()?).ok()?;
                Records::Groups(byte(&value["end"])?, lines.try_into().ok()?)
            }
            "fastq" => Records::Fastq,
            "csv" => Records::Csv(byte(&value["delimiter"])?),
            "separated" => {
                let end: Vec<u8> =
                    value["end"].as_array()?.iter().map(byte).collect::<Option<_>>()?;
                Records::Separated((!end.is_empty()).then_some(end)?)
            }
            "samples" => Records::Samples { are_uneven: value["uneven"].as_bool()? },
            _ => return None,
        };
        Some(Self { records, headers: value["header_lines"].as_u64()? })
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
