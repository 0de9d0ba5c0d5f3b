//! Judges bijections and shuffles by statistical tests. `docs/quality.md` has the results.
//!
//! ```sh
//! cargo run --release -p bijective-shuffle-studies --bin quality -- judge
//! for i in $(seq 1000); do shuf -i 0-99; done | target/release/quality judge - --length 100
//! cargo run --release -p bijective-shuffle-studies --bin quality -- rounds --from 9 --to 16
//! cargo run --release -p bijective-shuffle-studies --bin quality -- pairs --bits 24 --rounds 10
//! ```

mod battery;
mod compare;
mod families;
mod input;
mod judge;
mod keys;
mod pairs;
mod reports;
mod rounds;
mod shufflers;
mod slots;
mod stranger;
mod structure;
mod triples;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use input::{Format, Permutations};

/// Judges bijections and shuffles by statistical tests.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// The seed of all samples.
    #[arg(long, default_value_t = 20_261_120, global = true)]
    seed: u64,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// All tests on whole shuffles, ours and others'. Fails if the default shuffle does, or the one
    /// whose permutations are given.
    Judge {
        /// A file with permutations of another shuffle, or `-` for the standard input; those are
        /// judged and nothing else. They are numbers from 0 or from 1 on, with blanks, commas,
        /// brackets or ends of lines between them.
        #[arg(conflicts_with_all = ["short", "long", "from", "only", "all"])]
        input: Option<PathBuf>,
        /// The length of each of those permutations; without it, one line is one permutation.
        #[arg(long, requires = "input")]
        length: Option<usize>,
        /// Their numbers are little-endian integers of this many bits, 32 or 64, and not text.
        #[arg(long, value_name = "BITS", requires_all = ["input", "length"],
              value_parser = clap::builder::PossibleValuesParser::new(["32", "64"]))]
        binary: Option<String>,
        /// Samples at lengths up to 8.
        #[arg(long, default_value_t = 400_000)]
        short: u64,
        /// Samples at other lengths.
        #[arg(long, default_value_t = 4_000)]
        long: u64,
        /// The smallest length.
        #[arg(long, default_value_t = 2)]
        from: usize,
        /// Only this shuffle.
        #[arg(long)]
        only: Option<String>,
        /// Print every p-value.
        #[arg(long)]
        all: bool,
    },
    /// The fewest rounds that pass, by width, for every family. Fails if the default does where it
    /// is used.
    Rounds {
        /// The narrowest domain, in bits.
        #[arg(long, default_value_t = 4)]
        from: u32,
        /// The widest, up to 62.
        #[arg(long, default_value_t = 40)]
        to: u32,
        /// Members looked at at a few slots, at every width.
        #[arg(long, default_value_t = 250_000)]
        keys: u64,
        /// Values looked at inside of permutations, at every width.
        #[arg(long, default_value_t = 1 << 23)]
        values: u64,
        /// Only this family.
        #[arg(long)]
        family: Option<String>,
        /// Try every number of rounds, and say what is found, on standard error.
        #[arg(long)]
        all: bool,
        /// Judge no family, but exact draws, which must pass: a control of the comparison itself.
        #[arg(long, conflicts_with_all = ["family", "all"])]
        control: bool,
    },
    /// What other shuffles and generators were reported to get wrong, asked of all of ours. Fails
    /// if something is found.
    Reports {
        /// Seeds whose first values are looked at.
        #[arg(long, default_value_t = 20)]
        seeds: u64,
        /// Seeds and streams of generators, and epochs.
        #[arg(long, default_value_t = 10_000)]
        streams: u64,
    },
    /// The worst two slots of the default family, by the chain of `pairs`, and whether their values
    /// show it. Fails if they do with the rounds in use.
    Slots {
        /// The widths, in bits.
        #[arg(long, value_delimiter = ',', default_values_t = [9, 12, 16, 24, 32, 40],
              value_parser = clap::value_parser!(u32).range(5..=62))]
        bits: Vec<u32>,
        /// Members at the pair.
        #[arg(long, default_value_t = 100_000)]
        keys: u64,
    },
    /// How far the default family's values at the worst pair of slots are from two different
    /// uniform ones, for uniform keys: exactly, as docs/proof.md shows. Prints the total variation
    /// distance as a fraction, and last its logarithm to base 2.
    Pairs {
        /// The width of the domain in bits, from 5 to 64; without it, a table of all that are used.
        #[arg(long, value_parser = clap::value_parser!(u32).range(5..=64))]
        bits: Option<u32>,
        /// The number of rounds.
        #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=64))]
        rounds: u32,
        /// From two values to their slots, and not from two slots to their values.
        #[arg(long)]
        inverse: bool,
    },
    /// The same for the worst three slots, and for three slots on average, on narrow domains:
    /// logarithms to base 2 for 1 to 12 rounds. 10 bits take 1.2 GB; a bit more takes four times
    /// the memory and eight times as long.
    Triples {
        /// The width of the domain in bits.
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(5..=11))]
        bits: u32,
    },
}

/// 0 if all passed, 1 if something failed, and 2 if nothing could be judged.
fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("quality: {error}");
            ExitCode::from(2)
        }
    }
}

/// Whether all passed.
fn run(Arguments { command, seed }: Arguments) -> Result<bool, Box<dyn Error>> {
    let passed = match command {
        Command::Judge { input: Some(file), length, binary, .. } => {
            let format = match binary.as_deref() {
                None => Format::Text,
                Some("32") => Format::Binary(4),
                Some(_) => Format::Binary(8),
            };
            judge_file(&file, format, length)?
        }
        Command::Judge { short, long, from, only, all, .. } => {
            judge::print_table(judge::Samples { short, long }, from, seed, only.as_deref(), all)
        }
        Command::Rounds { from, to, keys, values, control: true, .. } => {
            rounds::print_control(from..=to, rounds::Effort { keys, values }, seed)
        }
        Command::Rounds { from, to, keys, values, family, all, control: false } => {
            let effort = rounds::Effort { keys, values };
            rounds::print_table(from..=to, effort, seed, family.as_deref(), all)
        }
        Command::Reports { seeds, streams } => {
            reports::print(reports::Effort { seeds, streams }, seed)
        }
        Command::Slots { bits, keys } => slots::print(&bits, keys, seed),
        Command::Pairs { bits, rounds, inverse } => {
            let direction =
                if inverse { pairs::Direction::Inverse } else { pairs::Direction::Forward };
            match bits {
                Some(bits) => pairs::print_worst(bits, rounds as usize, direction),
                None => pairs::print_table(direction),
            }
            true
        }
        Command::Triples { bits } => {
            triples::print_table(bits, 12);
            true
        }
    };
    Ok(passed)
}

/// Whether another shuffle passed.
fn judge_file(file: &Path, format: Format, len: Option<usize>) -> Result<bool, Box<dyn Error>> {
    let source: Box<dyn Read> = if file == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file);
        Box::new(opened.map_err(|error| format!("{} cannot be read: {error}", file.display()))?)
    };
    let source = BufReader::with_capacity(1 << 16, source);
    let verdict = stranger::judge(Permutations::new(source, format, len)?)?;
    verdict.print();
    verdict.passed().ok_or_else(|| "there are too few permutations".into())
}
