//! [`SeedError`]: a text that is no seed.

use core::fmt;

/// The text is not a saved [`Seed`](crate::Seed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeedError;

impl fmt::Display for SeedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the text is not a seed: a number below 2^64 or 64 hexadecimal digits, and then `@` \
             and the epoch, if it is not 0",
        )
    }
}

impl core::error::Error for SeedError {}
