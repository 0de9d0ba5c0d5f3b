//! [`guarded`]: panics of the crates that read files are errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::TableError;
use super::table::RowBatches;

/// Does something with what a file has, which may be damaged. The crates that read it mostly say
/// so, and now and then panic; they keep nothing that a panic could leave half done.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(TableError::read(format!("is damaged: {}", text.unwrap_or("its reader gave up"))))
    })
}

/// The same of an iterator. Nothing follows an error.
pub(super) fn guarded_batches<'a>(batches: RowBatches<'a>) -> RowBatches<'a> {
    let mut left = Some(batches);
    Box::new(std::iter::from_fn(move || {
        let batch = guarded(|| left.as_mut().and_then(Iterator::next).transpose()).transpose();
        if !matches!(batch, Some(Ok(_))) {
            left = None;
        }
        batch
    }))
}
