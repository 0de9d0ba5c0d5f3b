//! [`Battery`]: what TestU01 calls its three batteries.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A battery of TestU01 ([TU01], section 3.1). Its tests are numbered from 1.
///
/// [TU01]: https://doi.org/10.1145/1268776.1268777
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize,
)]
pub(crate) enum Battery {
    #[value(name = "small")]
    SmallCrush,
    #[value(name = "crush")]
    Crush,
    #[value(name = "big")]
    BigCrush,
}

impl Battery {
    /// All of them, the shortest first.
    pub(crate) const ALL: [Self; 3] = [Self::SmallCrush, Self::Crush, Self::BigCrush];

    /// How it is called on the command line.
    pub(crate) fn argument(self) -> &'static str {
        match self {
            Self::SmallCrush => "small",
            Self::Crush => "crush",
            Self::BigCrush => "big",
        }
    }

    /// How many tests it has.
    pub(crate) fn tests(self) -> usize {
        match self {
            Self::SmallCrush => 10,
            Self::Crush => 96,
            Self::BigCrush => 106,
        }
    }
}
