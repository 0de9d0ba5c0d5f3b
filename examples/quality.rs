//! Judges bijections and shuffles by statistical tests, and regenerates the figures of the paper.
//!
//! ```sh
//! cargo run --release --features stats --example quality -- rounds --bits 9..=16
//! ```

#[path = "quality/compare.rs"]
mod compare;
#[path = "quality/families.rs"]
mod families;
#[path = "quality/figures.rs"]
mod figures;
#[path = "quality/keys.rs"]
mod keys;
#[path = "quality/rounds.rs"]
mod rounds;
#[path = "quality/structure.rs"]
mod structure;

use std::error::Error;
use std::path::PathBuf;

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
    /// Figures 6 to 9 of the paper.
    Figures {
        /// Where the figures go.
        #[arg(long, default_value = "docs/figures")]
        folder: PathBuf,
        /// Permutations to each point; the paper has 100,000.
        #[arg(long, default_value_t = 100_000)]
        samples: u64,
    },
    /// The fewest rounds that pass, by width, for every family.
    Rounds {
        /// The narrowest domain, in bits.
        #[arg(long, default_value_t = 4)]
        from: u32,
        /// The widest.
        #[arg(long, default_value_t = 40)]
        to: u32,
        /// Members looked at at a few slots, at every width.
        #[arg(long, default_value_t = 1_000_000)]
        keys: u64,
        /// Values looked at inside of permutations, at every width up to 16 bits.
        #[arg(long, default_value_t = 1 << 25)]
        values: u64,
        /// Only this family.
        #[arg(long)]
        family: Option<String>,
        /// Try every number of rounds, and say what is found, on standard error.
        #[arg(long)]
        all: bool,
    },
}

fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { command, seed } = Arguments::parse();
    match command {
        Command::Figures { folder, samples } => figures::draw_all(&folder, samples, seed)?,
        Command::Rounds { from, to, keys, values, family, all } => {
            let effort = rounds::Effort { keys, members: values };
            rounds::print_table(from..=to, effort, seed, family.as_deref(), all);
        }
    }
    Ok(())
}
