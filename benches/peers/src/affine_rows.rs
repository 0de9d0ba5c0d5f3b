//! [`AffineRows`]: what `cuda/affine` measured on a GPU, read from its output.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

/// The columns of a file, and its first line that is no comment.
const HEAD: &str = "date,revision,machine,kernel,map,item_bytes,log2_items,seconds";

/// Rows of one machine, for items of one size.
#[derive(Debug, Default)]
pub(crate) struct AffineRows {
    rows: Vec<AffineRow>,
    /// The comments of the files.
    pub(crate) comments: Vec<String>,
}

/// What one kernel took for one map and length.
#[derive(Clone, PartialEq, Debug)]
struct AffineRow {
    date: String,
    revision: String,
    machine: String,
    kernel: String,
    map: String,
    item_bytes: usize,
    log2_items: u32,
    seconds: f64,
}

impl AffineRows {
    /// Reads files, all of them or none.
    ///
    /// # Errors
    ///
    /// If a file cannot be read or has a line that is no row, if rows are of several machines or sizes of items, which
    /// cannot be compared, or if there is no row.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, String> {
        let mut all = Self::default();
        for file in files {
            let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
            let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
            all.add(&text).map_err(|error| failed(&error))?;
        }
        all.one_of_a_kind("machine", |row| row.machine.clone())?;
        all.one_of_a_kind("size of items", |row| format!("{} bytes", row.item_bytes))?;
        Ok(all)
    }

    /// Adds the text of a file.
    fn add(&mut self, text: &str) -> Result<(), String> {
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if let Some(comment) = line.strip_prefix('#') {
                self.comments.push(comment.trim().to_owned());
            } else if !line.is_empty() && line != HEAD {
                self.rows.push(row(line).map_err(|why| format!("line {number}: {why}"))?);
            }
        }
        Ok(())
    }

    fn one_of_a_kind(&self, what: &str, of: impl Fn(&AffineRow) -> String) -> Result<(), String> {
        let kinds: BTreeSet<String> = self.rows.iter().map(of).collect();
        match kinds.len() {
            0 => Err("there are no rows".into()),
            1 => Ok(()),
            _ => Err(format!("the rows have more than one {what}: {kinds:?}")),
        }
    }

    /// The machine, the dates and the revisions, for a caption.
    pub(crate) fn origin(&self) -> String {
        let dates: BTreeSet<&str> = self.rows.iter().map(|row| row.date.as_str()).collect();
        let revisions: BTreeSet<&str> = self.rows.iter().map(|row| row.revision.as_str()).collect();
        let joined = |set: BTreeSet<&str>| set.into_iter().collect::<Vec<_>>().join(", ");
        format!("{}, {}, revision {}", self.rows[0].machine, joined(dates), joined(revisions))
    }

    /// The bytes of an item.
    pub(crate) fn item_bytes(&self) -> usize {
        self.rows[0].item_bytes
    }

    /// The logarithms of the lengths, ascending.
    pub(crate) fn lengths(&self) -> Vec<u32> {
        self.rows.iter().map(|row| row.log2_items).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The kernels that were measured with a map and length, in the order of the rows.
    pub(crate) fn kernels(&self, map: &str, log2_items: u32) -> Vec<&str> {
        let mut kernels: Vec<&str> = Vec::new();
        for row in self.rows.iter().filter(|row| row.map == map && row.log2_items == log2_items) {
            if !kernels.contains(&row.kernel.as_str()) {
                kernels.push(&row.kernel);
            }
        }
        kernels
    }

    /// The median of the seconds that a kernel took: of several matrices of a kind, and of several runs.
    pub(crate) fn seconds(&self, kernel: &str, map: &str, log2_items: u32) -> Option<f64> {
        let same = |row: &&AffineRow| {
            row.kernel == kernel && row.map == map && row.log2_items == log2_items
        };
        let mut seconds: Vec<f64> = self.rows.iter().filter(same).map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        let middle = seconds.len() / 2;
        match seconds.len() {
            0 => None,
            len if len % 2 == 1 => Some(seconds[middle]),
            _ => Some((seconds[middle - 1] + seconds[middle]) / 2.0),
        }
    }
}

fn row(line: &str) -> Result<AffineRow, String> {
    let cells: [String; 8] = cells(line)?
        .try_into()
        .map_err(|cells: Vec<String>| format!("{} columns and not 8", cells.len()))?;
    let [date, revision, machine, kernel, map, item_bytes, log2_items, seconds] = cells;
    let number = |text: &str, what: &str| format!("`{text}` is not {what}");
    let seconds: f64 = seconds.parse().map_err(|_| number(&seconds, "a time"))?;
    if !(seconds.is_finite() && seconds > 0.0) {
        return Err(format!("{seconds} seconds cannot be"));
    }
    Ok(AffineRow {
        item_bytes: item_bytes.parse().map_err(|_| number(&item_bytes, "a size"))?,
        log2_items: log2_items.parse().map_err(|_| number(&log2_items, "a logarithm"))?,
        date,
        revision,
        machine,
        kernel,
        map,
        seconds,
    })
}

/// The cells of a line, of which some are in quotation marks, since they have commas.
fn cells(line: &str) -> Result<Vec<String>, String> {
    let (mut cells, mut cell, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    if quoted { Err("a quotation mark is missing".into()) } else { Ok(cells) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Result<AffineRows, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        fs::write(&file, text).unwrap();
        AffineRows::read(&[file])
    }

    #[test]
    fn kernels_may_have_commas_and_matrices_of_a_kind_are_one() {
        let rows = rows(&format!(
            "# a comment\n{HEAD}\n\
             2026-01-02,abc,X,\"two, passes\",random BMMC,4,30,3e-3\n\
             2026-01-02,abc,X,\"two, passes\",random BMMC,4,30,1e-3\n\
             2026-01-03,abc,X,\"two, passes\",random BMMC,4,30,2e-3\n\
             2026-01-03,abc,X,other,random BMMC,4,29,2e-3\n"
        ))
        .unwrap();
        assert_eq!(rows.comments, ["a comment"]);
        assert_eq!(rows.lengths(), [29, 30]);
        assert_eq!(rows.kernels("random BMMC", 30), ["two, passes"]);
        assert_eq!(rows.seconds("two, passes", "random BMMC", 30), Some(2e-3));
        assert_eq!(rows.seconds("two, passes", "random BMMC", 29), None);
        assert_eq!(rows.origin(), "X, 2026-01-02, 2026-01-03, revision abc");
    }

    #[test]
    fn what_cannot_be_compared_or_read_is_refused() {
        let one = "2026-01-02,abc,X,a,b,4,30,3e-3\n";
        for (text, why) in [
            ("", "there are no rows"),
            (&*format!("{one}2026-01-02,abc,Y,a,b,4,30,3e-3\n"), "more than one machine"),
            (&*format!("{one}2026-01-02,abc,X,a,b,8,30,3e-3\n"), "more than one size of items"),
            ("2026-01-02,abc,X,a,b,4,30\n", "line 1: 7 columns"),
            ("2026-01-02,abc,X,\"a,b,4,30,1\n", "quotation mark"),
            ("2026-01-02,abc,X,a,b,4,30,-1\n", "-1 seconds"),
            ("2026-01-02,abc,X,a,b,4,x,1\n", "`x` is not a logarithm"),
        ] {
            let error = rows(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
