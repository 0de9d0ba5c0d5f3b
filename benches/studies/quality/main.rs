//! Judges bijections and shuffles by statistical tests, and regenerates the figures of the paper.
//! What came of it is in `docs/quality.md`.
//!
//! ```sh
//! cargo run --release -p bijective-shuffle-studies --bin quality -- judge
//! cargo run --release -p bijective-shuffle-studies --bin quality -- figures
//! cargo run --release -p bijective-shuffle-studies --bin quality -- related
//! cargo run --release -p bijective-shuffle-studies --bin quality -- rounds --from 9 --to 16
//! cargo run --release -p bijective-shuffle-studies --bin quality -- pairs --bits 24 --rounds 10
//! ```

mod compare;
mod families;
mod figures;
mod judge;
mod keys;
mod pairs;
mod related;
mod rounds;
mod shufflers;
mod structure;
mod triples;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

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
    /// All tests on whole shuffles, ours and others'. Fails if the default shuffle does.
    Judge {
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
    /// Figures 6 to 9 of the paper.
    Figures {
        /// Where the figures go.
        #[arg(long, default_value = "docs/figures")]
        folder: PathBuf,
        /// Permutations to each point; the paper has 100,000.
        #[arg(long, default_value_t = 100_000)]
        samples: u64,
    },
    /// Whether keys that are alike give permutations that are alike. Fails if seeds or epochs do.
    Related {
        /// How many pairs of permutations are compared.
        #[arg(long, default_value_t = 2_000)]
        pairs: u64,
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
    /// logarithms to base 2 for 1 to 12 rounds. 11 bits take a few minutes and 2 GB.
    Triples {
        /// The width of the domain in bits.
        #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u32).range(5..=11))]
        bits: u32,
    },
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let Arguments { command, seed } = Arguments::parse();
    let passed = match command {
        Command::Judge { short, long, from, only, all } => {
            judge::print_table(judge::Samples { short, long }, from, seed, only.as_deref(), all)
        }
        Command::Figures { folder, samples } => {
            figures::draw_all(&folder, samples, seed)?;
            true
        }
        Command::Related { pairs } => related::print_tables(pairs, seed),
        Command::Rounds { from, to, keys, values, control: true, .. } => {
            rounds::print_control(from..=to, rounds::Effort { keys, values }, seed)
        }
        Command::Rounds { from, to, keys, values, family, all, control: false } => {
            let effort = rounds::Effort { keys, values };
            rounds::print_table(from..=to, effort, seed, family.as_deref(), all)
        }
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
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
