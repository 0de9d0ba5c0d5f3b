//! `benches/notes/cpu.md`, and what other documents quote of it.

use std::error::Error;

use super::computed::{Computed, NOTES};
use super::markdown::{NOT_MEASURED, conditions, number, numbers, range, table, verbatim};
use super::results::Results;
use crate::contender::Label;
use crate::ours::{DEFAULT, DEFAULT_GIVEN, PHILOX, PHILOX_GIVEN, WHOLE_CALL};
use crate::peers::{FASTRAND, RAND, RIP_PARALLEL};
use crate::rows::{Length, Measured};
use crate::sheet::Sheet;
use crate::standings::{Ratio, Standings, Unit};
use crate::{bounds, sizes, small};

const ITEM: &str = "8";
/// How the names of the files with the lengths of table 3 begin: it takes several runs on a machine
/// of little memory.
const PAPER: &str = "cpu-paper";
/// The same on two cores.
const PAPER_TWO: &str = "cpu-two-paper";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let files = Files::read(results)?;
    let report = |measured: &Measured, ratios: &[Ratio]| -> Result<String, String> {
        let text = conditions(&measured.sources);
        Ok(text + &standings(measured, ITEM)?.markdown(ratios))
    };
    computed.block("table", report(&files.table, &crate::table3::RATIOS)?);
    let figure = crate::table3::FIGURE;
    computed.drawings.push((NOTES, figure.file, figure.svg(&standings(&files.table, ITEM)?)?));
    for (block, files) in [("table-3", PAPER), ("table-3 two cores", PAPER_TWO)] {
        let paper = match results.measured_beginning(files)? {
            Some(measured) => report(&measured, &crate::table3::RATIOS)?,
            None => NOT_MEASURED.into(),
        };
        computed.block(block, paper);
    }
    let two = results.measured(&["cpu-two-sizes-64", "cpu-two-sizes-4"])?;
    computed.block("sizes of the paper", by_size(&two)?);
    let [huge, small] = ["cpu-two-strategies-huge", "cpu-two-strategies-small"];
    let strategies = by_pages(&results.measured(&[huge])?, &results.measured(&[small])?)?;
    computed.block("two cores strategies", strategies);
    computed.block("small", report(&files.small, &small::RATIOS[..4])?);
    // Batched dice came later.
    let dice = report(&results.measured(&["cpu-small-zen4"])?, &small::RATIOS)?;
    computed.block("small, Zen 4", dice);
    computed.block("waking", report(&files.waking, &[])?);
    computed.block("sixteen", report(&files.sixteen, &[])?);
    computed.block("beyond", by_pages(&files.huge, &files.small_pages)?);
    let strategies = by_pages(&files.sixteen_huge, &files.sixteen_small_pages)?;
    computed.block("sixteen strategies", strategies);
    computed.block("curand init", verbatim(&results.sheet("curand-init")?));
    computed.block("sizes", by_size(&files.sizes)?);
    computed.block("evaluations", verbatim(&files.evaluations));
    computed.block("cpu in short", in_short(&files)?);
    figures(&files, computed)?;
    Ok(())
}

/// What all of it comes from.
struct Files {
    table: Measured,
    huge: Measured,
    small_pages: Measured,
    small: Measured,
    sizes: Measured,
    waking: Measured,
    sixteen: Measured,
    sixteen_huge: Measured,
    sixteen_small_pages: Measured,
    evaluations: Sheet,
    ratios: Sheet,
}

impl Files {
    fn read(results: &Results) -> Result<Self, String> {
        let measured = |name| results.measured(&[name]);
        Ok(Self {
            table: measured("cpu-table")?,
            huge: measured("cpu-beyond-huge")?,
            small_pages: measured("cpu-beyond-small")?,
            small: measured("cpu-small")?,
            sizes: measured("cpu-sizes")?,
            waking: measured("cpu-waking")?,
            sixteen: measured("cpu-sixteen")?,
            sixteen_huge: measured("cpu-16-strategies-huge")?,
            sixteen_small_pages: measured("cpu-16-strategies-small")?,
            evaluations: results.sheet("cpu-evaluations")?,
            ratios: results.sheet("cpu-ratios")?,
        })
    }

