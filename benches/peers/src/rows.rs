//! [`Measured`]: what programs measured on a GPU, read from their output.

use std::fs;
use std::path::{Path, PathBuf};

/// The columns of a file, and its first line that is no comment.
const HEAD: &str = "name,item_bytes,length,seconds";

/// The rows of some files.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    rows: Vec<Measurement>,
    /// The files' names, and their comments: what was measured on what.
    pub(crate) comments: Vec<(String, Vec<String>)>,
}

/// A row.
#[derive(Clone, PartialEq, Debug)]
struct Measurement {
    name: String,
    item_bytes: usize,
    len: usize,
    seconds: f64,
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
    /// Reads files, all of them or none.
    pub(crate) fn read(files: &[PathBuf]) -> Result<Self, String> {
        let mut measured = Self::default();
        for file in files {
            let failed = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
            let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
            measured.add(&name(file), &text).map_err(|error| failed(&error))?;
        }
        Ok(measured)
    }

    /// Adds the text of a file.
    pub(crate) fn add(&mut self, file: &str, text: &str) -> Result<(), String> {
        let mut comments = Vec::new();
        for (line, number) in text.lines().map(str::trim).zip(1..) {
            if let Some(comment) = line.strip_prefix('#') {
                comments.push(comment.trim().to_owned());
            } else if !line.is_empty() && line != HEAD {
                let row = measurement(line).map_err(|why| format!("line {number}: {why}"))?;
                self.rows.push(row);
            }
        }
        self.comments.push((file.to_owned(), comments));
        Ok(())
    }

    /// The sizes of items that there are, ascending.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        let mut sizes: Vec<usize> = self.rows.iter().map(|row| row.item_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// The lengths that are in tables and were measured with items of a size, ascending.
    pub(crate) fn lengths(&self, item_bytes: usize) -> Vec<Length> {
        let same = self.rows.iter().filter(|row| row.item_bytes == item_bytes);
        let mut lengths: Vec<Length> = same.filter_map(|row| Length::new(row.len)).collect();
        lengths.sort_unstable();
        lengths.dedup();
        lengths
    }

    /// The names of what was measured with items of a size, in the order of the rows.
    pub(crate) fn names(&self, item_bytes: usize) -> Vec<&str> {
        let mut names = Vec::new();
        for row in self.rows.iter().filter(|row| row.item_bytes == item_bytes) {
            if !names.contains(&row.name.as_str()) {
                names.push(row.name.as_str());
            }
        }
        names
    }

    /// Items a second, by the median of all rows that say so; not a number if there is none.
    pub(crate) fn speed(&self, name: &str, item_bytes: usize, length: Length) -> f64 {
        let len = length.items();
        let same =
            |row: &&Measurement| row.name == name && row.item_bytes == item_bytes && row.len == len;
        let mut seconds: Vec<f64> = self.rows.iter().filter(same).map(|row| row.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        match seconds.len() {
            0 => f64::NAN,
            count => 2.0 * len as f64 / (seconds[(count - 1) / 2] + seconds[count / 2]),
        }
    }
}

/// A file's name without its folder, which is of no use to a reader.
fn name(file: &Path) -> String {
    file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn measurement(line: &str) -> Result<Measurement, String> {
    // From the right, for there may be commas in a name.
    let mut columns = line.rsplitn(4, ',');
    let mut column = || columns.next().ok_or_else(|| format!("not of the form `{HEAD}`"));
    let (seconds, len, item_bytes, name) = (column()?, column()?, column()?, column()?);
    let positive = |text: &str| match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(format!("`{text}` is no number of bytes or items")),
    };
    let (item_bytes, len) = (positive(item_bytes)?, positive(len)?);
    let seconds = match seconds.parse() {
        Ok(number) if f64::is_finite(number) && number > 0.0 => number,
        _ => return Err(format!("`{seconds}` is no time in seconds")),
    };
    if name.is_empty() || name.contains('|') {
        return Err(format!("`{name}` is no name for a table"));
    }
    Ok(Measurement { name: name.into(), item_bytes, len, seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_and_looked_up() {
        let mut measured = Measured::default();
        let text = "# a GPU\nname,item_bytes,length,seconds\na, b,8,257,257e-9\n\nc,4,256,1\n";
        measured.add("one", text).unwrap();
        measured.add("two", "a, b,8,256,1\nc,8,300,1\n").unwrap();
        assert_eq!(
            measured.comments,
            [("one".into(), vec!["a GPU".into()]), ("two".into(), vec![])]
        );
        assert_eq!(measured.sizes(), [4, 8]);
        assert_eq!(measured.names(8), ["a, b", "c"]);
        assert_eq!(measured.lengths(8), [Length::Power(8), Length::Above(8)]);
        assert!((measured.speed("a, b", 8, Length::Above(8)) / 1e9 - 1.0).abs() < 1e-9);
        assert!(measured.speed("c", 8, Length::Above(8)).is_nan());
    }

    #[test]
    fn of_several_rows_the_median_counts() {
        let mut measured = Measured::default();
        for (seconds, speed) in [("4", 64.0), ("1", 102.4), ("2", 128.0)] {
            measured.add("file", &format!("a,8,256,{seconds}")).unwrap();
            assert!((measured.speed("a", 8, Length::Power(8)) - speed).abs() < 1e-9);
        }
    }

    #[test]
    fn other_lines_are_errors() {
        for line in
            ["a,8,256", "a,8,256,0", "a,8,256,nan", "a,8,256,x", "a,8,0,1", "a,-8,1,1", ",8,1,1"]
        {
            let error = Measured::default().add("file", &format!("\n{line}")).unwrap_err();
            assert!(error.starts_with("line 2: "), "{line}: {error}");
        }
        let missing = PathBuf::from("not/there.csv");
        assert!(Measured::read(&[missing]).unwrap_err().contains("there.csv"));
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
