//! [`Compression`]: a codec at a level.

use std::str::FromStr;
use std::{fmt, io};

use super::Codec;

/// A codec and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compression {
    codec: Codec,
    level: i32,
}

impl From<Codec> for Compression {
    /// The default level of the program of that name.
    fn from(codec: Codec) -> Self {
        Self { codec, level: codec.row().level }
    }
}

impl Compression {
    /// The codec.
    pub fn codec(self) -> Codec {
        self.codec
    }

    /// The names of all codecs, each with the extension of file names if that differs.
    pub fn names() -> String {
        let name = |codec: &Codec| match (codec.name(), codec.extension()) {
            (name, "") => name.to_owned(),
            (name, end) if name == end => name.to_owned(),
            (name, end) => format!("{name} ({end})"),
        };
        Codec::ALL.iter().map(name).collect::<Vec<_>>().join(", ")
    }

    /// These bytes as a file by themselves. Such files, one behind the other, are a file again.
    pub(crate) fn compressed(self, bytes: &[u8]) -> io::Result<Vec<u8>> {
        (self.codec.row().encode)(bytes, self.level)
    }
}

impl fmt::Display for Compression {
    /// A text that can be parsed, with the level if there are any: `zstd:3`, or `lz4`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codec, level } = self;
        let levels = &codec.row().levels;
        if levels.start() == levels.end() {
            write!(f, "{codec}")
        } else {
            write!(f, "{codec}:{level}")
        }
    }
}

impl FromStr for Compression {
    type Err = String;

    /// `zstd`, or `zstd:3`, or with the end of names, `zst`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let of_end = || Codec::of_extension(name).filter(|codec| codec.extension() == name);
        let codec = Codec::of_program(name).or_else(of_end).filter(|_| !name.is_empty());
        let codec =
            codec.ok_or_else(|| format!("give one of {}, perhaps with a level", Self::names()))?;
        let Some(level) = level else { return Ok(codec.into()) };
        let levels = &codec.row().levels;
        if levels.end() == levels.start() {
            return Err(format!("{codec} has no levels"));
        }
        match level.parse() {
            Ok(level) if levels.contains(&level) => Ok(Self { codec, level }),
            _ => Err(format!("{codec} has levels {} to {}", levels.start(), levels.end())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_read() {
        let read = |text: &str| text.parse::<Compression>();
        assert_eq!(read("zstd"), Ok(Compression { codec: Codec::Zstd, level: 3 }));
        assert_eq!(read("zst:19"), Ok(Compression { codec: Codec::Zstd, level: 19 }));
        assert_eq!(read("none"), Ok(Compression { codec: Codec::Plain, level: 0 }));
        assert_eq!(read("gz:9"), Ok(Compression { codec: Codec::Gzip, level: 9 }));
        for text in ["none", "gzip:9", "zstd:22", "lz4", "bzip2:1"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        for text in ["", "xz", "zstd:", "zstd:23", "gzip:0", "lz4:1", "none:1", "zstd:3:4"] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
