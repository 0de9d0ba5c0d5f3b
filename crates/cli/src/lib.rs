//! What the program `bshuf` does with files that are larger than memory, for use by other programs.
//!
//! [`files`] shuffles the lines or records of a file on two passes over the disk. With the feature
//! `tables`, the module of that name does so with the rows of Parquet and Arrow IPC files.

pub mod files;
#[cfg(feature = "tables")]
pub mod tables;
