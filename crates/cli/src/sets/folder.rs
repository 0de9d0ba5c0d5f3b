//! [`ShardFolder`]: a folder of shards, each of which is whole or absent.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use bijective_shuffle::Seed;
use bijective_shuffle_cli::dataset::{Hashed, ShardIndex, ShardSink, Shards, WrittenShard};
use bijective_shuffle_cli::files::NamedError;
use rayon::prelude::*;
use serde_json::Value;

use super::journal::{JOURNAL, Journal, JournaledRun};
use crate::failure::{Failure, FailureContext};
use crate::output::Output;

/// In the output folder: what workers leave for each other.
pub(super) const WORKERS: &str = ".bshuf-workers";

/// The folder for files of workers that are not complete. It is made only within [`WORKERS`], so
/// that a worker that is late does not make that again.
pub(super) const UNFINISHED_OF_WORKERS: &str = ".bshuf-workers/unfinished";

/// In the output folder: unfinished files, where the system has no files without names. It is
/// removed when a run ends, together with what killed runs have left there.
const UNFINISHED: &str = ".bshuf-unfinished";

/// What is said of a folder to which two runs would write.
const OTHER_RUN: &str = "another run writes to it now: wait for its end, or name another folder";

/// Opens a journal, if it is there, to be locked: as one that is written, since NFS locks no other
/// file.
fn open_journal(path: &Path) -> Option<File> {
    File::options().read(true).write(true).open(path).ok()
}

/// How often a lock is tried again, [`PAUSE`] apart. A run that was killed holds its lock until it
/// has exited, which may take as long as all of these.
const TRIES: u32 = 200;

const PAUSE: Duration = Duration::from_millis(10);

/// Whether another run holds the lock of a journal, and goes on to do so. It is locked otherwise,
/// where the file system has locks.
fn is_held(journal: &File) -> bool {
    let is_locked = || matches!(journal.try_lock(), Err(TryLockError::WouldBlock));
    stays(is_locked, || thread::sleep(PAUSE))
}

/// Whether something is still so after all pauses.
fn stays(mut is_so: impl FnMut() -> bool, mut pause: impl FnMut()) -> bool {
    let mut goes_on = is_so();
    for _ in 0..TRIES {
        if !goes_on {
            break;
        }
        pause();
        goes_on = is_so();
    }
    goes_on
}

/// A folder that shards are written to.
pub(crate) struct ShardFolder {
    path: PathBuf,
    temporary_folder: PathBuf,
    /// Whether it was not there.
    is_new: bool,
    /// Whether other machines look for the shards.
    is_shared: bool,
    /// What a run before has left.
    before: Option<Journal>,
    /// Its journal, locked, so that no other run goes on with it.
    lock: Option<File>,
    /// Where the journal is, and the journal.
    journal_path: PathBuf,
    journal: Option<File>,
}

impl ShardFolder {
    /// A folder, which is created if it is not there. It has to be empty, unless a run is resumed.
    pub(super) fn open(
        path: &Path,
        is_resumed: bool,
        temporary_folder: &Path,
    ) -> Result<Self, Failure> {
        let is_new = !path.exists();
        fs::create_dir_all(path).context(path.display())?;
        let journal_path = path.join(JOURNAL);
        let lock = open_journal(&journal_path);
        if let Some(journal) = &lock
            && is_held(journal)
        {
            return Err(Failure::new(path.display(), OTHER_RUN));
        }
        // Another run may have come to its end since this one was opened.
        let lock = lock.filter(|_| journal_path.exists());
        // On Windows only this handle reads what it has locked.
        let before = match &lock {
            Some(journal) => Journal::of_file(journal),
            None => Journal::of_folder(path),
        };
        let before = before.context(path.display())?;
        let is_empty = before.is_none() && is_empty(path).context(path.display())?;
        let why = match (is_resumed, is_empty, &before) {
            (_, true, _) | (true, false, Some(_)) => None,
            (true, false, None) => Some("has files, and none of them is of a run to resume"),
            (false, false, Some(_)) => {
                Some("has shards of a run: give --resume to go on with it, or name another folder")
            }
            (false, false, None) => Some("is not empty: name a folder that is"),
        };
        if let Some(why) = why {
            return Err(Failure::new(path.display(), why));
        }
        let (path, temporary_folder) = (path.to_owned(), temporary_folder.to_owned());
        let (is_shared, journal) = (false, None);
        Ok(Self { path, temporary_folder, is_new, is_shared, before, lock, journal_path, journal })
    }

    /// A folder to which one of several workers writes shards, with a journal of its own.
    pub(super) fn of_worker(
        path: &Path,
        journal_path: PathBuf,
        temporary_folder: &Path,
    ) -> Result<Self, Failure> {
        let before = Journal::read(&journal_path).context(journal_path.display())?;
        let (path, temporary_folder) = (path.to_owned(), temporary_folder.to_owned());
        let (is_new, is_shared, lock, journal) = (false, true, None, None);
        Ok(Self { path, temporary_folder, is_new, is_shared, before, lock, journal_path, journal })
    }

    /// The seed of the run that is resumed.
    pub(super) fn seed(&self) -> Result<Option<Seed>, bijective_shuffle::Error> {
        self.before.as_ref().map(Journal::seed).transpose()
    }

    /// What was counted when the inputs had this stamp.
    pub(super) fn counted(&self, stamp: &str) -> Option<&Value> {
        self.before.as_ref().filter(|before| before.stamp == stamp).map(|before| &before.counted)
    }

