//! Shuffles the lines of files or of standard input, and puts them back.
//!
//! ```sh
//! bshuf --seed 42 --output shuffled.md README.md
//! bshuf --seed 42 --undo shuffled.md | cmp - README.md
//! ```
//!
//! A line is any bytes up to a newline, or up to a NUL with `--zero-terminated`. Several inputs are
//! joined, and a file that lacks its last newline still ends its last line. The output ends in a
//! newline if the last input that is not empty does, so `--undo` gives back the very same bytes.
//!
//! The input is held in memory, with 8 bytes a line (16 from 4 GiB of input on, and half as much
//! again to undo), and a few MiB a thread for the output. Where line lengths are very unequal these
//! last can grow, at worst to the size of the input.

mod arguments;
mod failure;
mod gather;
mod input;
mod lines;
mod order;
mod output;
mod progress;

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bijective_shuffle::{Backend, Permutation, Seed, Word};
use clap::Parser;

use arguments::Arguments;
use failure::{Context, Failure};
use input::Input;
use lines::Offset;
use output::Output;
use progress::Progress;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(report) => {
            if !arguments.quiet {
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

/// Does everything that is asked for, but for telling how it went.
fn run(arguments: &Arguments) -> Result<Report, Failure> {
    let started = Instant::now();
    let backend = arguments.backend();
    order::check_backend(backend).context("cannot shuffle")?;
    let seed = arguments.seed();
    // On a terminal that shows the lines themselves the two would be mixed up.
    let shows_lines = arguments.output.is_none() && io::stdout().is_terminal();
    let progress = Progress::new(!arguments.quiet && !shows_lines);

    let input = Input::read(&arguments.files, arguments.delimiter(), &progress)?;
    // No line number is above the length of the text, so one width does for both.
    let shuffle = match u32::try_from(input.text.len()) {
        Ok(_) => shuffle::<u32>,
        Err(_) => shuffle::<u64>,
    };
    let (lines, bytes) = shuffle(&input, seed, arguments, &progress)?;
    Ok(Report { lines, bytes, elapsed: started.elapsed(), backend, seed })
}

/// Shuffles the lines and writes them; returns the numbers of lines and bytes written. Offsets into
/// the text and line numbers are held as `W`.
fn shuffle<W: Offset + Word>(
    input: &Input,
    seed: Seed,
    arguments: &Arguments,
    progress: &Progress,
) -> Result<(usize, u64), Failure> {
    progress.start("shuffling");
    let lines = lines::split::<W>(&input.text, arguments.delimiter());
    let permutation = Permutation::new(lines.count() as u64, seed).on(arguments.backend());
    let order =
        order::select::<W>(&permutation, arguments.selection()).context("cannot shuffle")?;

    progress.start_bytes("writing", arguments.head.is_none().then_some(input.text.len() as u64));
    let mut output = Output::open(arguments.output.as_deref())?;
    let bytes = gather::write_lines(input, &lines, &order, &mut output, progress)
        .map_err(|error| output.failure(error))?;
    output.commit()?;
    Ok((order.len(), bytes))
}

/// What was done, in one line: enough to repeat it, and to undo it.
struct Report {
    lines: usize,
    bytes: u64,
    elapsed: Duration,
    backend: Backend,
    seed: Seed,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { lines, bytes, elapsed, backend, seed } = self;
        let (seed, epoch) = (seed.epoch(0), seed.current_epoch());
        let seconds = elapsed.as_secs_f64();
        write!(
            f,
            "lines {lines}, bytes {bytes}, seconds {seconds:.3}, backend {backend}, seed {seed}, epoch {epoch}"
        )
    }
}
