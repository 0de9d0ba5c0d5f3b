//! [`kind_of`]: what files are by their names.

use std::path::Path;

use crate::arrays::is_array;

/// What a file is by its name, if that is the name of a table or an array.
pub(crate) fn kind_of(path: &Path) -> Option<&'static str> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "parquet" => Some(PARQUET),
        "arrow" | "feather" => Some("an Arrow file"),
        _ => is_array(path).then_some("a NumPy array"),
    }
}

/// What is said of a Parquet file.
pub(super) const PARQUET: &str = "a Parquet file";

/// Whether a file has rows of columns, by its name.
pub(crate) fn is_table(path: &Path) -> bool {
    !is_array(path) && kind_of(path).is_some()
}
