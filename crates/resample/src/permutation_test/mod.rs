//! Permutation tests.
//!
//! ```text
//! sums         sums in a fixed order
//! data         checks of data
//! statistic    what a statistic is
//! samples      statistics of samples: means, medians, t, F, correlation
//! distances    statistics of distances between rows
//! plan         which arrangements a test looks at, in batches on all threads
//! alternative  which values are extreme
//! stop         when to end early
//! result       p-values and their errors
//! run          the test itself
//! max_t        many responses at once
//! ```

mod alternative;
mod data;
mod distances;
mod max_t;
mod plan;
mod result;
mod run;
mod samples;
mod statistic;
mod stop;
mod sums;
#[cfg(test)]
mod tests;

pub use alternative::Alternative;
pub use distances::{Anosim, Mantel, Permanova};
pub use max_t::{ColumnResult, ColumnTally, MaxT};
pub use result::TestResult;
pub use run::{PermutationTest, Tally};
pub use samples::{Correlation, GroupsF, OneSampleMean, TwoSamples};
pub use statistic::{ArrangementBatch, FnStatistic, Statistic};
pub use stop::EarlyStop;
