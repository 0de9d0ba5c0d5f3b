//! [`InputSource`]: one input, a file or what came through a pipe.

use std::error::Error;
use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bijective_shuffle_cli::files::{NamedError, Store, TemporaryFile};
use bijective_shuffle_cli::formats::{Format, LONGEST_MARK, LOOKED_AT};
use memchr::{memchr, memchr_iter};

use crate::progress::Progress;
use crate::streams;
use crate::temporary::temporary_error;
#[cfg(unix)]
use crate::text::Text;

/// How much is read between two looks at the progress.
pub(super) const PIECE: u64 = 16 << 20;

/// The least size of a file that is mapped, which costs more than to read a small one.
#[cfg(unix)]
pub(super) const LEAST_MAPPED: u64 = 1 << 20;

/// What is needed to open inputs.
pub(crate) struct Opening<'a> {
    /// What ends a line, if there are lines.
    pub(crate) delimiter: Option<u8>,
    /// Whether compressed files and archives are welcome.
    pub(crate) decodes: bool,
    /// Whether inputs are text whatever their first bytes say.
    pub(crate) is_text: bool,
    /// Whether inputs have to be known again by a run that goes on with this one, or by others.
    pub(crate) is_resumed: bool,
    /// How much of what comes through pipes may be held.
    pub(crate) memory: usize,
    /// The most bytes of a line that is not.
    pub(crate) longest: usize,
    pub(crate) temporary_folder: &'a Path,
    pub(crate) progress: &'a Progress,
}

impl Opening<'_> {
    /// Checks that a pipe is welcome, before any of it is read.
    fn check_pipe(&self) -> io::Result<()> {
        if !self.is_resumed {
            return Ok(());
        }
        let why = "is a pipe, whose contents --resume and --worker cannot verify: write it to a \
                   file first, or leave the options out";
        Err(io::Error::other(why))
    }
}

/// One input.
pub(super) struct InputSource {
    pub(super) name: String,
    pub(super) content: Content,
    /// When the file that it is was changed. A pipe has no such time.
    pub(super) modified: Option<SystemTime>,
    /// What comes before it in its file: a header.
    pub(super) start: u64,
    /// How many bytes it has.
    pub(super) bytes: u64,
    /// What ends its last line, which has no end of its own.
    pub(super) end: &'static [u8],
}

pub(super) enum Content {
    /// A file, opened when its turn comes, as there may be more of them than can be open.
    Path(PathBuf),
    /// A file that was open.
    Open(File),
    /// A file without a name, to which only the program itself has written.
    Spooled(File),
    Memory(Vec<u8>),
}

/// What is said of an input that is not what it was.
pub(crate) const CHANGED: &str = "changed while it was read";

impl InputSource {
    pub(super) fn new(name: String, content: Content, bytes: u64) -> Self {
        Self { name, content, modified: None, start: 0, bytes, end: b"" }
    }

    pub(super) fn joined_bytes(&self) -> u64 {
        self.bytes + self.end.len() as u64
    }

    pub(super) fn error(&self, why: impl Into<Box<dyn Error + Send + Sync>>) -> io::Error {
        NamedError::io(&self.name, why)
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

    /// What its last line lacks: nothing, or an end like those of the other lines.
    ///
    /// A carriage return before a newline is a part of the line, as a delimiter is one byte. Where
    /// all other lines have it, the last one gets it too: without it, what reads such lines would
    /// find two in one. Where only some have it, the line gets a newline and stays as it is.
    pub(super) fn missing_end(&self, delimiter: u8) -> io::Result<&'static [u8]> {
        Ok(match self.last()? {
            None => b"",
            Some(last) if last == delimiter => b"",
            Some(_) if delimiter == 0 => b"\0",
            Some(last) if last != b'\r' && self.lines_end_in_carriage_returns()? => b"\r\n",
            Some(_) => b"\n",
        })
    }

