//! [`Bundle`]: records on their way from one worker to all.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::{NamedTempFile, TempPath};

use super::store::{BlockCodec, TemporaryStore};
use crate::files::buckets::{Bucket, Extent};
use crate::files::budget::KeySplit;
use crate::files::{NamedError, PRIVATE, named_file_in};

/// The records of one worker's inputs, as the first pass leaves them: a file on a file system that
/// all workers share.
///
/// | in the file | what it is |
/// | --- | --- |
/// | blocks | items of one bucket each, every item after its key; compressed by zstd if that makes
/// them smaller |
/// | a line of JSON | the run, how many low bits a key has within its bucket, and the items of each
/// bucket |
/// | a line of JSON for each bucket | its blocks: where they begin, how many bytes they have there,
/// and how many once they are decompressed |
/// | 8 bytes | where the first line begins, least byte first |
///
/// The order of the blocks depends on threads, so two bundles of the same records may differ. The
/// file is there whole or not at all, and says itself where its blocks are, so that no block is
/// looked for in another file.
#[derive(Debug)]
pub struct Bundle {
    path: PathBuf,
    file: File,
    /// Where the line of the first bucket begins.
    lines: u64,
    shift: u64,
    /// The items of each bucket.
    pub(super) items: Vec<u64>,
}

impl Bundle {
    /// Opens the bundle of a run, which was written with the same text; none if there is no file.
    ///
    /// # Errors
    ///
    /// Those of reading it; that it is a bundle of another run, or none.
    pub fn open(path: &Path, run: &str) -> io::Result<Option<Self>> {
        match File::open(path) {
            Ok(file) => Self::read(path, file, run)
                .map(Some)
                .map_err(|error| NamedError::io(path.display(), error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(NamedError::io(path.display(), error)),
        }
    }

    /// The number of records in it, at most `u64::MAX`.
    pub fn records(&self) -> u64 {
        self.items.iter().copied().fold(0, u64::saturating_add)
    }

    fn read(path: &Path, mut file: File, run: &str) -> io::Result<Self> {
        let mut place = [0; 8];
        file.seek(SeekFrom::End(-8))?;
        file.read_exact(&mut place)?;
        let first = u64::from_le_bytes(place);
        file.seek(SeekFrom::Start(first))?;
        let mut line = Vec::new();
        BufReader::new(&file).read_until(b'\n', &mut line)?;
        let head: Value = serde_json::from_slice(&line)?;
        if head["run"] != run {
            let why = "is of another run: remove it, and distribute its records again";
            return Err(io::Error::other(why));
        }
        let lines = first + line.len() as u64;
        let found = || {
            let items =
                head["items"].as_array()?.iter().map(Value::as_u64).collect::<Option<_>>()?;
            Some((head["shift"].as_u64()?, items))
        };
        let (shift, items) = found().ok_or_else(garbled)?;
        Ok(Self { path: path.to_owned(), file, lines, shift, items })
    }

    /// Whether keys are divided in this way.
    pub(super) fn check(&self, shift: u32, buckets: usize) -> io::Result<()> {
        if (self.shift, self.items.len()) == (u64::from(shift), buckets) {
            return Ok(());
        }
        let why = "has other buckets: its worker was told that others have more or less memory";
        Err(NamedError::io(self.path.display(), why))
    }

    /// Adds the blocks of some buckets to those that others have of them.
    pub(super) fn take_in(
        self,
        numbers: Range<usize>,
        buckets: &mut [Bucket],
        store: &mut TemporaryStore,
    ) -> io::Result<()> {
        let named = |error| NamedError::io(self.path.display(), error);
        let mut file = self.file.try_clone().map_err(named)?;
        file.seek(SeekFrom::Start(self.lines)).map_err(named)?;
        let adopted = store.adopt(self.file);
        let lines = BufReader::new(file).split(b'\n').enumerate();
        for (number, line) in lines.take(numbers.end).skip(numbers.start) {
            let blocks: Vec<[u64; 3]> = serde_json::from_slice(&line.map_err(named)?)
                .map_err(|error| named(error.into()))?;
            let bucket = &mut buckets[number - numbers.start];
            bucket.items += self.items[number];
            for [offset, stored, bytes] in blocks {
                let size = |bytes| usize::try_from(bytes).map_err(|_| named(garbled()));
                let (stored, size) = (size(stored)?, size(bytes)?);
                let offset = store.take_in(size, adopted, offset, stored);
                bucket.bytes += bytes;
                bucket.extents.push(Extent { offset, bytes: size });
            }
        }
        Ok(())
    }
}

/// What a file has that is no bundle.
fn garbled() -> io::Error {
    io::Error::new(ErrorKind::InvalidData, "is damaged")
}

/// A bundle that is being written. It has no name that others know until all of it is.
pub(super) struct NewBundle {
    path: PathBuf,
    temporary: TempPath,
    pub(super) store: TemporaryStore,
}

impl NewBundle {
    /// Begins a bundle. What was left of an earlier one that was not complete is removed, as it may
    /// take much room.
    pub(super) fn new(path: &Path, codec: BlockCodec) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        let folder = folder.unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let prefix = format!(".{name}-");
        let begin = || {
            for entry in fs::read_dir(folder)? {
                let entry = entry?;
                if entry.file_name().to_string_lossy().starts_with(&prefix) {
                    fs::remove_file(entry.path())?;
                }
            }
            named_file_in(folder, &prefix, PRIVATE)
        };
        let file = begin().map_err(|error| NamedError::io(path.display(), error))?;
        let (file, temporary) = file.into_parts();
        let store = TemporaryStore::in_file(file, folder, codec);
        Ok(Self { path: path.to_owned(), temporary, store })
    }

    /// Writes where the blocks are, and gives the file its name, once all of it is on the disk. The
    /// buckets are those of a range of keys that have any items.
    pub(super) fn finish(
        self,
        run: &str,
        keys: &Range<u64>,
        split: KeySplit,
        buckets: Vec<Bucket>,
    ) -> io::Result<()> {
        let Self { path, temporary, store } = self;
        let finish = || {
            let mut all = split.of(keys);
            for bucket in buckets {
                let number = (bucket.keys.start - keys.start) >> split.shift;
                all[number as usize] = bucket;
            }
            let items: Vec<u64> = all.iter().map(|bucket| bucket.items).collect();
            let (file, blocks) = store.into_file().ok_or_else(garbled)?;
            let mut output = BufWriter::new(file);
            let first = output.stream_position()?;
            writeln!(output, "{}", json!({"run": run, "shift": split.shift, "items": items}))?;
            for bucket in all {
                let place = |extent: &Extent| -> io::Result<[u64; 3]> {
                    let found = blocks.binary_search_by_key(&extent.offset, |block| block.start);
                    let block = &blocks[found.map_err(|_| garbled())?];
                    Ok([block.offset, block.bytes as u64, extent.bytes as u64])
                };
                let places = bucket.extents.iter().map(place).collect::<io::Result<Vec<_>>>()?;
                serde_json::to_writer(&mut output, &places)?;
                output.write_all(b"\n")?;
            }
            output.write_all(&first.to_le_bytes())?;
            let file = output.into_inner()?;
            // Before this returns, other machines need not see it, nor is it sure to fit the disk.
            file.sync_all()?;
            NamedTempFile::from_parts(file, temporary).persist(&path)?;
            Ok(())
        };
        finish().map_err(|error: io::Error| NamedError::io(path.display(), error))
    }
}
