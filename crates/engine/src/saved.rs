//! Numbers that a program saves and restores: their text, and the checksum that detects changes.

use core::fmt;

/// Hashes a sequence of numbers.
pub fn check(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, |hash, number| {
        // The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which absorbs one number a
        // round.
        let mut x = (hash ^ number).wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    })
}

/// Sixteen points spread over `[0, last]`. A checksum of a map's values there distinguishes it from
/// other maps.
pub fn sample_points(last: u64) -> impl Iterator<Item = u64> {
    const SAMPLES: u64 = 16;
    // Each quotient is at most `last`, so it fits 64 bits.
    (0..SAMPLES).map(move |k| (u128::from(last) * u128::from(k) / u128::from(SAMPLES - 1)) as u64)
}

/// Writes numbers as hexadecimal text, separated by dashes.
pub fn write(f: &mut fmt::Formatter<'_>, words: &[u64]) -> fmt::Result {
    for (k, word) in words.iter().enumerate() {
        let dash = if k == 0 { "" } else { "-" };
        write!(f, "{dash}{word:x}")?;
    }
    Ok(())
}

/// Reads what [`write()`] wrote. Returns `None` unless the text consists of exactly `N` numbers.
pub fn read<const N: usize>(text: &str) -> Option<[u64; N]> {
    let mut parts = text.split('-');
    let mut words = [0; N];
    for word in &mut words {
        let part = parts.next()?;
        // The standard parser would accept a sign.
        if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        *word = u64::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(words)
}

/// Serialises a type as its text, with the feature `serde`. Formats whose integers have fewer than
/// 64 bits, such as TOML's and JavaScript's, keep a text as it is.
#[doc(hidden)]
#[macro_export]
macro_rules! serialised_as_text {
    ($type:ident, $expected:literal) => {
        #[cfg(feature = "serde")]
        const _: () = {
            use serde::de::{Deserialize, Deserializer, Error, Visitor};
            use serde::ser::{Serialize, Serializer};

            impl Serialize for $type {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.collect_str(self)
                }
            }

            struct TextVisitor;

            impl Visitor<'_> for TextVisitor {
                type Value = $type;

                fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                    f.write_str($expected)
                }

                fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                    text.parse().map_err(E::custom)
                }
            }

            impl<'de> Deserialize<'de> for $type {
                fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                    deserializer.deserialize_str(TextVisitor)
                }
            }
        };
    };
}

pub use serialised_as_text;
