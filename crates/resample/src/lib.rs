#![doc = include_str!("../README.md")]

mod design;
mod error;
mod permutation_test;

pub use design::{All, Arrangement, Design, Distinct};
pub use error::Error;
pub use permutation_test::{
    Alternative, Anosim, ArrangementBatch, ColumnResult, ColumnTally, Correlation, EarlyStop,
    FnStatistic, GroupsF, Mantel, MaxT, OneSampleMean, Permanova, PermutationTest, Statistic,
    Tally, TestResult, TwoSamples,
};
