//! [`Inputs`]: all that is read, joined to one text.

mod reader;
mod source;

use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use crate::failure::{Failure, FailureContext};
use crate::progress::Progress;
use crate::text::Text;

#[cfg(unix)]
use source::LEAST_MAPPED;
use source::{Content, InputSource, PIECE, named_source, standard_input_source};

pub(crate) use source::{CHANGED, Opening, too_long};

/// The inputs, one after the other. Each that is a regular file is left where it is; what comes
/// through a pipe is held in memory, or in a temporary file if it is too much.
pub(crate) struct Inputs {
    sources: Vec<InputSource>,
    /// What ends a line, if there are lines.
    delimiter: Option<u8>,
    /// The number of bytes, with the ends that are added.
    bytes: u64,
    /// Whether some have to be decoded before they have lines.
    are_encoded: bool,
}

impl Inputs {
    /// Opens files, or standard input if there are none. Pipes are read to their ends.
    pub(crate) fn open(paths: &[PathBuf], opening: &Opening) -> Result<Self, Failure> {
        opening.progress.start_bytes("reading", None);
        let mut held = opening.memory as u64;
        let standard_input = [PathBuf::from("-")];
        let paths = if paths.is_empty() { &standard_input } else { paths };
        let mut sources = Vec::new();
        for path in paths {
            let source = if path.as_os_str() == "-" {
                standard_input_source(&mut held, opening).context("standard input")?
            } else {
                named_source(path, &mut held, opening).context(path.display())?
            };
            sources.push(source);
        }
        let (delimiter, are_encoded) = (opening.delimiter, false);
        let mut inputs = Self { sources, delimiter, bytes: 0, are_encoded };
        if let Some(delimiter) = delimiter {
            inputs.are_encoded = inputs.check_formats_but(delimiter, opening)?;
        }
        if !inputs.are_encoded {
            inputs.join()?;
        }
        Ok(inputs)
    }

    /// Checks that none has a format without lines, except those that are decoded. Returns whether
    /// there are such.
    fn check_formats_but(&self, delimiter: u8, opening: &Opening) -> Result<bool, Failure> {
        let mut any = false;
        // Text has any bytes if that is said.
        let delimiter = (!opening.is_text).then_some(delimiter);
        for source in &self.sources {
            match source.format(delimiter).context(&source.name)? {
                None => {}
                Some(format) if opening.decodes && format.is_decoded() => any = true,
                Some(format) if opening.is_text && format.may_be_text() => {}
                Some(format) => return Err(Failure::new(&source.name, format.to_string())),
            }
        }
        Ok(any)
    }

    /// Ends the last line of each input, and counts the bytes of all.
    fn join(&mut self) -> Result<(), Failure> {
        if let Some(delimiter) = self.delimiter {
            for source in &mut self.sources {
                source.end = source.missing_end(delimiter).context(&source.name)?;
            }
        }
        self.bytes = self.sources.iter().map(InputSource::joined_bytes).sum();
        Ok(())
    }

    /// Whether some have to be decoded before they have lines.
    pub(crate) fn are_encoded(&self) -> bool {
        self.are_encoded
    }

    /// The inputs, one by one.
    pub(crate) fn sources(
        &self,
    ) -> impl Iterator<Item = impl bijective_shuffle_cli::dataset::Input + '_> {
        self.sources.iter()
    }

    /// What the first input is called.
    pub(crate) fn first_name(&self) -> &str {
        self.sources.first().map_or("", |source| source.name.as_str())
    }

    /// A text that is another one if the inputs are others, or have changed.
    pub(crate) fn stamp(&self) -> String {
        stamp(self.sources.iter().map(|source| (&source.name, source.bytes, source.modified)))
    }

    /// The number of bytes, with the ends that are added.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of inputs without a byte.
    pub(crate) fn empty(&self) -> u64 {
        self.sources.iter().filter(|source| source.bytes == 0).count() as u64
    }

    /// The number of last lines that had no end.
    pub(crate) fn ends_added(&self) -> u64 {
        self.sources.iter().filter(|source| !source.end.is_empty()).count() as u64
    }

    /// What the inputs are called in messages.
    pub(crate) fn name(&self) -> &str {
        match self.sources.as_slice() {
            [source] => &source.name,
            _ => "the inputs",
        }
    }

    /// Leaves out the first bytes of each input, which are its header, and returns those of the
    /// first that has one. `header` finds the length of one, given the name, the size of the input,
    /// and its first bytes.
    pub(crate) fn take_headers(
        &mut self,
        mut header: impl FnMut(&str, u64, &mut dyn Read) -> Result<u64, Failure>,
    ) -> Result<Vec<u8>, Failure> {
        let mut first = None;
        for source in &mut self.sources {
            let mut reader = source.open().context(&source.name)?;
            let length = header(&source.name, source.bytes, &mut reader)?;
            if length > source.bytes {
                let why = format!("it has {} bytes, and no header of {length}", source.bytes);
                return Err(Failure::new(&source.name, why));
            }
            if first.is_none() && length > 0 {
                let mut reader = source.open().context(&source.name)?;
                let mut bytes = Vec::new();
                reader.by_ref().take(length).read_to_end(&mut bytes).context(&source.name)?;
                first = Some(bytes);
            }
            source.start += length;
            source.bytes -= length;
        }
        self.join()?;
        Ok(first.unwrap_or_default())
    }

    /// All of it. What was held is given away.
    pub(crate) fn take_text(&mut self, progress: &Progress) -> Result<Vec<u8>, Failure> {
        progress.start_bytes("reading", Some(self.bytes));
        if let [InputSource { content: Content::Memory(text), start: 0, end, .. }] =
            self.sources.as_mut_slice()
        {
            let mut text = std::mem::take(text);
            text.reserve_exact(end.len());
            text.extend_from_slice(end);
            return Ok(text);
        }
        let mut text = Vec::new();
        text.try_reserve_exact(usize::try_from(self.bytes).unwrap_or(usize::MAX))
            .context("input")?;
        let mut reader = self.reader();
        loop {
            let piece = reader.by_ref().take(PIECE).read_to_end(&mut text);
            let count = piece.map_err(|error| self.failure(&error))? as u64;
            progress.advance(count).map_err(|error| self.failure(&error))?;
            if count < PIECE {
                return Ok(text);
            }
        }
    }

    /// All of it, in which every line ends. A single file is mapped, unless this is within another
    /// program.
    pub(crate) fn take_lines(&mut self, progress: &Progress) -> Result<Text, Failure> {
        #[cfg(unix)]
        if let [source @ InputSource { content: Content::Path(_), end: b"", .. }] =
            self.sources.as_slice()
            && source.bytes >= LEAST_MAPPED
            && !progress.has_host()
        {
            return source.map().map_err(|error| self.failure(&error));
        }
        self.take_text(progress).map(Text::Read)
    }

    /// Checks that the files are as they were.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.sources
            .iter()
            .try_for_each(|source| source.check(&source.open()?))
            .map_err(|error| self.failure(&error))
    }

    /// What to say of an error met in reading. The reader names the input that it was met in.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        Failure::named(self.name(), error)
    }
}

