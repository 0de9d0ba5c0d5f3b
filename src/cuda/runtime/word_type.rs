//! [`WordType`]: the unsigned words in which device memory is read and written.

use crate::Word;

/// A word of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WordType {
    U8,
    U16,
    U32,
    U64,
    /// 16 bytes that are loaded and stored at once.
    U128,
}

impl WordType {
    /// All words, the smallest first.
    #[cfg(test)]
    pub(crate) const ALL: [Self; 5] = [Self::U8, Self::U16, Self::U32, Self::U64, Self::U128];

    /// The largest word whose size divides all of some sizes and addresses; `numbers` is their
    /// bitwise or.
    pub(crate) const fn dividing(numbers: u64) -> Self {
        match numbers.trailing_zeros() {
            0 => Self::U8,
            1 => Self::U16,
            2 => Self::U32,
            3 => Self::U64,
            _ => Self::U128,
        }
    }

    /// The word for slots and indexes up to `last`.
    pub(crate) const fn for_indexes(last: u64) -> Self {
        if last <= u32::MAX as u64 { Self::U32 } else { Self::U64 }
    }

    /// The word of an index of type N.
    pub(crate) const fn of_index<N: Word>() -> Self {
        if size_of::<N>() == 4 { Self::U32 } else { Self::U64 }
    }

    /// The size of the word.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Self::U8 => 1,
            Self::U16 => 2,
            Self::U32 => 4,
            Self::U64 => 8,
            Self::U128 => 16,
        }
    }

    /// The word's name in CUDA C++. `Item16` is the crate's own type.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::U8 => "uint8_t",
            Self::U16 => "uint16_t",
            Self::U32 => "uint32_t",
            Self::U64 => "uint64_t",
            Self::U128 => "Item16",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_by_their_size() {
        for word in WordType::ALL {
            assert_eq!(WordType::dividing(word.bytes() as u64), word);
            assert_eq!(WordType::dividing(3 * word.bytes() as u64), word);
        }
        assert_eq!(WordType::dividing(12), WordType::U32);
        assert_eq!(WordType::dividing(0), WordType::U128);
    }

    #[test]
    fn indexes_take_half_a_word_while_they_can() {
        assert_eq!(WordType::for_indexes(u32::MAX.into()), WordType::U32);
        assert_eq!(WordType::for_indexes(1 << 32), WordType::U64);
    }
}
