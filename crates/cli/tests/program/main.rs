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
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod library;
#[cfg(target_os = "linux")]
mod limits;
mod lines;
mod options;
mod outside;
#[cfg(feature = "datasets")]
mod pairs;
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
#[cfg(all(unix, feature = "datasets"))]
mod walked;
mod within;
#[cfg(feature = "datasets")]
mod workers;
