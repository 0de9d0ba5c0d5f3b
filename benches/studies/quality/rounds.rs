//! The fewest rounds that pass, by width.

use std::ops::RangeInclusive;

use bijective_shuffle::bijection::Standard;
use bijective_shuffle::prelude::*;
use rayon::prelude::*;

use crate::compare::{self, Finding, Sample};
use crate::families::{Draw, FAMILIES, Family, reference_at_slots, reference_inside};
use crate::keys::{self, Histogram};
use crate::structure;

/// A family fails if its worst p-value, corrected for the number of tests made at one width, is
/// below this. About 500 combinations of family, rounds and width are tried, so that one of them
/// may fail by chance in 20 runs.
const SIGNIFICANCE: f64 = 1e-4;

/// How much is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Members that are looked at at a few slots.
    pub(crate) keys: u64,
    /// Values inside of permutations that are looked at.
    pub(crate) values: u64,
}

impl Effort {
    /// How many members are looked at inside: enough for a tail to be seen.
    fn members(self, bits: u32) -> u64 {
        if bits > 16 {
            // A quarter of the members whose windows hold that many values, since every slot's
            // partners are looked at as well.
            (self.values / (4 * structure::WINDOW)).clamp(400, 20_000)
        } else {
            (self.values >> bits).clamp(200, 20_000)
        }
    }
}

/// What a way of drawing shows at one length.
struct Sight {
    structure: Vec<Sample>,
    keys: Vec<Histogram>,
}

impl Sight {
    fn new(draw: Draw, len: u64, effort: Effort, seed: u64) -> Self {
        Self::of(draw, draw, len, effort, seed)
    }

    /// What perfect families show.
    fn reference(len: u64, effort: Effort, seed: u64) -> Self {
        Self::of(reference_inside, reference_at_slots, len, effort, seed)
    }

    fn of(inside: Draw, at_slots: Draw, len: u64, effort: Effort, seed: u64) -> Self {
        let measured: Vec<_> = (0..effort.members(bits_of(len)))
            .into_par_iter()
            .map(|member| {
                let f = inside(len, Seed::new(seed).with_epoch(member));
                structure::measure(&*f, member.wrapping_mul(0x9E37_79B9_7F4A_7C15))
            })
            .collect();
        let structure = (0..structure::NAMES.len())
            .map(|k| measured.iter().map(|values| values[k]).collect())
            .collect();
        // Keys of their own, so that the two kinds of tests are independent.
        Self { structure, keys: keys::count(at_slots, len, effort.keys, Seed::new(!seed)) }
    }

    fn worst_against(&self, reference: &Self) -> Finding {
        let structure = self.structure.iter().zip(&reference.structure).zip(structure::NAMES);
        let structure = structure.flat_map(|((ours, perfect), name)| {
            [ours.mean_differs(perfect, name), ours.largest_differs(perfect, name)]
        });
        let keys = self.keys.iter().zip(&reference.keys);
        let keys = keys.map(|(ours, perfect)| compare::histograms(ours, perfect));
        compare::worst(structure.chain(keys).collect())
    }
}

/// The width of the smallest power of two that holds a length.
fn bits_of(len: u64) -> u32 {
    len.next_power_of_two().ilog2()
}

/// The narrowest domain that the default family is used on: that of one item more than are drawn
/// exactly.
const NARROWEST_USED: u32 = (Standard::EXACT_MAX + 1).next_power_of_two().ilog2();

/// Compares the reference with itself, under other seeds: what fails here is the comparison's
/// fault. Prints a row for each width, and returns whether all pass.
pub(crate) fn print_control(widths: RangeInclusive<u32>, effort: Effort, seed: u64) -> bool {
    println!("| bits | exact draws against exact draws: smallest p-value | of |");
    println!("| --- | --- | --- |");
    let mut passed = true;
    for bits in widths {
        let sight = |seed| Sight::reference(1 << bits, effort, seed);
        let Finding { name, p_value } = sight(seed).worst_against(&sight(seed ^ 0xFACE));
        println!("| {bits} | {p_value:.1e} | {name} |");
        passed &= p_value >= SIGNIFICANCE;
    }
    passed
}

/// Prints, for each width, the fewest rounds from which on every number of rounds passes, and the
/// worst finding of one step fewer. Returns whether every family passes with the rounds that are
/// chosen, where the default would be used.
pub(crate) fn print_table(
    widths: RangeInclusive<u32>,
    effort: Effort,
    seed: u64,
    only: Option<&str>,
    all: bool,
) -> bool {
    let mut passed = true;
    let families = || FAMILIES.iter().filter(|family| only.is_none_or(|name| family.name == name));
    println!(
        "| bits | length | family | fewest rounds | margin of the chosen | what fails with fewer |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    for bits in widths {
        for len in [1 << bits, (1 << (bits - 1)) + 1] {
            if len < 1 << bits && families().all(|family| family.name != "GridFeistel") {
                continue;
            }
            for family in families() {
                // Only the grid has another domain for a length just above a power of two.
                let is_grid = family.name == "GridFeistel";
                if len == 1 << bits && (bits <= 16 || !is_grid) || len < 1 << bits && is_grid {
                    let fewest = print_row(bits, len, family, effort, seed, all);
                    let passes = fewest.is_some_and(|fewest| fewest <= family.chosen);
                    passed &= passes || bits < NARROWEST_USED;
                }
            }
        }
    }
    passed
}

fn print_row(
    bits: u32,
    len: u64,
    family: &Family,
    effort: Effort,
    seed: u64,
    all: bool,
) -> Option<usize> {
    // The reference has the family's own domain, which may be a little larger than the length.
    let domain = (family.rounds[0].1)(len, Seed::new(0)).last() + 1;
    let perfect = Sight::reference(domain, effort, seed ^ 0xFACE);
    let mut fewest = None;
    let mut first_failure = None;
    // From the most rounds down, until some number fails.
    for &(rounds, draw) in family.rounds.iter().rev() {
        let finding = Sight::new(draw, len, effort, seed).worst_against(&perfect);
        if all {
            eprintln!(
                "{} {rounds} at {len}: {} p {:.1e}",
                family.name, finding.name, finding.p_value
            );
        }
        if finding.p_value < SIGNIFICANCE {
            first_failure.get_or_insert((rounds, finding));
            if !all {
                break;
            }
        } else if first_failure.is_none() {
            fewest = Some(rounds);
        }
    }
    let margin =
        fewest.map_or("none passes".into(), |f| format!("{:.2}", family.chosen as f64 / f as f64));
    let shown = fewest.map_or("-".into(), |f| f.to_string());
    let failure = first_failure.map_or("nothing".into(), |(rounds, finding)| {
        format!("{rounds}: {}, p {:.0e}", finding.name, finding.p_value)
    });
    println!("| {bits} | {len} | {} | {shown} | {margin} | {failure} |", family.name);
    fewest
}
