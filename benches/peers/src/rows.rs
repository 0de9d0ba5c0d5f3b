//! [`Measured`]: speeds that were measured, read from files with a row for each.

use std::path::Path;

use crate::contender::Label;
use crate::sheet::Sheet;
use crate::standings::{Row, Standings, Unit, length};

/// The columns that say of what a row is: bytes of an item, or a kind of numbers.
const KINDS: [&str; 2] = ["item_bytes", "numbers"];
/// The columns with speeds, of rows that were converted from tables.
const SPEEDS: [&str; 2] = ["items_per_second", "numbers_per_second"];

/// The rows of some files.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    rows: Vec<Measurement>,
    /// The files' names with dates, revisions, machines, and comments: what was measured on what.
    pub(crate) sources: Vec<Source>,
}

/// What a file says about itself.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Source {
    pub(crate) file: String,
    pub(crate) origins: Vec<String>,
    pub(crate) comments: Vec<String>,
}

/// A row.
#[derive(Clone, PartialEq, Debug)]
struct Measurement {
    name: String,
    kind: String,
    len: usize,
    per_second: f64,
}

/// A length of a table, above or at a power of two.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Length {
    /// 2^w, the best case: every point of the domain is a place of the result.
    Power(u32),
    /// 2^w + 1, the worst: hardly more than half of the points are.
    Above(u32),
}

impl Length {
    /// None if it is neither. 2 is a power.
    fn new(len: usize) -> Option<Self> {
        if len.is_power_of_two() {
            return Some(Self::Power(len.ilog2()));
        }
        let below = len.checked_sub(1)?;
        below.is_power_of_two().then(|| Self::Above(below.ilog2()))
    }

    pub(crate) fn items(self) -> usize {
        match self {
            Self::Power(power) => 1 << power,
            Self::Above(power) => (1 << power) + 1,
        }
    }
}

impl Measured {
    /// Reads a file, all of it or nothing.
    pub(crate) fn read(&mut self, file: &Path) -> Result<(), String> {
        let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        let failed = |why| format!("{}: {why}", file.display());
        self.add(&name, &Sheet::read(file)?).map_err(failed)
    }

    /// Adds the rows of a file.
    pub(crate) fn add(&mut self, file: &str, sheet: &Sheet) -> Result<(), String> {
        let one_of = |names: &[&str]| {
            let missing = format!("there is none of the columns {}", names.join(", "));
            names.iter().find_map(|name| sheet.column(name).ok()).ok_or(missing)
        };
        let (name, len, kind) = (sheet.column("name")?, sheet.column("length")?, one_of(&KINDS)?);
        let seconds = sheet.column("seconds").ok();
        let value = seconds.map_or_else(|| one_of(&SPEEDS), Ok)?;
        for (row, number) in sheet.rows.iter().zip(1..) {
            let failed = |what: &str| format!("row {number}: `{what}` is no number above 0");
            let whole = |text: &str| text.parse().ok().filter(|&n: &usize| n > 0);
            let len = whole(&row[len]).ok_or_else(|| failed(&row[len]))?;
            let number = row[value].parse().ok().filter(|&x: &f64| x.is_finite() && x > 0.0);
            let number = number.ok_or_else(|| failed(&row[value]))?;
            let per_second = if seconds.is_some() { len as f64 / number } else { number };
            let (name, kind) = (row[name].clone(), row[kind].clone());
            self.rows.push(Measurement { name, kind, len, per_second });
        }
        let (origins, comments) = (sheet.origins(), sheet.comments.clone());
        self.sources.push(Source { file: file.into(), origins, comments });
        Ok(())
    }

    /// The kinds that there are, numbers of bytes in ascending order.
    pub(crate) fn kinds(&self) -> Vec<&str> {
        let mut kinds = Vec::new();
        for row in &self.rows {
            if !kinds.contains(&row.kind.as_str()) {
                kinds.push(row.kind.as_str());
            }
        }
        kinds.sort_by_key(|kind| kind.parse().unwrap_or(0));
        kinds
    }

