//! [`Inputs`]: all that is read, joined to one text.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bijective_shuffle_cli::files::{Store, TemporaryFile};

use crate::failure::{Context, Failure};
use crate::progress::Progress;
use crate::text::Text;

/// How much is read between two looks at the progress.
const PIECE: u64 = 16 << 20;

/// The least size of a file that is mapped, which costs more than to read a small one.
#[cfg(unix)]
const LEAST_MAPPED: u64 = 1 << 20;

/// The inputs, one after the other. Each that is a regular file is left where it is; what comes
/// through a pipe is held in memory, or in a temporary file if it is too much.
pub(crate) struct Inputs {
    parts: Vec<Part>,
    /// What ends the last line of an input, if another one follows.
    delimiter: Option<u8>,
    /// The number of bytes, with the delimiters that are added.
    bytes: u64,
}

/// What is needed to open inputs.
pub(crate) struct Opening<'a> {
    /// What ends a line, if there are lines.
    pub(crate) delimiter: Option<u8>,
    /// How much of what comes through pipes may be held.
    pub(crate) memory: usize,
    pub(crate) temporary_folder: &'a Path,
    pub(crate) progress: &'a Progress,
}

/// One input.
struct Part {
    name: String,
    content: Content,
    /// What comes before it in its file: a header.
    start: u64,
    /// How many bytes it has.
    bytes: u64,
    /// Whether a delimiter follows that is not in it.
    is_ended: bool,
}

enum Content {
    /// A file, opened when its turn comes, as there may be more of them than can be open.
    Path {
        path: PathBuf,
        modified: Option<SystemTime>,
    },
    /// A file that was open, or has no name.
    Open(File),
    Memory(Vec<u8>),
}

impl Inputs {
    /// Opens files, or standard input if there are none. Pipes are read to their ends.
    pub(crate) fn open(paths: &[PathBuf], opening: &Opening) -> Result<Self, Failure> {
        opening.progress.start_bytes("reading", None);
        let mut held = opening.memory as u64;
        let standard_input = [PathBuf::from("-")];
        let paths = if paths.is_empty() { &standard_input } else { paths };
        let mut parts = Vec::new();
        for path in paths {
            let part = if path.as_os_str() == "-" {
                standard_input_part(&mut held, opening).context("standard input")?
            } else {
                named_part(path, &mut held, opening).context(path.display())?
            };
            parts.push(part);
        }
        let mut inputs = Self { parts, delimiter: opening.delimiter, bytes: 0 };
        inputs.join()?;
        Ok(inputs)
    }

