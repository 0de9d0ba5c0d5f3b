//! [`Temporary`]: where what does not fit memory is kept.

use std::io;
use std::path::{Path, PathBuf};

use bijective_shuffle_cli::dataset::{BlockCodec, TemporaryStore};
use bijective_shuffle_cli::files::{FilesError, Store};

/// Where what does not fit memory is kept.
pub(crate) struct Temporary {
    /// At least one folder.
    pub(crate) folders: Vec<PathBuf>,
    /// How it is kept in files.
    pub(crate) codec: BlockCodec,
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
    pub(crate) fn store_behind(&self, memory: usize) -> io::Result<TemporaryStore> {
        TemporaryStore::in_folders(&self.folders, self.codec, memory)
    }
}

/// An error of a temporary file, which says so.
pub(crate) fn temporary_error(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), FilesError::Temporary(error))
}
