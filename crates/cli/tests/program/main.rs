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
mod formats;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(unix)]
mod inputs;
#[cfg(unix)]
mod kinds;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod library;
#[cfg(target_os = "linux")]
mod limits;
mod lines;
mod options;
mod outside;
mod pairs;
mod peers;
mod records;
#[cfg(unix)]
mod replaced;
mod sets;
mod shuf;
#[cfg(feature = "tables")]
mod tables;
mod together;
mod torn;
#[cfg(unix)]
mod walked;
mod within;
mod workers;
