//! Subsampling for private training: the batch of a step is a function of the seed and the step.
//!
//! What such training promises rests on the law by which batches are drawn, so the law is exact:
//! `binomial` counts, and `poisson` chooses.

mod binomial;
mod fixed;
mod poisson;

pub use fixed::FixedSizeSample;
pub use poisson::PoissonSample;

use crate::Error;

/// Keeps every `ranks`-th item, beginning with item `rank`.
fn deal(items: &mut Vec<u64>, rank: u64, ranks: u64) {
    // More ranks than a `usize` counts have at most their first item.
    let [rank, ranks] = [rank, ranks].map(|number| usize::try_from(number).unwrap_or(usize::MAX));
    let mut kept = 0;
    for place in (rank..items.len()).step_by(ranks) {
        items[kept] = items[place];
        kept += 1;
    }
    items.truncate(kept);
}

fn check_rank(rank: u64, ranks: u64) -> Result<(), Error> {
    if rank < ranks { Ok(()) } else { Err(Error::Rank { rank, ranks }) }
}
