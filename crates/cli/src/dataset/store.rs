//! [`TemporaryStore`]: a store of memory and temporary files.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::files::{Store, TemporaryFile};

/// A store that holds its first bytes in memory, and all others in temporary files without names:
/// in one folder, or block by block in each of several, which may be on several disks.
#[derive(Debug)]
pub struct TemporaryStore {
    folders: Vec<PathBuf>,
    files: Vec<TemporaryFile>,
    /// How many of the files are those of others, to which nothing is appended.
    others: usize,
    codec: BlockCodec,
    held: Vec<u8>,
    most: usize,
    bytes: u64,
    /// The blocks in files, in their order.
    blocks: Vec<StoredBlock>,
}

/// How a [`TemporaryStore`] keeps blocks in its files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BlockCodec {
    /// As they are.
    #[default]
    Plain,
    /// Compressed by zstd, if that makes a block smaller.
    Zstd,
}

/// Where a block is.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoredBlock {
    /// Its offset in the store.
    pub(super) start: u64,
    file: usize,
    /// Its offset in the file, and how many bytes it has there: fewer if it is compressed.
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

/// The level of compression, which is the fastest.
const LEVEL: i32 = 1;

impl TemporaryStore {
    /// A store that holds its first `most` bytes in memory. Files are created in the folders when
    /// they are needed.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`] if there is no folder.
    pub fn in_folders(folders: &[PathBuf], codec: BlockCodec, most: usize) -> io::Result<Self> {
        if folders.is_empty() {
            return Err(ErrorKind::InvalidInput.into());
        }
        let (files, held, blocks) = (Vec::new(), Vec::new(), Vec::new());
        let folders = folders.to_vec();
        Ok(Self { folders, files, others: 0, codec, held, most, bytes: 0, blocks })
    }

    /// A store that is a single file, which is empty.
    pub(super) fn in_file(file: File, folder: &Path, codec: BlockCodec) -> Self {
        let (held, blocks) = (Vec::new(), Vec::new());
        let (folders, files) = (vec![folder.to_owned()], vec![TemporaryFile::of(file, folder)]);
        Self { folders, files, others: 0, codec, held, most: 0, bytes: 0, blocks }
    }

    /// The file that the store is, and the blocks in it.
    pub(super) fn into_file(mut self) -> Option<(File, Vec<StoredBlock>)> {
        Some((self.files.pop()?.into_file(), self.blocks))
    }

    /// A file of another store, of an empty one; returns its number.
    pub(super) fn adopt(&mut self, file: File) -> usize {
        self.files.push(TemporaryFile::of(file, Path::new("")));
        self.others += 1;
        self.others - 1
    }

    /// Takes in a block of another store, which has this number of bytes. It begins at an offset in
    /// a file that was adopted, and `stored` bytes of that are the block: fewer if it is
    /// compressed. Returns where it begins in this store.
    pub(super) fn take_in(&mut self, bytes: usize, file: usize, offset: u64, stored: usize) -> u64 {
        let start = self.bytes;
        self.blocks.push(StoredBlock { start, file, offset, bytes: stored });
        self.bytes += bytes as u64;
        start
    }
}

#[cfg(test)]
impl TemporaryStore {
    /// How many blocks are in files.
    pub(crate) fn stored_blocks(&self) -> usize {
        self.blocks.len()
    }
}

