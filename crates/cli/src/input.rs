//! [`Input`]: all that is read, joined to one text.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure};
use crate::progress::Progress;

/// How much is read between two looks at the progress.
const PIECE: u64 = 16 << 20;

/// All that was read.
pub(crate) struct Input {
    /// The inputs, one after the other, with a delimiter after each line, the last one too.
    pub(crate) text: Vec<u8>,
    /// Whether the last line came with its delimiter.
    pub(crate) is_terminated: bool,
}

impl Input {
    /// Reads files, or standard input if there are none.
    pub(crate) fn read(
        paths: &[PathBuf],
        delimiter: u8,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let sources = Source::all(paths);
        let size: Option<u64> = sources
            .iter()
            .map(|source| source.size().context(source))
            .sum::<Result<Option<u64>, _>>()?;
        progress.start_bytes("reading", size);

        let mut text = Vec::new();
        // One byte more for each delimiter that may be missing.
        let room = size.unwrap_or(0).saturating_add(sources.len() as u64);
        text.try_reserve_exact(usize::try_from(room).unwrap_or(usize::MAX)).context("input")?;
        for source in &sources {
            source.append_to(&mut text, delimiter, progress).context(source)?;
        }
        let is_terminated = text.last().is_none_or(|&last| last == delimiter);
        if !is_terminated {
            text.push(delimiter);
        }
        Ok(Self { text, is_terminated })
    }
}

/// One input.
enum Source<'a> {
    StandardInput,
    File(&'a Path),
}

impl<'a> Source<'a> {
    /// The inputs that the command line names.
    fn all(paths: &'a [PathBuf]) -> Vec<Self> {
        match paths {
            [] => vec![Self::StandardInput],
            paths => paths.iter().map(|path| Self::named(path)).collect(),
        }
    }

    fn named(path: &'a Path) -> Self {
        if path.as_os_str() == "-" { Self::StandardInput } else { Self::File(path) }
    }

    /// The number of bytes to come, if it can be known.
    fn size(&self) -> io::Result<Option<u64>> {
        match self {
            Self::StandardInput => Ok(None),
            Self::File(path) => match fs::metadata(path)? {
                found if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
                found => Ok(found.is_file().then_some(found.len())),
            },
        }
    }

    /// Reads to the end. A last line that was open before, of another input, is ended first.
    fn append_to(&self, text: &mut Vec<u8>, delimiter: u8, progress: &Progress) -> io::Result<()> {
        let before = text.len();
        if text.last().is_some_and(|&last| last != delimiter) {
            text.push(delimiter);
        }
        let start = text.len();
        match self {
            Self::StandardInput => read_to_end(io::stdin().lock(), text, progress)?,
            Self::File(path) => read_to_end(File::open(path)?, text, progress)?,
        }
        if text.len() == start {
            // Nothing came, so that line is still the last one, and still open.
            text.truncate(before);
        }
        Ok(())
    }
}

impl fmt::Display for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardInput => f.write_str("standard input"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

/// Reads a source to its end, piece by piece so that the progress is seen.
fn read_to_end(mut source: impl Read, text: &mut Vec<u8>, progress: &Progress) -> io::Result<()> {
    loop {
        let count = source.by_ref().take(PIECE).read_to_end(text)? as u64;
        progress.advance(count);
        if count < PIECE {
            return Ok(());
        }
    }
}
