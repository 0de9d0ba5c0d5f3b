//! The command line.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::contender::Choice;
use crate::item::ItemType;
use crate::measure::Effort;
use crate::pages::Pages;

/// Measure bijective-shuffle beside its peers, and check what they all do.
#[derive(Parser)]
#[command(name = "peers")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    #[command(flatten)]
    pub(crate) common: Common,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// All contenders, items of 8 bytes, lengths one above a power of two
    Table(Lengths),
    /// Short lengths on one thread: 2^8 + 1 to 2^17 + 1
    Small,
    /// What the first call in a process costs, and the next ones: a fresh process for each sample
    Cold(ColdCalls),
    /// One sample of `cold`, in this process
    #[command(hide = true)]
    ColdSample(ColdSample),
    /// One rank's steps of a shuffle of an array that is spread over many
    Exchange(Ranks),
    /// Programs that shuffle files: bshuf, shuf, uutils shuf, sort -R, terashuf and pyarrow
    Files(Files),
    /// Time the GPU engine: rows as CSV, for lengths 2^w and 2^w + 1
    GpuRows(Lengths),
    /// Time groups of GPUs, beside one of them and a bare exchange: rows as CSV, for 2^w and 2^w +
    /// 1 items a GPU
    GpuGroup(GpuGroups),
    /// One of the ranks that `gpu-group` starts
    #[command(hide = true)]
    GpuRank(GpuRank),
    /// Time calls that move few items in device memory, from several sides: rows as CSV
    GpuCalls,
    /// Time how the items of many rows in device memory are moved within their rows: rows as CSV
    GpuBatch,
    /// Time how segments of different lengths in device memory are shuffled apart: rows as CSV
    GpuSegments,
    /// Time all indexes of permutations that are longer than memory, in pieces that are added up:
    /// rows as CSV
    GpuIndexes(GpuPieces),
    /// Time random numbers that fill device memory, beside cuRAND's: rows as CSV
    GpuRng(GpuNumbers),
    /// Time the first call on a GPU in fresh processes: rows as CSV
    GpuCold,
    /// One sample of `gpu-cold`, in this process
    #[command(hide = true)]
    GpuColdSample {
        /// Where the kernels come from
        #[arg(value_enum)]
        kernels: Kernels,
    },
    /// Run everything once at small lengths, check the results, and print nothing
    Test,
}

/// Where the kernels come from.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum, Debug)]
pub(crate) enum Kernels {
    /// There are none: what the driver takes to open the device and to copy
    Driver,
    /// Embedded machine code
    Machine,
    /// Embedded PTX, translated by the driver
    Ptx,
    /// The run-time compiler
    Compiler,
}

#[derive(Args)]
pub(crate) struct Lengths {
    /// The first length is 2 to this power, or one more; on a GPU both are measured
    #[arg(long, value_name = "POWER", default_value_t = 8, value_parser = clap::value_parser!(u32).range(0..=40))]
    pub(crate) from: u32,

    /// The last length is 2 to this power, or one more
    #[arg(long, value_name = "POWER", default_value_t = 28, value_parser = clap::value_parser!(u32).range(0..=40))]
    pub(crate) to: u32,

    /// From one power to the next; table 3 of Mitchell et al. is `--from 8 --to 29 --step 3`
    #[arg(long, value_name = "N", default_value = "1", value_parser = at_least_one)]
    pub(crate) step: usize,

    /// Only contenders whose name contains this; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
}

impl Lengths {
    /// Who takes part.
    pub(crate) fn choice<'a>(&'a self, common: &'a Common) -> Choice<'a> {
        Choice { only: &self.only, skip: &common.skip }
    }

    pub(crate) fn powers(&self) -> impl Iterator<Item = u32> + use<> {
        (self.from..=self.to).step_by(self.step)
    }
}

