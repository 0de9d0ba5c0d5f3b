//! The ground floor of the GPU engine: what all of its rooms use, independent of shuffles.
//!
//! ```text
//! probe     is there a driver?            nvrtc     is there a compiler?
//! embedded  kernels that the crate holds compiled
//! device    a context and its limits      program   a text, compiled and kept
//! kernel    a function and its arguments  plan      what a job takes and does
//! launch    a kernel on a device          executor  compile, reserve, execute
//! memory    working memory                array     the caller's
//! in_use    the caller's, while a stream uses it
//! staging   copies between host and device stream   what every call begins with
//! reader    what a stream has written      kernels   those that prepare memory
//! word_type the words of the device
//! ```

pub(crate) mod array;
pub(crate) mod device;
pub(crate) mod embedded;
pub(crate) mod executor;
pub(crate) mod in_use;
pub(crate) mod kernel;
pub(crate) mod kernels;
pub(crate) mod launch;
pub(crate) mod memory;
pub(crate) mod nvrtc;
pub(crate) mod plan;
pub(crate) mod probe;
pub(crate) mod program;
pub(crate) mod reader;
pub(crate) mod staging;
pub(crate) mod stream;
pub(crate) mod word_type;
