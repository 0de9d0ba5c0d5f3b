//! [`Sheet`]: rows of results, as `benches/results` keeps them: printed, and written into a file if
//! one is asked for.

use std::error::Error;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use bijective_shuffle::cuda::Cuda;

use crate::machine::{self, Origin};

/// Comments, a line with the columns' names, and rows, each of which begins with an origin.
pub(crate) struct Sheet {
    origin: Origin,
    file: Option<File>,
}

impl Sheet {
    /// With comments and columns, which come after the origin's.
    pub(crate) fn new(
        origin: Origin,
        csv: Option<&Path>,
        comments: &[String],
        columns: &[&str],
    ) -> Result<Self, Box<dyn Error>> {
        let named = |file: &Path| {
            File::create(file).map_err(|error| format!("{}: {error}", file.display()))
        };
        let sheet = Self { origin, file: csv.map(named).transpose()? };
        for comment in comments {
            sheet.comment(comment)?;
        }
        sheet.line(&format!("date,revision,machine,{}", quoted(columns)))?;
        Ok(sheet)
    }

    /// Of what is measured on this GPU. The last comment says what a number is.
    pub(crate) fn of_gpu(
        cuda: &Cuda,
        number: &str,
        columns: &[&str],
    ) -> Result<Self, Box<dyn Error>> {
        let origin = Origin::new(&cuda.stream().context().name()?)?;
        let comments =
            [format!("$ {}", machine::command()), machine::LIBRARY.into(), number.into()];
        Self::new(origin, None, &comments, columns)
    }

    /// A row's cells after the origin.
    pub(crate) fn row(&self, cells: &[&str]) -> Result<(), Box<dyn Error>> {
        self.line(&format!("{},{}", quoted(&self.origin.cells()), quoted(cells)))
    }

    /// What is said between the rows.
    pub(crate) fn comment(&self, text: &str) -> Result<(), Box<dyn Error>> {
        self.line(&format!("# {text}"))
    }

    fn line(&self, line: &str) -> Result<(), Box<dyn Error>> {
        println!("{line}");
        if let Some(mut file) = self.file.as_ref() {
            writeln!(file, "{line}")?;
        }
        Ok(())
    }
}

/// Cells with commas between them, and quotes where they are needed.
fn quoted(cells: &[&str]) -> String {
    let quoted = |cell: &&str| {
        if cell.contains([',', '"']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            (*cell).to_owned()
        }
    };
    cells.iter().map(quoted).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_what_is_printed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        let sheet = Sheet::new(Origin::made_up(), Some(&file), &["$ x".into()], &["name"]).unwrap();
        sheet.row(&["says \"x\""]).unwrap();
        sheet.comment("a comment").unwrap();
        let expected = "# $ x\ndate,revision,machine,name\n\
                        2026-01-02,0123abc,\"a, b\",\"says \"\"x\"\"\"\n# a comment\n";
        assert_eq!(std::fs::read_to_string(file).unwrap(), expected);
    }
}
