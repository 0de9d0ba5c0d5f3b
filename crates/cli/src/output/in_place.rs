//! [`InPlaceFile`]: a file that is written where it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use bijective_shuffle_cli::dataset::TemporaryStore;
use bijective_shuffle_cli::files::Store;

use crate::signals;
use crate::temporary::temporary_error;

/// The most bytes that are held in memory; more go to a temporary file.
const HELD: usize = 1 << 20;

/// A file that has other names, or is a mount point, or whose folder, owner or attributes do not
/// let another file take its place. It may also be one of the inputs, so all that is written is
/// kept elsewhere until the end.
pub(super) struct InPlaceFile {
    target: File,
    stored: TemporaryStore,
}

impl InPlaceFile {
    /// A file that can be written.
    pub(super) fn new(target: File, temporary_folder: &Path) -> io::Result<Self> {
        let stored = TemporaryStore::in_folders(&[temporary_folder.to_owned()], false, HELD)?;
        Ok(Self { target, stored })
    }

    /// Writes all of it to the file.
    pub(super) fn commit(mut self) -> io::Result<()> {
        let bytes = self.stored.bytes();
        overwrite(&mut self.target, &mut Stored { store: &self.stored, at: 0 }, bytes)
    }
}

impl Write for InPlaceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stored.append(bytes).map_err(temporary_error)?;
        Ok(bytes.len())
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
