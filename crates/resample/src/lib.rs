#![doc = include_str!("../README.md")]

mod bootstrap;
mod design;
mod error;
mod permutation_test;
mod subsample;

pub use bootstrap::{
    Bootstrap, RowStatistic, SeriesBlocks, basic_interval, bca_interval, percentile_interval,
    standard_error,
};
pub use design::{All, Arrangement, Design, Distinct};
pub use error::Error;
pub use permutation_test::{
    Alternative, Anosim, ArrangementBatch, ColumnResult, ColumnTally, Correlation, EarlyStop,
    FnStatistic, GroupsF, Mantel, MaxT, OneSampleMean, Permanova, PermutationTest, Statistic,
    Tally, TestResult, TwoSamples,
};
pub use subsample::{FixedSizeSample, PoissonSample};
