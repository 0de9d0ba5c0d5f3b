//! Short lengths, where sequential shuffles are at their best.

use std::error::Error;
use std::ops::RangeInclusive;

use crate::arguments::Common;
use crate::contender::{Choice, Contender};
use crate::ours::{self, DEFAULT_GIVEN, PHILOX_GIVEN, WHOLE_CALL};
use crate::peers::{self, BATCHED_DICE, FASTRAND, RAND};
use crate::standings::{Over, Ratio};
use crate::{report, std_shuffle, table3};

/// Lengths are one above 2 to these powers.
const POWERS: RangeInclusive<u32> = 8..=17;

pub(crate) const RATIOS: [Ratio; 6] = [
    Ratio { over: Over::Named(PHILOX_GIVEN), to: RAND },
    Ratio { over: Over::Named(DEFAULT_GIVEN), to: RAND },
    Ratio { over: Over::Named(DEFAULT_GIVEN), to: FASTRAND },
    Ratio { over: Over::Named(WHOLE_CALL), to: FASTRAND },
    Ratio { over: Over::Named(DEFAULT_GIVEN), to: BATCHED_DICE },
    Ratio { over: Over::Named(WHOLE_CALL), to: BATCHED_DICE },
];

/// Measures, prints, and writes what was asked for.
pub(crate) fn run(common: &Common) -> Result<(), Box<dyn Error>> {
    let contenders = Choice { skip: &common.skip, ..Choice::default() }.of(contenders());
    let standings = table3::measure(contenders, POWERS, common.effort());
    report::publish(&standings, &RATIOS, |_| table3::ITEM_BYTES.into(), common)
}

/// Ours on one thread, and the sequential peers.
pub(crate) fn contenders() -> Vec<Contender<u64>> {
    let mut all = ours::small();
    all.extend(peers::sequential());
    all.push(peers::batched_dice());
    all.extend(std_shuffle::all());
    all
}
