//! [`Shards`]: the files that records are written to, and [`ShardSink`], which takes them.

use std::io::{self, Write};
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Records;
use super::compress::{Frames, Hashed};
use crate::files::Pieces;
use crate::formats::{Codec, Compression};

/// The files that records are written to, in the order of the records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shards {
    list: Vec<Shard>,
}

/// A file that records are written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shard {
    /// Its name in the folder of all shards.
    pub name: PathBuf,
    /// How many records it gets.
    pub records: u64,
}

impl Shards {
    /// A single file for all records.
    pub fn single(name: impl Into<PathBuf>, records: u64) -> Self {
        Self { list: vec![Shard { name: name.into(), records }] }
    }

    /// This many files, such as `part-00017-of-00064.txt`, whose numbers of records differ by one
    /// at most. The extension may be empty.
    ///
    /// # Panics
    ///
    /// If there is no memory for a list of as many files.
    pub fn even(stem: &str, extension: &str, records: u64, count: u64) -> Self {
        let dot = if extension.is_empty() { "" } else { "." };
        // At most `records`.
        let bound = |k: u64| (u128::from(records) * u128::from(k) / u128::from(count)) as u64;
        let shard = |k: u64| Shard {
            name: format!("{stem}-{k:05}-of-{count:05}{dot}{extension}").into(),
            records: bound(k + 1) - bound(k),
        };
        let mut list = Vec::new();
        let room = usize::try_from(count).map(|count| list.try_reserve_exact(count));
        assert!(matches!(room, Ok(Ok(()))), "there is no memory for the names of {count} shards");
        list.extend((0..count).map(shard));
        Self { list }
    }

    /// The same files in a folder.
    #[must_use]
    pub fn in_folder(mut self, folder: &str) -> Self {
        for shard in &mut self.list {
            shard.name = Path::new(folder).join(&shard.name);
        }
        self
    }

    /// These files, and then others.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.list.extend(others.list);
        self
    }

    /// The files without the first ones.
    #[must_use]
    pub fn skip(mut self, count: usize) -> Self {
        self.list.drain(..count.min(self.list.len()));
        self
    }

    /// A range of the files.
    ///
    /// # Panics
    ///
    /// If there are no such files.
    #[must_use]
    pub fn range(&self, files: Range<usize>) -> Self {
        Self { list: self.list[files].to_vec() }
    }

    /// The files, in their order.
    pub fn list(&self) -> &[Shard] {
        &self.list
    }

    /// The number of records of all files, at most `u64::MAX`.
    pub fn records(&self) -> u64 {
        self.list.iter().map(|shard| shard.records).fold(0, u64::saturating_add)
    }

    fn ends(&self) -> Vec<u64> {
        let mut end = 0_u64;
        let ends = self.list.iter().map(|shard| {
            end = end.saturating_add(shard.records);
            end
        });
        ends.collect()
    }
}

/// A shard that was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WrittenShard {
    /// Its name in the folder of all shards.
    pub name: PathBuf,
    /// How many records it has.
    pub records: u64,
    /// How many bytes the file has.
    pub bytes: u64,
    /// The number of bytes after decompression.
    pub plain_bytes: u64,
    /// The SHA-256 of the file, in hexadecimal digits.
    pub sha256: String,
}

impl WrittenShard {
    /// Whether it has the name and the number of records of `shard`.
    pub fn is(&self, shard: &Shard) -> bool {
        (&self.name, self.records) == (&shard.name, shard.records)
    }
}

/// A destination of shards. Each should be there whole or not at all.
pub trait ShardSink: Send {
    /// A shard that is being written.
    type File: Write + Send;

    /// Begins a shard.
    ///
    /// # Errors
    ///
    /// Those of creating a file. They should name it, as a
    /// [`NamedError`](crate::files::NamedError) does.
    fn create(&mut self, name: &Path) -> io::Result<Self::File>;

    /// All of a shard is written, so that it takes its name.
    ///
    /// # Errors
    ///
    /// Those of writing a file.
    fn commit(&mut self, file: Self::File, shard: &WrittenShard) -> io::Result<()>;
}

/// The destination of records: shards, their compression and a sink.
#[derive(Debug)]
pub struct ShardTarget<'s, S> {
    /// The shards that they fill.
    pub shards: &'s Shards,
    /// How the shards are compressed.
    pub compression: Compression,
    /// The sink that takes the shards.
    pub sink: &'s mut S,
}

impl<W: Write + Send> Hashed<W> {
    /// All of a shard is written. Decompressed it has `plain_bytes`, or as many as were written.
    pub(crate) fn commit(
        mut self,
        sink: &mut impl ShardSink<File = W>,
        shard: &Shard,
        plain_bytes: Option<u64>,
    ) -> io::Result<WrittenShard> {
        self.flush()?;
        let (file, bytes, sha256) = self.finish();
        let (Shard { name, records }, plain_bytes) = (shard.clone(), plain_bytes.unwrap_or(bytes));
        let shard = WrittenShard { name, records, bytes, plain_bytes, sha256 };
        sink.commit(file, &shard)?;
        Ok(shard)
    }
}

