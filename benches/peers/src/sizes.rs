//! Items of 1 to 4096 bytes.

use std::error::Error;

use crate::arguments::{Amount, Common};
use crate::contender::{Choice, Contender, Label};
use crate::item::Item;
use crate::measure::{Effort, race};
use crate::peers::{self, FASTRAND, RIP_PARALLEL};
use crate::standings::{Over, Ratio, Row, Standings, length};
use crate::{ours, report};

pub(crate) const RATIOS: [Ratio; 2] =
    [Ratio { over: Over::Best, to: RIP_PARALLEL }, Ratio { over: Over::Best, to: FASTRAND }];

/// Measures, prints, and writes what was asked for.
pub(crate) fn run(amount: &Amount, common: &Common) -> Result<(), Box<dyn Error>> {
    let standings = measure(amount, &common.skip, common.effort());
    if standings.rows.is_empty() {
        return Err("there are items of 1, 2, 4, 8, 12, 16, 24, 64 and 4096 bytes".into());
    }
    report::publish(&standings, &RATIOS, |row| row.lead[0].clone(), common)
}

/// Measures every size at its lengths.
pub(crate) fn measure(amount: &Amount, skip: &[String], effort: Effort) -> Standings {
    let mut rows = Vec::new();
    let mut each = |size: fn(&Amount, &[String], Effort) -> Vec<Row>| {
        rows.extend(size(amount, skip, effort));
    };
    each(one_size::<u8>);
    each(one_size::<u16>);
    each(one_size::<u32>);
    each(one_size::<u64>);
    each(one_size::<[u32; 3]>);
    each(one_size::<[u64; 2]>);
    each(one_size::<[u64; 3]>);
    each(one_size::<[u64; 8]>);
    each(one_size::<[u64; 512]>);
    Standings { leads: vec!["bytes", "length"], labels: labels(skip), rows }
}

fn one_size<T: Item>(amount: &Amount, skip: &[String], effort: Effort) -> Vec<Row> {
    if !amount.item.is_empty() && !amount.item.contains(&size_of::<T>()) {
        return Vec::new();
    }
    let by_bytes = [amount.bytes / size_of::<T>()];
    let lengths = if amount.len.is_empty() { &by_bytes[..] } else { &amount.len };
    let mut contenders = Choice { skip, ..Choice::default() }.of(contenders::<T>());
    let row = |&len: &usize| {
        let lead = vec![size_of::<T>().to_string(), length(len)];
        eprintln!("{} items of {} bytes", lead[1], lead[0]);
        Row { lead, len, speeds: race(len, &mut contenders, effort) }
    };
    lengths.iter().map(row).collect()
}

fn contenders<T: Item>() -> Vec<Contender<T>> {
    let mut all = ours::all();
    all.extend(peers::sequential());
    all.push(peers::rip_parallel());
    all
}

/// The labels, which are the same for items of all types.
fn labels(skip: &[String]) -> Vec<Label> {
    let contenders = Choice { skip, ..Choice::default() }.of(contenders::<u8>());
    contenders.into_iter().map(|contender| contender.label).collect()
}
