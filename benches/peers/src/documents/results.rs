//! [`Results`]: the folder with the rows.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::PathBuf;

use crate::rows::Measured;
use crate::sheet::Sheet;

/// Where the rows are, below the repository's root.
pub(super) const RESULTS: &str = "benches/results";

/// The folder with the rows, and which of its files were read.
#[derive(Debug)]
pub(super) struct Results {
    pub(super) folder: PathBuf,
    read: RefCell<BTreeSet<String>>,
}

impl Results {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, read: RefCell::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        let file = format!("{name}.csv");
        let path = self.folder.join(&file);
        self.read.borrow_mut().insert(file);
        path
    }

    /// A file as it is.
    pub(super) fn sheet(&self, name: &str) -> Result<Sheet, String> {
        Sheet::read(&self.path(name))
    }

    /// The speeds in some files.
    pub(super) fn measured(&self, names: &[&str]) -> Result<Measured, String> {
        let mut measured = Measured::default();
        names.iter().try_for_each(|name| measured.read(&self.path(name)))?;
        Ok(measured)
    }

    /// The files whose names begin so, in the order of their names: of what need not have been
    /// measured.
    pub(super) fn beginning(&self, prefix: &str) -> Result<Vec<String>, String> {
        let failed = |error| format!("{}: {error}", self.folder.display());
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".csv").map(str::to_owned));
        }
        names.retain(|name| name.starts_with(prefix));
        names.sort();
        Ok(names)
    }

    /// The speeds in the files whose names begin so, if there are any.
    pub(super) fn measured_beginning(&self, prefix: &str) -> Result<Option<Measured>, String> {
        let names = self.beginning(prefix)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() { Ok(None) } else { self.measured(&names).map(Some) }
    }

    /// A file that need not be there.
    pub(super) fn sheet_if_any(&self, name: &str) -> Result<Option<Sheet>, String> {
        let names = self.beginning(name)?;
        if names.iter().any(|found| found == name) { self.sheet(name).map(Some) } else { Ok(None) }
    }

    /// Whether there are rows that no document comes from.
    pub(super) fn all_were_read(&self) -> Result<(), Box<dyn Error>> {
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".csv") && !self.read.borrow().contains(&name) {
                return Err(format!("{RESULTS}/{name} is read by no computation").into());
            }
        }
        Ok(())
    }
}
