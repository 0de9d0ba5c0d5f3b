//! NumPy arrays, known by their names.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::arguments::Arguments;
use crate::done::Done;
use crate::failure::{Failure, FailureContext};
use crate::inputs::Inputs;
use crate::job::InputJob;
use crate::npy::Npy;
use crate::output::Output;

/// Whether a file is a NumPy array, by its name.
pub(crate) fn is_array(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("npy"))
}

/// Whether files are arrays: all of them, or none. Nothing may be asked for that arrays lack.
pub(crate) fn are_arrays(files: &[PathBuf], arguments: &Arguments) -> Result<bool, Failure> {
    let Some(array) = files.iter().find(|path| is_array(path)) else { return Ok(false) };
    if arguments.record.is_some() {
        let why = "a NumPy array states the size of its rows: leave out --record";
        return Err(Failure::new(array.display(), why));
    }
    arguments.check_for_rows()?;
    if let Some(other) = files.iter().find(|path| !is_array(path)) {
        return Err(Failure::new(other.display(), "is not a NumPy array, but others are"));
    }
    Ok(true)
}

/// Writes the rows of arrays, one after the other, in their new order to one array.
pub(crate) fn shuffle(
    mut inputs: Inputs,
    job: &InputJob,
    output: &mut Output,
) -> Result<Done, Failure> {
    if job.is_repeated && job.selection.head.is_none() {
        return Err(Failure::new(inputs.name(), "an array cannot be endless: give --head-count"));
    }
    let mut first: Option<Npy> = None;
    let (mut rows, mut row_bytes) = (0_u64, 0);
    inputs.take_headers(|name, bytes, file| {
        let found = Npy::read(file).context(name)?;
        row_bytes = found.row_bytes(bytes.saturating_sub(found.bytes)).context(name)?;
        rows = rows.checked_add(found.rows()).ok_or_else(|| {
            Failure::new(name, "has more rows than can be counted with those before")
        })?;
        let length = found.bytes;
        match &first {
            Some(first) if !first.is_like(&found) => {
                return Err(Failure::new(name, "has rows of another kind than the first array"));
            }
            Some(_) => {}
            None => first = Some(found),
        }
        Ok(length)
    })?;
    let Some(first) = first else { return Ok(Done::default()) };
    let header = |rows| first.with_rows(rows);
    if row_bytes > 0 {
        let row_bytes = usize::try_from(row_bytes).context(inputs.name())?;
        return job.records(inputs, row_bytes, header, output);
    }
    // Rows of no bytes are in every order at once.
    let items = job.items(&job.order(rows)?);
    let header = header(items);
    let written = output.write_all(&header).and_then(|()| output.flush());
    written.map_err(|error| output.failure(&error))?;
    Ok(Done { found: rows, items, bytes: header.len() as u64, ..Done::default() })
}
