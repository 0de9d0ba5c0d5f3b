//! [`Row`]: a line of the results, and the files with them.

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

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

#[cfg(test)]
mod tests {
    use super::*;

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
