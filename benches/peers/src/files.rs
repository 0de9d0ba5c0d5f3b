//! Programs that shuffle files: `bshuf`, `shuf` of GNU and of uutils, `sort -R` and terashuf, and
//! `cat` for what the disk takes. Of Parquet files, `bshuf` and pyarrow.
//!
//! Each sample is a whole process. The contenders take turns, with a warm page cache as far as
//! memory goes. Before anything is timed, each of them runs once, and has to keep every item.

use std::error::Error;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::arguments::{Common, Files};
use crate::machine::{self, Origin};
use crate::measure::median;
use crate::sheet::Sheet;

/// The columns after the origin.
const COLUMNS: [&str; 8] =
    ["name", "bytes", "item", "memory", "output", "samples", "seconds", "peak_mib"];

/// A program and its arguments, as a shell reads them.
struct Contender {
    name: &'static str,
    script: &'static str,
    /// Whether it only copies, and what `/dev/null` takes would say nothing.
    is_copy: bool,
}

const BSHUF: Contender = Contender {
    name: "bshuf",
    script: r#"exec "$BSHUF" --quiet --seed 1 $ITEMS -o "$OUT" "$IN""#,
    is_copy: false,
};

const BSHUF_LIMITED: Contender = Contender {
    name: "bshuf, limited",
    script: r#"exec "$BSHUF" --quiet --seed 1 --memory "$LIMIT" $ITEMS -o "$OUT" "$IN""#,
    is_copy: false,
};