    /// Whether there are lines that end, and all of them have a carriage return before the newline.
    fn lines_end_in_carriage_returns(&self) -> io::Result<bool> {
        let mut reader = self.open()?.take(self.bytes);
        let (mut block, mut before, mut any) = (vec![0; 1 << 16], 0, false);
        loop {
            let read = match reader.read(&mut block) {
                Ok(0) => return Ok(any),
                Ok(read) => read,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let text = &block[..read];
            let byte_before = |at: usize| if at == 0 { before } else { text[at - 1] };
            if memchr_iter(b'\n', text).any(|at| byte_before(at) != b'\r') {
                return Ok(false);
            }
            any |= memchr(b'\n', text).is_some();
            before = text[read - 1];
        }
    }

    /// Its format, if that is a known one that has no lines with this end; none if they are any
    /// bytes.
    pub(super) fn format(&self, delimiter: Option<u8>) -> io::Result<Option<Format>> {
        let (mut start, mut end) = (Vec::new(), Vec::new());
        self.open()?.take(self.bytes.min(LOOKED_AT as u64)).read_to_end(&mut start)?;
        let most = LONGEST_MARK as u64;
        let mut reader = self.open()?;
        let tail = self.bytes - self.bytes.min(most);
        reader.seek(SeekFrom::Start(self.start + tail))?;
        reader.take(most).read_to_end(&mut end)?;
        let format = Format::of(&start, Some((&end, self.bytes)), delimiter);
        Ok(format.or_else(|| Format::of_cut(Path::new(&self.name), &start)))
    }

    /// Opens it at its start.
    pub(super) fn open(&self) -> io::Result<OpenSource<'_>> {
        let mut open = match &self.content {
            Content::Path(path) => OpenSource::File(File::open(path)?),
            Content::Open(file) | Content::Spooled(file) => OpenSource::Shared(file),
            Content::Memory(text) => OpenSource::Memory(io::Cursor::new(text)),
        };
        open.seek(SeekFrom::Start(self.start))?;
        Ok(open)
    }

    /// Reads it from this offset on, if it does not change.
    pub(super) fn reader(&self, bytes: u64) -> io::Result<SourceReader<'_>> {
        let mut open = self.open().map_err(|error| self.error(error))?;
        self.check(&open)?;
        if bytes > 0 {
            open.seek(SeekFrom::Start(self.start + bytes)).map_err(|error| self.error(error))?;
        }
        Ok(SourceReader { source: self, open, left: self.bytes.saturating_sub(bytes) })
    }

    /// All of it, mapped.
    #[cfg(unix)]
    pub(super) fn map(&self) -> io::Result<Text> {
        let Content::Path(path) = &self.content else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let file = File::open(path).map_err(|error| self.error(error))?;
        let text = Text::map(&file).map_err(|error| self.error(error))?;
        self.check(&OpenSource::File(file))?;
        Ok(text)
    }

    /// Checks that a file has the size and the time of change that it had.
    pub(super) fn check(&self, open: &OpenSource) -> io::Result<()> {
        let file = match open {
            OpenSource::File(file) => file,
            OpenSource::Shared(file) => file,
            OpenSource::Memory(_) => return Ok(()),
        };
        let found = file.metadata()?;
        let is_changed = matches!(self.content, Content::Path(_) | Content::Open(_))
            && self.modified.is_some()
            && self.modified != found.modified().ok();
        if is_changed || found.len() != self.start + self.bytes {
            return Err(self.error(CHANGED));
        }
        Ok(())
    }
}

/// Reads a source to its end, if it does not change.
pub(super) struct SourceReader<'a> {
    source: &'a InputSource,
    open: OpenSource<'a>,
    left: u64,
}

impl Read for SourceReader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let room = out.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if room == 0 {
            return Ok(0);
        }
        let read = match self.open.read(&mut out[..room]) {
            Ok(0) => return Err(self.source.error(CHANGED)),
            Err(error) if error.kind() != ErrorKind::Interrupted => {
                return Err(self.source.error(error));
            }
            read => read?,
        };
        self.left -= read as u64;
        if self.left == 0 {
            self.source.check(&self.open)?;
        }
        Ok(read)
    }
}

impl bijective_shuffle_cli::dataset::Input for &InputSource {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn held(&self) -> usize {
        match &self.content {
            Content::Memory(text) => text.capacity(),
            _ => 0,
        }
    }

    fn open(&self) -> io::Result<Box<dyn Read + Send + '_>> {
        Ok(Box::new(self.reader(0)?))
    }

    fn open_at(&self, bytes: u64) -> io::Result<Option<Box<dyn Read + Send + '_>>> {
        // Readers of a file that was open move each other's position.
        let Content::Path(_) = self.content else { return Ok(None) };
        Ok(Some(Box::new(self.reader(bytes)?)))
    }
}