    fn evaluated(&self, family: &str, instructions: &str) -> Result<f64, String> {
        evaluated(&self.evaluations, family, instructions)
    }
}

/// Billions of evaluations a second at 24 bits.
pub(super) fn evaluated(sheet: &Sheet, family: &str, instructions: &str) -> Result<f64, String> {
    let of = sheet.column("24")?;
    let places = [sheet.column("family")?, sheet.column("instructions")?];
    let mut rows = sheet.rows.iter();
    let row = rows.find(|row| row[places[0]] == family && row[places[1]] == instructions);
    let row = row.ok_or_else(|| format!("{family} with {instructions} was not measured"))?;
    row[of].parse().map(|millions: f64| millions / 1e3).map_err(|error| error.to_string())
}

/// The speeds of all that was measured with items of a size, by contenders that are known.
fn standings(measured: &Measured, item_bytes: &str) -> Result<Standings, String> {
    let known = crate::table3::labels().into_iter().chain(small::labels());
    let known: Vec<Label> = known.collect();
    let label = |name: &str| {
        let label = known.iter().find(|label| label.name == name).cloned();
        label.ok_or_else(|| format!("`{name}` is no contender"))
    };
    let labels: Result<Vec<Label>, String> =
        measured.names(item_bytes).into_iter().map(label).collect();
    let lens = measured.all_lengths(item_bytes);
    Ok(measured.standings(item_bytes, lens, labels?, Unit::Millions))
}

/// The same contenders with items in huge pages and in small ones.
fn by_pages(huge: &Measured, small: &Measured) -> Result<String, String> {
    let mut rows = Vec::new();
    let mut both = standings(huge, ITEM)?;
    for (pages, measured) in [("huge", huge), ("4 KiB", small)] {
        let standings = standings(measured, ITEM)?;
        let same = standings.labels.iter().map(|label| &label.name);
        if !same.eq(both.labels.iter().map(|label| &label.name)) {
            return Err("the runs with huge and with small pages have other contenders".into());
        }
        rows.extend(standings.rows.into_iter().map(|mut row| {
            row.lead.insert(0, pages.into());
            row
        }));
    }
    (both.leads, both.rows) = (vec!["pages", "length"], rows);
    let sources = [&huge.sources[..], &small.sources].concat();
    Ok(conditions(&sources) + &both.markdown(&crate::table3::RATIOS))
}

fn by_size(measured: &Measured) -> Result<String, String> {
    let mut all = standings(measured, measured.kinds().first().ok_or("no rows")?)?;
    (all.leads, all.rows) = (vec!["bytes", "length"], Vec::new());
    for item_bytes in measured.kinds() {
        let standings = standings(measured, item_bytes)?;
        all.rows.extend(standings.rows.into_iter().map(|mut row| {
            row.lead.insert(0, item_bytes.into());
            row
        }));
    }
    Ok(conditions(&measured.sources) + &all.markdown(&sizes::RATIOS))
}

/// How the names end of forms that leave the items where they were. The peers have none.
const ELSEWHERE: &str = "out of place";

/// The best of the forms in place whose names begin so, in items a second.
fn best_of(measured: &Measured, begin: &str, item_bytes: &str, len: usize) -> f64 {
    let names = measured.names(item_bytes).into_iter().filter(|name| name.starts_with(begin));
    let names = names.filter(|name| !name.ends_with(ELSEWHERE));
    names.map(|name| measured.speed(name, item_bytes, len)).fold(f64::NAN, f64::max)
}

/// The best speed of a family at a length, by forms of a kind.
type Form = fn(&Measured, &str, usize) -> f64;

/// The best form in place with items of 8 bytes.
pub(super) fn best_at(measured: &Measured, begin: &str, len: usize) -> f64 {
    best_of(measured, begin, ITEM, len)
}

/// The same of the forms out of place.
fn best_elsewhere(measured: &Measured, begin: &str, len: usize) -> f64 {
    let names = measured.names(ITEM).into_iter().filter(|name| name.starts_with(begin));
    let names = names.filter(|name| name.ends_with(ELSEWHERE));
    names.map(|name| measured.speed(name, ITEM, len)).fold(f64::NAN, f64::max)
}

