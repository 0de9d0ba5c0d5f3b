//! [`Row`]: a line of the results, and the files with them.

use std::collections::HashSet;
use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::battery::Battery;

/// One statistic of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// As `testu01 list` names it: `lcg32`.
    pub(crate) generator: String,
    /// In which order its words are used: `sequence`.
    pub(crate) order: String,
    pub(crate) battery: Battery,
    /// From which the generator's seed is made.
    pub(crate) seed: u32,
    /// From 1.
    pub(crate) test: usize,
    /// From 1, within the test.
    pub(crate) statistic: usize,
    /// TestU01's.
    pub(crate) name: String,
    pub(crate) p: f64,
    /// Of processor time, for all statistics of the test together.
    pub(crate) seconds: f64,
}

/// Reads rows, with the line of titles.
pub(crate) fn read(from: impl Read) -> csv::Result<Vec<Row>> {
    csv::Reader::from_reader(from).into_deserialize().collect()
}

/// Reads the rows of a file.
pub(crate) fn read_file(file: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
    let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let opened = File::open(file).map_err(|error| failed(&error))?;
    Ok(read(opened).map_err(|error| failed(&error))?)
}

/// Writes rows, with or without a line of titles before them.
pub(crate) fn write(to: impl Write, rows: &[Row], titles: bool) -> csv::Result<()> {
    let mut writer = csv::WriterBuilder::new().has_headers(titles).from_writer(to);
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}

/// A file that rows are added to, those of a test at once.
#[derive(Debug)]
pub(crate) struct Appender {
    file: File,
    empty: bool,
}

impl Appender {
    /// Opens the file, or makes it.
    pub(crate) fn open(file: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create(true).open(file)?;
        let empty = file.metadata()?.len() == 0;
        Ok(Self { file, empty })
    }

    /// Adds rows: all of them or, where the disk is full, part of them.
    pub(crate) fn append(&mut self, rows: &[Row]) -> Result<(), Box<dyn Error>> {
        let mut text = Vec::new();
        write(&mut text, rows, self.empty && !rows.is_empty())?;
        self.file.write_all(&text)?;
        self.empty &= rows.is_empty();
        Ok(())
    }
}

/// Adds rows to the files of a folder, by their batteries. Those that a file has of the same
/// statistic and seed are left out, so that merging twice changes nothing.
pub(crate) fn merge(files: &[PathBuf], into: &Path) -> Result<(), Box<dyn Error>> {
    let mut new = Vec::new();
    for file in files {
        new.extend(read_file(file)?);
    }
    for battery in Battery::ALL {
        let file = into.join(battery.argument()).with_extension("csv");
        let key = |row: &Row| {
            (row.generator.clone(), row.order.clone(), row.seed, row.test, row.statistic)
        };
        let there = if file.exists() { read_file(&file)? } else { Vec::new() };
        let mut seen: HashSet<_> = there.iter().map(key).collect();
        let of_battery = new.iter().filter(|row| row.battery == battery);
        let rows: Vec<Row> = of_battery.filter(|row| seen.insert(key(row))).cloned().collect();
        if !rows.is_empty() {
            Appender::open(&file)?.append(&rows)?;
        }
        eprintln!("{}: {} rows added", file.display(), rows.len());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_rows_go_to_their_batteries_once() {
        let row = |battery, test| Row {
            generator: "lcg32".into(),
            order: "sequence".into(),
            battery,
            seed: 1,
            test,
            statistic: 1,
            name: "Gap".into(),
            p: 0.5,
            seconds: 1.5,
        };
        let folder = tempfile::tempdir().unwrap();
        let [new, big] = ["new.csv", "big.csv"].map(|name| folder.path().join(name));
        let there = row(Battery::BigCrush, 1);
        Appender::open(&big).unwrap().append(std::slice::from_ref(&there)).unwrap();
        let rows = [row(Battery::Crush, 1), there.clone(), row(Battery::BigCrush, 2)];
        Appender::open(&new).unwrap().append(&rows).unwrap();
        for _ in 0..2 {
            merge(std::slice::from_ref(&new), folder.path()).unwrap();
            assert_eq!(read_file(&big).unwrap(), [there.clone(), rows[2].clone()]);
            assert_eq!(read_file(&folder.path().join("crush.csv")).unwrap(), rows[..1]);
            assert!(!folder.path().join("small.csv").exists());
        }
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let row = |test, name: &str, p| Row {
            generator: "lcg32".into(),
            order: "sequence".into(),
            battery: Battery::Crush,
            seed: 1,
            test,
            statistic: 1,
            name: name.into(),
            p,
            seconds: 1.5,
        };
        let rows = [row(1, "SerialOver, t = 2", 1e-300), row(2, "a \"name\"", 1.0 - 1e-16)];
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        for row in &rows {
            // Opened twice: titles come once.
            Appender::open(&file).unwrap().append(std::slice::from_ref(row)).unwrap();
        }
        assert_eq!(read_file(&file).unwrap(), rows);
        let error = read_file(&folder.path().join("none.csv")).unwrap_err();
        assert!(error.to_string().contains("none.csv"), "{error}");
        std::fs::write(&file, "generator\nx\n").unwrap();
        assert!(read_file(&file).is_err());
    }
}
