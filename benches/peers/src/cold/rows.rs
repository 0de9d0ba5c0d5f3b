//! [`Rows`]: what a first call costs, as a table and as CSV.

use super::sample::{CALLS, Call, Sample};
use crate::item::ItemType;
use crate::machine::Origin;
use crate::measure::median;
use crate::peers::RIP_PARALLEL;
use crate::sheet::Sheet;
use crate::standings::{length, millions};

/// What all rows of a file have in common.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Conditions {
    pub(super) threads: String,
    pub(super) pages: String,
}

/// What was measured, the contenders at each length one after the other.
#[derive(PartialEq, Debug)]
pub(crate) struct Rows(pub(super) Vec<Row>);

/// A contender with items of a type at a length. What was not measured is not a number.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Row {
    name: String,
    item: String,
    item_bytes: String,
    len: usize,
    first: Calls,
    /// The median of the calls after the first.
    later: Calls,
    /// The most memory beyond the items.
    peak_bytes_per_item: f64,
}

/// A call, or some.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Calls {
    items_per_second: f64,
    faults: f64,
}

/// The columns after the origin.
const COLUMNS: [&str; 11] = [
    "name",
    "item",
    "item_bytes",
    "length",
    "threads",
    "pages",
    "first_items_per_second",
    "later_items_per_second",
    "peak_bytes_per_item",
    "first_page_faults",
    "later_page_faults",
];

impl Row {
    /// The medians of some processes, each with one call or more after the first.
    pub(super) fn new(name: &str, item: ItemType, len: usize, samples: &[Sample]) -> Self {
        let medians =
            |number: &dyn Fn(&Sample) -> f64| median(samples.iter().map(number).collect());
        // A clock may not see a call that moves a few items.
        let speed = |call: &Call| len as f64 / call.time.as_secs_f64().max(1e-9);
        let faults = |call: &Call| call.faults.map_or(f64::NAN, |faults| faults as f64);
        let later = |sample: &Sample, number: &dyn Fn(&Call) -> f64| {
            median(sample.calls[1..].iter().map(number).collect())
        };
        let peak = |sample: &Sample| sample.peak.map_or(f64::NAN, |peak| peak as f64 / len as f64);
        Self {
            name: name.into(),
            item: item.name().into(),
            item_bytes: item.bytes().to_string(),
            len,
            first: Calls {
                items_per_second: medians(&|sample| speed(&sample.calls[0])),
                faults: medians(&|sample| faults(&sample.calls[0])),
            },
            later: Calls {
                items_per_second: medians(&|sample| later(sample, &speed)),
                faults: medians(&|sample| later(sample, &faults)),
            },
            peak_bytes_per_item: medians(&peak),
        }
    }

    /// The cells after the origin.
    fn cells(&self, of: &Conditions) -> [String; COLUMNS.len()] {
        let Self { name, item, item_bytes, len, first, later, peak_bytes_per_item } = self;
        [
            name.clone(),
            item.clone(),
            item_bytes.clone(),
            len.to_string(),
            of.threads.clone(),
            of.pages.clone(),
            cell(first.items_per_second, 0),
            cell(later.items_per_second, 0),
            cell(*peak_bytes_per_item, 3),
            cell(first.faults, 1),
            cell(later.faults, 1),
        ]
    }
}

/// What stands for a number that was not measured.
const UNKNOWN: &str = "-";

fn cell(value: f64, digits: usize) -> String {
    if value.is_nan() { UNKNOWN.into() } else { format!("{value:.digits$}") }
}

impl Rows {
    /// The same as a file.
    pub(super) fn csv(&self, of: &Conditions, comments: &[String], origin: &Origin) -> String {
        let mut text: String = comments.iter().map(|line| format!("# {line}\n")).collect();
        text += &origin.head(&COLUMNS);
        text.push('\n');
        for row in &self.0 {
            let cells = row.cells(of);
            text += &origin.row(&cells.each_ref().map(String::as_str));
            text.push('\n');
        }
        debug_assert!(Sheet::parse(&text).is_ok(), "{text}");
        text
    }

