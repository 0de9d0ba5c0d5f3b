//! Everything once, at small lengths: that all contenders do what they should, and reports can be
//! made.

use std::error::Error;
use std::time::Duration;

use clap::ValueEnum;

use crate::arguments::{Amount, Common, Share};
use crate::cold;
use crate::contender::Choice;
use crate::item::ItemType;
use crate::measure::Effort;
use crate::pages::Pages;
use crate::{exchange, files, indexes, sizes, small, table3};

/// One sample each.
const ONCE: Effort = Effort { repeats: 1, budget: Duration::ZERO, seed: 1 };

/// Runs it all.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    // The longest are shared among threads by all the parallel contenders.
    let standings = table3::measure(table3::contenders(), [0, 1, 4, 8, 9, 16, 18], ONCE);
    standings.markdown(&table3::RATIOS);
    table3::measure(small::contenders(), [8, 13], ONCE);
    sizes::measure(
        &Amount { bytes: 0, len: vec![1000, (1 << 12) + 1], item: Vec::new() },
        &[],
        ONCE,
    );
    let plan = cold::Plan {
        items: ItemType::value_variants(),
        lens: &[1000],
        choice: Choice::default(),
        pages: Pages::Default,
        repeats: ONCE.repeats,
        seed: ONCE.seed,
    };
    let first_calls = cold::measure(&plan, |_| Ok(()))?;
    first_calls.markdown();
    exchange::measure(3, 1000, 1, ONCE.seed)?;
    indexes::measure(&Share { bits: 41, ranks: 1 << 30, processes: 1 }, 1, ONCE.seed)?;
    files::trial(common)?;
    eprintln!("all contenders shuffle");
    Ok(())
}
