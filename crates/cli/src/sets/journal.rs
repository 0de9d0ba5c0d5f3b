//! [`Journal`]: what a run has done, for one that goes on with it, and [`AskedRun`], which tells
//! runs apart.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{Hashed, ShardIndex, WrittenShard};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::files::{PRIVATE, named_file_in};

/// The file's name, among those that are left out when the folder is read.
pub(super) const JOURNAL: &str = ".bshuf-journal";

/// What a run has done: a line for the run, and then one for each shard. The last line may be cut
/// short, and counts for nothing then.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Journal {
    /// The seed with its epoch.
    seed: String,
    epoch: u64,
    /// What the inputs were: names, sizes and times of change.
    pub(super) stamp: String,
    /// What the inputs have.
    pub(super) counted: Value,
    /// A hash of all on which the shards depend.
    pub(super) run: String,
    #[serde(skip)]
    pub(super) shards: Vec<WrittenShard>,
}

/// What a run is asked for, which is known before anything is counted.
#[derive(Clone, Debug)]
pub(crate) struct AskedRun {
    pub(super) seed: Seed,
    /// What the inputs are.
    pub(super) stamp: String,
    /// The end of the names of the shards.
    pub(super) extension: String,
    /// Everything that makes a difference, except the seed and the inputs.
    pub(super) options: String,
}

impl AskedRun {
    /// The same for two runs if they are asked for the same.
    pub(super) fn to_json(&self) -> Value {
        let Self { seed, stamp, options, .. } = self;
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "seed": seed.with_epoch(0).to_string(),
            "epoch": seed.epoch(),
            "inputs": hash(stamp),
            "options": hash(options),
        })
    }

    /// Whether this is said of a run by its [`JournaledRun::hash`].
    pub(super) fn is_of(&self, run: &str) -> bool {
        run.split_once('-').is_some_and(|(asked, _)| asked == hash(&self.to_json().to_string()))
    }
}

/// The SHA-256 of a text.
fn hash(text: &str) -> String {
    let mut hashed = Hashed::new(io::sink());
    // Nothing is written anywhere.
    let _ = hashed.write_all(text.as_bytes());
    hashed.finish().2
}

/// A run, as it is in its journal.
pub(super) struct JournaledRun {
    pub(super) asked: AskedRun,
    /// What the inputs have.
    pub(super) counted: Value,
    /// The shards and the places of their records.
    pub(super) shards: String,
}

impl JournaledRun {
    /// A hash of what is asked for, and one of all else on which the shards depend.
    pub(super) fn hash(&self) -> String {
        let Self { asked, counted, shards } = self;
        let (asked, found) = (asked.to_json().to_string(), format!("{counted} {shards}"));
        format!("{}-{}", hash(&asked), hash(&found))
    }

    /// Begins the journal, or cuts the one that is `locked` after the shards that are kept. It is
    /// locked, and no other file is made, so that a kill leaves none.
    ///
    /// # Errors
    ///
    /// Those of writing; [`ErrorKind::AlreadyExists`] if another run has begun meanwhile.
    pub(super) fn begin(
        &self,
        journal: &Path,
        kept: &[WrittenShard],
        locked: Option<File>,
    ) -> io::Result<File> {
        let text = self.text(kept);
        let mut file = match locked {
            Some(file) => file,
            None => {
                let file = File::options().read(true).write(true).create_new(true).open(journal)?;
                // Some file systems have no locks. There two runs are two too many.
                if let Err(TryLockError::WouldBlock) = file.try_lock() {
                    return Err(ErrorKind::AlreadyExists.into());
                }
                file
            }
        };
        let mut before = vec![0; text.len()];
        file.rewind()?;
        if file.read_exact(&mut before).is_err() || before != text.as_bytes() {
            // One that was cut short before it had any shard, which counts for nothing.
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(text.as_bytes())?;
        }
        file.set_len(text.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(file)
    }

    /// Begins the journal of a worker, in place of the one before. That one may be held by a worker
    /// that is slow, and not dead, on another machine.
    pub(super) fn begin_again(&self, journal: &Path, kept: &[WrittenShard]) -> io::Result<File> {
        let folder = journal.parent().unwrap_or(Path::new("."));
        let mut file = named_file_in(folder, ".bshuf", PRIVATE)?;
        file.write_all(self.text(kept).as_bytes())?;
        file.persist(journal).map_err(|failed| failed.error)
    }

    /// The journal of the run with these shards.
    fn text(&self, kept: &[WrittenShard]) -> String {
        let AskedRun { seed, stamp, .. } = &self.asked;
        let journal = Journal {
            seed: seed.with_epoch(0).to_string(),
            epoch: seed.epoch(),
            stamp: stamp.clone(),
            counted: self.counted.clone(),
            run: self.hash(),
            shards: Vec::new(),
        };
        let shards = kept.iter().map(Journal::line);
        format!("{}\n{}", json!(journal), shards.collect::<String>())
    }
}

impl Journal {
    /// The journal in a folder, if there is one, or that of a run that is complete.
    pub(super) fn of_folder(folder: &Path) -> io::Result<Option<Self>> {
        let journal = folder.join(JOURNAL);
        if journal.exists() {
            return Self::read(&journal);
        }
        Ok(ShardIndex::read(folder)?.map(Self::of))
    }

    /// A journal, if it is there and has anything.
    pub(super) fn read(journal: &Path) -> io::Result<Option<Self>> {
        match File::open(journal) {
            Ok(file) => Self::of_file(file),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A journal, if the file has anything.
    pub(super) fn of_file(mut file: impl Read) -> io::Result<Option<Self>> {
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let mut lines = text.split_inclusive(|&byte| byte == b'\n');
        let first = lines.next().and_then(|line| serde_json::from_slice::<Self>(line).ok());
        Ok(first.map(|first| {
            let shards = lines.map_while(|line| serde_json::from_slice(line).ok()).collect();
            Self { shards, ..first }
        }))
    }

    /// The journal that a run would have left that has come to its end, without its inputs.
    fn of(index: ShardIndex) -> Self {
        let ShardIndex { seed, epoch, run, shards, .. } = index;
        Self { seed, epoch, stamp: String::new(), counted: Value::Null, run, shards }
    }

    /// The seed of the run.
    pub(super) fn seed(&self) -> Result<Seed, bijective_shuffle::Error> {
        Ok(self.seed.parse::<Seed>()?.with_epoch(self.epoch))
    }

    /// Notes that a shard is written.
    pub(super) fn append(file: &mut File, shard: &WrittenShard) -> io::Result<()> {
        // All at once, so that a line is there whole or cut short, and never between others.
        file.write_all(Self::line(shard).as_bytes())
    }

    fn line(shard: &WrittenShard) -> String {
        format!("{}\n", json!(shard))
    }
}