/// Lengths one above a power of two.
pub(super) fn above(power: u32) -> usize {
    Length::Above(power).items()
}

/// One family over another contender.
fn over(measured: &Measured, family: &str, other: &str, item_bytes: &str, len: usize) -> f64 {
    best_of(measured, family, item_bytes, len) / measured.speed(other, item_bytes, len)
}

/// The families, the cipher first.
const FAMILIES: [&str; 2] = [PHILOX, DEFAULT];

fn in_short(files: &Files) -> Result<String, String> {
    let mut rows: Vec<[String; 4]> = Vec::new();
    let mut row = |what: &str, measured: [String; 2], aim: &str| {
        let [cipher, default] = measured;
        rows.push([what.to_owned(), cipher, default, aim.to_owned()]);
    };
    let each = |cell: &dyn Fn(&str) -> Result<String, String>| -> Result<[String; 2], String> {
        Ok([cell(FAMILIES[0])?, cell(FAMILIES[1])?])
    };
    let at = |measured: &Measured, other: &str, powers: &[u32], family: &str| {
        numbers(powers.iter().map(|&w| over(measured, family, other, ITEM, above(w))), 2, "; ")
    };
    let join = |first: String, second: String| format!("{first}; {second}");

    let cells = each(&|family| {
        let first = at(&files.table, RIP_PARALLEL, &[24, 26], family)?;
        Ok(join(first, at(&files.huge, RIP_PARALLEL, &[28], family)?))
    })?;
    row("`rip_shuffle`, parallel: 2^24; 2^26; 2^28", cells, "2.2");
    let cells = each(&|family| {
        let first = at(&files.table, bounds::GATHER, &[26], family)?;
        Ok(join(first, at(&files.huge, bounds::GATHER, &[28], family)?))
    })?;
    row("a gather by a given index, huge pages: 2^26; 2^28", cells, "0.85");
    let cells = each(&|family| at(&files.small_pages, bounds::GATHER, &[26, 28], family))?;
    row("the same, 4 KiB pages: 2^26; 2^28", cells, "1.05");
    for number in [0, 1] {
        let (what, cells, aim) = kept(files, number)?;
        row(&what, cells, &aim);
    }
    let cells = each(&|family| {
        let ratio = |bytes, len| over(&files.sizes, family, RIP_PARALLEL, bytes, len);
        numbers([ratio("4", 1 << 26), ratio("64", 1 << 22)], 2, "; ")
    })?;
    row("`rip_shuffle`, items of 4 bytes, 2^26; of 64 bytes, 2^22", cells, "2.2; 1.2");
    let given = |name: &str, other: &str, powers: &mut dyn Iterator<Item = u32>| {
        let speed = |name: &str, w| files.small.speed(name, ITEM, above(w));
        range(powers.map(|w| speed(name, w) / speed(other, w)), 2)
    };
    let cells = [PHILOX_GIVEN, DEFAULT_GIVEN].map(|name| given(name, RAND, &mut (8..=16)));
    let [cipher, default] = cells;
    row("one thread, `rand`'s shuffle: 2^8 .. 2^16", [cipher?, default?], "1; 1.5");
    let short = given(DEFAULT_GIVEN, FASTRAND, &mut (8..=15))?;
    let cell = join(short, given(DEFAULT_GIVEN, FASTRAND, &mut (16..=16))?);
    row("one thread, `fastrand`'s shuffle: 2^8 .. 2^15; 2^16", [String::new(), cell], "0.8");
    let cells = each(&|family| {
        let cell =
            |form: Form| numbers([17, 20].map(|w| over_best_peer(files, form, family, w)), 2, "; ");
        Ok(format!("{} ({})", cell(best_at)?, cell(best_elsewhere)?))
    })?;
    row("best peer of the run: 2^17; 2^20 (out of place)", cells, "1");
    let rip = |w| files.sixteen.speed(RIP_PARALLEL, ITEM, above(w));
    let cells = each(&|family| {
        let best = |form: Form, w| form(&files.sixteen, family, above(w));
        let cell = |form| numbers([26, 28].map(|w| best(form, w) / rip(w)), 2, "; ");
        Ok(format!("{} ({})", cell(best_at)?, cell(best_elsewhere)?))
    })?;
    row("`rip_shuffle`, 16 threads on 16 cores: 2^26; 2^28 (out of place)", cells, "2");
    let (what, cells, aim) = kept(files, 2)?;
    row(&what, cells, &aim);
    let cells = evaluation_cells(files)?;
    let aim = "1.3, 0.5, 0.3 G; 3.2, 1.6, 0.45 G (8 rounds)";
    row("evaluations a second with AVX-512; AVX2; SSE2 (of 8 rounds)", cells, aim);
    Ok(table(&["", "`VariablePhilox<24>`", "the default", "aimed at"], &rows))
}

