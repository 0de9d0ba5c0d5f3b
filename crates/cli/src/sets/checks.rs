//! Checks of the paths of a run: no stream is read twice, and no output is read by the next run.

use std::collections::HashSet;
#[cfg(unix)]
use std::fs;
use std::path::{Path, PathBuf};

use bijective_shuffle_cli::dataset::Walked;

use crate::arguments::Arguments;
use crate::dataset::{FileIdentity, identity};
use crate::failure::Failure;
use crate::output::follow_links;

/// Checks that nothing is read twice that has its bytes only once: standard input, or a pipe. The
/// second time it would be empty, or wait for ever.
pub(super) fn check_streams(list: Option<&Path>, operands: &[PathBuf]) -> Result<(), Failure> {
    let mut seen = HashSet::new();
    for path in list.into_iter().chain(operands.iter().map(PathBuf::as_path)) {
        if stream(path).is_some_and(|stream| !seen.insert(stream)) {
            let name = path.display().to_string();
            let name = if name == "-" { "standard input".to_owned() } else { name };
            return Err(Failure::new(name, "is named twice, but can be read only once"));
        }
    }
    Ok(())
}

/// What a path has in common with all others that stand for the same stream, if it is one.
#[cfg(unix)]
fn stream(path: &Path) -> Option<FileIdentity> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};

    let found = if path.as_os_str() == "-" {
        // One that is closed is an error once it is read.
        open_file(&std::io::stdin())?
    } else {
        path.metadata().ok().filter(|found| {
            let kind = found.file_type();
            kind.is_fifo() || kind.is_socket()
        })?
    };
    Some((found.dev(), found.ino()))
}

/// What a path has in common with all others that stand for the same stream, if it is one.
#[cfg(not(unix))]
fn stream(path: &Path) -> Option<()> {
    (path.as_os_str() == "-").then_some(())
}

/// What the system knows of an open file.
#[cfg(unix)]
fn open_file(file: &impl std::os::fd::AsFd) -> Option<fs::Metadata> {
    let file = fs::File::from(file.as_fd().try_clone_to_owned().ok()?);
    file.metadata().ok()
}

/// Checks that shards do not go to a folder that is read. They would be inputs of the run that goes
/// on, or of the next.
pub(super) fn check_folder(output: &Path, operands: &[PathBuf]) -> Result<(), Failure> {
    match operands.iter().find(|folder| is_within(output, folder)) {
        Some(folder) => {
            let folder = folder.display();
            let why = format!("is in the folder {folder}, which is read: name one outside of it");
            Err(Failure::new(output.display(), why))
        }
        None => Ok(()),
    }
}

/// Checks that the output is no file of a folder that is read, where the next run would read it
/// too, unless it takes the place of all that is read. A file that is named itself may be replaced.
pub(super) fn check_output(
    arguments: &Arguments,
    operands: &[PathBuf],
    walked: &Walked,
) -> Result<(), Failure> {
    let output = arguments.output();
    let is_other = arguments.sets.output_dir.is_some() || output.is_some_and(Path::is_dir);
    if !walked.has_folders || is_other {
        return Ok(());
    }
    let there = match output {
        Some(output) => identity(output).ok(),
        None => standard_output(),
    };
    let is_output = |file: &PathBuf| there.is_some() && identity(file).ok() == there;
    if output.is_some() && matches!(walked.files.as_slice(), [only] if is_output(only)) {
        return Ok(());
    }
    if let Some(output) = output {
        check_folder(output, operands)?;
    }
    match walked.files.iter().find(|file| is_output(file) && !operands.contains(file)) {
        Some(file) => {
            let name =
                output.map_or("standard output".to_owned(), |path| path.display().to_string());
            let file = file.display();
            let why = format!("is the file {file} of a folder that is read: name another file");
            Err(Failure::new(name, why))
        }
        None => Ok(()),
    }
}

/// What standard output has in common with paths, if it is a file.
#[cfg(unix)]
fn standard_output() -> Option<FileIdentity> {
    use std::os::unix::fs::MetadataExt;

    let found = open_file(&std::io::stdout())?;
    found.is_file().then(|| (found.dev(), found.ino()))
}

/// What standard output has in common with paths, if that is known.
#[cfg(not(unix))]
fn standard_output() -> Option<FileIdentity> {
    None
}

/// Whether a path, which need not be there, is a folder or in it, by whatever way it leads there.
fn is_within(path: &Path, folder: &Path) -> bool {
    let there = |path: &Path| {
        let path = if path == Path::new("") { Path::new(".") } else { path };
        path.canonicalize().ok()
    };
    // One that leads nowhere yet is where it will be.
    let path = follow_links(path).unwrap_or_else(|_| path.to_owned());
    let Some(found) = path.ancestors().find_map(there) else { return false };
    let is_folder =
        |path: &Path, folder: &FileIdentity| identity(path).is_ok_and(|it| it == *folder);
    folder.is_dir()
        && identity(folder)
            .is_ok_and(|folder| found.ancestors().any(|path| is_folder(path, &folder)))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn paths_are_within_folders_whatever_way_leads_there() {
        let all = tempfile::tempdir().unwrap();
        let path = |name: &str| all.path().join(name);
        fs::create_dir_all(path("q/in")).unwrap();
        fs::create_dir(path("qq")).unwrap();
        symlink("q", path("link")).unwrap();
        for within in ["q", "q/x", "q/in/x", "q/no/x", "link/x", "qq/../q/x", "link/in/../x"] {
            assert!(is_within(&path(within), &path("q")), "{within}");
            assert!(is_within(&path(within), &path("link")), "{within}");
        }
        for outside in ["x", "qq/x", "q/../x", "link/../x", "no/q/x"] {
            assert!(!is_within(&path(outside), &path("q")), "{outside}");
        }
    }
}
