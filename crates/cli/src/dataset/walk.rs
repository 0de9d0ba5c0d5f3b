//! [`Walk`]: the files of folders.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::index::Index;
use super::records::Form;
use crate::files::NamedError;

/// How folders are looked through.
#[derive(Clone, Copy, Debug, Default)]
pub struct Walk {
    /// Whether folders in folders are looked through too.
    pub is_recursive: bool,
}

/// The files that were found.
#[derive(Debug, Default)]
pub struct Walked {
    /// The files, in their order.
    pub files: Vec<PathBuf>,
    /// How many files were left out, because their names begin with `.` or `_`.
    pub left_out: u64,
    /// The index of the folder, if it is the only path.
    pub index: Option<Index>,
    /// What the records are, if the folders' indexes say it.
    pub form: Option<Form>,
    /// Whether there was a folder.
    pub has_folders: bool,
}

impl Walk {
    /// Puts the files of folders in place of them, in the order of their names, byte by byte. What
    /// is not a folder stays as it is, be it there or not.
    ///
    /// The shards of a folder that has an index come in the order of the index. Files whose names
    /// begin with `.` or `_` are left out, as by programs that write them beside data.
    ///
    /// # Errors
    ///
    /// Those of reading folders, with a [`NamedError`] that names one; that there are folders in
    /// one, and they are not to be looked through; that one has no files; that it does not have the
    /// shards of its index, or others too; and that the indexes of two say that their records are
    /// of different kinds.
    pub fn files(self, paths: &[PathBuf]) -> io::Result<Walked> {
        let mut walked = Walked::default();
        for path in paths {
            if path.as_os_str() == "-" || !path.is_dir() {
                walked.files.push(path.clone());
                continue;
            }
            walked.has_folders = true;
            let before = walked.files.len();
            let index = Index::read(path)?;
            let is_recursive = self.is_recursive || index.is_some();
            let add = Self { is_recursive }.add(path, &mut walked);
            add.map_err(|error| match NamedError::of(&error) {
                Some(_) => error,
                None => NamedError::io(path.display(), error),
            })?;
            if let Some(index) = index {
                let shards = index.check(path, walked.files.split_off(before))?;
                walked.files.extend(shards);
                walked.index = (paths.len() == 1).then_some(index);
            }
            if walked.files.len() == before {
                return Err(NamedError::io(path.display(), "is a folder without files to read"));
            }
        }
        Ok(walked)
    }

    fn add(self, folder: &Path, walked: &mut Walked) -> io::Result<()> {
        let entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
        let mut names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        names.sort();
        for name in names {
            let path = folder.join(&name);
            let is_hidden = matches!(name.as_encoded_bytes(), [b'.' | b'_', ..]);
            if is_hidden {
                walked.left_out += 1;
            } else if name == Index::FILE
                && let Some(index) = Index::read(folder)?
            {
                if walked.form.is_some() && walked.form != index.form {
                    let why = "has records of another kind, or another number of header lines, \
                               than the folder before";
                    return Err(NamedError::io(folder.display(), why));
                }
                walked.form = index.form;
            } else if !path.is_dir() {
                walked.files.push(path);
            } else if self.is_recursive {
                self.add(&path, walked)?;
            } else {
                let why = "is a folder in a folder: give --recursive";
                return Err(NamedError::io(path.display(), why));
            }
        }
        Ok(())
    }
}