impl Store for TemporaryStore {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        if self.blocks.is_empty() && block.len() <= self.most - self.held.len() {
            let needed = self.held.len() + block.len();
            if needed > self.held.capacity() {
                // No more than may be held.
                let room = needed.max((2 * self.held.capacity()).min(self.most));
                self.held.try_reserve_exact(room - self.held.len())?;
            }
            self.held.extend_from_slice(block);
            self.bytes += block.len() as u64;
            return Ok(());
        }
        let file = match self.folders.get(self.files.len() - self.others) {
            Some(folder) => {
                self.files.push(TemporaryFile::in_folder(folder)?);
                self.files.len() - 1
            }
            None => self.others + self.blocks.len() % self.folders.len(),
        };
        let target = &mut self.files[file];
        let offset = target.bytes();
        let compressed = match self.codec {
            BlockCodec::Plain => None,
            BlockCodec::Zstd => Some(zstd::bulk::compress(block, LEVEL)?),
        };
        let compressed = compressed.filter(|bytes| bytes.len() < block.len());
        let stored = compressed.as_deref().unwrap_or(block);
        target.append(stored)?;
        self.blocks.push(StoredBlock { start: self.bytes, file, offset, bytes: stored.len() });
        self.bytes += block.len() as u64;
        Ok(())
    }

    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        let mut rest = block;
        let mut offset = offset;
        if let Some(held) = usize::try_from(offset).ok().and_then(|at| self.held.get(at..)) {
            let count = held.len().min(rest.len());
            let (own, others) = rest.split_at_mut(count);
            own.copy_from_slice(&held[..count]);
            (rest, offset) = (others, offset + count as u64);
        }
        while !rest.is_empty() {
            let number = self.blocks.partition_point(|block| block.start <= offset);
            let number = number.checked_sub(1).ok_or(ErrorKind::UnexpectedEof)?;
            let end = self.blocks.get(number + 1).map_or(self.bytes, |next| next.start);
            let StoredBlock { start, file, offset: at, bytes } = self.blocks[number];
            let left = end.checked_sub(offset).filter(|&left| left > 0);
            let left = left.ok_or(ErrorKind::UnexpectedEof)?;
            let count = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            let (own, others) = rest.split_at_mut(count);
            let skipped = offset - start;
            if (bytes as u64) < end - start {
                let mut compressed = vec![0; bytes];
                self.files[file].read_at(&mut compressed, at)?;
                let plain = zstd::bulk::decompress(&compressed, (end - start) as usize)?;
                let plain = plain.get(skipped as usize..).and_then(|rest| rest.get(..count));
                own.copy_from_slice(plain.ok_or(ErrorKind::InvalidData)?);
            } else {
                self.files[file].read_at(own, at + skipped)?;
            }
            (rest, offset) = (others, offset + count as u64);
        }
        Ok(())
    }

    fn release(&self, offset: u64, bytes: usize) {
        let found = self.blocks.binary_search_by_key(&offset, |block| block.start);
        let Ok(number) = found else { return };
        let end = self.blocks.get(number + 1).map_or(self.bytes, |next| next.start);
        let StoredBlock { file, offset: at, bytes: stored, .. } = self.blocks[number];
        // Another run may go on with the files of others.
        if file >= self.others && end - offset == bytes as u64 {
            self.files[file].release(at, stored);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_blocks_are_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let folders = [folder.path().to_owned(), folder.path().to_owned()];
        for folders in [&folders[..1], &folders] {
            for codec in [BlockCodec::Plain, BlockCodec::Zstd] {
                for most in [0, 100, 2500, 1 << 20] {
                    let mut store = TemporaryStore::in_folders(folders, codec, most).unwrap();
                    let mut whole = Vec::new();
                    for k in 0..40_usize {
                        let block = vec![k as u8; k * 37 % 200 + 1];
                        store.append(&block).unwrap();
                        whole.extend_from_slice(&block);
                    }
                    assert_eq!(store.bytes(), whole.len() as u64);
                    assert_eq!(store.files.is_empty(), most >= whole.len());
                    for start in (0..whole.len()).step_by(13) {
                        let mut out = vec![0; (whole.len() - start).min(500)];
                        store.read_at(&mut out, start as u64).unwrap();
                        assert_eq!(out, whole[start..start + out.len()]);
                    }
                    assert!(store.read_at(&mut [0; 2], whole.len() as u64 - 1).is_err());
                }
            }
        }
        assert!(TemporaryStore::in_folders(&[], BlockCodec::Plain, 1).is_err());
    }

    /// Nor is a block given back that is released in part.
    #[test]
    #[cfg(target_os = "linux")]
    fn unreleased_blocks_stay_readable() {
        // A tmpfs, where there is one.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let folders = [folder.path().to_owned()];
        let mut store = TemporaryStore::in_folders(&folders, BlockCodec::Plain, 0).unwrap();
        let blocks: Vec<Vec<u8>> = (1..=16).map(|k| vec![k; 1 << 16]).collect();
        blocks.iter().for_each(|block| store.append(block).unwrap());
        let starts: Vec<u64> = store.blocks.iter().map(|block| block.start).collect();
        for number in (0..16).step_by(2) {
            store.release(starts[number], 1 << 16);
            store.release(starts[number + 1], (1 << 16) - 1);
            store.release(starts[number + 1] + 1, (1 << 16) - 1);
        }
        for number in (1..16).step_by(2) {
            let mut out = vec![0; 1 << 16];
            store.read_at(&mut out, starts[number]).unwrap();
            assert_eq!(out, blocks[number]);
        }
        // Nothing is given back where there is no tmpfs.
        let mut first = vec![1; 1 << 16];
        store.read_at(&mut first, 0).unwrap();
        assert!(first == blocks[0] || first.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn files_of_other_workers_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let text = |k: usize| vec![k as u8; k * 37 % 200 + 1];
        let others = [BlockCodec::Plain, BlockCodec::Zstd].map(|codec| {
            let file = tempfile::tempfile_in(&folder).unwrap();
            let mut store = TemporaryStore::in_file(file, folder.path(), codec);
            (0..20).for_each(|k| store.append(&text(k)).unwrap());
            store.into_file().unwrap()
        });
        let folders = [folder.path().to_owned(), folder.path().to_owned()];
        let mut store = TemporaryStore::in_folders(&folders, BlockCodec::Plain, 0).unwrap();
        let mut whole = Vec::new();
        for (file, blocks) in others {
            let file = store.adopt(file);
            for k in [3, 0, 19, 7] {
                let StoredBlock { offset, bytes, .. } = blocks[k];
                let start = store.take_in(text(k).len(), file, offset, bytes);
                assert_eq!(start, whole.len() as u64);
                whole.extend(text(k));
            }
        }
        for k in 20..25 {
            store.append(&text(k)).unwrap();
            whole.extend(text(k));
        }
        assert_eq!((store.bytes(), store.files.len()), (whole.len() as u64, 4));
        for start in 0..whole.len() {
            let mut out = vec![0; (whole.len() - start).min(300)];
            store.read_at(&mut out, start as u64).unwrap();
            assert_eq!(out, whole[start..start + out.len()]);
        }
    }
}
