//! The command line.

use std::path::PathBuf;

use bijective_shuffle::{Backend, Seed};
use clap::{Parser, ValueEnum};

use crate::order::Selection;

/// Shuffle the lines of files or of standard input. The same seed gives the same order on every
/// machine.
#[derive(Parser)]
#[command(name = "bshuf")]
pub(crate) struct Arguments {
    /// The files to read; standard input if there are none, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// Choose the order by this seed: a number, or 64 hexadecimal digits, and perhaps `@` and the
    /// epoch. If there is none, a random number is drawn, and reported
    #[arg(long)]
    seed: Option<Seed>,

    /// Choose another order for the same seed: the number of the pass over the same lines. That of
    /// the seed, or 0, if there is none
    #[arg(long, value_name = "N")]
    epoch: Option<u64>,

    /// Write only the first N lines of the shuffled order
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) head: Option<u64>,

    /// Put lines back that were shuffled with the same seed and epoch
    #[arg(long, requires = "seed", conflicts_with = "head")]
    undo: bool,

    /// Write to this file, which may be one of those read, and replace it whole or not at all
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Lines end with a NUL and not with a newline
    #[arg(short, long)]
    zero_terminated: bool,

    /// Where the order is computed
    #[arg(long, value_enum, default_value_t = BackendName::Auto)]
    backend: BackendName,

    /// Show neither the progress nor the report
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Arguments {
    /// The seed, with the epoch; a random one if none was given.
    pub(crate) fn seed(&self) -> Seed {
        let seed = self.seed.unwrap_or_else(|| Seed::new(rand::random()));
        self.epoch.map_or(seed, |epoch| seed.epoch(epoch))
    }

    /// The byte that ends a line.
    pub(crate) fn delimiter(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// Where the order is computed.
    pub(crate) fn backend(&self) -> Backend {
        match self.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Cpu => Backend::Cpu,
            BackendName::Cuda => Backend::Cuda,
        }
    }

    /// The lines that are written, and in which order.
    pub(crate) fn selection(&self) -> Selection {
        match (self.undo, self.head) {
            (true, _) => Selection::PutBack,
            (false, Some(count)) => Selection::Head(count),
            (false, None) => Selection::Shuffled,
        }
    }
}

/// [`Backend`] on the command line.
#[derive(Clone, Copy, ValueEnum)]
enum BackendName {
    /// The fastest there is on this machine
    Auto,
    /// The processor's threads
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}
