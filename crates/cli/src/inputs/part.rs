//! [`Part`]: one input, a file or what came through a pipe.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bijective_shuffle_cli::files::{Store, TemporaryFile};

use crate::text::Text;

use super::Opening;

/// How much is read between two looks at the progress.
pub(super) const PIECE: u64 = 16 << 20;

/// The least size of a file that is mapped, which costs more than to read a small one.
#[cfg(unix)]
pub(super) const LEAST_MAPPED: u64 = 1 << 20;

/// One input.
pub(super) struct Part {
    pub(super) name: String,
    pub(super) content: Content,
    /// What comes before it in its file: a header.
    pub(super) start: u64,
    /// How many bytes it has.
    pub(super) bytes: u64,
    /// Whether a delimiter follows that is not in it.
    pub(super) is_ended: bool,
}

pub(super) enum Content {
    /// A file, opened when its turn comes, as there may be more of them than can be open.
    Path {
        path: PathBuf,
        modified: Option<SystemTime>,
    },
    /// A file that was open, or has no name. Only the program itself writes to the latter, and
    /// nothing is kept of when.
    Open {
        file: File,
        modified: Option<SystemTime>,
    },
    Memory(Vec<u8>),
}

/// An error, and the input that it was met in.
#[derive(Debug)]
pub(super) struct PartError {
    pub(super) name: String,
    pub(super) why: String,
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.why)
    }
}

impl std::error::Error for PartError {}

/// What is said of an input that is not what it was.
pub(crate) const CHANGED: &str = "changed while it was read";

impl Part {
    pub(super) fn new(name: String, content: Content, bytes: u64) -> Self {
        Self { name, content, start: 0, bytes, is_ended: false }
    }

    pub(super) fn joined_bytes(&self) -> u64 {
        self.bytes + u64::from(self.is_ended)
    }

    pub(super) fn error(&self, why: impl fmt::Display) -> io::Error {
        io::Error::other(PartError { name: self.name.clone(), why: why.to_string() })
    }

    /// Its last byte.
    pub(super) fn last(&self) -> io::Result<Option<u8>> {
        let Some(before) = self.bytes.checked_sub(1) else { return Ok(None) };
        let mut last = [0];
        let mut reader = self.open()?;
        reader.seek(SeekFrom::Start(self.start + before))?;
        match reader.read(&mut last)? {
            0 => Err(io::Error::other(CHANGED)),
            _ => Ok(Some(last[0])),
        }
    }

    /// Opens it at its start.
    pub(super) fn open(&self) -> io::Result<OpenPart<'_>> {
        let mut open = match &self.content {
            Content::Path { path, .. } => OpenPart::File(File::open(path)?),
            Content::Open { file, .. } => OpenPart::Shared(file),
            Content::Memory(text) => OpenPart::Memory(io::Cursor::new(text)),
        };
        open.seek(SeekFrom::Start(self.start))?;
        Ok(open)
    }

    /// All of it, mapped.
    #[cfg(unix)]
    pub(super) fn map(&self) -> io::Result<Text> {
        let Content::Path { path, .. } = &self.content else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let file = File::open(path).map_err(|error| self.error(error))?;
        let text = Text::map(&file).map_err(|error| self.error(error))?;
        self.check(&OpenPart::File(file))?;
        Ok(text)
    }

    /// Checks that a file has the size and the time of change that it had.
    pub(super) fn check(&self, open: &OpenPart) -> io::Result<()> {
        let file = match open {
            OpenPart::File(file) => file,
            OpenPart::Shared(file) => file,
            OpenPart::Memory(_) => return Ok(()),
        };
        let found = file.metadata()?;
        let is_changed = match &self.content {
            Content::Path { modified, .. } | Content::Open { modified, .. } => {
                modified.is_some() && *modified != found.modified().ok()
            }
            Content::Memory(_) => false,
        };
        if is_changed || found.len() != self.start + self.bytes {
            return Err(self.error(CHANGED));
        }
        Ok(())
    }
}

/// Standard input: a file that was opened for the program, or a pipe.
pub(super) fn standard_input_part(held: &mut u64, opening: &Opening) -> io::Result<Part> {
    let name = "standard input".to_owned();
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;

        let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if found.is_file() && found.len() > 0 {
            let start = file.stream_position()?.min(found.len());
            // It is read, as far as others can see who have the same file open.
            file.seek(SeekFrom::End(0))?;
            let bytes = found.len() - start;
            let content = Content::Open { file, modified: found.modified().ok() };
            return Ok(Part { start, ..Part::new(name, content, bytes) });
        }
    }
    let (content, bytes) = spool(io::stdin().lock(), held, opening)?;
    Ok(Part::new(name, content, bytes))
}

pub(super) fn named_part(path: &Path, held: &mut u64, opening: &Opening) -> io::Result<Part> {
    let name = path.display().to_string();
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    // Some files of the system say that they are empty, and are not.
    if found.is_file() && found.len() > 0 {
        let content = Content::Path { path: path.to_owned(), modified: found.modified().ok() };
        return Ok(Part::new(name, content, found.len()));
    }
    let (content, bytes) = spool(file, held, opening)?;
    Ok(Part::new(name, content, bytes))
}

/// Reads a source to its end: to memory, as long as there is any of what may be held, and to a
/// temporary file from then on.
fn spool(mut source: impl Read, held: &mut u64, opening: &Opening) -> io::Result<(Content, u64)> {
    let Opening { temporary_folder, progress, .. } = *opening;
    let may_hold = *held;
    let mut text = Vec::new();
    loop {
        let step = PIECE.min(*held + 1);
        let count = source.by_ref().take(step).read_to_end(&mut text)? as u64;
        progress.advance(count);
        if count < step {
            *held -= count;
            let bytes = text.len() as u64;
            return Ok((Content::Memory(text), bytes));
        }
        if count > *held {
            break;
        }
        *held -= count;
    }
    // None of it is held.
    *held = may_hold;
    let fault = |error: io::Error| io::Error::new(error.kind(), format!("temporary file: {error}"));
    let mut file = TemporaryFile::in_folder(temporary_folder).map_err(fault)?;
    loop {
        file.append(&text).map_err(fault)?;
        text.clear();
        // Of what the text has grown to, only this is used from now on.
        text.shrink_to(1 << 20);
        let count = source.by_ref().take(1 << 20).read_to_end(&mut text)? as u64;
        progress.advance(count);
        if count == 0 {
            let bytes = file.bytes();
            let content = Content::Open { file: file.into_file(), modified: None };
            return Ok((content, bytes));
        }
    }
}

/// A part that is being read.
pub(super) enum OpenPart<'a> {
    File(File),
    /// Reading it moves the position of its owner, which seeks first.
    Shared(&'a File),
    Memory(io::Cursor<&'a Vec<u8>>),
}

impl Read for OpenPart<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Shared(file) => file.read(bytes),
            Self::Memory(text) => text.read(bytes),
        }
    }
}

impl Seek for OpenPart<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Shared(file) => file.seek(to),
            Self::Memory(text) => text.seek(to),
        }
    }
}