/// A text that is another one if files are others by their names, sizes or times of change.
pub(crate) fn stamp<N: AsRef<OsStr>>(
    files: impl Iterator<Item = (N, u64, Option<SystemTime>)>,
) -> String {
    let nanoseconds = |time: SystemTime| match time.duration_since(UNIX_EPOCH) {
        Ok(since) => since.as_nanos().to_string(),
        Err(before) => format!("-{}", before.duration().as_nanos()),
    };
    let stamps = files.map(|(name, bytes, modified)| {
        let name = name.as_ref().as_encoded_bytes().escape_ascii();
        let modified = modified.map_or_else(|| "unknown".to_owned(), nanoseconds);
        format!("\"{name}\" {bytes} {modified}")
    });
    stamps.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn inputs(texts: &[&[u8]], delimiter: Option<u8>) -> Inputs {
        let source = |text: &&[u8]| {
            InputSource::new("text".to_owned(), Content::Memory(text.to_vec()), text.len() as u64)
        };
        let sources = texts.iter().map(source).collect();
        let mut inputs = Inputs { sources, delimiter, bytes: 0, are_encoded: false };
        inputs.join().unwrap();
        inputs
    }

    #[test]
    fn reader_joins_inputs_and_their_ends() {
        let inputs = inputs(&[b"", b"ab", b"", b"c\n", b"\r\nde\r\nf", b""], Some(b'\n'));
        assert_eq!(inputs.ends_added(), 2);
        let whole = b"ab\nc\n\r\nde\r\nf\r\n";
        assert_eq!(inputs.bytes(), whole.len() as u64);
        for step in 1..=whole.len() {
            let mut reader = inputs.reader();
            for expected in whole.chunks(step) {
                let mut out = vec![0; expected.len()];
                assert_eq!(reader.read(&mut []).unwrap(), 0);
                reader.read_exact(&mut out).unwrap();
                assert_eq!(out, expected);
            }
            assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        }
    }

    #[test]
    fn last_lines_end_as_the_others() {
        let far = [b"x".repeat((1 << 16) - 1), b"\r\n".to_vec()].concat();
        for (text, end) in [
            (&b""[..], &b""[..]),
            (b"a\n", b""),
            (b"\n", b""),
            (b"a", b"\n"),
            (b"a\r", b"\n"),
            (b"a\nb", b"\n"),
            (b"a\r\nb", b"\r\n"),
            (b"\r\nb", b"\r\n"),
            (b"a\r\nb\r", b"\n"),
            (b"a\r\nb\nc", b"\n"),
            (b"a\nb\r\nc", b"\n"),
            (b"\nb\r\nc", b"\n"),
            // The two bytes are in two blocks.
            (&[&far[..], b"b"].concat(), b"\r\n"),
            (&[&far[..far.len() - 2], b"x\nb"].concat(), b"\n"),
            (&[&far[..far.len() - 2], b"\nb"].concat(), b"\n"),
        ] {
            assert_eq!(inputs(&[text], Some(b'\n')).sources[0].end, end, "{}", text.escape_ascii());
        }
        for (text, end) in [(&b""[..], &b""[..]), (b"\0", b""), (b"a\r\n\0b", b"\0")] {
            assert_eq!(inputs(&[text], Some(0)).sources[0].end, end);
        }
        assert_eq!(inputs(&[b"a\r\nb"], None).sources[0].end, b"");
    }

    #[test]
    fn stamps_are_the_same_for_ever() {
        let (before, after) = (Duration::new(1, 500_000_000), Duration::new(1_700_000_000, 7));
        let files = [
            ("a \"é\"", 5, Some(UNIX_EPOCH + after)),
            ("b", 0, Some(UNIX_EPOCH - before)),
            ("c", 1, None),
        ];
        let expected =
            r#""a \"\xc3\xa9\"" 5 1700000000000000007; "b" 0 -1500000000; "c" 1 unknown"#;
        assert_eq!(stamp(files.into_iter()), expected);
    }

    #[test]
    fn headers_are_left_out() {
        let mut inputs = inputs(&[b"HEAD12", b"head34"], None);
        let header = inputs.take_headers(|_, bytes, _| Ok(bytes - 2)).unwrap();
        assert_eq!(header, b"HEAD");
        assert_eq!(inputs.take_text(&Progress::new(None)).unwrap(), b"1234");
    }
}
