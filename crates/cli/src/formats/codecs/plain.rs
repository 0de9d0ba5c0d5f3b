//! Files that are not compressed.

use super::row::Row;

pub(super) static ROW: Row = Row {
    name: "none",
    extensions: &[""],
    mark: b"",
    // Everything else may be.
    is_file: |_| false,
    may_start: |_| false,
    end: |_| None,
    is_frame: |_| false,
    may_skip: false,
    skips_zeros: false,
    levels: 0..=0,
    level: 0,
    decoder: |file| Ok(Box::new(file)),
    encode: |bytes, _| Ok(bytes.to_vec()),
};
