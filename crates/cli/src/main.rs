//! Shuffles the lines or records of files or of standard input, and puts them back.
//!
//! ```sh
//! bshuf --seed 42 --output shuffled.md README.md
//! bshuf --seed 42 --undo shuffled.md | cmp - README.md
//! ```
//!
//! A line is any bytes up to a newline, or up to a NUL with `--zero-terminated`. Several inputs are
//! joined, and a file that lacks its last newline still ends its last line. The output ends in a
//! newline if the last input that is not empty does, so `--undo` gives back the very same bytes
//! (unless the last line has no newline, and an empty line takes its place at the end).
//!
//! A file of up to half of `--memory` is mapped, and other input of that size held in memory, with
//! 12 bytes a line (24 from 4 GiB of input on), if that fits, and a few MiB a thread for the
//! output. Anything else is shuffled on disk, by the library's `files`.

mod arguments;
mod arrays;
mod failure;
mod gather;
mod generate;
mod inputs;
mod job;
mod lines;
mod memory;
mod npy;
mod output;
mod progress;
mod repeat;
mod report;
mod rows;
mod run;
mod selection;
mod signals;
mod text;
mod threads;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use arguments::Arguments;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and the version go to standard output, and are what was asked for.
            let is_asked = !error.use_stderr();
            let printed = error.print();
            return if is_asked && printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    };
    if let Some(what) = arguments.generate {
        return match generate::write(what, &mut io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        };
    }
    match failure::caught(|| run::run(&arguments)) {
        Ok(report) => {
            if arguments.stats || !arguments.quiet {
                say(format_args!("{report}"));
            }
            ExitCode::SUCCESS
        }
        Err(failure) => {
            say(format_args!("bshuf: {failure}"));
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error. Should that fail there is nobody left to tell.
fn say(line: fmt::Arguments) {
    let _ = writeln!(io::stderr(), "{line}");
}
