//! What a [`Codec`] decodes, and the errors of files that are not whole.

use std::io::{self, Cursor, ErrorKind, Read};

use super::super::explained::Explained;
use super::super::marks::LONGEST_MARK;
use super::Codec;
use super::row::Fault;
use super::side_by_side::SideBySide;

impl Codec {
    /// What is in a file of this codec, which so many threads decode. One that is cut short, or has
    /// anything but what the codec wrote, is an error.
    pub(crate) fn decoder<'r>(
        self,
        mut file: impl Read + Send + 'r,
        threads: usize,
    ) -> io::Result<Box<dyn Read + Send + 'r>> {
        // It is read in large pieces anyway.
        if self == Self::Plain {
            return Ok(Box::new(file));
        }
        let mut start = Vec::new();
        file.by_ref().take(LONGEST_MARK as u64).read_to_end(&mut start)?;
        let end = (self.row().end)(&start).unwrap_or_default();
        let file = Ended { file: Cursor::new(start).chain(file), end, last: Vec::new(), zeros: 0 };
        let decoder: Box<dyn Read + Send + 'r> = match threads {
            0 | 1 => self.one_decoder(file)?,
            _ => Box::new(SideBySide::new(self, file, threads)),
        };
        let explain = move |error| explained(self, &error);
        Ok(Box::new(Explained { reader: decoder, explain }))
    }
}

/// A file that is cut short unless it has this end, before zeros that may follow.
struct Ended<R> {
    file: R,
    end: &'static [u8],
    /// Its last bytes up to one that is not zero, as many as the end has, and the number of zeros
    /// behind them.
    last: Vec<u8>,
    zeros: usize,
}

impl<R> Ended<R> {
    fn note(&mut self, bytes: &[u8]) {
        let most = self.end.len();
        let after = bytes.iter().rposition(|&byte| byte != 0).map_or(0, |at| at + 1);
        if after > 0 {
            self.last.resize(self.last.len() + self.zeros.min(most), 0);
            self.last.extend_from_slice(&bytes[after.saturating_sub(most)..after]);
            self.last.drain(..self.last.len().saturating_sub(most));
            self.zeros = 0;
        }
        self.zeros += bytes.len() - after;
    }
}

impl<R: Read> Read for Ended<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(bytes)?;
        if self.end.is_empty() || bytes.is_empty() {
            return Ok(read);
        }
        if read == 0 && self.last != self.end {
            let why = "is cut short: it has blocks of bgzip, and lacks the empty one that ends \
                       them: if nothing is missing, try `gzip -dc FILE | bshuf`";
            return Err(Fault::Known(why).into());
        }
        self.note(&bytes[..read]);
        Ok(read)
    }
}

/// The error of a decoder, which says what was decoded.
fn explained(codec: Codec, error: &io::Error) -> io::Error {
    let why = match error.get_ref().and_then(|error| error.downcast_ref()) {
        _ if error.kind() == ErrorKind::UnexpectedEof => {
            format!("is cut short: its {codec} data do not end")
        }
        Some(Fault::Known(why)) => (*why).to_owned(),
        Some(Fault::Trailing) => format!(
            "has trailing garbage: behind its {codec} data there are bytes of something else, \
             which may be lost data: cut them off, or read what is before them by `{codec} -dc \
             FILE | bshuf`"
        ),
        None => format!("its {codec} data are damaged: {error}"),
    };
    io::Error::new(ErrorKind::InvalidData, why)
}
