//! The command line.

mod headings;
mod sets;
mod splits;

use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bijective_shuffle::{Backend, Seed};
use bijective_shuffle_cli::dataset::BlockCodec;
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, ValueEnum};

use crate::failure::Failure;
use crate::memory::MemorySize;
use crate::selection::{Head, NumberRange, PlaceRange, Selection, WorkerShard};
use crate::temporary::Temporary;

use headings::{INPUT, MEMORY, ORDER, OUTPUT, RECORDS, REPORT, SELECTION};
pub(crate) use sets::{SetArguments, WorkerStage};

/// How far abbreviations can be relied on.
const ABBREVIATIONS: &str = "Long options may be abbreviated when typed, not in scripts: a new one \
                             can make them ambiguous.";

/// Shuffle the lines of files or of standard input. The same seed gives the same order on every
/// machine. All cores are used, or RAYON_NUM_THREADS threads.
#[derive(Parser)]
#[command(name = "bshuf", version, infer_long_args = true, after_help = ABBREVIATIONS)]
#[command(disable_help_flag = true, disable_version_flag = true)]
pub(crate) struct Arguments {
    /// Files to read; standard input if none are given, or for `-`
    #[arg(value_name = "FILE")]
    pub(crate) operands: Vec<OsString>,

    /// Seed: a number, a number@epoch, or 64 hex digits; random if not given
    #[arg(help_heading = ORDER)]
    #[arg(long)]
    seed: Option<SeedText>,

    /// Use order N of the seed; 0 if not given
    #[arg(help_heading = ORDER)]
    #[arg(long, value_name = "N")]
    pub(crate) epoch: Option<u64>,

    /// Restore lines that were shuffled with the same seed and epoch
    #[arg(help_heading = ORDER)]
    #[arg(long, overrides_with = "undo", conflicts_with = "head")]
    pub(crate) undo: bool,

    /// Draw each line from all, with replacement; without end unless -n
    #[arg(help_heading = ORDER)]
    #[arg(short, long, overrides_with = "repeat", conflicts_with_all = ["undo", "together"])]
    pub(crate) repeat: bool,

    /// Where the order is computed: cpu, cuda or auto
    #[arg(help_heading = ORDER)]
    #[arg(long, value_enum, default_value_t = BackendName::Cpu, hide_possible_values = true)]
    backend: BackendName,

    /// Write at most N lines, or N% of all; the smallest of several
    #[arg(help_heading = SELECTION)]
    #[arg(short = 'n', long = "head-count", visible_alias = "head", value_name = "N")]
    #[arg(action = ArgAction::Append)]
    head: Vec<Head>,

    /// Write the share of worker R of W, counted from 0
    #[arg(help_heading = SELECTION)]
    #[arg(long, value_name = "R/W", conflicts_with = "repeat")]
    shard: Option<WorkerShard>,

    /// Write places A to B, without B, of the order or of the --shard share
    #[arg(help_heading = SELECTION)]
    #[arg(long, value_name = "A..B", conflicts_with = "repeat")]
    range: Option<PlaceRange>,

    /// Treat each argument as a line
    #[arg(help_heading = INPUT)]
    #[arg(short, long, overrides_with = "echo")]
    #[arg(conflicts_with_all = ["input_range", "record", "together"])]
    pub(crate) echo: bool,

    /// Treat each number from LO through HI as a line
    #[arg(help_heading = INPUT)]
    #[arg(short, long, value_name = "LO-HI", conflicts_with_all = ["operands", "undo", "record"])]
    pub(crate) input_range: Option<NumberRange>,

    /// Treat every input as text, whatever its first bytes are
    #[arg(help_heading = INPUT)]
    #[arg(short = 'a', long, overrides_with = "text")]
    #[arg(conflicts_with_all = ["echo", "input_range", "record"])]
    pub(crate) text: bool,

    /// Shuffle files of equal line counts alike, into the folder of -o
    #[arg(help_heading = INPUT)]
    #[arg(long, overrides_with = "together", conflicts_with = "input_range")]
    pub(crate) together: bool,

    /// Lines end with NUL instead of a newline
    #[arg(help_heading = RECORDS)]
    #[arg(short, long, overrides_with = "zero_terminated")]
    zero_terminated: bool,

