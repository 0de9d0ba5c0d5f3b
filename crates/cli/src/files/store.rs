//! [`Store`]: where items wait between the two passes.

use std::fs::File;
#[cfg(any(test, not(unix)))]
use std::io::ErrorKind;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::formats::reworded;

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

    /// Says that these bytes, from an offset on, are not read again, so that a store in memory may
    /// give their room back.
    fn release(&self, offset: u64, bytes: usize) {
        let _ = (offset, bytes);
    }
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

    fn release(&self, offset: u64, bytes: usize) {
        (**self).release(offset, bytes);
    }
}

/// A temporary file that has no name, so that it is gone when the program ends, however it ends.
///
/// On Unix it leaves 256 MiB free where it is, or a sixteenth of the room there if that is less:
/// [`append`](Store::append) fails before that.
#[derive(Debug)]
pub struct TemporaryFile {
    file: File,
    folder: PathBuf,
    bytes: u64,
    /// How many bytes may be appended before the free room is looked at again.
    granted: u64,
    /// Whether it is in a tmpfs.
    #[cfg(target_os = "linux")]
    is_in_memory: bool,
}

/// The most bytes that are appended between two looks at the free room.
const STEP: u64 = 16 << 20;

/// What is left free where temporary files are, or a sixteenth of all the room there if that is
/// less. An input may be endless, and other programs need some room too.
const RESERVE: u64 = 256 << 20;

/// What statfs(2) calls a tmpfs.
#[cfg(target_os = "linux")]
const TMPFS: rustix::fs::FsWord = 0x0102_1994;

impl TemporaryFile {
    /// Creates an empty one in a folder.
    ///
    /// # Errors
    ///
    /// Those of creating a file there. They name the folder, and so do those of writing.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        // Of `tempfile`'s own errors some name a file that never was.
        let file = tempfile::tempfile_in(folder).map_err(|error| match error.raw_os_error() {
            Some(code) => named(folder, io::Error::from_raw_os_error(code)),
            None => named(folder, error.kind().into()),
        })?;
        Ok(Self::of(file, folder))
    }

    /// An empty file that may have a name, in a folder.
    pub(crate) fn of(file: File, folder: &Path) -> Self {
        #[cfg(target_os = "linux")]
        let is_in_memory = rustix::fs::fstatfs(&file).is_ok_and(|found| found.f_type == TMPFS);
        Self {
            file,
            folder: folder.to_owned(),
            bytes: 0,
            granted: 0,
            #[cfg(target_os = "linux")]
            is_in_memory,
        }
    }

    /// The file itself, which is at its end.
    pub fn into_file(self) -> File {
        self.file
    }

    /// Checks that this many more bytes leave enough room free.
    fn check_room(&mut self, bytes: u64) -> io::Result<()> {
        if bytes > self.granted {
            let Some((free, all)) = room(&self.file) else { return Ok(()) };
            let reserve = RESERVE.min(all / 16);
            let left = free.saturating_sub(reserve);
            if bytes > left {
                let reserve = match reserve >> 20 {
                    0 => format!("{} KiB", reserve >> 10),
                    mebibytes => format!("{mebibytes} MiB"),
                };
                let (folder, full) = (self.folder.display(), full());
                let text = format!("{folder}: {reserve} are kept free: {full}");
                return Err(reworded(full, text));
            }
            self.granted = left.min(bytes.max(STEP));
        }
        self.granted -= bytes;
        Ok(())
    }
}

/// What the system would say before long.
fn full() -> io::Error {
    #[cfg(unix)]
    return rustix::io::Errno::NOSPC.into();
    #[cfg(not(unix))]
    ErrorKind::StorageFull.into()
}

/// How many bytes are free where a file is, and how many there are, if that is known.
fn room(file: &File) -> Option<(u64, u64)> {
    #[cfg(unix)]
    {
        let found = rustix::fs::fstatvfs(file).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        (found.f_blocks > 0).then(|| (bytes(found.f_bavail), bytes(found.f_blocks)))
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        None
    }
}

impl Store for TemporaryFile {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        self.check_room(block.len() as u64)?;
        // The position is elsewhere after a block that was written in part, and where reading at an
        // offset moves it.
        io::Seek::seek(&mut self.file, io::SeekFrom::Start(self.bytes))?;
        self.file.write_all(block).map_err(|error| named(&self.folder, error))?;
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

    /// Where the file is in memory, the output takes the room at once. Elsewhere that would take
    /// longer than it saves: ext4 first writes to the disk what it then gives back.
    #[cfg(target_os = "linux")]
    fn release(&self, offset: u64, bytes: usize) {
        use rustix::fs::FallocateFlags;
        if self.is_in_memory {
            let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            // The room stays taken where this fails, and nothing else is lost.
            let _ = rustix::fs::fallocate(&self.file, hole, offset, bytes as u64);
        }
    }
}

/// An error, with the folder that it was met in.
fn named(folder: &Path, error: io::Error) -> io::Error {
    let text = format!("{}: {error}", folder.display());
    reworded(error, text)
}

/// The mode of a file that only its owner can read.
pub(crate) const PRIVATE: u32 = 0o600;

/// A new file in a folder, with a name that begins so and a mode where there are any. Its errors
/// have the number of the system, which those of `tempfile` have only in their text.
pub(crate) fn named_file_in(folder: &Path, prefix: &str, mode: u32) -> io::Result<NamedTempFile> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, mode);
    #[cfg(not(unix))]
    let _ = mode;
    tempfile::Builder::new().prefix(prefix).make_in(folder, |path| {
        options.open(path).map_err(|error| {
            let text = format!("{error} at path {path:?}");
            reworded(error, text)
        })
    })
}

/// A store in memory for tests, which is full at some point. What was released is garbled.
#[cfg(test)]
pub(crate) struct Memory {
    bytes: std::sync::RwLock<Vec<u8>>,
    most: usize,
}

#[cfg(test)]
impl Memory {
    pub(crate) fn new(most: usize) -> Self {
        Self { bytes: Vec::new().into(), most }
    }
}

#[cfg(test)]
impl Store for Memory {
    fn bytes(&self) -> u64 {
        self.bytes.read().unwrap().len() as u64
    }

    fn append(&mut self, block: &[u8]) -> io::Result<()> {
        let bytes = self.bytes.get_mut().unwrap();
        if bytes.len() + block.len() > self.most {
            return Err(ErrorKind::StorageFull.into());
        }
        bytes.extend_from_slice(block);
        Ok(())
    }

    fn read_at(&self, block: &mut [u8], offset: u64) -> io::Result<()> {
        let bytes = self.bytes.read().unwrap();
        block.copy_from_slice(&bytes[offset as usize..][..block.len()]);
        Ok(())
    }

    fn release(&self, offset: u64, bytes: usize) {
        self.bytes.write().unwrap()[offset as usize..][..bytes].fill(0xA5);
    }
}
