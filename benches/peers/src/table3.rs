//! Table 3 of Mitchell et al., on the machine at hand.

use std::error::Error;

use crate::arguments::{Common, Lengths};
use crate::bounds::{self, GATHER, MEMCPY};
use crate::contender::Contender;
use crate::measure::{Effort, race};
use crate::peers::{self, RIP_PARALLEL};
use crate::standings::{Over, Ratio, Row, Standings, length};
use crate::{ours, report, std_shuffle};

pub(crate) const RATIOS: [Ratio; 3] = [
    Ratio { over: Over::Best, to: RIP_PARALLEL },
    Ratio { over: Over::Best, to: GATHER },
    Ratio { over: Over::Best, to: MEMCPY },
];

/// Measures, prints, and writes what was asked for.
pub(crate) fn run(lengths: &Lengths, common: &Common) -> Result<(), Box<dyn Error>> {
    let contenders = lengths.choice(common).of(contenders());
    if contenders.is_empty() {
        return Err("no contender has such a name".into());
    }
    let powers = (lengths.from..=lengths.to).step_by(lengths.step);
    let standings = measure(contenders, powers, common.effort());
    report::publish(&standings, &RATIOS, |_| ITEM_BYTES.into(), common)
}

/// The size of the items, as rows have it.
pub(crate) const ITEM_BYTES: &str = "8";

/// All that there are for items of 8 bytes.
pub(crate) fn contenders() -> Vec<Contender<u64>> {
    let mut all = ours::all();
    all.extend(peers::sequential());
    all.extend(std_shuffle::all());
    all.push(peers::rip_parallel());
    all.extend(peers::literature());
    all.extend(bounds::all());
    all
}

/// Measures contenders at lengths one above powers of two.
pub(crate) fn measure(
    mut contenders: Vec<Contender<u64>>,
    powers: impl IntoIterator<Item = u32>,
    effort: Effort,
) -> Standings {
    let labels = contenders.iter().map(|contender| contender.label.clone()).collect();
    let rows = powers.into_iter().map(|power| {
        let len = (1 << power) + 1;
        eprintln!("{}", length(len));
        Row { lead: vec![length(len)], len, speeds: race(len, &mut contenders, effort) }
    });
    let rows = rows.collect();
    Standings { leads: vec!["length"], labels, rows }
}
