//! The program `bshuf`, run as a user runs it.

mod arrays;
#[cfg(all(target_os = "linux", feature = "tables"))]
mod budget;
#[cfg(unix)]
mod documents;
mod ends;
#[cfg(target_os = "linux")]
mod faults;
mod folder;
#[cfg(feature = "datasets")]
mod formats;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(unix)]
mod inputs;
#[cfg(all(unix, feature = "datasets"))]
mod kinds;
#[cfg(target_os = "linux")]
mod limits;
mod lines;
mod options;
mod outside;
mod peers;
mod records;
#[cfg(unix)]
mod replaced;
#[cfg(feature = "datasets")]
mod sets;
mod shuf;
#[cfg(feature = "tables")]
mod tables;
mod together;
#[cfg(feature = "datasets")]
mod torn;
mod within;
#[cfg(feature = "datasets")]
mod workers;
