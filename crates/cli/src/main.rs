//! Shuffles the lines or records of files or of standard input, and puts them back.
//!
//! ```sh
//! bshuf --seed 42 --output shuffled.md README.md
//! bshuf --seed 42 --undo shuffled.md | cmp - README.md
//! ```
//!
//! A line is any bytes up to a newline, or up to a NUL with `--zero-terminated`. Several inputs are
//! joined. Every line that is written ends: an input that lacks its last newline gets one, which
//! the report says. So `--undo` gives back the very same lines, and outputs can be joined.
//!
//! A file of up to half of `--memory` is mapped, and other input of that size held in memory, with
//! 12 bytes a line (24 from 4 GiB of input on), if that fits, and a few MiB a thread for the
//! output. Anything else is shuffled on disk, by the library's `files`.

mod allocator;
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
#[cfg(feature = "datasets")]
mod sets;
mod signals;
mod streams;
mod temporary;
mod text;
mod threads;

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use arguments::Arguments;
use failure::{Context, Failure};

#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(error) => {
            // Help and the version go to standard output, and are what was asked for.
            if error.use_stderr() {
                let _ = error.print();
                return ExitCode::FAILURE;
            }
            return written(|_| error.print());
        }
    };
    if let Some(what) = arguments.generate {
        return written(|stdout| generate::write(what, stdout));
    }
    match failure::caught(|| run::run(&arguments)) {
        Ok(report) => {
            if !arguments.quiet {
                say(format_args!("{report}"));
            }
            ExitCode::SUCCESS
        }
        Err(failure) => fail(&failure),
    }
}

/// Writes a text to standard output.
fn written(write: impl FnOnce(&mut io::Stdout) -> io::Result<()>) -> ExitCode {
    let result = streams::check_output().and_then(|()| write(&mut io::stdout()));
    match result.and_then(|()| io::stdout().flush()).context("standard output") {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => fail(&failure),
    }
}

fn fail(failure: &Failure) -> ExitCode {
    say(format_args!("bshuf: {failure}"));
    ExitCode::FAILURE
}

/// Writes a line to standard error. Should that fail there is nobody left to tell.
fn say(line: fmt::Arguments) {
    let _ = writeln!(io::stderr(), "{line}");
}
