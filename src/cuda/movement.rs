//! [`Movement`]: what a kernel moves, and which way, with its device type and its argument.

use crate::error::Error;

/// The most arrays that are moved at once: `MOST_ARRAYS` in gpu/items.cuh.
pub(super) const MOST_ARRAYS: usize = 12;

/// The size of the largest item, in bytes.
pub(super) const LARGEST_ITEM: usize = 64 << 10;

/// An array's address before and after, and the size of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Array {
    pub(super) source: u64,
    pub(super) out: u64,
    pub(super) item: usize,
}

impl Array {
    /// The largest word, at most 16 bytes, of which items consist at aligned addresses.
    pub(super) fn unit(&self) -> usize {
        let bits = self.source | self.out | self.item as u64 | 16;
        1 << bits.trailing_zeros()
    }
}

/// What is moved.
#[derive(Clone, Debug)]
pub(super) enum Movement {
    /// `out[rank] = index`, in words of 4 or 8 bytes.
    Indices { out: u64, word: usize },
    /// `out[rank] = source[index]`, or, if it scatters, `out[index] = source[rank]`; of each array.
    Items { arrays: Vec<Array>, scatters: bool },
}

impl Movement {
    /// A movement of items.
    ///
    /// # Errors
    ///
    /// [`Error::TooManyArrays`], [`Error::ItemTooLarge`].
    pub(super) fn items(arrays: Vec<Array>, scatters: bool) -> Result<Self, Error> {
        if arrays.len() > MOST_ARRAYS {
            return Err(Error::TooManyArrays { arrays: arrays.len(), most: MOST_ARRAYS });
        }
        match arrays.iter().map(|array| array.item).max() {
            Some(bytes) if bytes > LARGEST_ITEM => {
                Err(Error::ItemTooLarge { bytes, most: LARGEST_ITEM })
            }
            _ => Ok(Self::Items { arrays, scatters }),
        }
    }

    /// The array and its items' size in bytes, if there is one array whose items are words.
    pub(super) fn word(&self) -> Option<(Array, usize)> {
        match self {
            Self::Items { arrays, .. } => match arrays[..] {
                [array] if array.unit() == array.item => Some((array, array.item)),
                _ => None,
            },
            Self::Indices { .. } => None,
        }
    }

    /// Whether items go from where they are in order to where the permutation says.
    pub(super) fn scatters(&self) -> bool {
        matches!(self, Self::Items { scatters: true, .. })
    }

    /// Whether it writes the permutation itself.
    pub(super) fn writes_indexes(&self) -> bool {
        matches!(self, Self::Indices { .. })
    }

    /// Its type in gpu/items.cuh.
    pub(super) fn type_name(&self) -> String {
        match self {
            Self::Indices { word, .. } => format!("Indices<{}>", word_type(*word)),
            Self::Items { scatters, .. } => match self.word() {
                Some((_, word)) => {
                    let way = if *scatters { "Scatter" } else { "Gather" };
                    format!("{way}<{}>", word_type(word))
                }
                None => format!("Rows<{scatters}>"),
            },
        }
    }

    /// Its bytes as a kernel's argument.
    pub(super) fn argument(&self) -> Vec<u8> {
        let mut words = Vec::with_capacity(2);
        match self {
            Self::Indices { out, .. } => words.push(*out),
            Self::Items { arrays, .. } => match self.word() {
                Some((Array { source, out, .. }, _)) => words.extend([source, out]),
                None => {
                    words.push(arrays.len() as u64);
                    for array in arrays {
                        let unit = array.unit();
                        let units = (array.item / unit) as u64;
                        let log = u64::from(unit.trailing_zeros());
                        words.extend([array.source, array.out, units | log << 32]);
                    }
                    words.resize(1 + 3 * MOST_ARRAYS, 0);
                }
            },
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// The device type of a word of so many bytes.
pub(super) fn word_type(bytes: usize) -> &'static str {
    match bytes {
        1 => "uint8_t",
        2 => "uint16_t",
        4 => "uint32_t",
        8 => "uint64_t",
        _ => "Item16",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_as_large_as_size_and_addresses_allow() {
        let unit = |source, out, item| Array { source, out, item }.unit();
        assert_eq!(unit(256, 512, 16), 16);
        assert_eq!(unit(256, 512, 64), 16);
        assert_eq!(unit(256, 512, 12), 4);
        assert_eq!(unit(256, 520, 16), 8);
        assert_eq!(unit(257, 512, 16), 1);
        assert_eq!(unit(256, 512, 7), 1);
    }

    #[test]
    fn arguments_have_the_layout_of_the_device_types() {
        let array = Array { source: 256, out: 512, item: 8 };
        let words = Movement::items(vec![array], false).unwrap();
        assert_eq!((words.type_name().as_str(), words.argument().len()), ("Gather<uint64_t>", 16));
        let rows = Movement::items(vec![array, Array { item: 12, ..array }], true).unwrap();
        let argument = rows.argument();
        assert_eq!((rows.type_name().as_str(), argument.len()), ("Rows<true>", 8 + 24 * 12));
        assert_eq!((argument[0], argument[24], argument[28]), (2, 1, 3));
        assert_eq!((argument[48], argument[52]), (3, 2));
        assert!(matches!(
            Movement::items(vec![array; 13], false),
            Err(Error::TooManyArrays { arrays: 13, most: 12 })
        ));
        let large = Array { item: LARGEST_ITEM + 1, ..array };
        assert!(matches!(Movement::items(vec![large], false), Err(Error::ItemTooLarge { .. })));
    }
}
