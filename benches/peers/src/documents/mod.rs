//! What the documents say was measured: every table, ratio and quoted figure is computed from the
//! rows in `benches/results`, and written into the documents or compared with them. See
//! `README.md`.

mod affine;
mod batch;
mod between;
mod cold;
mod computed;
mod cpu;
mod exchange;
mod files;
mod fills;
mod gpu;
mod group;
mod ising;
mod markdown;
mod markers;
mod pieces;
mod plot;
mod prose;
mod python;
mod quality;
mod redesign;
mod results;
mod rng;
mod short;
mod summary;
mod testu01;
mod wide;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use computed::Computed;
use results::{RESULTS, Results};

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
    let computed = compute(&results)?;
    results.all_were_read()?;
    let mut files = markers::filled(root, &computed)?;
    let drawings = computed.drawings.into_iter();
    files.extend(drawings.map(|(folder, file, svg)| (Path::new(folder).join(file), svg)));
    Ok(files)
}

/// Everything that the documents have between their markers.
fn compute(results: &Results) -> Result<Computed, Box<dyn Error>> {
    let mut computed = Computed::default();
    cold::compute(results, &mut computed)?;
    cpu::compute(results, &mut computed)?;
    exchange::compute(results, &mut computed)?;
    files::compute(results, &mut computed)?;
    group::compute(results, &mut computed)?;
    between::compute(results, &mut computed)?;
    batch::compute(results, &mut computed)?;
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

/// The first line that is another.
fn difference(there: &str, text: &str) -> String {
    let mut lines = there.lines().zip(text.lines()).zip(1..);
    match lines.find(|((there, line), _)| there != line) {
        Some(((there, line), number)) => format!("line {number} is\n  {there}\nand not\n  {line}"),
        None => "another length".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::computed::NOTES;
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
}