    /// The lines that the command line itself has.
    pub(crate) fn of_lines<'a>(lines: impl Iterator<Item = &'a [u8]>, delimiter: u8) -> Self {
        let text = lines.flat_map(|line| line.iter().copied().chain([delimiter])).collect();
        let bytes = Vec::len(&text) as u64;
        let part = Part::new("arguments".to_owned(), Content::Memory(text), bytes);
        Self { parts: vec![part], delimiter: Some(delimiter), bytes }
    }

    /// Adds delimiters between inputs, and up the bytes.
    fn join(&mut self) -> Result<(), Failure> {
        let mut before: Option<&mut Part> = None;
        for part in self.parts.iter_mut().filter(|part| part.bytes > 0) {
            if let (Some(part), Some(delimiter)) = (before, self.delimiter) {
                let last = part.last().context(&part.name)?;
                part.is_ended = last != Some(delimiter);
            }
            before = Some(part);
        }
        self.bytes = self.parts.iter().map(Part::joined_bytes).sum();
        Ok(())
    }

    /// The number of bytes, with the delimiters that are added between inputs.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the inputs are called in messages.
    pub(crate) fn name(&self) -> &str {
        match self.parts.as_slice() {
            [part] => &part.name,
            _ => "the inputs",
        }
    }

    /// Leaves out the first bytes of each input, which are its header, and returns those of the
    /// first. `header` finds the length of one, given the name, the size of the input, and its
    /// first bytes.
    pub(crate) fn take_headers(
        &mut self,
        mut header: impl FnMut(&str, u64, &mut dyn Read) -> Result<u64, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        let mut first = None;
        for part in &mut self.parts {
            let mut reader = part.open().context(&part.name)?;
            let length = header(&part.name, part.bytes, &mut reader)?;
            if length > part.bytes {
                let why = format!("it has {} bytes, and no header of {length}", part.bytes);
                return Err(Failure::new(&part.name, why));
            }
            if first.is_none() {
                let mut reader = part.open().context(&part.name)?;
                let mut bytes = Vec::new();
                reader.by_ref().take(length).read_to_end(&mut bytes).context(&part.name)?;
                first = Some(bytes);
            }
            part.start += length;
            part.bytes -= length;
        }
        self.join()?;
        Ok(first.unwrap_or_default())
    }

    /// All of it, with room for one more byte. What was held is given away.
    pub(crate) fn take_text(&mut self, progress: &Progress) -> Result<Vec<u8>, Failure> {
        progress.start_bytes("reading", Some(self.bytes));
        if let [Part { content: Content::Memory(text), start: 0, .. }] = self.parts.as_mut_slice() {
            return Ok(std::mem::take(text));
        }
        let mut text = Vec::new();
        let room = self.bytes.saturating_add(1);
        text.try_reserve_exact(usize::try_from(room).unwrap_or(usize::MAX)).context("input")?;
        let mut reader = self.reader();
        loop {
            let piece = reader.by_ref().take(PIECE).read_to_end(&mut text);
            let count = piece.map_err(|error| self.failure(&error))? as u64;
            progress.advance(count);
            if count < PIECE {
                return Ok(text);
            }
        }
    }

    /// All of it, in which every line has its delimiter. A single file is mapped.
    ///
    /// Also returns whether the last delimiter was added.
    pub(crate) fn take_lines(
        &mut self,
        delimiter: u8,
        progress: &Progress,
    ) -> Result<(Text, bool), Failure> {
        #[cfg(unix)]
        if let [part @ Part { content: Content::Path { .. }, .. }] = self.parts.as_slice()
            && part.bytes >= LEAST_MAPPED
            && part.last().context(&part.name)? == Some(delimiter)
        {
            let text = part.map().map_err(|error| self.failure(&error))?;
            return Ok((text, false));
        }
        let mut text = self.take_text(progress)?;
        let is_open = text.last().is_some_and(|&last| last != delimiter);
        if is_open {
            text.push(delimiter);
        }
        Ok((Text::Read(text), is_open))
    }

    /// Checks that the files are as they were.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.parts
            .iter()
            .try_for_each(|part| part.check(&part.open()?))
            .map_err(|error| self.failure(&error))
    }

    /// Reads all of it, from the start.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { inputs: self, part: 0, at: 0, open: None }
    }

    /// What to say of an error met in reading. The reader names the input that it was met in.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        match error.get_ref().and_then(|inner| inner.downcast_ref::<PartError>()) {
            Some(PartError { name, why }) => Failure::new(name, why),
            None => Failure::new(self.name(), error),
        }
    }
}

/// An error, and the input that it was met in.
#[derive(Debug)]
struct PartError {
    name: String,
    why: String,
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
    fn new(name: String, content: Content, bytes: u64) -> Self {
        Self { name, content, start: 0, bytes, is_ended: false }
    }

    fn joined_bytes(&self) -> u64 {
        self.bytes + u64::from(self.is_ended)
    }

    fn error(&self, why: impl fmt::Display) -> io::Error {
        io::Error::other(PartError { name: self.name.clone(), why: why.to_string() })
    }

    /// Its last byte.
    fn last(&self) -> io::Result<Option<u8>> {
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
    fn open(&self) -> io::Result<OpenPart<'_>> {
        let mut open = match &self.content {
            Content::Path { path, .. } => OpenPart::File(File::open(path)?),
            Content::Open(file) => OpenPart::Shared(file),
            Content::Memory(text) => OpenPart::Memory(io::Cursor::new(text)),
        };
        open.seek(SeekFrom::Start(self.start))?;
        Ok(open)
    }

    /// All of it, mapped.
    #[cfg(unix)]
    fn map(&self) -> io::Result<Text> {
        let Content::Path { path, .. } = &self.content else {
            return Err(ErrorKind::InvalidInput.into());
        };
        let file = File::open(path).map_err(|error| self.error(error))?;
        let text = Text::map(&file).map_err(|error| self.error(error))?;
        self.check(&OpenPart::File(file))?;
        Ok(text)
    }

    /// Checks that a file has the size and the time of change that it had.
    fn check(&self, open: &OpenPart) -> io::Result<()> {
        let file = match open {
            OpenPart::File(file) => file,
            OpenPart::Shared(file) => file,
            OpenPart::Memory(_) => return Ok(()),
        };
        let found = file.metadata()?;
        let is_changed = match &self.content {
            Content::Path { modified, .. } => *modified != found.modified().ok(),
            _ => false,
        };
        if is_changed || found.len() != self.start + self.bytes {
            return Err(self.error(CHANGED));
        }
        Ok(())
    }
}

