//! Shuffles the lines or records of files or of standard input, and puts them back.
//!
//! ```sh
//! bshuf --seed 42 --output shuffled.md README.md
//! bshuf --seed 42 --undo shuffled.md | cmp - README.md
//! ```
//!
//! A line is any bytes up to a newline, or up to a NUL with `--zero-terminated`. Several inputs are
//! joined. Each output line ends with the delimiter: an input that lacks its last newline gets one,
//! which the report says. So `--undo` gives back the very same lines, and outputs can be joined.
//!
//! A file of up to half of `--memory` is mapped, and other input of that size held in memory, with
//! 12 bytes a line (24 from 4 GiB of input on), if that fits, and a few MiB a thread for the
//! output. Anything else is shuffled on disk, by the library's `files`.

use std::process::ExitCode;

use bijective_shuffle_cli::program;

#[global_allocator]
static ALLOCATOR: program::Allocator = program::Allocator;

fn main() -> ExitCode {
    program::main()
}
