//! [`InPlaceFile`]: a file that is written where it is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bijective_shuffle_cli::files::{Store, TemporaryFile};

use crate::signals;

/// Up to so many bytes are held, and not kept in a temporary file.
const HELD: usize = 1 << 20;

/// A file that has other names, or is a mount point, or whose folder, owner or attributes do not
/// let another file take its place. It may also be one of the inputs, so all that is written is
/// kept elsewhere until the end.
pub(super) struct InPlaceFile {
    target: File,
    temporary_folder: PathBuf,
    held: Vec<u8>,
    /// What is before those bytes.
    stored: Option<TemporaryFile>,
}

impl InPlaceFile {
    /// A file that can be written.
    pub(super) fn new(target: File, temporary_folder: &Path) -> Self {
        let temporary_folder = temporary_folder.to_owned();
        Self { target, temporary_folder, held: Vec::new(), stored: None }
    }

    /// Writes all of it to the file.
    pub(super) fn commit(self) -> io::Result<()> {
        let Self { mut target, held, stored, .. } = self;
        let stored_bytes = stored.as_ref().map_or(0, Store::bytes);
        let bytes = stored_bytes + held.len() as u64;
        match stored {
            None => overwrite(&mut target, &mut held.as_slice(), bytes),
            Some(file) => {
                let mut file = file.into_file();
                file.seek(SeekFrom::Start(0))?;
                overwrite(&mut target, &mut file.chain(held.as_slice()), bytes)
            }
        }
    }

    fn store(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = match &mut self.stored {
            Some(file) => file,
            none => none.insert(TemporaryFile::in_folder(&self.temporary_folder)?),
        };
        file.append(&self.held)?;
        self.held.clear();
        file.append(bytes)
    }
}

impl Write for InPlaceFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.len() + bytes.len() <= HELD {
            self.held.extend_from_slice(bytes);
        } else {
            let fault =
                |error: io::Error| io::Error::new(error.kind(), format!("temporary file: {error}"));
            self.store(bytes).map_err(fault)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Puts the bytes of a source, which are so many, into a file in place of those that it has. A
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
