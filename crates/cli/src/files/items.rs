//! [`Items`]: how a file is divided.

use std::num::NonZeroUsize;

use memchr::{memchr, memrchr};

/// What the items of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What a source has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The number of items.
    pub items: u64,
    /// The number of bytes in the source.
    pub bytes: u64,
    /// Whether the last line has its delimiter. `true` if there are no lines, and for records.
    pub is_terminated: bool,
}

impl Items {
    /// The length of the first item, or `None` if it is not whole.
    #[inline]
    pub(super) fn first(self, text: &[u8]) -> Option<usize> {
        match self {
            Self::Lines { delimiter } => memchr(delimiter, text).map(|at| at + 1),
            Self::Records { bytes } => (text.len() >= bytes.get()).then_some(bytes.get()),
        }
    }

    /// The length of all whole items, if the text begins with one and none ends before `from`.
    pub(super) fn whole(self, text: &[u8], from: usize) -> usize {
        match self {
            Self::Lines { delimiter } => {
                memrchr(delimiter, &text[from..]).map_or(0, |at| from + at + 1)
            }
            Self::Records { bytes } => text.len() - text.len() % bytes,
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
    }
}
