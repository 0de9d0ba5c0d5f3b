//! The program `bshuf`, run as a user runs it.

#[cfg(unix)]
mod documents;
mod ends;
#[cfg(target_os = "linux")]
mod faults;
mod folder;
#[cfg(unix)]
mod inputs;
mod lines;
mod options;
mod outside;
mod peers;
mod records;
#[cfg(unix)]
mod replaced;
mod shuf;
#[cfg(feature = "tables")]
mod tables;
mod together;
