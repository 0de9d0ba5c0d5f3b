//! What the program `bshuf` does with files that are larger than memory, for use by other programs.
//!
//! [`files`] shuffles the lines or records of a file on two passes over the disk. With the feature
//! `datasets`, which is a default, the module `dataset` does so with folders of compressed files,
//! to shards. With the feature `tables`, the module of that name does so with the rows of Parquet
//! and Arrow IPC files. [`formats`] knows files by their first bytes.

#[cfg(feature = "datasets")]
pub mod dataset;
pub mod files;
pub mod formats;
#[cfg(feature = "tables")]
pub mod tables;