/// Standard input: a file that was opened for the program, or a pipe.
fn standard_input_part(held: &mut u64, opening: &Opening) -> io::Result<Part> {
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
            return Ok(Part { start, ..Part::new(name, Content::Open(file), bytes) });
        }
    }
    let (content, bytes) = spool(io::stdin().lock(), held, opening)?;
    Ok(Part::new(name, content, bytes))
}

fn named_part(path: &Path, held: &mut u64, opening: &Opening) -> io::Result<Part> {
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
            return Ok((Content::Open(file.into_file()), bytes));
        }
    }
}

/// A part that is being read.
enum OpenPart<'a> {
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

/// Reads the inputs, one after the other.
pub(crate) struct Reader<'a> {
    inputs: &'a Inputs,
    part: usize,
    /// How many of the part's bytes were read, with the delimiter that is added.
    at: u64,
    open: Option<OpenPart<'a>>,
}

impl Reader<'_> {
    /// Reads from a part that has bytes left.
    fn read_part(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let part = &self.inputs.parts[self.part];
        let open = match &mut self.open {
            Some(open) => open,
            none => {
                let mut open = part.open().map_err(|error| part.error(error))?;
                part.check(&open)?;
                let to = SeekFrom::Start(part.start + self.at);
                open.seek(to).map_err(|error| part.error(error))?;
                none.insert(open)
            }
        };
        let left = part.bytes - self.at;
        let room = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let read = match open.read(&mut out[..room]) {
            Ok(0) => return Err(part.error(CHANGED)),
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Err(error),
            Err(error) => return Err(part.error(error)),
        };
        if read as u64 == left {
            part.check(open)?;
        }
        Ok(read)
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(part) = self.inputs.parts.get(self.part) {
            if self.at < part.bytes {
                let read = self.read_part(out)?;
                self.at += read as u64;
                return Ok(read);
            }
            if let Some(delimiter) = self.inputs.delimiter.filter(|_| self.at < part.joined_bytes())
            {
                out[0] = delimiter;
                self.at += 1;
                return Ok(1);
            }
            (self.part, self.at, self.open) = (self.part + 1, 0, None);
        }
        Ok(0)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let before = self.inputs.parts[..self.part].iter().map(Part::joined_bytes).sum::<u64>();
        let here = before + self.at;
        let to = match to {
            SeekFrom::Start(to) => Some(to),
            SeekFrom::Current(by) => here.checked_add_signed(by),
            SeekFrom::End(by) => self.inputs.bytes.checked_add_signed(by),
        };
        let to = to.ok_or(ErrorKind::InvalidInput)?;
        if to != here {
            (self.part, self.at, self.open) = (0, to, None);
            while let Some(part) = self.inputs.parts.get(self.part)
                && self.at >= part.joined_bytes()
            {
                self.at -= part.joined_bytes();
                self.part += 1;
            }
        }
        Ok(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(texts: &[&[u8]], delimiter: Option<u8>) -> Inputs {
        let part = |text: &&[u8]| {
            Part::new("text".to_owned(), Content::Memory(text.to_vec()), text.len() as u64)
        };
        let mut inputs = Inputs { parts: texts.iter().map(part).collect(), delimiter, bytes: 0 };
        inputs.join().unwrap();
        inputs
    }

    #[test]
    fn reader_seeks_in_what_it_joins() {
        let inputs = inputs(&[b"", b"ab", b"", b"c\n", b"def", b""], Some(b'\n'));
        let whole = b"ab\nc\ndef";
        assert_eq!(inputs.bytes(), whole.len() as u64);
        let mut reader = inputs.reader();
        for from in (0..=whole.len()).chain((0..=whole.len()).rev()) {
            for count in 0..=whole.len() - from {
                let mut out = vec![0; count];
                assert_eq!(reader.seek(SeekFrom::Start(from as u64)).unwrap(), from as u64);
                reader.read_exact(&mut out).unwrap();
                assert_eq!(out, whole[from..from + count]);
                assert_eq!(reader.stream_position().unwrap(), (from + count) as u64);
            }
        }
        assert_eq!(reader.seek(SeekFrom::End(-1)).unwrap(), 7);
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).unwrap();
        assert_eq!(rest, b"f");
        assert!(reader.seek(SeekFrom::Current(-9)).is_err());
    }

    #[test]
    fn headers_are_left_out() {
        let mut inputs = inputs(&[b"HEAD12", b"head34"], None);
        let header = inputs.take_headers(|_, bytes, _| Ok(bytes - 2)).unwrap();
        assert_eq!(header, b"HEAD");
        assert_eq!(inputs.take_text(&Progress::new(None)).unwrap(), b"1234");
    }
}
