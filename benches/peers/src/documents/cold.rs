//! Calls in fresh processes, the first and those after it: whole tables in `benches/notes/cpu.md`,
//! and what `docs/results/cpu.md` and the README have of them.

use std::error::Error;

use super::computed::Computed;
use super::markdown::{self, NOT_MEASURED, conditions_of, number, range};
use super::results::Results;
use crate::cold::Rows;
use crate::ours::WHOLE_CALL;
use crate::peers::RIP_PARALLEL;
use crate::rows::Length;
use crate::sheet::Sheet;
use crate::standings::length;

/// How the names of the files begin: one for each machine, number of threads, and kind of pages.
const FILES: &str = "cpu-cold";

pub(super) fn compute(results: &Results, computed: &mut Computed) -> Result<(), Box<dyn Error>> {
    let mut tables = Vec::new();
    for name in results.beginning(FILES)? {
        let sheet = results.sheet(&name)?;
        tables.push(table(&sheet).map_err(|why| format!("{name}.csv: {why}"))?);
    }
    let text = if tables.is_empty() { NOT_MEASURED.into() } else { tables.join("\n") };
    computed.block("cold", text);
    let mut machines = Vec::new();
    for (file, items, machine) in MACHINES {
        if let Some(sheet) = results.sheet_if_any(file)? {
            let items = results.sheet_if_any(items)?;
            machines.push((machine, Calls(sheet), items.map(Calls)));
        }
    }
    computed.block("calls", calls(&machines)?);
    computed.block("calls by item", by_item(&machines)?);
    machines.first().map_or(Ok(()), |(_, first, _)| Ok(sentences(first, computed)?))
}

/// Files with lengths of `u64`, files with other items, and what their machines are called.
/// Sentences are about the first.
const MACHINES: [(&str, &str, &str); 4] = [
    ("cpu-cold-zen5", "cpu-cold-zen5-items", "EPYC (Zen 5), 2 cores"),
    ("cpu-cold", "cpu-cold-items", "EPYC (Zen 4), 2 cores"),
    ("cpu-cold-xeon-16", "cpu-cold-xeon-items", "Xeon, 16 cores"),
    ("cpu-cold-xeon-2", "", "Xeon, 2 cores"),
];

pub(super) const PARTITIONED: &str = "ours, workspace kept, partitioned";
const FIRST: &str = "first_items_per_second";
pub(super) const LATER: &str = "later_items_per_second";
const PEAK: &str = "peak_bytes_per_item";

/// The rows of a file.
pub(super) struct Calls(pub(super) Sheet);

impl Calls {
    /// A number of a contender, or nothing if it was not measured.
    pub(super) fn of(
        &self,
        name: &str,
        item: &str,
        length: &str,
        column: &str,
    ) -> Result<f64, String> {
        let at = |column| self.0.column(column);
        let places = [at("name")?, at("item")?, at("length")?];
        let same = |row: &&Vec<String>| places.map(|at| row[at].as_str()) == [name, item, length];
        let Some(row) = self.0.rows.iter().find(same) else { return Ok(f64::NAN) };
        Ok(row[at(column)?].parse().unwrap_or(f64::NAN))
    }

    /// The different cells of a column, in their order.
    pub(super) fn distinct(&self, column: &str) -> Result<Vec<&str>, String> {
        let at = self.0.column(column)?;
        let mut all: Vec<&str> = Vec::new();
        for row in &self.0.rows {
            if !all.contains(&row[at].as_str()) {
                all.push(&row[at]);
            }
        }
        Ok(all)
    }
}

