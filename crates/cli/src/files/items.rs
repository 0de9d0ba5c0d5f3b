//! [`Items`]: how a file is divided.

use std::num::NonZeroUsize;

use memchr::{memchr, memchr_iter, memrchr};
use serde::{Deserialize, Serialize};

/// What the items of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Items {
    /// Any bytes, up to and with the next delimiter. The last line may lack its delimiter, and gets
    /// one: every line that is written has one.
    Lines {
        /// The byte that ends a line.
        delimiter: u8,
    },
    /// Records of a fixed size.
    Records {
        /// The size of each.
        bytes: NonZeroUsize,
    },
    /// Any bytes after their number, which takes 4 bytes, the lowest first. The output has the
    /// items without their numbers. This is for items whose ends cannot be seen from where they
    /// begin: the reader of the source has found them.
    Framed,
}

/// The size of the number before an item of [`Items::Framed`].
pub(crate) const FRAME: usize = 4;

/// What a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ItemCount {
    /// The number of items.
    pub items: u64,
    /// The number of bytes in the source.
    pub bytes: u64,
    /// Whether the last line has its delimiter. `true` if there are no lines, and for records.
    #[serde(skip, default = "always")]
    pub is_terminated: bool,
}

/// What is counted of a data set ends.
fn always() -> bool {
    true
}

impl Items {
    /// The length of the first item, or `None` if it is not whole.
    #[inline]
    pub(super) fn first(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Lines { delimiter } => memchr(delimiter, text).map(|at| at + 1),
            Self::Records { bytes } => (text.len() >= bytes.get()).then_some(bytes.get()),
            Self::Framed => {
                let (length, rest) = text.split_first_chunk::<FRAME>()?;
                let length = u32::from_le_bytes(*length) as usize;
                (rest.len() >= length).then_some(FRAME + length)
            }
        }
    }

    /// How many bytes of an item are not written.
    #[inline]
    pub(super) fn unwritten(self) -> usize {
        if self == Self::Framed { FRAME } else { 0 }
    }

    /// How many items a text has that ends with one.
    pub(super) fn count(self, text: &[u8]) -> u64 {
        match self {
            Self::Lines { delimiter } => memchr_iter(delimiter, text).count() as u64,
            Self::Records { bytes } => (text.len() / bytes) as u64,
            Self::Framed => {
                let (mut rest, mut count) = (text, 0);
                while let Some(length) = self.first(rest) {
                    (rest, count) = (&rest[length..], count + 1);
                }
                count
            }
        }
    }

    /// The length of all whole items, if the text begins with one and none ends before `from`.
    pub(super) fn whole(self, text: &[u8], from: usize) -> usize {
        match self {
            Self::Lines { delimiter } => {
                memrchr(delimiter, &text[from..]).map_or(0, |at| from + at + 1)
            }
            Self::Records { bytes } => text.len() - text.len() % bytes,
            Self::Framed => {
                let mut at = 0;
                while let Some(length) = self.first(&text[at..]) {
                    at += length;
                }
                at
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_items_end_with_the_last() {
        let lines = Items::Lines { delimiter: b'\n' };
        assert_eq!((lines.first(b""), lines.whole(b"", 0)), (None, 0));
        assert_eq!((lines.first(b"ab"), lines.whole(b"ab", 1)), (None, 0));
        assert_eq!((lines.first(b"a\nb\nc"), lines.whole(b"a\nb\nc", 1)), (Some(2), 4));
        let records = Items::Records { bytes: NonZeroUsize::new(3).unwrap() };
        assert_eq!((records.first(b"ab"), records.whole(b"ab", 0)), (None, 0));
        assert_eq!((records.first(b"abcdefg"), records.whole(b"abcdefg", 0)), (Some(3), 6));
        let framed = Items::Framed;
        let text = b"\x01\0\0\0a\0\0\0\0\x02\0\0\0bc";
        assert_eq!((framed.first(b"\x01\0\0"), framed.whole(b"\x01\0\0\0", 0)), (None, 0));
        assert_eq!((framed.first(text), framed.whole(text, 0)), (Some(5), text.len()));
        assert_eq!((framed.whole(&text[..14], 0), framed.count(text)), (9, 3));
        assert_eq!((lines.count(b"a\n\nb\n"), records.count(b"abcdef")), (3, 2));
    }
}