const SHUF: Contender =
    Contender { name: "shuf", script: r#"exec shuf -o "$OUT" "$IN""#, is_copy: false };

const UUTILS: Contender =
    Contender { name: "uutils shuf", script: r#"exec "$UUTILS" -o "$OUT" "$IN""#, is_copy: false };

const SORT: Contender =
    Contender { name: "sort -R", script: r#"exec sort -R -o "$OUT" "$IN""#, is_copy: false };

const SORT_LIMITED: Contender = Contender {
    name: "sort -R, limited",
    script: r#"exec sort -R -S "${LIMIT}b" -o "$OUT" "$IN""#,
    is_copy: false,
};

const TERASHUF: Contender = Contender {
    name: "terashuf",
    script: r#"exec "$TERASHUF" < "$IN" > "$OUT" 2> /dev/null"#,
    is_copy: false,
};

const CATS: Contender = Contender {
    name: "two cats",
    script: r#"cat "$IN" > "$OUT" && cat "$IN" > "$OUT.2""#,
    is_copy: true,
};

const PYARROW_COPY: Contender = Contender {
    name: "pyarrow, read and write",
    script: r#"exec "$PYTHON" -c "$TABLES" copy "$IN" "$OUT""#,
    is_copy: true,
};

const PYARROW_TAKE: Contender = Contender {
    name: "pyarrow, in memory",
    script: r#"exec "$PYTHON" -c "$TABLES" take "$IN" "$OUT""#,
    is_copy: false,
};

/// What pyarrow has to do with Parquet files.
const TABLES: &str = include_str!("../parquet_peer.py");

impl Contender {
    /// Whether it keeps within the memory that is given.
    fn is_limited(&self) -> bool {
        [BSHUF_LIMITED.name, SORT_LIMITED.name, TERASHUF.name].contains(&self.name)
    }
}

impl Files {
    /// Who takes part: those that shuffle in memory, or those that can keep within a limit.
    fn contenders(&self, common: &Common) -> Vec<Contender> {
        let mut all = match (&self.memory, self.record) {
            (None, _) if self.table => vec![BSHUF, PYARROW_COPY, PYARROW_TAKE],
            (Some(_), _) if self.table => vec![BSHUF_LIMITED, BSHUF, PYARROW_COPY, PYARROW_TAKE],
            (None, None) => vec![BSHUF, SHUF, UUTILS, TERASHUF, SORT],
            (Some(_), None) => vec![BSHUF_LIMITED, CATS, TERASHUF, SORT_LIMITED],
            (None, Some(_)) => vec![BSHUF, CATS],
            (Some(_), Some(_)) => vec![BSHUF_LIMITED, BSHUF, CATS],
        };
        let is_skipped = |name: &str| common.skip.iter().any(|skip| name.contains(skip));
        // The first is ours, and all others are compared with it.
        let ours = all[0].name;
        let is_chosen = |name: &str| {
            let mut only = self.only.iter();
            self.only.is_empty() || name == ours || only.any(|only| name.contains(only))
        };
        all.retain(|contender| is_chosen(contender.name));
        all.retain(|contender| !is_skipped(contender.name));
        for (program, of) in [(&self.terashuf, TERASHUF), (&self.uutils, UUTILS)] {
            if program.is_none() {
                all.retain(|contender| contender.name != of.name);
            }
        }
        all
    }

    fn item(&self) -> String {
        match self.record {
            _ if self.table => "rows of Parquet".to_owned(),
            Some(bytes) => format!("records of {bytes} bytes"),
            None => format!("lines of {} bytes", self.line),
        }
    }

    /// Has pyarrow do something, and returns what it says.
    fn pyarrow(&self, arguments: &[&OsStr]) -> Result<String, Box<dyn Error>> {
        let output = Command::new(&self.python).args(["-c", TABLES]).args(arguments).output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Makes the input.
    fn make(&self, input: &Path) -> Result<(), Box<dyn Error>> {
        if self.table {
            let bytes = self.bytes.to_string();
            self.pyarrow(&[OsStr::new("make"), input.as_os_str(), OsStr::new(&bytes)])?;
            return Ok(());
        }
        Ok(make(self, input)?)
    }

    /// A number for all items of a file, in whatever order.
    fn fingerprint(&self, file: &Path) -> Result<(u64, u64), Box<dyn Error>> {
        if self.table {
            let text = self.pyarrow(&[OsStr::new("check"), file.as_os_str()])?;
            let (rows, sum) = text.trim().split_once(' ').ok_or("pyarrow says nothing")?;
            return Ok((rows.parse()?, sum.parse()?));
        }
        Ok(fingerprint(file, self.record.unwrap_or(self.line))?)
    }

    /// A run of a contender, to an output.
    fn command(&self, contender: &Contender, input: &Path, output: &Path) -> Command {
        let absolute = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut command = Command::new("sh");
        command.args(["-c", contender.script]);
        command.env("BSHUF", absolute(&self.program)).env("IN", input).env("OUT", output);
        command
            .env("ITEMS", self.record.map_or(String::new(), |bytes| format!("--record {bytes}")));
        command.env("PYTHON", &self.python).env("TABLES", TABLES);
        command.env("LC_ALL", "C").env("TMPDIR", &self.folder).env("SEED", "1");
        for (program, variable) in [(&self.terashuf, "TERASHUF"), (&self.uutils, "UUTILS")] {
            if let Some(program) = program {
                command.env(variable, absolute(program));
            }
        }
        // terashuf wants a part of 10^9 bytes, and as many as there are if there is no limit.
        let limit = self.memory.unwrap_or(2 * self.bytes);
        command.env("LIMIT", limit.to_string()).env("MEMORY", format!("{}", limit as f64 / 1e9));
        command
    }
}

/// Measures what was asked for, and prints rows.
pub(crate) fn run(of: &Files, common: &Common) -> Result<(), Box<dyn Error>> {
    let effort = common.effort();
    let each_number = format!("the median of {} processes, which take turns", effort.repeats);
    let mut conditions = machine::conditions_of("default", effort.seed, &each_number);
    if of.table {
        let said = of.pyarrow(&[OsStr::new("version")])?;
        conditions.push(format!("pyarrow: {}", said.trim()));
    } else {
        conditions.extend(version("shuf", Path::new("shuf")));
        conditions.extend(of.uutils.as_deref().and_then(|program| version(UUTILS.name, program)));
    }
    conditions.extend(of.terashuf.is_some().then(|| "terashuf, built from its source".to_owned()));
    let sheet = Sheet::new(Origin::new(&machine::name())?, common.csv(), &conditions, &COLUMNS)?;
    for row in measure(of, common, effort.repeats)? {
        sheet.row(&row.each_ref().map(String::as_str))?;
    }
    Ok(())
}

/// The first line of what a program says of its version, as a condition.
fn version(name: &str, program: &Path) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().next().map(|line| format!("{name}: {line}"))
}

/// One sample of a contender.
struct Sample {
    seconds: f64,
    peak_mib: f64,
}

/// Makes the input, checks each contender once, and times all of them in turns. The files are gone
/// in the end.
pub(crate) fn measure(
    of: &Files,
    common: &Common,
    repeats: usize,
) -> Result<Vec<[String; COLUMNS.len()]>, Box<dyn Error>> {
    fs::create_dir_all(&of.folder)?;
    // A Parquet file is known by its name.
    let end = if of.table { ".parquet" } else { "" };
    let [input, output, second] =
        ["peers-in", "peers-out", "peers-out.2"].map(|name| of.folder.join(name.to_owned() + end));
    let result = measure_in(of, common, repeats, &input, &output);
    for file in [input, output, second] {
        // Some of them are only there after some contenders, or some errors.
        let _ = fs::remove_file(file);
    }
    result
}

fn measure_in(
    of: &Files,
    common: &Common,
    repeats: usize,
    input: &Path,
    output: &Path,
) -> Result<Vec<[String; COLUMNS.len()]>, Box<dyn Error>> {
    of.make(input)?;
    let expected = of.fingerprint(input)?;
    let contenders = of.contenders(common);
    for contender in &contenders {
        sample(of, contender, input, output)?;
        if of.fingerprint(output)? != expected {
            return Err(format!("{} lost an item", contender.name).into());
        }
    }
    let mut rows = Vec::new();
    let outputs = [("/dev/null", Path::new("/dev/null")), ("new file", output)];
    // What a Parquet file is called decides what it is.
    for (name, to) in outputs.into_iter().skip(usize::from(of.table)) {
        let contenders: Vec<&Contender> =
            contenders.iter().filter(|one| !one.is_copy || to == output).collect();
        let mut samples: Vec<Vec<Sample>> = contenders.iter().map(|_| Vec::new()).collect();
        for _ in 0..repeats {
            for (contender, samples) in contenders.iter().zip(&mut samples) {
                if to == output {
                    fs::remove_file(output).or_else(|error| match error.kind() {
                        io::ErrorKind::NotFound => Ok(()),
                        _ => Err(error),
                    })?;
                }
                samples.push(sample(of, contender, input, to)?);
            }
        }
        for (contender, samples) in contenders.iter().zip(samples) {
            let of_samples =
                |value: fn(&Sample) -> f64| median(samples.iter().map(value).collect());
            rows.push([
                contender.name.to_owned(),
                of.bytes.to_string(),
                of.item(),
                match of.memory {
                    Some(bytes) if contender.is_limited() => bytes.to_string(),
                    _ => "all".to_owned(),
                },
                name.to_owned(),
                samples.len().to_string(),
                format!("{:.3}", of_samples(|sample| sample.seconds)),
                format!("{:.0}", of_samples(|sample| sample.peak_mib)),
            ]);
        }
    }
    Ok(rows)
}

/// Runs a contender.
fn sample(
    of: &Files,
    contender: &Contender,
    input: &Path,
    output: &Path,
) -> Result<Sample, Box<dyn Error>> {
    let start = Instant::now();
    let child = of.command(contender, input, output).spawn()?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the process is a child of this one that nobody else waits for, and both places are
    // there to be written.
    let waited =
        unsafe { libc::wait4(child.id().cast_signed(), &raw mut status, 0, usage.as_mut_ptr()) };
    let seconds = start.elapsed().as_secs_f64();
    // SAFETY: all of it is integers, for which zeros are values, or was written.
    let usage = unsafe { usage.assume_init() };
    if waited < 0 || status != 0 {
        return Err(format!("{} failed", contender.name).into());
    }
    Ok(Sample { seconds, peak_mib: usage.ru_maxrss as f64 / 1024.0 })
}

/// A generator that is small, fast, and good enough to make files of.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}

/// Writes random records, or lines of random letters, all of one length.
fn make(of: &Files, input: &Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(input)?);
    let mut random = SplitMix(1);
    let item = of.record.unwrap_or(of.line);
    let mut bytes = Vec::new();
    for _ in 0..of.bytes / item {
        bytes.clear();
        while bytes.len() < item {
            bytes.extend(random.next().to_le_bytes());
        }
        bytes.truncate(item);
        if of.record.is_none() {
            bytes.iter_mut().for_each(|byte| *byte = b'@' + *byte % 64);
            bytes[item - 1] = b'\n';
        }
        file.write_all(&bytes)?;
    }
    file.flush()
}

/// A number for all items of a file, in whatever order.
fn fingerprint(file: &Path, item: usize) -> io::Result<(u64, u64)> {
    let mut file = io::BufReader::with_capacity(1 << 20, File::open(file)?);
    let (mut items, mut sum) = (0, 0_u64);
    let mut bytes = vec![0; item];
    loop {
        match file.read_exact(&mut bytes) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok((items, sum)),
            Err(error) => return Err(error),
        }
        let mut hash = SplitMix(0);
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            hash.0 ^= u64::from_le_bytes(word);
            hash.next();
        }
        sum = sum.wrapping_add(hash.next());
        items += 1;
    }
}

