//! [`Battery`]: what TestU01 calls its three batteries, and how long their tests take.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// A battery of TestU01 ([TU01], section 3.1), tests of which are numbered from 1.
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

    /// How many statistics these tests have, each with a p-value.
    pub(crate) fn statistics(self) -> usize {
        match self {
            Self::SmallCrush => 15,
            Self::Crush => 144,
            Self::BigCrush => 160,
        }
    }

    /// What its tests took on one core of an AMD EPYC, in seconds, with a generator that takes
    /// little: a first guess.
    pub(crate) fn seconds(self) -> &'static [f32] {
        match self {
            Self::SmallCrush => &SMALL_CRUSH,
            Self::Crush => &CRUSH,
            Self::BigCrush => &[],
        }
    }
}

const SMALL_CRUSH: [f32; 10] = [0.9, 0.8, 0.2, 0.3, 0.2, 0.3, 0.2, 0.3, 0.4, 0.4];

#[rustfmt::skip]
const CRUSH: [f32; 96] = [
    17.6, 11.1, 15.0, 15.5, 18.9, 19.6, 20.0, 24.2, 20.2, 21.3, 19.6, 19.8,
    20.3, 12.8, 12.8, 13.1, 12.9, 5.5, 8.0, 14.7, 5.6, 5.2, 5.5, 6.9,
    6.1, 7.0, 3.0, 3.3, 3.5, 4.1, 3.4, 4.5, 3.9, 4.7, 3.4, 4.6,
    13.2, 12.8, 24.7, 27.9, 15.3, 8.7, 2.3, 2.4, 1.6, 2.4, 2.6, 1.7,
    2.4, 1.2, 1.3, 1.7, 1.8, 1.7, 1.6, 12.3, 13.0, 17.5, 19.4, 18.3,
    23.2, 2.5, 7.2, 2.1, 14.2, 2.9, 10.0, 2.1, 8.3, 1.8, 8.9, 9.0,
    28.0, 13.1, 13.5, 44.6, 14.4, 8.0, 5.8, 6.2, 3.7, 9.4, 9.6, 7.9,
    11.8, 8.2, 12.0, 7.7, 15.0, 3.0, 16.9, 18.8, 10.1, 12.0, 8.7, 9.1,
];