    /// Shuffle records of BYTES bytes, not lines; .npy files state theirs
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "BYTES", conflicts_with = "zero_terminated")]
    pub(crate) record: Option<NonZeroUsize>,

    /// Leave the first BYTES bytes (a header) in place
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    #[arg(hide_default_value = true)]
    pub(crate) header_bytes: u64,

    /// Shuffle a table's row groups, then the rows of W of them at a time
    #[arg(help_heading = RECORDS)]
    #[arg(long, value_name = "W", conflicts_with = "undo")]
    #[arg(conflicts_with_all = sets::PLAIN)]
    pub(crate) blocks: Option<NonZeroU64>,

    /// Write to FILE, which may be an input; it is replaced as a whole
    #[arg(help_heading = OUTPUT)]
    #[arg(short, long = "output", id = "output", value_name = "FILE", action = ArgAction::Append)]
    outputs: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) sets: SetArguments,

    /// Use about SIZE of memory, as 512M; by default 3/4 of what is free
    #[arg(help_heading = MEMORY)]
    #[arg(long, value_name = "SIZE")]
    memory: Option<MemorySize>,

    /// Folder for temporary files, instead of $TMPDIR; repeat for more disks
    #[arg(help_heading = MEMORY)]
    #[arg(long, value_name = "DIR", action = ArgAction::Append)]
    temp: Vec<PathBuf>,

    /// Show progress from the start, even if lines go to the terminal
    #[arg(help_heading = REPORT)]
    #[arg(long, overrides_with = "progress", conflicts_with = "quiet")]
    pub(crate) progress: bool,

    /// Write the report as one line of JSON
    #[arg(help_heading = REPORT)]
    #[arg(long, overrides_with = "stats", conflicts_with = "quiet")]
    pub(crate) stats: bool,

    /// Show neither progress nor report
    #[arg(help_heading = REPORT)]
    #[arg(short, long, overrides_with = "quiet")]
    pub(crate) quiet: bool,

    /// Show this help
    #[arg(short = 'h', long = "help", action = ArgAction::Help, help_heading = REPORT)]
    _help: Option<bool>,

    /// Show the version
    #[arg(short = 'V', long = "version", action = ArgAction::Version, help_heading = REPORT)]
    _version: Option<bool>,

    /// Write the man page, or completions for a shell
    #[arg(long, value_enum, hide = true, exclusive = true)]
    pub(crate) generate: Option<GeneratedText>,
}

/// Options that need another one. The parser's own way lets an option go without the one that it
/// needs, where a third is given with which that one could not be.
const NEEDS: [(&str, &str); 11] = [
    ("header-bytes", "record"),
    ("loose-quotes", "csv"),
    ("together", "output"),
    ("shards", "output-dir"),
    ("shard-bytes", "output-dir"),
    ("shard-records", "output-dir"),
    ("split", "output-dir"),
    ("resume", "output-dir"),
    ("worker", "output-dir"),
    ("worker", "stage"),
    ("stage", "worker"),
];

