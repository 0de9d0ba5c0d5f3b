//! [`Output`]: standard output, a file that is replaced whole or not at all, or anything else that
//! has a name.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Stdout, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::failure::{Context, Failure};
use crate::signals::{Unfinished, end_by_broken_pipe};

/// Where the lines go.
pub(crate) struct Output {
    /// What it is called in messages.
    name: String,
    sink: Sink,
}

enum Sink {
    Stdout(Stdout),
    /// A device or a pipe: nothing that could be replaced.
    Special(File),
    /// A new file that takes the target's name once all is written. Until then, dropping it deletes
    /// it.
    Replacement {
        file: NamedTempFile,
        target: PathBuf,
        unfinished: Unfinished,
    },
}

impl Output {
    /// Opens a file, or standard output if there is none.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        match path {
            None => {
                Ok(Self { name: "standard output".to_owned(), sink: Sink::Stdout(io::stdout()) })
            }
            Some(path) => {
                let name = path.display().to_string();
                let sink = open_file(path).context(&name)?;
                Ok(Self { name, sink })
            }
        }
    }

    /// Makes what was written take effect. Without this a file is as it was before.
    pub(crate) fn commit(self) -> Result<(), Failure> {
        let Self { name, sink } = self;
        match sink {
            Sink::Stdout(_) | Sink::Special(_) => Ok(()),
            Sink::Replacement { file, target, unfinished } => {
                file.persist(target).map_err(|failed| failed.error).context(name)?;
                drop(unfinished);
                Ok(())
            }
        }
    }

    /// What to say of an error met in writing. If the reader has gone, that ends the program
    /// without a message.
    pub(crate) fn failure(&self, error: &io::Error) -> Failure {
        if error.kind() == ErrorKind::BrokenPipe {
            end_by_broken_pipe();
        }
        Failure::new(&self.name, error)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.write(bytes),
            Sink::Special(file) => file.write(bytes),
            Sink::Replacement { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.sink {
            Sink::Stdout(stdout) => stdout.flush(),
            Sink::Special(file) => file.flush(),
            Sink::Replacement { file, .. } => file.flush(),
        }
    }
}

fn open_file(path: &Path) -> io::Result<Sink> {
    // Opening what is there tells what it is, and whether it may be written at all, and changes
    // nothing.
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => {
            let found = file.metadata()?;
            if found.is_file() {
                replace(path, Some(found.permissions()))
            } else {
                Ok(Sink::Special(file))
            }
        }
        Err(error) if error.kind() == ErrorKind::NotFound => replace(path, None),
        Err(error) => Err(error),
    }
}

/// Creates the file that is to take the place of another, or to be the first of its name.
fn replace(path: &Path, old: Option<Permissions>) -> io::Result<Sink> {
    let target = follow_links(path);
    // The same folder is on the same file system, where renaming is all or nothing.
    let folder = match target.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".bshuf");
    #[cfg(unix)]
    {
        // As for any new file; tempfile's own default is for its user only. The umask still
        // applies.
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(Permissions::from_mode(0o666));
    }
    let (file, unfinished) = Unfinished::create(|| builder.tempfile_in(folder))?;
    if let Some(permissions) = old {
        file.as_file().set_permissions(permissions)?;
    }
    Ok(Sink::Replacement { file, target, unfinished })
}

/// The file that a path stands for, which need not exist: a link is followed, and not replaced.
fn follow_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    // Circles end here too, as they could not be opened before.
    while let Ok(target) = fs::read_link(&path) {
        path.pop();
        path.push(target);
    }
    path
}