/// Standard input: a file that was opened for the program, or a pipe.
pub(super) fn standard_input_source(held: &mut u64, opening: &Opening) -> io::Result<InputSource> {
    let name = "standard input".to_owned();
    streams::check_input()?;
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;

        let mut file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
        let found = file.metadata()?;
        if found.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if has_true_size(&found) {
            let start = file.stream_position()?.min(found.len());
            // It is read, as far as others can see who have the same file open.
            file.seek(SeekFrom::End(0))?;
            let bytes = found.len() - start;
            let modified = found.modified().ok();
            let source = InputSource::new(name, Content::Open(file), bytes);
            return Ok(InputSource { start, modified, ..source });
        }
    }
    opening.check_pipe()?;
    let (content, bytes) = spool(io::stdin().lock(), held, opening)?;
    Ok(InputSource::new(name, content, bytes))
}

pub(super) fn named_source(
    path: &Path,
    held: &mut u64,
    opening: &Opening,
) -> io::Result<InputSource> {
    let name = path.display().to_string();
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    let modified = found.modified().ok().filter(|_| found.is_file());
    if has_true_size(&found) {
        let source = InputSource::new(name, Content::Path(path.to_owned()), found.len());
        return Ok(InputSource { modified, ..source });
    }
    if !found.is_file() {
        opening.check_pipe()?;
    }
    let (content, bytes) = spool(file, held, opening)?;
    Ok(InputSource { modified, ..InputSource::new(name, content, bytes) })
}

/// Whether a file is as long as it says. Some files of the system say that they are empty, and are
/// not. Others say that they have a page, and have less, and no room on a disk. A small file that
/// is a hole is taken for one of them, and read like them.
fn has_true_size(found: &Metadata) -> bool {
    #[cfg(unix)]
    let is_of_system = std::os::unix::fs::MetadataExt::blocks(found) == 0 && found.len() <= 1 << 16;
    #[cfg(not(unix))]
    let is_of_system = false;
    found.is_file() && found.len() > 0 && !is_of_system
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
        progress.advance(count)?;
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
    // What is compressed, or an archive, has no lines yet.
    let format = Format::of(&text, None, opening.delimiter).filter(|_| opening.decodes);
    // Zeros without an end are no archive.
    let is_encoded = format.is_some_and(|format| format.is_decoded() && !format.may_be_text());
    let delimiter = opening.delimiter.filter(|_| !is_encoded);
    let mut lines = delimiter.map(|delimiter| LongLines::new(delimiter, opening.longest));
    let mut file = TemporaryFile::in_folder(temporary_folder).map_err(temporary_error)?;
    loop {
        if let Some(lines) = &mut lines {
            lines.check(&text)?;
        }
        file.append(&text).map_err(temporary_error)?;
        text.clear();
        // Of what the text has grown to, only this is used from now on.
        text.shrink_to(1 << 20);
        let count = source.by_ref().take(1 << 20).read_to_end(&mut text)? as u64;
        progress.advance(count)?;
        if count == 0 {
            let bytes = file.bytes();
            return Ok((Content::Spooled(file.into_file()), bytes));
        }
    }
}

/// Looks for lines that are too long to be shuffled, so that one without an end does not fill the
/// disk before that is known.
struct LongLines {
    delimiter: u8,
    most: usize,
    /// The number of lines that have ended.
    lines: u64,
    /// The number of bytes of the line that has not.
    open: usize,
}

impl LongLines {
    fn new(delimiter: u8, most: usize) -> Self {
        Self { delimiter, most, lines: 0, open: 0 }
    }

    /// Looks at more of the text.
    fn check(&mut self, text: &[u8]) -> io::Result<()> {
        let mut start = 0;
        // The last piece goes on.
        for end in memchr_iter(self.delimiter, text).map(|at| at + 1).chain([text.len()]) {
            self.open += end - start;
            if self.open > self.most {
                return Err(io::Error::other(too_long(self.lines + 1, self.most)));
            }
            if end > start && text[end - 1] == self.delimiter {
                (self.lines, self.open) = (self.lines + 1, 0);
            }
            start = end;
        }
        Ok(())
    }
}

/// What is said of a line, counted from 1, or of one near it.
pub(crate) fn too_long(line: u64, most: usize) -> String {
    format!("line {line} or one near has more than {most} bytes: raise --memory")
}

/// A source that is being read.
pub(super) enum OpenSource<'a> {
    File(File),
    /// Reading it moves the position of its owner, which seeks first.
    Shared(&'a File),
    Memory(io::Cursor<&'a Vec<u8>>),
}

impl Read for OpenSource<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Shared(file) => file.read(bytes),
            Self::Memory(text) => text.read(bytes),
        }
    }
}

impl Seek for OpenSource<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match self {
            Self::File(file) => file.seek(to),
            Self::Shared(file) => file.seek(to),
            Self::Memory(text) => text.seek(to),
        }
    }
}
