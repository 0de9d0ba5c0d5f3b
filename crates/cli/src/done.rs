//! [`Done`]: what a run has done.

use std::collections::BTreeSet;
use std::fmt;

use bijective_shuffle_cli::files::Summary;
use bijective_shuffle_cli::formats::Codec;

/// What was done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Done {
    /// The number of items that there were.
    pub(crate) found: u64,
    /// What the items are, unless they are lines.
    pub(crate) records: Option<String>,
    /// The number of items that were written.
    pub(crate) items: u64,
    /// The number of bytes that were written.
    pub(crate) bytes: u64,
    /// The number of last lines of inputs that had no end, and got one.
    pub(crate) ends_added: u64,
    /// The number of files of a data set, or of tables, without a byte. They have no record, and
    /// are skipped.
    pub(crate) empty: u64,
    /// How columns of tables are written that cannot be written in their types, and which.
    pub(crate) rewritten: BTreeSet<(String, String)>,
    /// How, if the items did not fit memory.
    pub(crate) summary: Option<Summary>,
    /// What was read and written, if it was a data set.
    pub(crate) set: Option<SetDone>,
}

impl Done {
    /// What the items are called.
    pub(crate) fn records(&self) -> &str {
        self.records.as_deref().unwrap_or("lines")
    }

    /// The same, where the items are these.
    pub(crate) fn of(self, records: &str) -> Self {
        Self { records: Some(records.to_owned()), ..self }
    }
}

/// What was read and written, of a data set.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetDone {
    /// How many inputs have each codec.
    pub(crate) codecs: Vec<(Codec, u64)>,
    /// How many files were written.
    pub(crate) shards: u64,
    /// How many of them were there.
    pub(crate) kept: u64,
    /// Whether all records were in memory until they were written.
    pub(crate) is_in_memory: bool,
    /// The members of archives that belong to no record and are left out, such as folders.
    pub(crate) left_out: u64,
}

impl SetDone {
    /// The fields of an object of JSON. None of the texts needs an escape.
    pub(crate) fn to_json(&self) -> String {
        let Self { shards, kept, is_in_memory, left_out, .. } = self;
        let codecs: Vec<_> =
            self.codecs.iter().map(|(codec, count)| format!("\"{codec}\":{count}")).collect();
        format!(
            "\"codecs\":{{{}}},\"shards\":{shards},\
             \"shards_kept\":{kept},\"in_memory\":{is_in_memory},\"members_left_out\":{left_out}",
            codecs.join(",")
        )
    }
}

impl fmt::Display for SetDone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { codecs, shards, kept, is_in_memory, left_out } = self;
        let inputs: u64 = codecs.iter().map(|(_, count)| count).sum();
        write!(f, "inputs {inputs}")?;
        for (codec, count) in codecs.iter().filter(|(codec, _)| *codec != Codec::Plain) {
            write!(f, " ({count} {codec})")?;
        }
        write!(f, ", outputs {shards}")?;
        if *kept > 0 {
            write!(f, " ({kept} kept)")?;
        }
        if *is_in_memory {
            write!(f, ", in memory")?;
        }
        if *left_out > 0 {
            write!(f, ", members of archives left out {left_out}")?;
        }
        Ok(())
    }
}
