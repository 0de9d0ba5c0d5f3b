//! [`guarded`]: panics of the crates that read files are errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::TableError;

/// Does something with what a file has, which may be damaged. The crates that read it mostly say
/// so, and now and then panic; they keep nothing that a panic could leave half done.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, TableError>) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Err(TableError::read(format!("is damaged: {}", text.unwrap_or("its reader gave up"))))
    })
}