    /// The table, with how many times as fast as parallel `rip_shuffle` each contender is.
    pub(crate) fn markdown(&self) -> String {
        let later = format!("calls 2 to {}", CALLS);
        let head = [
            "items".to_owned(),
            "length".to_owned(),
            "shuffle".to_owned(),
            "call 1, M/s".to_owned(),
            format!("{later}, M/s"),
            format!("call 1 / {RIP_PARALLEL}"),
            format!("{later} / {RIP_PARALLEL}"),
            "peak, bytes an item".to_owned(),
            "page faults in call 1".to_owned(),
            format!("in each of {later}"),
        ];
        let rule = head.each_ref().map(|_| "---".to_owned());
        let line = |cells: [String; 10]| format!("| {} |\n", cells.join(" | "));
        [head, rule].into_iter().chain(self.0.iter().map(|row| self.line(row))).map(line).collect()
    }

    fn line(&self, row: &Row) -> [String; 10] {
        let beside = |other: &&Row| (&other.item, other.len) == (&row.item, row.len);
        let rip = self.0.iter().filter(beside).find(|other| other.name == RIP_PARALLEL);
        let ratio = |calls: fn(&Row) -> Calls| {
            let speed = |row| calls(row).items_per_second;
            cell(rip.map_or(f64::NAN, |rip| speed(row) / speed(rip)), 2)
        };
        let speed = |calls: Calls| millions(calls.items_per_second);
        [
            format!("`{}`", row.item),
            length(row.len),
            row.name.clone(),
            speed(row.first),
            speed(row.later),
            ratio(|row| row.first),
            ratio(|row| row.later),
            cell(row.peak_bytes_per_item, 1),
            cell(row.first.faults, 0),
            cell(row.later.faults, 0),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(line: &str) -> Row {
        let samples: Vec<Sample> = line.split(';').map(|text| text.parse().unwrap()).collect();
        Row::new(RIP_PARALLEL, ItemType::U64, 1000, &samples)
    }

    fn conditions() -> Conditions {
        Conditions { threads: "2".into(), pages: "4 KiB".into() }
    }

    #[test]
    fn medians_are_of_calls_first_and_then_of_processes() {
        let row = samples(
            "16000 1000:9 100:1 200:2 400:4 800:8;\
             8000 2000:7 100:0 100:0 100:0 100:0;\
             9000 4000:8 500:3 500:3 500:3 500:3",
        );
        assert!((row.first.items_per_second / 0.5e9 - 1.0).abs() < 1e-9);
        // 3.75 G, 10 G, and 2 G
        assert!((row.later.items_per_second / 3.75e9 - 1.0).abs() < 1e-9);
        assert_eq!((row.first.faults, row.later.faults), (8.0, 3.0));
        assert_eq!(row.peak_bytes_per_item, 9.0);
    }

    #[test]
    fn rows_that_are_written_can_be_read() {
        let rows = Rows(vec![samples("16000 1000:9 100:1"), samples("- 1000:- 100:-")]);
        let text = rows.csv(&conditions(), &["$ a command".into()], &Origin::made_up());
        let sheet = Sheet::parse(&text).unwrap();
        assert_eq!((sheet.comments.len(), sheet.rows.len()), (1, 2));
        assert!(text.ends_with(",-,-,-\n"), "{text}");
    }

    #[test]
    fn the_table_compares_at_the_same_length_of_the_same_items() {
        let rip = samples("16000 1000:9 100:1");
        let row = |name: &str, len, first: f64, later: f64| Row {
            name: name.into(),
            len,
            first: Calls { items_per_second: first, ..rip.first },
            later: Calls { items_per_second: later, ..rip.later },
            ..rip.clone()
        };
        let rows = Rows(vec![
            row("a", 257, 1e6, 2e6),
            row(RIP_PARALLEL, 257, 2e6, 4e8),
            row("a", 300, 1e6, 2e6),
        ]);
        let expected = "\
            | items | length | shuffle | call 1, M/s | calls 2 to 5, M/s \
            | call 1 / rip_shuffle, parallel | calls 2 to 5 / rip_shuffle, parallel \
            | peak, bytes an item | page faults in call 1 | in each of calls 2 to 5 |\n\
            | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n\
            | `u64` | 2^8 + 1 | a | 1.0 | 2.0 | 0.50 | 0.01 | 16.0 | 9 | 1 |\n\
            | `u64` | 2^8 + 1 | rip_shuffle, parallel | 2.0 | 400 | 1.00 | 1.00 | 16.0 | 9 | 1 |\n\
            | `u64` | 300 | a | 1.0 | 2.0 | - | - | 16.0 | 9 | 1 |\n";
        assert_eq!(rows.markdown(), expected);
    }
}
