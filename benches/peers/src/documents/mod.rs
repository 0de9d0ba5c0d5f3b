//! What the documents say was measured: every table, ratio and quoted figure is computed from the
//! rows in `benches/results`, and written into the documents or compared with them. See
//! `README.md`.

mod affine;
mod between;
mod cold;
mod cpu;
mod exchange;
mod files;
mod fills;
mod gpu;
mod group;
mod ising;
mod markers;
mod pieces;
mod plot;
mod prose;
mod python;
mod quality;
mod redesign;
mod rng;
mod short;
mod summary;
mod testu01;
mod wide;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::rows::{Measured, Source};
use crate::sheet::Sheet;

/// Where the rows are, below the repository's root.
const RESULTS: &str = "benches/results";
/// Where the documents are that have drawings.
const DOCS: &str = "docs";
/// Where the complete tables are, and what was tried.
const NOTES: &str = "benches/notes";

/// Writes what was computed into the documents, or only looks whether it stands there.
pub(crate) fn run(root: &Path, check: bool) -> Result<(), Box<dyn Error>> {
    let files = files(root)?;
    let mut stale = Vec::new();
    for (file, text) in &files {
        let path = root.join(file);
        let there = fs::read_to_string(&path).unwrap_or_default();
        if there == *text {
            continue;
        }
        if check {
            stale.push(format!("{}: {}", file.display(), difference(&there, text)));
        } else {
            fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            eprintln!("written to {}", path.display());
        }
    }
    if stale.is_empty() {
        return Ok(());
    }
    let advice = "the rows in benches/results say something else; `peers documents` writes it";
    Err(format!("{}\n{advice}", stale.join("\n")).into())
}

/// All documents and drawings as they should be.
fn files(root: &Path) -> Result<Vec<(PathBuf, String)>, Box<dyn Error>> {
    let results = Results::new(root.join(RESULTS));
    let computed = Computed::of(&results)?;
    results.all_were_read()?;
    let mut files = markers::filled(root, &computed)?;
    let drawings = computed.drawings.into_iter();
    files.extend(drawings.map(|(folder, file, svg)| (Path::new(folder).join(file), svg)));
    Ok(files)
}

/// The first line that is another.
fn difference(there: &str, text: &str) -> String {
    let mut lines = there.lines().zip(text.lines()).zip(1..);
    match lines.find(|((there, line), _)| there != line) {
        Some(((there, line), number)) => format!("line {number} is\n  {there}\nand not\n  {line}"),
        None => "another length".into(),
    }
}

/// All that is computed, by name.
#[derive(Debug, Default)]
struct Computed {
    /// What stands between `<!-- peers NAME begin -->` and `<!-- peers NAME end -->`.
    blocks: Vec<(&'static str, String)>,
    /// What stands between `<!-- figure: NAME -->` and `<!-- /figure -->`.
    figures: Vec<(String, String)>,
    /// Drawings: a folder of documents, the file below it, and what is in it.
    drawings: Vec<(&'static str, &'static str, String)>,
}

impl Computed {
    fn of(results: &Results) -> Result<Self, Box<dyn Error>> {
        let mut computed = Self::default();
        cold::compute(results, &mut computed)?;
        cpu::compute(results, &mut computed)?;
        exchange::compute(results, &mut computed)?;
        files::compute(results, &mut computed)?;
        group::compute(results, &mut computed)?;
        between::compute(results, &mut computed)?;
        gpu::compute(results, &mut computed)?;
        fills::compute(results, &mut computed)?;
        affine::compute(results, &mut computed)?;
        ising::compute(results, &mut computed)?;
        pieces::compute(results, &mut computed)?;
        python::compute(results, &mut computed)?;
        quality::compute(results, &mut computed)?;
        redesign::compute(results, &mut computed)?;
        rng::compute(results, &mut computed)?;
        summary::compute(results, &mut computed)?;
        testu01::compute(results, &mut computed)?;
        wide::compute(results, &mut computed)?;
        plot::compute(results, &mut computed)?;
        short::compute(&mut computed)?;
        Ok(computed)
    }

    fn block(&mut self, name: &'static str, text: String) {
        self.blocks.push((name, text));
    }

    /// A figure with so many digits behind the point; one that was not measured is an error.
    fn figure(&mut self, name: &str, value: f64, digits: usize) -> Result<(), String> {
        self.text(name, number(value, digits).map_err(|why| format!("{name}: {why}"))?);
        Ok(())
    }

    fn text(&mut self, name: &str, text: String) {
        self.figures.push((name.into(), text));
    }
}

/// The folder with the rows, and which of its files were read.
#[derive(Debug)]
struct Results {
    folder: PathBuf,
    read: RefCell<BTreeSet<String>>,
}

impl Results {
    fn new(folder: PathBuf) -> Self {
        Self { folder, read: RefCell::default() }
    }

    fn path(&self, name: &str) -> PathBuf {
        let file = format!("{name}.csv");
        let path = self.folder.join(&file);
        self.read.borrow_mut().insert(file);
        path
    }

