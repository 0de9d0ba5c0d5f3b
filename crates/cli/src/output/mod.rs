//! [`Output`]: standard output, a file that is replaced whole or not at all, or anything else that
//! has a name.

#[cfg(unix)]
mod in_place;
mod replacement;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

use crate::failure::{Failure, FailureContext};
use crate::signals::end_by_broken_pipe;
use crate::streams;

#[cfg(unix)]
use in_place::InPlaceFile;
use replacement::Replacement;

/// Where the lines go.
pub(crate) struct Output {
    /// What it is called in messages.
    name: String,
    sink: OutputSink,
    /// How many bytes were written.
    bytes: u64,
}

enum OutputSink {
    Stdout(Stdout),
    /// A device or a pipe: nothing that could be replaced.
    Special(File),
    Replacement(Replacement),
    /// A file that cannot be replaced by another one without losing something.
    #[cfg(unix)]
    InPlace(InPlaceFile),
}

impl Output {
    /// Opens a file, or standard output if there is none, and finds out how the file can be
    /// written. It stays as it is until [`commit`](Self::commit).
    pub(crate) fn open(path: Option<&Path>, temporary_folder: &Path) -> Result<Self, Failure> {
        let Some(path) = path else {
            let name = "standard output".to_owned();
            streams::check_output().context(&name)?;
            return Ok(Self { name, sink: OutputSink::Stdout(io::stdout()), bytes: 0 });
        };
        Self::open_by(path, None, temporary_folder)
    }

    /// Opens a file. If it needs a name while it is not complete, that is in the folder
    /// `unfinished`, or next to the file.
    pub(crate) fn open_by(
        path: &Path,
        unfinished: Option<&Path>,
        temporary_folder: &Path,
    ) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let sink = open_file(path, unfinished, temporary_folder).context(&name)?;
        Ok(Self { name, sink, bytes: 0 })
    }

    /// How many bytes were written.
    #[cfg_attr(not(feature = "tables"), expect(dead_code))]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What it is called: its path, if it has one.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Holds no file open any more, as there may be more outputs than can be open. All is written,
    /// and [`commit`](Self::commit) is still to come.
    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        match &mut self.sink {
            OutputSink::Replacement(replacement) => replacement.close().context(&self.name),
            _ => Ok(()),
        }
    }

    /// Has the system write what was written so far to where it is kept, or to another machine, and
    /// say whether that can be done.
    pub(crate) fn sync(&self) -> Result<(), Failure> {
        match &self.sink {
            OutputSink::Replacement(replacement) => replacement.sync().context(&self.name),
            _ => Ok(()),
        }
    }

    /// Makes what was written take effect. Without this a file is as it was before.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        match self.sink {
            OutputSink::Stdout(_) | OutputSink::Special(_) => Ok(()),
            OutputSink::Replacement(replacement) => replacement.commit(),
            #[cfg(unix)]
            OutputSink::InPlace(in_place) => in_place.commit(),
        }
        .context(self.name)
    }

    /// What to say of an error met in writing. If the reader has gone, that ends the program
    /// without a message.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        if error.kind() == ErrorKind::BrokenPipe {
            end_by_broken_pipe();
        }
        Failure::caused(&self.name, error, error)
    }

    fn writer(&mut self) -> &mut dyn Write {
        match &mut self.sink {
            OutputSink::Stdout(stdout) => stdout,
            OutputSink::Special(file) => file,
            OutputSink::Replacement(replacement) => replacement,
            #[cfg(unix)]
            OutputSink::InPlace(in_place) => in_place,
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.writer().write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer().flush()
    }
}

#[cfg_attr(not(unix), expect(unused_variables))]
fn open_file(
    path: &Path,
    unfinished: Option<&Path>,
    temporary_folder: &Path,
) -> io::Result<OutputSink> {
    // Opening what is there tells what it is, and whether it may be written at all, and changes
    // nothing. Links in a circle are an error here, before they are followed.
    let old = match OpenOptions::new().write(true).open(path) {
        Ok(old) => old,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Replacement::of_nothing(follow_links(path)?, unfinished)
                .map(OutputSink::Replacement);
        }
        Err(error) => return Err(error),
    };
    let target = follow_links(path)?;
    if !old.metadata()?.is_file() {
        return Ok(OutputSink::Special(old));
    }
    let replacement = Replacement::of_file(target, unfinished, &old);
    #[cfg(unix)]
    let replacement =
        replacement.map(OutputSink::Replacement).or_else(|error| match error.kind() {
            // The folder for unfinished files is gone, because other workers have finished the run.
            ErrorKind::NotFound if unfinished.is_some() => Err(error),
            // Whatever stands against a new file, the old one can be written.
            _ => Ok(OutputSink::InPlace(InPlaceFile::new(old, temporary_folder)?)),
        });
    #[cfg(not(unix))]
    let replacement = replacement.map(OutputSink::Replacement);
    replacement
}

/// The most links that are followed from one path, as by Linux.
const MOST_LINKS: usize = 40;

/// The file that a path stands for, which need not exist: a link is followed, and not replaced.
///
/// # Errors
///
/// There are more links than any system follows, as where another program makes a circle of them
/// meanwhile.
pub(crate) fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..=MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path.pop();
        path.push(target);
    }
    Err(io::Error::other("too many links lead from one to another"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_to_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        symlink("self", path("self")).unwrap();
        symlink("l2", path("l1")).unwrap();
        symlink("l1", path("l2")).unwrap();
        symlink("nothing", path("dangling")).unwrap();
        for name in ["self", "l1", "l2"] {
            assert!(follow_links(&path(name)).is_err(), "{name}");
        }
        assert_eq!(follow_links(&path("dangling")).unwrap(), path("nothing"));
    }
}