impl Arguments {
    /// The command line, which begins with the program's name, if it makes sense.
    pub(crate) fn of(line: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        // A value that is below 0 is refused as a value, and not taken for an option.
        let command = Self::command().mut_args(|argument| {
            let is_valued = argument.get_action().takes_values() && !argument.is_positional();
            argument.allow_negative_numbers(is_valued)
        });
        let matches = command.try_get_matches_from(line)?;
        let arguments = Self::from_arg_matches(&matches)?;
        let is_given = |option: &str| {
            let id = option.replace('-', "_");
            matches.ids().any(|given| given.as_str() == id)
                && matches.value_source(&id) == Some(ValueSource::CommandLine)
        };
        if let Some((option, needed)) =
            NEEDS.iter().find(|(option, needed)| is_given(option) && !is_given(needed))
        {
            let why = format!("'--{option}' needs '--{needed}'");
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, why));
        }
        if let (Some(epoch), Some(SeedText { seed, has_epoch: true })) =
            (arguments.epoch, arguments.seed)
            && seed.epoch() != epoch
        {
            let why = "the seed of '--seed <SEED>' has an epoch, and '--epoch <N>' gives another";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, why));
        }
        let option = arguments.shard.map(|_| "--shard").or(arguments.range.map(|_| "--range"));
        if let Some(option) = option
            && arguments.head.iter().any(|head| head.share.is_some())
        {
            let why = format!(
                "'--head-count <N>' is a share of all lines, and '{option}' writes a part of them: \
                 give a number of lines"
            );
            return Err(Self::command().error(ErrorKind::ArgumentConflict, why));
        }
        // What a list names is not known before it is read.
        let may_have_seed = arguments.sets.files0_from.is_some()
            || arguments.operands.iter().any(|path| Path::new(path).is_dir());
        if arguments.undo && arguments.seed.is_none() && !may_have_seed {
            let why = "'--undo' needs '--seed <SEED>', unless it is given a folder of shards";
            return Err(Self::command().error(ErrorKind::MissingRequiredArgument, why));
        }
        if let [first, others @ ..] = arguments.outputs.as_slice()
            && others.iter().any(|other| other != first)
        {
            let why = "'--output <FILE>' names several files, and only one is written";
            return Err(Self::command().error(ErrorKind::ArgumentConflict, why));
        }
        Ok(arguments)
    }

    /// Checks that neither standard input nor standard output is read or written.
    pub(crate) fn check_for_host(&self) -> Result<(), Failure> {
        let is_read = !self.echo && self.input_range.is_none();
        let is_standard = match &self.sets.files0_from {
            Some(list) => list.as_os_str() == "-",
            None => self.operands.is_empty() || self.operands.iter().any(|path| path == "-"),
        };
        if is_read && is_standard {
            return Err(Failure::new("inputs", "none are given: name files or folders"));
        }
        if self.output().is_none() && self.sets.output_dir.is_none() {
            return Err(Failure::new("output", "none is given: name a file or a folder"));
        }
        Ok(())
    }

    /// The file that is written; none for standard output.
    pub(crate) fn output(&self) -> Option<&Path> {
        self.outputs.first().map(PathBuf::as_path)
    }

    /// The seed with its epoch, if one was given.
    pub(crate) fn seed(&self) -> Option<Seed> {
        let seed = self.seed?.seed;
        Some(self.epoch.map_or(seed, |epoch| seed.with_epoch(epoch)))
    }

    /// The lines that are written, and their order. Draws a seed if none was given.
    pub(crate) fn selection(&self) -> Selection {
        let drawn = || Seed::new(rand::random()).with_epoch(self.epoch.unwrap_or(0));
        Selection {
            seed: self.seed().unwrap_or_else(drawn),
            backend: self.backend(),
            is_undone: self.undo,
            shard: self.shard,
            range: self.range,
            head: self.head.iter().copied().reduce(Head::min),
        }
    }

    /// The byte that ends a line.
    pub(crate) fn delimiter(&self) -> u8 {
        if self.zero_terminated { 0 } else { b'\n' }
    }

    /// Whether nothing is asked for that only lines have.
    pub(crate) fn check_for_rows(&self) -> Result<(), Failure> {
        if self.zero_terminated {
            let why = "rows of arrays and tables do not end with a delimiter";
            return Err(Failure::new("--zero-terminated", why));
        }
        if self.text {
            return Err(Failure::new("--text", "arrays and tables are not text"));
        }
        if self.sets.is_asked_for() {
            let why = "rows of arrays and tables are written as they are";
            return Err(Failure::new("options of records, headers and compression", why));
        }
        Ok(())
    }

    /// The files that are read; none for standard input.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.operands.iter().map(PathBuf::from).collect()
    }

    /// The bytes that may be held.
    pub(crate) fn memory(&self) -> usize {
        self.memory.unwrap_or_else(MemorySize::available).bytes()
    }

    /// Where what does not fit memory is kept.
    pub(crate) fn temporary(&self) -> Temporary {
        let is_given = !self.temp.is_empty();
        Temporary {
            folders: if is_given { self.temp.clone() } else { vec![std::env::temp_dir()] },
            codec: if self.sets.temp_compress { BlockCodec::Zstd } else { BlockCodec::Plain },
        }
    }

    /// Where the order is computed.
    pub(crate) fn backend(&self) -> Backend {
        match self.backend {
            BackendName::Auto => Backend::Auto,
            BackendName::Cpu => Backend::Cpu,
            BackendName::Cuda => Backend::Cuda,
        }
    }
}

/// A seed, and whether its text says an epoch too.
#[derive(Clone, Copy, Debug)]
struct SeedText {
    seed: Seed,
    has_epoch: bool,
}

impl FromStr for SeedText {
    type Err = bijective_shuffle::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { seed: text.parse()?, has_epoch: text.contains('@') })
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

/// What can be made of the description of the command line.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum GeneratedText {
    Man,
    Bash,
    Elvish,
    Fish,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}