type Machines = [(&'static str, Calls, Option<Calls>)];

/// Where and when the rows were measured.
fn origins<'a>(machines: impl Iterator<Item = (&'static str, &'a Calls)>) -> String {
    let line = |(machine, calls): (&str, &Calls)| {
        let origins = calls.0.origins();
        // Without the machine's own name, which says less.
        let dates = origins
            .iter()
            .map(|origin| origin.splitn(3, ", ").take(2).collect::<Vec<_>>().join(", "));
        format!("* {machine}: {}\n", dates.collect::<Vec<_>>().join("; "))
    };
    machines.map(line).collect::<String>() + "\n"
}

/// Every length of `u64` on every machine.
fn calls(machines: &Machines) -> Result<String, String> {
    let mut rows = Vec::new();
    for (machine, calls, _) in machines {
        for len in calls.distinct("length")? {
            let of = |name, column| calls.of(name, "u64", len, column);
            let speed = |name, column| of(name, column).map(|speed| cell(speed / 1e6, 0));
            let ratio = |name, column| {
                Ok::<_, String>(cell(of(name, column)? / of(RIP_PARALLEL, column)?, 2))
            };
            rows.push([
                (*machine).to_owned(),
                length(len.parse().map_err(|_| format!("`{len}` is no length"))?),
                speed(WHOLE_CALL, FIRST)?,
                speed(WHOLE_CALL, LATER)?,
                speed(PARTITIONED, LATER)?,
                speed(RIP_PARALLEL, LATER)?,
                ratio(WHOLE_CALL, FIRST)?,
                ratio(WHOLE_CALL, LATER)?,
                ratio(PARTITIONED, LATER)?,
                cell(of(WHOLE_CALL, PEAK)?, 1),
                cell(of(PARTITIONED, PEAK)?, 1),
            ]);
        }
    }
    let head = [
        "machine",
        "length",
        "first call, M/s",
        "later calls",
        "`Workspace`",
        "`rip_shuffle`",
        "first call / `rip_shuffle`",
        "later calls",
        "`Workspace`",
        "peak beside the array, bytes an item",
        "with a `Workspace`",
    ];
    let all = machines.iter().map(|(machine, calls, _)| (*machine, calls));
    Ok(origins(all) + &markdown::table(&head, &rows))
}

/// Later calls on items of other types.
fn by_item(machines: &Machines) -> Result<String, String> {
    let mut rows = Vec::new();
    for (machine, _, items) in machines {
        let Some(calls) = items else { continue };
        // All of them were measured at one length.
        let lens = calls.distinct("length")?;
        let [len] = lens[..] else { return Err(format!("{machine}: lengths {lens:?}")) };
        for item in calls.distinct("item")? {
            let of = |name| calls.of(name, item, len, LATER);
            let (ours, theirs) = (of(WHOLE_CALL)?, of(RIP_PARALLEL)?);
            rows.push([
                (*machine).to_owned(),
                format!("`{item}`"),
                cell(ours / 1e6, 0),
                cell(theirs / 1e6, 0),
                cell(ours / theirs, 2),
            ]);
        }
    }
    let head = ["machine", "items", "ours, M/s", "`rip_shuffle`", "ours / `rip_shuffle`"];
    let all = machines.iter().filter_map(|(machine, _, items)| Some((*machine, items.as_ref()?)));
    Ok(origins(all) + &markdown::table(&head, &rows))
}

fn cell(value: f64, digits: usize) -> String {
    if value.is_nan() { "-".into() } else { format!("{value:.digits$}") }
}

/// What sentences say of 2^26 + 1 items of 8 bytes on one machine, and of all lengths.
fn sentences(calls: &Calls, computed: &mut Computed) -> Result<(), String> {
    let len = Length::Above(26).items();
    let of = |name| calls.of(name, "u64", &len.to_string(), LATER);
    let (plain, kept, rip) = (of(WHOLE_CALL)?, of(PARTITIONED)?, of(RIP_PARALLEL)?);
    if plain.is_nan() {
        return Ok(());
    }
    for (name, speed) in [("plain call", plain), ("workspace", kept), ("rip_shuffle", rip)] {
        computed.figure(&format!("2^26, {name}, s"), len as f64 / speed, 2)?;
    }
    computed.figure("2^26, plain call over rip_shuffle", plain / rip, 1)?;
    computed.figure("2^26, workspace over rip_shuffle", kept / rip, 1)?;
    computed.text(
        "plain call, peak bytes",
        number(calls.of(WHOLE_CALL, "u64", &len.to_string(), PEAK)?, 1)?,
    );
    let lens = calls.distinct("length")?;
    let kept = lens.iter().filter(|len| len.parse().is_ok_and(|len: usize| len > 1 << 22));
    let kept = kept.map(|len| {
        let of = |name| calls.of(name, "u64", len, LATER);
        Ok(of(PARTITIONED)? / of(RIP_PARALLEL)?)
    });
    let kept = kept.collect::<Result<Vec<_>, String>>()?;
    computed.text("workspace over rip_shuffle from 2^22 on", range(kept, 1)?);
    Ok(())
}

/// What a file says about itself, and its rows.
fn table(sheet: &Sheet) -> Result<String, String> {
    Ok(conditions_of(sheet) + &Rows::read(sheet)?.markdown())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const HEAD: &str = "# $ a command\n\
        date,revision,machine,name,item,item_bytes,length,threads,pages,first_items_per_second,\
        later_items_per_second,peak_bytes_per_item,first_page_faults,later_page_faults\n";

    fn computed(files: &[(&str, &str)]) -> Result<Computed, Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        for (file, row) in files {
            let text = format!("{HEAD}2026-01-02,0123abc,made up,{row}\n");
            fs::write(folder.path().join(file), text)?;
        }
        let results = Results::new(folder.path().into());
        let mut computed = Computed::default();
        compute(&results, &mut computed)?;
        results.all_were_read()?;
        Ok(computed)
    }

    #[test]
    fn every_file_gets_its_table() {
        let files = [
            ("cpu-cold.csv", "fastrand,u64,8,257,2,4 KiB,1e6,2e6,0,0,0"),
            ("cpu-cold-huge.csv", "fastrand,u64,8,257,2,huge,3e6,4e6,-,-,-"),
        ];
        let computed = computed(&files).unwrap();
        let (name, text) = &computed.blocks[0];
        assert_eq!(*name, "cold");
        assert_eq!(text.matches("```console\na command\n```").count(), 2);
        assert!(text.contains("* 2026-01-02, revision 0123abc, made up\n"));
        for line in [
            "\n| `u64` | 2^8 + 1 | fastrand | 1.0 | 2.0 | - | - | 0.0 | 0 | 0 |\n",
            "\n| `u64` | 2^8 + 1 | fastrand | 3.0 | 4.0 | - | - | - | - | - |\n",
        ] {
            assert!(text.contains(line), "{text}");
        }
    }

    #[test]
    fn there_need_be_no_rows_but_no_wrong_ones() {
        assert_eq!(computed(&[]).unwrap().blocks[0], ("cold", NOT_MEASURED.to_owned()));
        let wrong = [("cpu-cold.csv", "fastrand,u64,8,257,2,4 KiB,0,2e6,0,0,0")];
        assert!(computed(&wrong).unwrap_err().to_string().contains("cpu-cold.csv: row 1"));
    }
}