/// All contenders that this machine has, with little files.
pub(crate) fn trial(common: &Common) -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("peers-files-{}", std::process::id()));
    for (memory, record) in [(None, None), (Some(1 << 20), None), (Some(1 << 20), Some(8))] {
        let program = PathBuf::from("target/release/bshuf");
        let bytes = 2 << 20;
        let of = Files {
            folder: folder.clone(),
            program,
            terashuf: None,
            uutils: None,
            bytes,
            line: 80,
            memory,
            record,
            table: false,
            only: Vec::new(),
            python: PathBuf::new(),
        };
        if of.program.exists() {
            measure(&of, common, 1)?;
        }
    }
    // It is only there if anything was measured.
    let _ = fs::remove_dir(folder);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_notice_what_is_lost_and_not_what_is_moved() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        let of = |text: &[u8]| {
            fs::write(&file, text).unwrap();
            fingerprint(&file, 4).unwrap()
        };
        let whole = of(b"abc\ndef\nghi\n");
        assert_eq!(of(b"ghi\nabc\ndef\n"), whole);
        for other in
            [&b"abc\ndef\nghj\n"[..], b"abc\ndef\n", b"abc\ndef\ndef\n", b"bac\ndef\nghi\n"]
        {
            assert_ne!(of(other), whole);
        }
    }

    #[test]
    fn inputs_are_lines_of_one_length() {
        let folder = tempfile::tempdir().unwrap();
        let input = folder.path().join("in");
        let of = Files {
            folder: folder.path().to_owned(),
            program: PathBuf::new(),
            terashuf: None,
            uutils: None,
            bytes: 1000,
            line: 10,
            memory: None,
            record: None,
            table: false,
            only: Vec::new(),
            python: PathBuf::new(),
        };
        make(&of, &input).unwrap();
        let text = fs::read_to_string(input).unwrap();
        assert!(text.len() == 1000 && text.lines().all(|line| line.len() == 9));
    }
}