    /// A file as it is.
    fn sheet(&self, name: &str) -> Result<Sheet, String> {
        Sheet::read(&self.path(name))
    }

    /// The speeds in some files.
    fn measured(&self, names: &[&str]) -> Result<Measured, String> {
        let mut measured = Measured::default();
        names.iter().try_for_each(|name| measured.read(&self.path(name)))?;
        Ok(measured)
    }

    /// The files whose names begin so, in the order of their names: of what need not have been
    /// measured.
    fn beginning(&self, prefix: &str) -> Result<Vec<String>, String> {
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
    fn measured_beginning(&self, prefix: &str) -> Result<Option<Measured>, String> {
        let names = self.beginning(prefix)?;
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        if names.is_empty() { Ok(None) } else { self.measured(&names).map(Some) }
    }

    /// A file that need not be there.
    fn sheet_if_any(&self, name: &str) -> Result<Option<Sheet>, String> {
        let names = self.beginning(name)?;
        if names.iter().any(|found| found == name) { self.sheet(name).map(Some) } else { Ok(None) }
    }

    /// Whether there are rows that no document comes from.
    fn all_were_read(&self) -> Result<(), Box<dyn Error>> {
        for entry in fs::read_dir(&self.folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".csv") && !self.read.borrow().contains(&name) {
                return Err(format!("{RESULTS}/{name} is read by no computation").into());
            }
        }
        Ok(())
    }
}

/// What stands in place of a table whose rows need not be there.
const NOT_MEASURED: &str = "Not measured yet.";

/// What files say about themselves, above a table.
fn conditions(sources: &[Source]) -> String {
    let comments = || sources.iter().flat_map(|source| &source.comments);
    let commands: Vec<&str> = comments().filter_map(|line| line.strip_prefix("$ ")).collect();
    let mut text = String::new();
    if !commands.is_empty() {
        write!(text, "```console\n{}\n```\n\n", commands.join("\n")).expect("a string");
    }
    let mut lines: Vec<&str> = Vec::new();
    let notes = comments().filter(|line| !line.starts_with("$ "));
    for line in notes.chain(sources.iter().flat_map(|source| &source.origins)) {
        if !lines.contains(&line.as_str()) {
            lines.push(line);
        }
    }
    lines.iter().for_each(|line| writeln!(text, "* {line}").expect("a string"));
    text.push('\n');
    text
}

/// What one file says about itself, above its table.
fn conditions_of(sheet: &Sheet) -> String {
    let (origins, comments) = (sheet.origins(), sheet.comments.clone());
    conditions(&[Source { file: String::new(), origins, comments }])
}

/// A table in Markdown.
fn table<R: AsRef<[String]>>(head: &[&str], rows: &[R]) -> String {
    let cell = |text: &String| if text.is_empty() { " |".into() } else { format!(" {text} |") };
    let line = |cells: &[String]| format!("|{}\n", cells.iter().map(cell).collect::<String>());
    let head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let rule = vec!["---".to_owned(); head.len()];
    let rows = rows.iter().map(|row| line(row.as_ref()));
    [line(&head), line(&rule)].into_iter().chain(rows).collect()
}

/// A number with so many digits behind the point.
fn number(value: f64, digits: usize) -> Result<String, String> {
    if value.is_finite() { Ok(format!("{value:.digits$}")) } else { Err("not measured".into()) }
}

/// Several of them.
fn numbers(
    values: impl IntoIterator<Item = f64>,
    digits: usize,
    between: &str,
) -> Result<String, String> {
    let texts: Result<Vec<_>, _> = values.into_iter().map(|value| number(value, digits)).collect();
    Ok(texts?.join(between))
}

/// From the least to the greatest.
fn range(values: impl IntoIterator<Item = f64>, digits: usize) -> Result<String, String> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let (Some(&least), Some(&most)) = (values.first(), values.last()) else {
        return Err("not measured".into());
    };
    let (least, most) = (number(least, digits)?, number(most, digits)?);
    Ok(if least == most { least } else { format!("{least} to {most}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The repository's root.
    const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

    #[test]
    fn the_documents_say_what_the_rows_say() {
        if let Err(error) = run(Path::new(ROOT), true) {
            panic!("{error}");
        }
    }

    #[test]
    fn another_headline_is_found_and_another_row_changes_it() {
        let folder = documents_and_rows();
        let root = folder.path();
        run(root, true).unwrap();

        // A headline that is not what the rows say.
        let document = root.join("benches/notes/gpu.md");
        let text = fs::read_to_string(&document).unwrap();
        let headline = text.lines().find(|line| line.starts_with("| / `thrust::shuffle_copy`"));
        let wrong = headline.unwrap().replace('4', "7");
        fs::write(&document, text.replace(headline.unwrap(), &wrong)).unwrap();
        let error = run(root, true).unwrap_err().to_string();
        assert!(error.contains("gpu.md") && error.contains(&wrong), "{error}");
        run(root, false).unwrap();
        assert_eq!(fs::read_to_string(&document).unwrap(), text);

        // Other rows of the same: all that quotes them is stale.
        let rows = root.join(RESULTS).join("gpu-peers.csv");
        let faster = fs::read_to_string(&rows).unwrap().replace(",thrust::", ",9,thrust::");
        fs::write(&rows, &faster).unwrap();
        assert!(run(root, true).is_err(), "a row with a cell too many");
        let text = fs::read_to_string(Path::new(ROOT).join(RESULTS).join("gpu-peers.csv")).unwrap();
        fs::write(&rows, double(&text)).unwrap();
        assert!(run(root, true).unwrap_err().to_string().contains("gpu.md"));

        // Rows that nothing is computed from.
        fs::write(root.join(RESULTS).join("other.csv"), "date,revision,machine\n").unwrap();
        assert!(run(root, true).unwrap_err().to_string().contains("other.csv"));
    }

    #[test]
    fn what_need_not_be_measured_is_in_the_documents_if_it_was() {
        let folder = documents_and_rows();
        let (root, rows) = (folder.path(), folder.path().join(RESULTS));
        for entry in fs::read_dir(&rows).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            if ["gpu-h100-", "cpu-paper"].iter().any(|begin| name.starts_with(begin)) {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let head = "date,revision,machine,item,length,matrix,kernel,milliseconds,part_of_copy";
        let origin = "2026-01-02,0123abc,made up";
        let figures = [
            "-,cudaMemcpy,2,1",
            "random BPC,paper: naive,20,0.1",
            "random BPC,\"ours, beside the paper\",2.1,0.95",
        ];
        let figures = figures.map(|row| format!("{origin},4 bytes,2^30,{row}\n")).concat();
        let speeds = "date,revision,machine,name,item_bytes,length,seconds\n";
        for (file, text) in [
            ("affine-gpu-figures.csv", format!("{head}\n{figures}")),
            ("affine-gpu-profile.csv", format!("date,revision,machine,kernel\n{origin},tiled\n")),
            ("cpu-paper-8.csv", format!("{speeds}{origin},fastrand,8,257,1e-7\n")),
            ("gpu-h100-ours.csv", format!("{speeds}{origin},\"Auto, default\",8,257,1e-7\n")),
            ("gpu-h100-peers.csv", format!("{speeds}{origin},gather,8,257,2.57e-7\n")),
        ] {
            fs::write(rows.join(file), text).unwrap();
        }
        run(root, false).unwrap();
        let read = |file: &str| fs::read_to_string(root.join(file)).unwrap();
        for (document, line) in [
            ("benches/notes/affine.md", "| random BPC | paper: naive | 20.000 | 0.100 |"),
            ("benches/notes/affine.md", "| tiled |"),
            ("benches/notes/cpu.md", "| 2^8 + 1 | 2570 |"),
            ("benches/notes/gpu.md", "| 2^8 + 1 | 2.57 | 1.00 | 2.57 |"),
            ("benches/notes/figures/figure-12-second-gpu.svg", "<svg"),
            ("benches/notes/figures/bmmc-figure-9-times.svg", "<svg"),
        ] {
            let text = read(document);
            assert!(text.lines().any(|there| there.starts_with(line)), "{document}: {line}");
        }
        run(root, true).unwrap();
    }

    /// A copy of all documents and rows.
    fn documents_and_rows() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        copy(Path::new(ROOT), root, "README.md");
        let testu01 = "benches/testu01/results";
        for part in [
            "docs",
            "docs/results",
            "docs/figures",
            NOTES,
            "benches/notes/figures",
            RESULTS,
            testu01,
        ] {
            fs::create_dir_all(root.join(part)).unwrap();
            for entry in fs::read_dir(Path::new(ROOT).join(part)).unwrap() {
                let entry = entry.unwrap();
                if entry.file_type().unwrap().is_file() {
                    copy(Path::new(ROOT), root, &format!("{part}/{}", entry.file_name().display()));
                }
            }
        }
        folder
    }

    fn copy(from: &Path, to: &Path, file: &str) {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }

    /// The same rows with half of the lengths' worth of time: the last cell with another first
    /// digit.
    fn double(text: &str) -> String {
        let line = |line: &str| match line.rsplit_once(',') {
            Some((row, number)) if number.parse::<f64>().is_ok() => {
                format!("{row},{}\n", 2.0 * number.parse::<f64>().unwrap())
            }
            _ => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn numbers_are_written_with_their_digits() {
        assert_eq!(number(2.345, 1).unwrap(), "2.3");
        assert!(number(f64::NAN, 1).is_err());
        assert_eq!(range([2.0, 1.0, 1.5], 1).unwrap(), "1.0 to 2.0");
        assert_eq!(range([1.01, 1.02], 1).unwrap(), "1.0");
        assert!(range([], 1).is_err());
        assert!(range([1.0, f64::NAN], 1).is_err());
    }
}