    /// The lengths that were measured of a kind, ascending.
    pub(crate) fn all_lengths(&self, kind: &str) -> Vec<usize> {
        let same = self.rows.iter().filter(|row| row.kind == kind);
        let mut lengths: Vec<usize> = same.map(|row| row.len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// Those of them that are at powers of two or one above.
    pub(crate) fn lengths(&self, kind: &str) -> Vec<Length> {
        let mut lengths: Vec<Length> =
            self.all_lengths(kind).into_iter().filter_map(Length::new).collect();
        lengths.sort_unstable();
        lengths
    }

    /// The names of what was measured of a kind, in the order of the rows.
    pub(crate) fn names(&self, kind: &str) -> Vec<&str> {
        let mut names = Vec::new();
        for row in self.rows.iter().filter(|row| row.kind == kind) {
            if !names.contains(&row.name.as_str()) {
                names.push(row.name.as_str());
            }
        }
        names
    }

    /// Items a second, by the median of all rows that say so; not a number if there is none.
    pub(crate) fn speed(&self, name: &str, kind: &str, len: usize) -> f64 {
        let same = |row: &&Measurement| row.name == name && row.kind == kind && row.len == len;
        let mut seconds: Vec<f64> =
            self.rows.iter().filter(same).map(|row| len as f64 / row.per_second).collect();
        seconds.sort_by(f64::total_cmp);
        match seconds.len() {
            0 => f64::NAN,
            count => 2.0 * len as f64 / (seconds[(count - 1) / 2] + seconds[count / 2]),
        }
    }

    /// The speeds of some contenders at some lengths, without lengths that were not measured.
    pub(crate) fn standings(
        &self,
        kind: &str,
        lens: impl IntoIterator<Item = usize>,
        labels: Vec<Label>,
        unit: Unit,
    ) -> Standings {
        let row = |len| {
            let speeds = labels.iter().map(|label| self.speed(&label.name, kind, len)).collect();
            Row { lead: vec![length(len)], len, speeds }
        };
        let mut rows: Vec<Row> = lens.into_iter().map(row).collect();
        rows.retain(|row| row.speeds.iter().any(|speed| !speed.is_nan()));
        Standings { leads: vec!["length"], unit, labels, rows }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sheet(rows: &str) -> Sheet {
        let rows = rows.lines().map(|row| format!("2026-01-02,0123abc,a GPU,{row}\n"));
        let head = "# made up\ndate,revision,machine,name,item_bytes,length,seconds\n";
        Sheet::parse(&(head.to_owned() + &rows.collect::<String>())).unwrap()
    }

    #[test]
    fn rows_are_read_and_looked_up() {
        let mut measured = Measured::default();
        measured.add("one", &sheet("\"a, b\",8,257,257e-9\nc,4,256,1")).unwrap();
        measured.add("two", &sheet("\"a, b\",8,256,1\nc,8,300,1")).unwrap();
        let source = Source {
            file: "one".into(),
            origins: vec!["2026-01-02, revision 0123abc, a GPU".into()],
            comments: vec!["made up".into()],
        };
        assert_eq!(measured.sources[0], source);
        assert_eq!(measured.kinds(), ["4", "8"]);
        assert_eq!(measured.names("8"), ["a, b", "c"]);
        assert_eq!(measured.lengths("8"), [Length::Power(8), Length::Above(8)]);
        assert_eq!(measured.all_lengths("8"), [256, 257, 300]);
        assert!((measured.speed("a, b", "8", 257) / 1e9 - 1.0).abs() < 1e-9);
        assert!(measured.speed("c", "8", 257).is_nan());
    }

    #[test]
    fn of_several_rows_the_median_counts() {
        let mut measured = Measured::default();
        for (seconds, speed) in [("4", 64.0), ("1", 102.4), ("2", 128.0)] {
            measured.add("file", &sheet(&format!("a,8,256,{seconds}"))).unwrap();
            assert!((measured.speed("a", "8", 256) - speed).abs() < 1e-9);
        }
    }

    #[test]
    fn speeds_are_read_as_seconds_are() {
        let text = "date,revision,machine,name,numbers,length,numbers_per_second\n\
                    2026-01-02,0123abc,m,a,normal f32,1024,3e9\n";
        let mut measured = Measured::default();
        measured.add("file", &Sheet::parse(text).unwrap()).unwrap();
        assert!((measured.speed("a", "normal f32", 1024) / 3e9 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn other_rows_are_errors() {
        for row in ["a,8,256,0", "a,8,256,nan", "a,8,256,x", "a,8,0,1", "a,8,-1,1", "a,8,x,1"] {
            assert!(Measured::default().add("file", &sheet(row)).is_err(), "{row}");
        }
        let other = Sheet::parse("date,revision,machine,name,item_bytes,length\n").unwrap();
        assert!(Measured::default().add("file", &other).is_err());
        let missing = Path::new("not/there.csv");
        assert!(Measured::default().read(missing).unwrap_err().contains("there.csv"));
    }

    #[test]
    fn lengths_beside_powers_of_two_are_found() {
        let above = [(3, 1), (5, 2), ((1 << 29) + 1, 29)];
        assert!(above.iter().all(|&(len, w)| Length::new(len) == Some(Length::Above(w))));
        let powers = [(1, 0), (2, 1), (4, 2), (1 << 29, 29)];
        assert!(powers.iter().all(|&(len, w)| Length::new(len) == Some(Length::Power(w))));
        assert!([0, 6, 7, 300].iter().all(|&len| Length::new(len).is_none()));
        assert_eq!(Length::Above(8).items(), 257);
    }
}
