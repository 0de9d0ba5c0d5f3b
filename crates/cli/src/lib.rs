//! What the program `bshuf` does with files that are larger than memory, for use by other programs.
//!
//! [`files`] shuffles the lines or records of a file on two passes over the disk.

pub mod files;
