//! Everything once, at small lengths: all contenders shuffle.

use std::error::Error;
use std::time::Duration;

use clap::ValueEnum;

use crate::arguments::Common;
use crate::cold::{self, Plan};
use crate::contender::Choice;
use crate::item::ItemType;
use crate::measure::Effort;
use crate::pages::Pages;
use crate::{exchange, files, table};

/// One sample each.
const ONCE: Effort = Effort { repeats: 1, budget: Duration::ZERO, seed: 1 };

/// Runs it all.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    // The longest are shared among threads by all the parallel contenders.
    table::measure(table::contenders(), [0, 1, 4, 8, 9, 16, 18], ONCE, |_, _, _| Ok(()))?;
    table::measure(table::small(), [8, 13], ONCE, |_, _, _| Ok(()))?;
    let (choice, pages, effort) = (Choice::default(), Pages::Default, ONCE);
    let plan = Plan { items: ItemType::value_variants(), lens: &[1000], choice, pages, effort };
    cold::measure(&plan, |_| Ok(()))?;
    exchange::measure(3, 1000, 1, ONCE.seed)?;
    files::trial(common)?;
    eprintln!("all contenders shuffle");
    Ok(())
}
