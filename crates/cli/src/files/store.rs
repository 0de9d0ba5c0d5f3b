//! [`Store`]: where items wait between the two passes.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A place for bytes that are appended in large blocks and read at any offset.
///
/// # Examples
///
/// A store in memory, for a test:
///
/// ```
/// use std::io;
/// use bijective_shuffle_cli::files::Store;
///
/// struct Memory(Vec<u8>);
///
/// impl Store for Memory {
///     fn bytes(&self) -> u64 {
///         self.0.len() as u64
///     }
///     fn append(&mut self, block: &[u8]) -> io::Result<()> {
///         self.0.extend_from_slice(block);
///         Ok(())
///     }
///     fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
///         let rest = self.0.get(offset as usize..).unwrap_or_default();
///         io::Read::read_exact(&mut &*rest, block)
///     }
/// }
/// ```
pub trait Store: Send + Sync {
    /// The number of bytes that were appended.
    fn bytes(&self) -> u64;

    /// Appends a block.
    ///
    /// # Errors
    ///
    /// Those of writing.
    fn append(&mut self, block: &[u8]) -> io::Result<()>;

    /// Fills a block with the bytes from an offset on.
    ///
    /// # Errors
    ///
    /// Those of reading; it is one if there are not enough bytes.
    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()>;
}

impl<S: Store + ?Sized> Store for &mut S {
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        (**self).append(block)
    }

    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        (**self).read_at(block, offset)
    }
}

/// A temporary file that has no name, so that it is gone when the program ends, however it ends.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    folder: PathBuf,
    bytes: u64,
}

impl TemporaryFile {
    /// Creates an empty one in a folder.
    ///
    /// # Errors
    ///
    /// Those of creating a file there. They name the folder, and so do those of writing.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        // Of `tempfile`'s own errors some name a file that never was.
        let file = tempfile::tempfile_in(folder).map_err(|error| match error.raw_os_error() {
            Some(code) => named(folder, &io::Error::from_raw_os_error(code)),
            None => named(folder, &error.kind().into()),
        })?;
        Ok(Self { file, folder: folder.to_owned(), bytes: 0 })
    }

    /// The file itself, which is at its end.
    pub fn into_file(self) -> File {
        self.file
    }
}

impl Store for TemporaryFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        // The position is elsewhere after a block that was written in part, and where reading at an
        // offset moves it.
        io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.bytes))?;
        self.file.write_all(block).map_err(|error| named(&self.folder, &error))?;
        self.bytes += block.len() as u64;
        Ok(())
    }

    #[cfg(unix)]
    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, block, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut block: &mut [u8], mut offset: u64) -> io::Result<()> {
        while !block.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, block, offset)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => {
                    block = &mut block[read..];
                    offset += read as u64;
                }
            }
        }
        Ok(())
    }
}

/// An error, with the folder that it was met in.
fn named(folder: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", folder.display()))
}