/// What a ratio that was kept without its speeds is of, the ratio of each family, and what was
/// aimed at.
fn kept(files: &Files, number: usize) -> Result<(String, [String; 2], String), String> {
    let row = files.ratios.rows.get(number).ok_or("a ratio is missing")?;
    let [_, _, _, what, cipher, default, aim] = &row[..] else {
        return Err("cpu-ratios.csv has other columns".into());
    };
    let what = format!("{what} (the ratio alone was kept)");
    Ok((what, [cipher.clone(), default.clone()], aim.clone()))
}

/// Evaluations a second with each set of instructions, of the cipher and of the default.
fn evaluation_cells(files: &Files) -> Result<[String; 2], String> {
    let mut cells = [String::new(), String::new()];
    for instructions in ["AVX-512", "AVX2", "SSE2"] {
        let digits = if instructions == "SSE2" { 2 } else { 1 };
        let default = number(files.evaluated(STANDARD, instructions)?, digits)?;
        let eight = number(files.evaluated("`MulXorshift<8>`", instructions)?, digits)?;
        let cipher = number(files.evaluated(CIPHER, instructions)?, 2)?;
        for (cell, text) in
            cells.iter_mut().zip([format!("{cipher} G"), format!("{default} G ({eight})")])
        {
            *cell = if cell.is_empty() { text } else { format!("{cell}; {text}") };
        }
    }
    Ok(cells)
}

pub(super) const STANDARD: &str = "`Standard` (`MulXorshift<10>`)";
pub(super) const CIPHER: &str = "`VariablePhilox<24>`";

/// In the later run, a family over the best of the others that are shuffles.
fn over_best_peer(files: &Files, form: Form, family: &str, power: u32) -> f64 {
    let peers = [RAND, FASTRAND, RIP_PARALLEL];
    let speeds = peers.map(|peer| files.waking.speed(peer, ITEM, above(power)));
    form(&files.waking, family, above(power)) / speeds.into_iter().fold(f64::NAN, f64::max)
}

/// What sentences quote.
fn figures(files: &Files, computed: &mut Computed) -> Result<(), String> {
    let len = above(26);
    let whole = files.table.speed(WHOLE_CALL, ITEM, len) / 1e6;
    computed.figure("cpu 2^26 whole call, M/s", whole, 0)?;
    computed.figure(
        "cpu 2^26 gather, M/s",
        files.table.speed(bounds::GATHER, ITEM, len) / 1e6,
        0,
    )?;
    let best = best_of(&files.huge, DEFAULT, ITEM, above(28)) / 1e9;
    computed.figure("cpu 2^28, G/s", best, 2)?;
    for (power, name) in [(26, "2^26"), (27, "2^27"), (28, "2^28")] {
        let forms: [Form; 2] = [best_at, best_elsewhere];
        let best = forms.map(|form| form(&files.sixteen, "ours", above(power)));
        let best = best.into_iter().fold(f64::NAN, f64::max);
        for (other, named) in [(RIP_PARALLEL, "rip_shuffle"), (bounds::GATHER, "gather")] {
            let ratio = best / files.sixteen.speed(other, ITEM, above(power));
            computed.figure(&format!("sixteen cores {name} over {named}"), ratio, 2)?;
        }
    }
    for instructions in ["AVX-512", "SSE2"] {
        let [default, cipher] =
            [STANDARD, CIPHER].map(|family| files.evaluated(family, instructions));
        let (default, cipher) = (default?, cipher?);
        computed.figure(&format!("default over cipher {instructions}"), default / cipher, 1)?;
    }
    Ok(())
}