/// Writes shards to a sink.
pub(super) struct ShardWriter<'s, S: ShardSink> {
    shards: &'s Shards,
    ends: Vec<u64>,
    /// What stands before and after the records of each shard.
    header: &'s [u8],
    trailer: &'static [u8],
    /// What is still to be compressed, if anything is.
    frames: Option<Frames>,
    /// How many shards were begun, and how many bytes the last of them has.
    begun: usize,
    bytes: u64,
    sink: &'s mut S,
    file: Option<Hashed<S::File>>,
    written: Vec<WrittenShard>,
}

impl<'s, S: ShardSink> ShardWriter<'s, S> {
    pub(super) fn new(
        target: ShardTarget<'s, S>,
        header: &'s [u8],
        records: &Records,
        memory: usize,
    ) -> Self {
        let ShardTarget { shards, compression, sink } = target;
        let (ends, trailer) = (shards.ends(), records.trailer());
        let is_plain = compression.codec() == Codec::Plain;
        let frames = (!is_plain).then(|| Frames::new(compression, memory));
        let (file, written) = (None, Vec::new());
        Self { shards, ends, header, trailer, frames, begun: 0, bytes: 0, sink, file, written }
    }

    /// Ends the shard that was begun last, and begins the next, if there is one.
    fn next(&mut self) -> io::Result<()> {
        if self.begun > 0 {
            self.put(self.trailer)?;
            let bytes = mem::take(&mut self.bytes);
            match &mut self.frames {
                Some(frames) => frames.end(bytes),
                None => self.append(b"", Some(bytes))?,
            }
        }
        self.begun += 1;
        if self.begun <= self.shards.list.len() { self.put(self.header) } else { Ok(()) }
    }

    /// More bytes of the shard that was begun last.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while !rest.is_empty() {
            let Some(frames) = &mut self.frames else { return self.append(rest, None) };
            if frames.are_full() {
                self.compress()?;
            } else {
                rest = &rest[frames.push(rest)..];
            }
        }
        Ok(())
    }

    /// Compresses what is whole and writes it.
    fn compress(&mut self) -> io::Result<()> {
        let Some(frames) = &mut self.frames else { return Ok(()) };
        let frames = frames.take()?;
        frames.into_iter().try_for_each(|(frame, bytes)| self.append(&frame, bytes))
    }

    /// More of the file that is written, which ends with it if the number of its bytes before they
    /// were compressed is known.
    fn append(&mut self, bytes: &[u8], plain_bytes: Option<u64>) -> io::Result<()> {
        let shard = &self.shards.list[self.written.len()];
        let mut file = match self.file.take() {
            Some(file) => file,
            None => Hashed::new(self.sink.create(&shard.name)?),
        };
        file.write_all(bytes)?;
        let Some(plain_bytes) = plain_bytes else {
            self.file = Some(file);
            return Ok(());
        };
        self.written.push(file.commit(self.sink, shard, Some(plain_bytes))?);
        Ok(())
    }

    /// Ends the last shard, and returns all of them.
    pub(super) fn finish(mut self) -> io::Result<Vec<WrittenShard>> {
        while self.begun <= self.shards.list.len() {
            self.next()?;
        }
        self.compress()?;
        Ok(self.written)
    }
}

impl<S: ShardSink> Pieces for ShardWriter<'_, S> {
    fn ends(&self) -> &[u64] {
        &self.ends
    }

    fn write(&mut self, piece: usize, items: &[u8]) -> io::Result<()> {
        while self.begun <= piece {
            self.next()?;
        }
        self.put(items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_records_than_can_be_counted_are_not_few() {
        let shards = Shards::single("a", u64::MAX).and(Shards::single("b", 5));
        assert_eq!((shards.records(), shards.ends()), (u64::MAX, vec![u64::MAX; 2]));
    }

    #[test]
    #[should_panic(expected = "no memory for the names of 1152921504606846976 shards")]
    fn more_shards_than_there_is_memory_for_are_refused() {
        Shards::even("part", "txt", 10, 1 << 60);
    }

    #[test]
    fn shards_are_even() {
        for (records, count) in [(0, 1), (0, 3), (1, 3), (10, 3), (64, 64), (1 << 40, 7)] {
            let shards = Shards::even("part", "txt", records, count);
            assert_eq!((shards.list().len() as u64, shards.records()), (count, records));
            assert!(shards.list().iter().all(|one| one.records.abs_diff(records / count) <= 1));
        }
        let shards = Shards::even("part", "jsonl.zst", 9, 64).in_folder("train");
        assert_eq!(shards.list()[17].name, Path::new("train/part-00017-of-00064.jsonl.zst"));
        assert_eq!(Shards::even("part", "", 9, 1).list()[0].name, Path::new("part-00000-of-00001"));
        let rest = shards.clone().and(Shards::single("x", 3)).skip(64);
        assert_eq!(rest, Shards::single("x", 3));
    }
}
