//! All contenders on items of 8 bytes: at the lengths of table 3 of Mitchell et al., and at short
//! ones.

use std::error::Error;

use crate::arguments::{Common, Lengths};
use crate::contender::Contender;
use crate::machine::{self, Origin};
use crate::measure::{Effort, race};
use crate::sheet::Sheet;
use crate::{bounds, ours, peers, std_shuffle};

/// Everything, or what was chosen.
pub(crate) fn run(lengths: &Lengths, common: &Common) -> Result<(), Box<dyn Error>> {
    let mut contenders = contenders();
    contenders.retain(|contender| lengths.choice(common).takes(&contender.name));
    if contenders.is_empty() {
        return Err("no contender has such a name".into());
    }
    publish(contenders, lengths.powers(), common)
}

/// Short lengths on one thread, where sequential shuffles are at their best.
pub(crate) fn run_small(common: &Common) -> Result<(), Box<dyn Error>> {
    publish(small(), 8..=17, common)
}

pub(crate) fn contenders() -> Vec<Contender> {
    let mut all = ours::all();
    all.extend(peers::sequential());
    all.push(std_shuffle::std_shuffle());
    all.extend(peers::parallel());
    all.extend(bounds::all());
    all
}

pub(crate) fn small() -> Vec<Contender> {
    let mut all = Vec::from(ours::small());
    all.extend(peers::sequential());
    all.push(peers::batched_dice());
    all.push(std_shuffle::std_shuffle());
    all
}

fn publish(
    contenders: Vec<Contender>,
    powers: impl IntoIterator<Item = u32>,
    common: &Common,
) -> Result<(), Box<dyn Error>> {
    let columns = ["name", "item_bytes", "length", "items_per_second"];
    let origin = Origin::new(&machine::name())?;
    let sheet = Sheet::new(origin, common.csv(), &machine::conditions(common), &columns)?;
    measure(contenders, powers, common.effort(), |name, len, speed| {
        sheet.row(&[name, "8", &len.to_string(), &format!("{speed:.0}")])
    })
}

/// Measures contenders at lengths one above powers of two; `keep` gets the speed of each.
pub(crate) fn measure(
    mut contenders: Vec<Contender>,
    powers: impl IntoIterator<Item = u32>,
    effort: Effort,
    mut keep: impl FnMut(&str, usize, f64) -> Result<(), Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    for len in powers.into_iter().map(|power| (1 << power) + 1) {
        let speeds = race(len, &mut contenders, effort);
        for (contender, speed) in contenders.iter().zip(speeds) {
            keep(&contender.name, len, speed)?;
        }
    }
    Ok(())
}
