//! What the program `bshuf` does with files that are larger than memory, for use by other programs.
//!
//! [`files`] shuffles the lines or records of a file on two passes over the disk. [`dataset`] does
//! so with folders of compressed files, to shards. With the feature `tables`, the module of that
//! name does so with the rows of Parquet and Arrow IPC files. [`formats`] knows files by their
//! first bytes. [`program`] is the whole program, within another one.

// The program's own modules name the library as other programs do.
extern crate self as bijective_shuffle_cli;

pub mod dataset;
pub mod files;
pub mod formats;
pub mod program;
#[cfg(feature = "tables")]
pub mod tables;

// What fuzz targets and tests reach.
#[doc(hidden)]
pub mod lines;
#[doc(hidden)]
pub mod npy;
#[doc(hidden)]
pub mod selection;

mod allocator;
mod arguments;
mod arrays;
mod done;
mod failure;
mod gather;
mod generate;
mod inputs;
mod job;
mod memory;
mod output;
mod progress;
mod repeat;
mod report;
mod rows;
mod run;
mod sets;
mod signals;
mod streams;
mod temporary;
mod text;
mod threads;