#[derive(Args)]
pub(crate) struct GpuGroups {
    /// The type of the items
    #[arg(long, value_name = "TYPE", value_enum, value_delimiter = ',', default_value = "u64")]
    pub(crate) items: Vec<GroupItem>,

    /// The numbers of members
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2,4", value_parser = at_least_one)]
    pub(crate) members: Vec<usize>,

    /// All members are on the first GPU
    #[arg(long)]
    pub(crate) logical: bool,

    /// For each member
    #[command(flatten)]
    pub(crate) lengths: Lengths,
}

#[derive(Args)]
pub(crate) struct GpuRank {
    #[arg(long)]
    pub(crate) id: String,
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) each: usize,
    pub(crate) bytes: usize,
}

/// Words that groups of GPUs move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupItem {
    U32,
    U64,
}

#[derive(Args)]
pub(crate) struct GpuPieces {
    /// The permutations are one shorter than 2 to this power
    #[arg(long, value_name = "POWER", default_value_t = 41, value_parser = clap::value_parser!(u32).range(20..=44))]
    pub(crate) length: u32,

    /// Pieces of 2 to this power indexes of 8 bytes
    #[arg(long, value_name = "POWER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(16..=33))]
    pub(crate) piece: u32,
}

#[derive(Args)]
pub(crate) struct GpuNumbers {
    /// The array is of 4 bytes times 2 to this power
    #[arg(long, value_name = "POWER", default_value_t = 30, value_parser = clap::value_parser!(u32).range(10..=38))]
    pub(crate) power: u32,

    /// Only contenders whose name contains this; may be given several times
    #[arg(long, value_name = "TEXT")]
    pub(crate) only: Vec<String>,
}

#[derive(Args)]
pub(crate) struct ColdCalls {
    #[command(flatten)]
    pub(crate) lengths: Lengths,

    /// This many items instead (2^20+1, for example); may be given several times
    #[arg(long, value_name = "N", value_parser = at_least_one, conflicts_with_all = ["from", "to", "step"])]
    pub(crate) len: Vec<usize>,

    /// The items' type; may be given several times
    #[arg(long, value_enum, default_value = "u64")]
    pub(crate) item: Vec<ItemType>,
}

#[derive(Args)]
pub(crate) struct ColdSample {
    /// The contender's name, all of it
    #[arg(long)]
    pub(crate) contender: String,

    #[arg(long, value_enum)]
    pub(crate) item: ItemType,

    #[arg(long, value_parser = at_least_one)]
    pub(crate) len: usize,
}

#[derive(Args)]
pub(crate) struct Ranks {
    /// The number of ranks; may be given several times
    #[arg(long, value_name = "N", default_values = ["1", "2", "8", "64", "256"], value_parser = at_least_one)]
    pub(crate) ranks: Vec<usize>,

    /// The number of items of each rank (2^20, for example), with one more in all
    #[arg(long, value_name = "N", default_value = "2^20", value_parser = at_least_one)]
    pub(crate) items: usize,
}

#[derive(Args)]
pub(crate) struct Files {
    /// Where the files are made, which takes up to four times their bytes
    #[arg(long, value_name = "FOLDER", default_value = "target/peers-files")]
    pub(crate) folder: PathBuf,

    /// The program `bshuf`, built for release
    #[arg(long, value_name = "FILE", default_value = "target/release/bshuf")]
    pub(crate) program: PathBuf,

    /// The program terashuf, built from its source; it is left out if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) terashuf: Option<PathBuf>,

    /// The program `shuf` of uutils; it is left out if not given
    #[arg(long, value_name = "FILE")]
    pub(crate) uutils: Option<PathBuf>,

    /// The size of the input
    #[arg(long, value_name = "N", default_value = "2^30", value_parser = at_least_one)]
    pub(crate) bytes: usize,

    /// The length of a line, with its newline
    #[arg(long, value_name = "BYTES", default_value = "80", value_parser = at_least_one)]
    pub(crate) line: usize,

