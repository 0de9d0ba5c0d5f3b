//! A [`Seed`] as text, and back.

use core::fmt;
use core::str::FromStr;

use super::{Key, Seed};
use crate::error::SeedError;

/// Writes a seed as the text that [`FromStr`] reads.
///
/// A 64-bit seed is a decimal number; a 256-bit seed is the 64 hexadecimal digits of its bytes, in
/// order. If the epoch is not 0, `@` and the epoch as a decimal number follow. The form is as
/// stable as the permutations.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Seed;
///
/// assert_eq!(Seed::new(42).to_string(), "42");
/// assert_eq!(Seed::new(42).with_epoch(3).to_string(), "42@3");
/// let long = Seed::from_bytes([0xA5; 32]).with_epoch(1);
/// assert_eq!(long.to_string(), "a5".repeat(32) + "@1");
/// assert_eq!(long.to_string().parse(), Ok(long));
/// ```
impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.key {
            Key::Short(seed) => write!(f, "{seed}")?,
            Key::Long(words) => {
                for byte in words.into_iter().flat_map(u64::to_le_bytes) {
                    write!(f, "{byte:02x}")?;
                }
            }
        }
        match self.epoch {
            0 => Ok(()),
            epoch => write!(f, "@{epoch}"),
        }
    }
}

/// Shows the seed's text: `Seed(42@3)`.
impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Seed").field(&format_args!("{self}")).finish()
    }
}

/// Reads what [`Display`](fmt::Display) writes.
///
/// Hexadecimal digits may be of either case, numbers may have leading zeros, and an epoch of 0 may
/// be written out. Exactly 64 digits are always read as the bytes of a 256-bit seed, never as a
/// decimal number with leading zeros.
///
/// # Errors
///
/// [`SeedError`] for any other text.
///
/// # Examples
///
/// ```
/// use bijective_shuffle::Seed;
///
/// assert_eq!("42@3".parse(), Ok(Seed::new(42).with_epoch(3)));
/// assert!("-1".parse::<Seed>().is_err());
/// ```
impl FromStr for Seed {
    type Err = SeedError;

    fn from_str(text: &str) -> Result<Self, SeedError> {
        let (seed, epoch) = match text.split_once('@') {
            Some((seed, epoch)) => (seed, number(epoch)?),
            None => (text, 0),
        };
        let seed = match bytes(seed) {
            Some(bytes) => Self::from_bytes(bytes),
            None => Self::new(number(seed)?),
        };
        Ok(seed.with_epoch(epoch))
    }
}

/// Reads a decimal number.
fn number(text: &str) -> Result<u64, SeedError> {
    // The standard parser would accept a sign.
    let is_decimal = text.bytes().all(|digit| digit.is_ascii_digit());
    text.parse().ok().filter(|_| is_decimal).ok_or(SeedError)
}

/// Reads 64 hexadecimal digits as bytes.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    let digits = <&[u8; 64]>::try_from(text.as_bytes()).ok()?;
    for (byte, digits) in bytes.iter_mut().zip(digits.as_chunks::<2>().0) {
        let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
        *byte = (high? << 4 | low?) as u8;
    }
    Some(bytes)
}

#[cfg(feature = "serde")]
mod serialised {
    use core::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
    use serde::ser::{Serialize, Serializer};

    use super::Seed;

    /// Serialises the seed as its text, in every format.
    impl Serialize for Seed {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_str(self)
        }
    }

    /// Deserialises the text. Human-readable formats may also have a number, which is a 64-bit seed
    /// at epoch 0.
    impl<'de> Deserialize<'de> for Seed {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            if deserializer.is_human_readable() {
                deserializer.deserialize_any(TextOrNumber)
            } else {
                deserializer.deserialize_str(TextOrNumber)
            }
        }
    }

    struct TextOrNumber;

    impl Visitor<'_> for TextOrNumber {
        type Value = Seed;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("the text of a seed, or a number below 2^64")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<Seed, E> {
            text.parse().map_err(E::custom)
        }

        fn visit_u64<E: Error>(self, seed: u64) -> Result<Seed, E> {
            Ok(Seed::new(seed))
        }

        fn visit_i64<E: Error>(self, seed: i64) -> Result<Seed, E> {
            let unexpected = |_| E::invalid_value(Unexpected::Signed(seed), &self);
            u64::try_from(seed).map(Seed::new).map_err(unexpected)
        }
    }

    #[cfg(test)]
    mod tests {
        use super::Seed;

        #[test]
        fn seeds_are_serialised_as_their_text() {
            for seed in [Seed::new(u64::MAX), Seed::new(7).with_epoch(9), Seed::from_bytes([3; 32])]
            {
                let text = serde_json::to_string(&seed).unwrap();
                assert_eq!(text, format!("\"{seed}\""));
                assert_eq!(serde_json::from_str::<Seed>(&text).unwrap(), seed);
            }
            assert_eq!(serde_json::from_str::<Seed>("42").unwrap(), Seed::new(42));
            for bad in ["-1", "1.5", "\"x\"", "null", "[1]"] {
                assert!(serde_json::from_str::<Seed>(bad).is_err(), "{bad}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_read_back() {
        let mut bytes = [0; 32];
        bytes.iter_mut().zip(0xD5..).for_each(|(byte, k)| *byte = k);
        for seed in [0, 1, 42, u64::MAX].map(Seed::new).into_iter().chain([Seed::from_bytes(bytes)])
        {
            for epoch in [0, 1, u64::MAX] {
                let seed = seed.with_epoch(epoch);
                assert_eq!(seed.to_string().parse(), Ok(seed), "{seed}");
            }
        }
    }

    /// The form is promised for ever, so this test compares the text itself.
    #[test]
    fn texts_are_as_documented() {
        assert_eq!(Seed::new(0).to_string(), "0");
        assert_eq!(
            Seed::new(u64::MAX).with_epoch(u64::MAX).to_string(),
            format!("{0}@{0}", u64::MAX)
        );
        let mut bytes = [0; 32];
        (bytes[0], bytes[31]) = (0x12, 0xEF);
        let text = format!("12{}ef", "0".repeat(60));
        assert_eq!(Seed::from_bytes(bytes).to_string(), text);
        assert_eq!(
            format!("{:?}", Seed::from_bytes(bytes).with_epoch(7)),
            format!("Seed({text}@7)")
        );
        assert_eq!(text.to_uppercase().parse(), Ok(Seed::from_bytes(bytes)));
        assert_eq!("007@00".parse(), Ok(Seed::new(7)));
        // 64 digits are bytes even where they are a decimal number, too.
        assert_eq!("1".repeat(64).parse(), Ok(Seed::from_bytes([0x11; 32])));
    }

    #[test]
    fn other_texts_are_refused() {
        let long = "a".repeat(62);
        let long = [format!("{long}a"), format!("{long}ag"), format!("{long}\u{e9}"), long + "aaa"];
        let short = [
            "",
            "@",
            "@1",
            "1@",
            "1@2@3",
            "+1",
            "-1",
            "1@+2",
            " 1",
            "1 ",
            "0x1",
            "a",
            "1.0",
            "18446744073709551616",
            "1@18446744073709551616",
            "\u{661}",
        ];
        for bad in short.into_iter().chain(long.iter().map(String::as_str)) {
            assert_eq!(bad.parse::<Seed>(), Err(SeedError), "{bad}");
        }
    }
}
