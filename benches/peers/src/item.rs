//! [`Numbered`] and [`ItemType`]: what is shuffled, and how a loss would be seen.

use clap::ValueEnum;

/// A type of items that can be numbered and told apart.
pub(crate) trait Numbered: Send + Sync + 'static {
    /// The item with this number; small types hold its low bits only.
    fn new(number: u64) -> Self;

    /// A hash of all its bytes: those of different items are different, or else so by chance only.
    fn fingerprint(&self) -> u64;
}

macro_rules! integer {
    ($($type:ty)*) => {$(
        impl Numbered for $type {
            fn new(number: u64) -> Self {
                number as Self
            }
            fn fingerprint(&self) -> u64 {
                mix(u64::from(*self))
            }
        }
    )*};
}

integer!(u32 u64);

impl<W: Numbered, const N: usize> Numbered for [W; N] {
    fn new(number: u64) -> Self {
        std::array::from_fn(|word| W::new(number.wrapping_add(word as u64)))
    }
    fn fingerprint(&self) -> u64 {
        // Chained, so that words of two items that were exchanged do not go unseen.
        self.iter().fold(0, |hash, word| mix(hash.wrapping_add(word.fingerprint())))
    }
}

impl Numbered for String {
    fn new(number: u64) -> Self {
        number.to_string()
    }
    fn fingerprint(&self) -> u64 {
        let words = self.as_bytes().chunks(8).map(|bytes| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        });
        words.fold(self.len() as u64, |hash, word| mix(hash.wrapping_add(word)))
    }
}

/// The output function of SplitMix64, after a step: a bijection that spreads every bit.
fn mix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The types of the items that are shuffled.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum ItemType {
    /// 4 bytes
    #[value(name = "u32", alias = "4")]
    U32,
    /// 8 bytes
    #[value(name = "u64", alias = "8")]
    U64,
    /// 16 bytes: two `u64`
    #[value(name = "16")]
    Bytes16,
    /// 24 bytes, and a block of memory with the text
    #[value(name = "string", alias = "24")]
    String,
    /// 64 bytes: eight `u64`
    #[value(name = "64")]
    Bytes64,
}

impl ItemType {
    /// As in Rust.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::Bytes16 => "[u64; 2]",
            Self::String => "String",
            Self::Bytes64 => "[u64; 8]",
        }
    }

    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::U32 => size_of::<u32>(),
            Self::U64 => size_of::<u64>(),
            Self::Bytes16 => size_of::<[u64; 2]>(),
            Self::String => size_of::<String>(),
            Self::Bytes64 => size_of::<[u64; 8]>(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_counts_and_so_does_its_place() {
        let item: [u32; 3] = Numbered::new(7);
        assert_eq!(item, [7, 8, 9]);
        for other in [[7, 8, 10], [6, 8, 9], [8, 7, 9], [0_u32, 0, 0]] {
            assert_ne!(item.fingerprint(), other.fingerprint());
        }
    }

    #[test]
    fn texts_are_told_apart_by_all_their_bytes() {
        let text: String = Numbered::new(1_234_567_890);
        assert_eq!(text, "1234567890");
        for other in ["", "1", "123456789", "1234567891", "2234567890", "12345678900"] {
            assert_ne!(text.fingerprint(), other.to_owned().fingerprint(), "{other}");
        }
    }
}
