//! Parquet and Arrow IPC files, known by their names.

mod kinds;
#[cfg(feature = "tables")]
mod sharded;
#[cfg(feature = "tables")]
mod tables;

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::done::Done;
use crate::failure::Failure;
use crate::job::InputJob;
use crate::output::Output;

pub(crate) use kinds::{is_table, kind_of};

/// Writes the rows of files in their new order, to a file of the same format. If `blocks` is
/// given, row groups are shuffled, and then rows in windows of that many groups.
pub(crate) fn shuffle(
    files: &[PathBuf],
    blocks: Option<NonZeroU64>,
    job: &InputJob<'_>,
    output: &mut Output,
) -> Result<Done, Failure> {
    check_formats(files)?;
    if job.is_repeated {
        return Err(Failure::new(files[0].display(), "rows of a table cannot be repeated"));
    }
    tables::to_file(files, blocks, job, output)
}

/// Writes the rows of files in their new order to a folder of shards of the same format.
pub(crate) fn to_folder(
    files: &[PathBuf],
    folder: &Path,
    arguments: &Arguments,
    job: &mut InputJob<'_>,
) -> Result<Done, Failure> {
    arguments.check_for_rows()?;
    if arguments.sets.worker.is_some() {
        let why = "the rows of tables are shuffled by one worker: leave it out";
        return Err(Failure::new("--worker", why));
    }
    check_formats(files)?;
    tables::to_folder(files, folder, arguments, job)
}

/// Checks that files, one at least, have the format of the first.
fn check_formats(files: &[PathBuf]) -> Result<(), Failure> {
    match files.iter().find(|path| kind_of(path) != kind_of(&files[0])) {
        Some(other) => {
            Err(Failure::new(other.display(), "is of another format than the first file"))
        }
        None => Ok(()),
    }
}

/// What is said where tables are not read.
#[cfg(not(feature = "tables"))]
mod tables {
    use super::*;

    fn failure(files: &[PathBuf]) -> Failure {
        let table = files.iter().find(|path| is_table(path)).unwrap_or(&files[0]);
        let why = "Parquet and Arrow files need the feature `tables` of the program: cargo install \
                   bijective-shuffle-cli --features tables";
        Failure::new(table.display(), why)
    }

    pub(super) fn to_file(
        files: &[PathBuf],
        _: Option<NonZeroU64>,
        _: &InputJob<'_>,
        _: &mut Output,
    ) -> Result<Done, Failure> {
        Err(failure(files))
    }

    pub(super) fn to_folder(
        files: &[PathBuf],
        _: &Path,
        _: &Arguments,
        _: &mut InputJob<'_>,
    ) -> Result<Done, Failure> {
        Err(failure(files))
    }
}
