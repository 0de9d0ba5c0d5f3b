//! [`InPlaceFile`]: a file that is written where it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use bijective_shuffle_cli::dataset::{BlockCodec, TemporaryStore};
use bijective_shuffle_cli::files::Store;

use crate::signals;
use crate::temporary::temporary_error;

/// The most bytes that are held in memory. More go to a temporary file in pieces of this size, as
/// each takes a system call and an entry in the list of the store.
const PIECE: usize = 1 << 20;

/// A file that has other names, or is a mount point, or whose folder, owner or attributes do not
/// let another file take its place. It may also be one of the inputs, so all that is written is
/// kept elsewhere until the end.
pub(super) struct InPlaceFile {
    target: File,
    stored: TemporaryStore,
    /// The bytes that follow those in the store.
    held: Vec<u8>,
}

impl InPlaceFile {
    /// A file that can be written.
    pub(super) fn new(target: File, temporary_folder: &Path) -> io::Result<Self> {
        let folders = [temporary_folder.to_owned()];
        let stored = TemporaryStore::in_folders(&folders, BlockCodec::Plain, 0)?;
        Ok(Self { target, stored, held: Vec::new() })
    }

    /// Writes all of it to the file.
    pub(super) fn commit(mut self) -> io::Result<()> {
        let bytes = self.stored.bytes() + self.held.len() as u64;
        let mut all = Stored { store: &self.stored, at: 0 }.chain(self.held.as_slice());
        overwrite(&mut self.target, &mut all, bytes)
    }
}

impl Write for InPlaceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len() == PIECE {
            self.stored.append(&self.held).map_err(temporary_error)?;
            self.held.clear();
        }
        let count = bytes.len().min(PIECE - self.held.len());
        self.held.try_reserve(count)?;
        self.held.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads what is in a store, from a place on.
struct Stored<'s> {
    store: &'s TemporaryStore,
    at: u64,
}

impl Read for Stored<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.store.bytes() - self.at).unwrap_or(usize::MAX);
        let count = left.min(out.len());
        self.store.read_at(&mut out[..count], self.at)?;
        self.at += count as u64;
        Ok(count)
    }
}

/// Replaces the contents of a file by a source, which has this many bytes. A
/// signal that would end the program waits for the end of it.
pub(super) fn overwrite(target: &mut File, source: &mut dyn Read, bytes: u64) -> io::Result<()> {
    signals::undisturbed(|| {
        let old = target.metadata()?.len();
        if bytes > old
            && let Err(error) = reserve(target, bytes)
        {
            target.set_len(old)?;
            return Err(error);
        }
        target.seek(SeekFrom::Start(0))?;
        io::copy(source, target)?;
        target.set_len(bytes)
    })
}

/// Takes the room that a longer file needs, before anything of it is lost.
fn reserve(target: &File, bytes: u64) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{FallocateFlags, fallocate};
        use rustix::io::Errno;

        match fallocate(target, FallocateFlags::empty(), 0, bytes) {
            // Not every file system can tell.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            result => return result.map_err(io::Error::from),
        }
    }
    target.set_len(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn small_writes_are_stored_in_large_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let text: Vec<u8> = (0..3 * PIECE as u32 + 100).map(|k| (k % 251) as u8).collect();
        for (bytes, pieces) in [(0, 0), (PIECE, 0), (PIECE + 1, 1), (text.len(), 3)] {
            for step in [1000, 8192, 2 * PIECE] {
                fs::write(&path, "old").unwrap();
                let target = File::options().write(true).open(&path).unwrap();
                let mut file = InPlaceFile::new(target, folder.path()).unwrap();
                for block in text[..bytes].chunks(step) {
                    file.write_all(block).unwrap();
                }
                assert_eq!(file.stored.stored_blocks(), pieces, "{bytes} by {step}");
                file.commit().unwrap();
                assert!(fs::read(&path).unwrap() == text[..bytes], "{bytes} by {step}");
            }
        }
    }
}
