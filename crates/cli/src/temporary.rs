//! [`Temporary`]: where what does not fit memory is kept.

use std::io;
use std::path::{Path, PathBuf};

use bijective_shuffle_cli::files::{FilesError, Store};

/// Where what does not fit memory is kept.
pub(crate) struct Temporary {
    /// At least one folder.
    pub(crate) folders: Vec<PathBuf>,
    /// Whether it is compressed.
    pub(crate) is_compressed: bool,
}

impl Temporary {
    /// The first folder, for what is in one piece.
    pub(crate) fn folder(&self) -> &Path {
        &self.folders[0]
    }

    /// A store for a shuffle.
    pub(crate) fn store(&self) -> io::Result<impl Store + use<>> {
        self.store_behind(0)
    }

    /// A store for a shuffle, which holds its first `memory` bytes in memory.
    pub(crate) fn store_behind(
        &self,
        memory: usize,
    ) -> io::Result<bijective_shuffle_cli::dataset::TemporaryStore> {
        let Self { folders, is_compressed } = self;
        bijective_shuffle_cli::dataset::TemporaryStore::in_folders(folders, *is_compressed, memory)
    }
}

/// An error of a temporary file, which says so.
pub(crate) fn temporary_error(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), FilesError::Temporary(error))
}