    /// What contenders may hold of it, in bytes; everything if not given
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub(crate) memory: Option<usize>,

    /// Records of this size instead of lines
    #[arg(long, value_name = "BYTES", value_parser = at_least_one)]
    pub(crate) record: Option<usize>,

    /// Rows of a Parquet file instead of lines, which takes a bshuf that is built for them
    #[arg(long, conflicts_with = "record")]
    pub(crate) table: bool,

    /// Besides bshuf, leave out programs whose names do not contain this; can be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) only: Vec<String>,

    /// A Python that has pyarrow, for such files
    #[arg(long, value_name = "FILE", default_value = "python3")]
    pub(crate) python: PathBuf,
}

#[derive(Args)]
pub(crate) struct Common {
    /// How many threads the pool has; all logical cores if not given, and one for `small`
    #[arg(long, global = true, value_name = "N", value_parser = at_least_one)]
    pub(crate) threads: Option<usize>,

    /// Which pages large arrays get, the scratch memory of all contenders among them
    #[arg(long, global = true, value_enum, default_value_t = Pages::Default)]
    pub(crate) pages: Pages,

    /// How many seconds are spent on each contender at each length, on average; not for `cold`,
    /// nor for commands that time a GPU
    #[arg(long, global = true, value_name = "SECONDS", default_value_t = 1.0, value_parser = seconds)]
    budget: f64,

    /// How often each contender is measured at each length, at least
    #[arg(long, global = true, value_name = "N", default_value_t = 5, value_parser = at_least_one)]
    repeats: usize,

    /// All keys and generators are drawn from this number on; not for commands that time a GPU
    #[arg(long, global = true, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Leave out contenders whose name contains this; may be given several times
    #[arg(long, global = true, value_name = "TEXT")]
    pub(crate) skip: Vec<String>,

    /// Write the rows of `table`, `small`, `cold`, `exchange` or `files` into this file too
    #[arg(long, global = true, value_name = "FILE")]
    csv: Option<PathBuf>,
}

impl Common {
    /// How much is measured.
    pub(crate) fn effort(&self) -> Effort {
        let budget = Duration::from_secs_f64(self.budget);
        Effort { repeats: self.repeats, budget, seed: self.seed }
    }

    /// Where the rows go besides the standard output.
    pub(crate) fn csv(&self) -> Option<&Path> {
        self.csv.as_deref()
    }
}

/// Reads `20`, `2^20` or `2^20+1`.
fn number(text: &str) -> Result<usize, String> {
    let read = |text: &str| text.trim().parse::<usize>().map_err(|error| error.to_string());
    let (power, more) = text.split_once('+').unwrap_or((text, "0"));
    let power = match power.split_once('^') {
        None => read(power)?,
        Some((base, exponent)) => {
            let exponent = u32::try_from(read(exponent)?).map_err(|error| error.to_string())?;
            read(base)?.checked_pow(exponent).ok_or("the number is too large")?
        }
    };
    power.checked_add(read(more)?).ok_or_else(|| "the number is too large".into())
}

fn at_least_one(text: &str) -> Result<usize, String> {
    number(text).and_then(|n| if n == 0 { Err("at least 1".into()) } else { Ok(n) })
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "not a number")?;
    Duration::try_from_secs_f64(seconds).map(|_| seconds).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_arguments_of_the_peers_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn numbers_are_read_with_powers_and_sums() {
        for (text, expected) in [("20", 20), ("2^20", 1 << 20), ("2^20+1", (1 << 20) + 1)] {
            assert_eq!(number(text), Ok(expected));
        }
        for text in ["", "2^", "^2", "2^64", "1+", "-1", "2^20-1", "18446744073709551615+1"] {
            assert!(number(text).is_err(), "{text}");
        }
        assert!(at_least_one("0").is_err());
        assert!(seconds("-1").is_err());
        assert_eq!(seconds("0.5"), Ok(0.5));
    }
}
