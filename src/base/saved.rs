//! Numbers that a program saves and gives back later: their text, and the check that tells whether
//! they were changed.

use core::fmt;

/// Hashes numbers in order.
pub(crate) fn check(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, |hash, number| {
        // The finalizer of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), which takes in a number a
        // round.
        let mut x = (hash ^ number).wrapping_add(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ x >> 31
    })
}

/// Sixteen points all over `[0, last]`: by a map's values there a check tells it from others.
pub(crate) fn sample_points(last: u64) -> impl Iterator<Item = u64> {
    const SAMPLES: u64 = 16;
    // At most `last`.
    (0..SAMPLES).map(move |k| (u128::from(last) * u128::from(k) / u128::from(SAMPLES - 1)) as u64)
}

/// Writes numbers as text: in hexadecimal, with dashes between.
pub(crate) fn write(f: &mut fmt::Formatter<'_>, words: &[u64]) -> fmt::Result {
    for (k, word) in words.iter().enumerate() {
        let dash = if k == 0 { "" } else { "-" };
        write!(f, "{dash}{word:x}")?;
    }
    Ok(())
}

/// Reads what [`write`] wrote; `None` if the text is not that of `N` numbers.
pub(crate) fn read<const N: usize>(text: &str) -> Option<[u64; N]> {
    let mut parts = text.split('-');
    let mut words = [0; N];
    for word in &mut words {
        let part = parts.next()?;
        // A sign is read as part of a number otherwise.
        if !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        *word = u64::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(words)
}