    /// The run begins, or goes on: returns the shards that are there, and are as they should be.
    pub(super) fn begin(
        &mut self,
        run: &JournaledRun,
        shards: &Shards,
    ) -> Result<Vec<WrittenShard>, Failure> {
        let name = self.path.display().to_string();
        let mut kept = Vec::new();
        if let Some(before) = &self.before {
            if before.run != run.hash() {
                let why = "has shards of a run with other inputs or other options: name another \
                           folder";
                return Err(Failure::new(name, why));
            }
            let named = before.shards.iter().zip(shards.list());
            let named = named.take_while(|(one, other)| one.is(other));
            let found: Vec<_> = named.map(|(one, _)| one).collect();
            let are_whole: Vec<bool> = found.par_iter().map(|shard| self.is_whole(shard)).collect();
            let whole = are_whole.iter().take_while(|&&is_whole| is_whole).count();
            kept.extend(found[..whole].iter().map(|&shard| shard.clone()));
        }
        let lock = self.lock.take();
        let begun = if self.is_shared {
            run.begin_again(&self.journal_path, &kept)
        } else {
            run.begin(&self.journal_path, &kept, lock)
        };
        match begun {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                Err(Failure::new(name, OTHER_RUN))
            }
            journal => {
                self.journal = Some(journal.context(&name)?);
                Ok(kept)
            }
        }
    }

    /// Whether a shard has the bytes that were written.
    fn is_whole(&self, shard: &WrittenShard) -> bool {
        let hash = || -> io::Result<(u64, String)> {
            let mut hashed = Hashed::new(io::sink());
            io::copy(&mut File::open(self.path.join(&shard.name))?, &mut hashed)?;
            let (_, bytes, hash) = hashed.finish();
            Ok((bytes, hash))
        };
        hash().is_ok_and(|(bytes, hash)| bytes == shard.bytes && hash == shard.sha256)
    }

    /// All shards are there.
    pub(super) fn finish(self, index: &ShardIndex) -> Result<(), Failure> {
        let output = self.output(Path::new(ShardIndex::FILE))?;
        write(output, &index.to_json(), self.is_shared)?;
        let unfinished = self.path.join(UNFINISHED);
        if let Err(error) = fs::remove_dir_all(&unfinished)
            && error.kind() != ErrorKind::NotFound
        {
            return Err(error).context(unfinished.display());
        }
        fs::remove_file(&self.journal_path).context(self.journal_path.display())
    }

    /// A file that is there whole or not at all.
    fn output(&self, name: &Path) -> Result<Output, Failure> {
        let unfinished =
            self.path.join(if self.is_shared { UNFINISHED_OF_WORKERS } else { UNFINISHED });
        Output::open_by(&self.path.join(name), Some(&unfinished), &self.temporary_folder)
    }
}

/// Whether a folder has nothing but what a run has left that was killed before it wrote its
/// journal.
pub(super) fn is_empty(folder: &Path) -> io::Result<bool> {
    let is_left = |name: &OsStr| name.as_encoded_bytes().starts_with(b".bshuf") && name != WORKERS;
    let mut entries = fs::read_dir(folder)?;
    Ok(entries.all(|entry| entry.is_ok_and(|entry| is_left(&entry.file_name()))))
}

/// Writes a small file, which is there whole or not at all, for other machines if it is shared.
pub(super) fn write(mut output: Output, text: &str, is_shared: bool) -> Result<(), Failure> {
    let written = output.write_all(text.as_bytes());
    written.map_err(|error| output.failure(&error))?;
    if is_shared {
        output.sync()?;
    }
    output.commit()
}

/// A shard that is being written. Its errors name it.
pub(crate) struct ShardFile(Output);

impl ShardFile {
    fn named(&self, error: io::Error) -> io::Error {
        match error.kind() {
            ErrorKind::Interrupted => error,
            _ => NamedError::io(self.0.name(), error),
        }
    }
}

impl Write for ShardFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| self.named(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(|error| self.named(error))
    }
}

impl Drop for ShardFolder {
    /// Removes the folder that was created for a run that did not begin, such as one whose inputs
    /// have a fault.
    fn drop(&mut self) {
        if self.is_new && self.journal.is_none() {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

impl ShardSink for ShardFolder {
    type File = ShardFile;

    fn create(&mut self, name: &Path) -> io::Result<ShardFile> {
        let path = self.path.join(name);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| NamedError::io(folder.display(), error))?;
        }
        if !self.is_shared {
            // A shard that is not as it was written, without which the new one takes its name at
            // once.
            let removed = fs::remove_file(&path);
            removed.or_else(|error| match error.kind() {
                ErrorKind::NotFound => Ok(()),
                _ => Err(NamedError::io(path.display(), error)),
            })?;
        }
        let output = self.output(name);
        output.map(ShardFile).map_err(io::Error::from)
    }

    fn commit(&mut self, ShardFile(file): ShardFile, shard: &WrittenShard) -> io::Result<()> {
        let synced = if self.is_shared { file.sync() } else { Ok(()) };
        let committed = synced.and_then(|()| file.commit());
        committed.map_err(io::Error::from)?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let written = Journal::append(journal, shard);
        written.map_err(|error| NamedError::io(self.journal_path.display(), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_still_exits_is_waited_for() {
        for (held, expected) in [(0, false), (3, false), (TRIES, false), (TRIES + 1, true)] {
            let (mut tries, mut pauses) = (0, 0);
            let is_locked = || {
                tries += 1;
                tries <= held
            };
            assert_eq!(stays(is_locked, || pauses += 1), expected, "{held}");
            assert_eq!(pauses, held.min(TRIES));
        }
    }
}
