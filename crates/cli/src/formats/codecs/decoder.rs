//! What a [`Codec`] decodes, and the errors of files that are not whole.

use std::io::{self, Cursor, ErrorKind, Read};

use super::super::explained::{Explained, reworded};
use super::super::marks::LONGEST_MARK;
use super::Codec;
use super::row::DecoderFault;
use super::side_by_side::SideBySide;

impl Codec {
    /// What is in a file of this codec, which this many threads decode. One that is cut short, or
    /// has anything but what the codec wrote, is an error.
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
        let explain = move |error| explained(self, error);
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
            return Err(DecoderFault::Known(why).into());
        }
        self.note(&bytes[..read]);
        Ok(read)
    }
}

/// The error of a decoder, which says what was decoded.
fn explained(codec: Codec, error: io::Error) -> io::Error {
    let why = match error.get_ref().and_then(|error| error.downcast_ref()) {
        _ if error.kind() == ErrorKind::UnexpectedEof => {
            format!("is cut short: its {codec} data do not end")
        }
        Some(DecoderFault::Known(why)) => (*why).to_owned(),
        Some(DecoderFault::Trailing) => format!(
            "has trailing garbage: after its {codec} data there are bytes of something else, \
             which may be lost data: cut them off, or read what is before them with `{codec} -dc \
             FILE | bshuf`"
        ),
        None => format!("its {codec} data are damaged: {error}"),
    };
    io::Error::new(ErrorKind::InvalidData, reworded(error, why))
}

#[cfg(test)]
mod tests {
    use super::super::Compression;
    use super::*;

    fn decoded(codec: Codec, file: &[u8]) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        codec.decoder(file, 1)?.read_to_end(&mut text)?;
        Ok(text)
    }

    fn text(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|k| (k * k * 31 % 251 % 64) as u8).collect()
    }

    #[test]
    fn files_are_known_and_decoded() {
        for &codec in Codec::ALL {
            let compression = Compression::from(codec);
            for bytes in [0, 1, 1000, 300_000] {
                let (first, second) = (text(bytes), text(bytes / 3));
                let one = compression.compressed(&first).unwrap();
                if codec != Codec::Plain {
                    assert_eq!(Codec::of_start(&one), codec);
                }
                assert!(decoded(codec, &one).unwrap() == first);
                let two = [one, compression.compressed(&second).unwrap()].concat();
                assert!(decoded(codec, &two).unwrap() == [first, second].concat(), "{codec}");
            }
        }
    }

    #[test]
    fn files_that_are_cut_short_are_errors() {
        for codec in &Codec::ALL[1..] {
            let compression = Compression::from(*codec);
            let one = compression.compressed(&text(700)).unwrap();
            let two = [one.clone(), compression.compressed(&text(90)).unwrap()].concat();
            for end in (1..two.len()).filter(|&end| end != one.len()) {
                let error = decoded(*codec, &two[..end]).expect_err(&format!("{codec} {end}"));
                let said = error.to_string();
                assert!(said.contains("is cut short") || said.contains("damaged"), "{said}");
            }
            // Nor is anything behind the end left out, except what fills up blocks.
            for more in [&b"x"[..], b"more than one byte behind the end", b"\0\0\0x", &[0; 1000]] {
                let is_filled_up = codec.row().skips_zeros && more.iter().all(|&one| one == 0);
                let found = decoded(*codec, &[&one, more].concat());
                match found {
                    Ok(found) => assert!(is_filled_up && found == text(700), "{codec}"),
                    Err(error) => {
                        assert!(!is_filled_up, "{codec}: {error}");
                        assert!(error.to_string().contains("trailing garbage"), "{codec}: {error}");
                    }
                }
            }
            let between = [&one[..], &[0; 600_000], &one, &[0]].concat();
            match decoded(*codec, &between) {
                Ok(found) => assert!(codec.row().skips_zeros && found.len() == 1400),
                Err(_) => assert!(!codec.row().skips_zeros),
            }
            let mut damaged = one.clone();
            damaged[one.len() / 2] ^= 0x40;
            assert!(decoded(*codec, &damaged).is_err(), "{codec}");
        }
    }
}
