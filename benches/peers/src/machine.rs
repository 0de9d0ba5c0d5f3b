//! [`conditions`] and [`Origin`]: under which conditions, when, and at which revision something was
//! measured.

use std::fs;
use std::path::Path;
use std::process::Command;

use time::OffsetDateTime;

use crate::arguments::Common;

/// The version of the library that is measured, which `build.rs` reads from its manifest.
pub(crate) const LIBRARY: &str = concat!("bijective-shuffle ", env!("LIBRARY_VERSION"));

/// Tells programs the revision where there is no repository.
const REVISION: &str = "BIJECTIVE_SHUFFLE_REVISION";

/// What each row begins with.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    date: String,
    revision: String,
    machine: String,
}

impl Origin {
    /// Of what is measured now, on this machine.
    ///
    /// # Errors
    ///
    /// If nothing says which revision it is.
    pub(crate) fn new(machine: &str) -> Result<Self, String> {
        let date = OffsetDateTime::now_utc().date().to_string();
        Ok(Self { date, revision: revision()?, machine: machine.into() })
    }

    #[cfg(test)]
    pub(crate) fn made_up() -> Self {
        Self { date: "2026-01-02".into(), revision: "0123abc".into(), machine: "a, b".into() }
    }

    /// What stands before the cells of a row.
    pub(crate) fn cells(&self) -> [&str; 3] {
        [&self.date, &self.revision, &self.machine]
    }
}

/// The revision that the variable names, or else that of the repository, with `-dirty` where files
/// differ from it.
fn revision() -> Result<String, String> {
    if let Ok(revision) = std::env::var(REVISION) {
        return Ok(revision);
    }
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    let missing = || format!("no revision: there is no repository here, and {REVISION} is not set");
    let revision = git(&["rev-parse", "--short=7", "HEAD"]).ok_or_else(missing)?;
    let changed = git(&["status", "--porcelain", "--untracked-files=no"]);
    let clean = changed.is_some_and(|changed| changed.is_empty());
    Ok(if clean { revision } else { revision + "-dirty" })
}

/// What this machine is called in rows.
pub(crate) fn name() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    format!("{}, {cores} logical cores", model())
}

/// What a reader needs to judge a table, and to make it again, as comments of its rows.
pub(crate) fn conditions(common: &Common) -> Vec<String> {
    let effort = common.effort();
    let each_number = format!(
        "the median of {} samples or more, for {:?} on average; contenders take turns",
        effort.repeats, effort.budget
    );
    conditions_of(&common.pages.to_string(), effort.seed, &each_number)
}

/// The same of a command that chooses pages, or takes samples, in its own way.
pub(crate) fn conditions_of(pages: &str, seed: u64, each_number: &str) -> Vec<String> {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let threads = rayon::current_num_threads();
    let mut lines = vec![format!("$ {}", command())];
    let mut line = |what: &str, value: &str| lines.push(format!("{what}: {value}"));
    line("library", LIBRARY);
    line("processor", &model());
    line("threads", &format!("{threads} on {cores} logical cores"));
    line("caches", &caches());
    line("pages", &format!("{pages} (transparent huge pages: {})", transparent()));
    line("instruction sets", &instruction_sets());
    if let Ok(level) = std::env::var("BIJECTIVE_SHUFFLE_SIMD") {
        line("forced on ours by `BIJECTIVE_SHUFFLE_SIMD`", &level);
    }
    line("compiler", env!("RUSTC_VERSION"));
    line("seed", &seed.to_string());
    line("each number", each_number);
    lines
}

/// The command that was given, as it is typed in the repository's root.
pub(crate) fn command() -> String {
    let cargo = "cargo run --release -p bijective-shuffle-peers --".to_owned();
    let words = std::env::args().skip(1).map(|word| {
        if word.contains(|c: char| c.is_whitespace() || "'\"\\$*?;&|<>()".contains(c)) {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word
        }
    });
    std::iter::once(cargo).chain(words).collect::<Vec<_>>().join(" ")
}

const UNKNOWN: &str = "unknown";

fn model() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    line.map_or(UNKNOWN, |(_, name)| name.trim()).to_owned()
}

/// The caches that hold data, as the first core sees them.
fn caches() -> String {
    let folder = Path::new("/sys/devices/system/cpu/cpu0/cache");
    let caches: Vec<String> = (0..)
        .map_while(|index| {
            let read = |file: &str| {
                let text = fs::read_to_string(folder.join(format!("index{index}/{file}"))).ok()?;
                Some(text.trim().to_owned())
            };
            let (level, kind, size) = (read("level")?, read("type")?, read("size")?);
            let shared = read("shared_cpu_list")?;
            Some((kind != "Instruction").then(|| format!("L{level} {size} (cores {shared})")))
        })
        .flatten()
        .collect();
    if caches.is_empty() { UNKNOWN.into() } else { caches.join(", ") }
}

/// What the system does about huge pages unless told.
fn transparent() -> String {
    let text = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    let text = text.unwrap_or_default();
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    chosen.map_or(UNKNOWN, |(chosen, _)| chosen).to_owned()
}

/// What the processor has, and what the compiler was allowed to use everywhere.
fn instruction_sets() -> String {
    #[cfg(target_arch = "x86_64")]
    let level = if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx512vl") {
        "AVX-512"
    } else if is_x86_feature_detected!("avx2") {
        "AVX2"
    } else {
        "SSE2"
    };
    #[cfg(not(target_arch = "x86_64"))]
    let level = std::env::consts::ARCH;
    let built = if cfg!(target_feature = "avx512bw") {
        "AVX-512"
    } else if cfg!(target_feature = "avx2") {
        "AVX2"
    } else {
        "the target's baseline"
    };
    format!("{level} in the processor, {built} for the compiler")
}
