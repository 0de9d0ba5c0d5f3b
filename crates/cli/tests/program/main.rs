//! The program `bshuf`, run as a user runs it.

mod arrays;
#[cfg(all(target_os = "linux", feature = "tables"))]
mod budget;
#[cfg(unix)]
mod documents;
#[cfg(target_os = "linux")]
mod faults;
mod folder;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod limits;
mod lines;
mod outside;
mod records;
mod shuf;
#[cfg(feature = "tables")]
mod tables;
mod together;
