//! The program `bshuf`, and the same within another program.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use crate::arguments::Arguments;
use crate::failure::{self, FailureContext};
use crate::progress::Progress;
use crate::streams::{self, say};
use crate::{generate, run as runs};

#[doc(hidden)]
pub use crate::allocator::Allocator;
pub use crate::failure::Failure;
pub use crate::progress::Host;

/// Runs `bshuf` with these arguments, without the program's name, and returns the report that
/// `--stats` writes, a JSON object.
///
/// The work is done by the threads of rayon that the calling one belongs to. Nothing is written to
/// standard error, no signal is handled, and no input is mapped, as this program could not survive
/// one that is cut short. The inputs and the output have to be named: standard input and output
/// are this program's own.
///
/// # Errors
///
/// What the program would say.
///
/// # Examples
///
/// ```
/// use std::ffi::OsString;
/// use std::io;
/// use std::sync::Arc;
///
/// use bijective_shuffle_cli::program::{self, Host};
///
/// struct Silent;
///
/// impl Host for Silent {
///     fn begin(&self, _: &'static str, _: Option<u64>) {}
///
///     fn advance(&self, _: u64) -> io::Result<()> {
///         Ok(())
///     }
/// }
///
/// let folder = tempfile::tempdir()?;
/// let (input, output) = (folder.path().join("in"), folder.path().join("out"));
/// std::fs::write(&input, "one\ntwo\nthree\n")?;
/// let mut arguments = ["--seed", "42", "-o"].map(OsString::from).to_vec();
/// arguments.extend([output.clone().into(), input.into()]);
/// let report = program::run(arguments, Arc::new(Silent))?;
/// assert!(report.starts_with("{\"lines\":3,\"bytes\":14,"));
/// assert_eq!(std::fs::read(output)?.len(), 14);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(
    arguments: impl IntoIterator<Item = OsString>,
    host: Arc<dyn Host>,
) -> Result<String, Failure> {
    let name = OsString::from("bshuf");
    let arguments = Arguments::of([name].into_iter().chain(arguments)).map_err(|error| {
        let said = error.to_string();
        // What follows is how the program is called.
        let first = said.split("\n\n").next().unwrap_or_default();
        Failure::new("options", first.trim_start_matches("error: "))
    })?;
    arguments.check_for_host()?;
    runs::check_backend(&arguments)?;
    let report = runs::shuffle(&arguments, Progress::for_host(host))?;
    Ok(report.to_json())
}

/// Runs the program with the arguments of this process.
#[doc(hidden)]
pub fn main() -> ExitCode {
    let arguments = match Arguments::of(std::env::args_os()) {
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
    match failure::caught(|| runs::run(&arguments)) {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Ends the run when it was told so often that it goes on.
    struct StopRequests(AtomicU64);

    impl Host for StopRequests {
        fn begin(&self, _: &'static str, _: Option<u64>) {}

        fn advance(&self, _: u64) -> io::Result<()> {
            let less = |left: u64| left.checked_sub(1);
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            left.map(drop).map_err(|_| io::Error::other("that is enough"))
        }
    }

    /// A run that ends when it was told so often that it goes on, and how often it still may be.
    fn run_until(line: &str, folder: &Path, patience: u64) -> (Result<String, Failure>, u64) {
        let host = Arc::new(StopRequests(AtomicU64::new(patience)));
        let line = line.replace('@', &format!("{}/", folder.display()));
        let result = run(line.split(' ').map(OsString::from), host.clone());
        (result, host.0.load(Ordering::Relaxed))
    }

    /// The files of a folder that are not its journal.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                found.extend(files(&path).into_iter().map(|(one, is)| (name.clone() + &one, is)));
            } else if name != ".bshuf-journal" {
                found.insert(name, fs::read(path).unwrap());
            }
        }
        found
    }

    /// Ends the run at each place where it can be ended, and looks at what is left.
    fn ends_anywhere(line: &str, is_resumed: bool) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("in")).unwrap();
        let rows = |from: usize| -> String {
            let rows = (from..from + 4_000).map(|k| format!("{k},\"{}\"\n", k * k));
            ["n,square\n".to_owned()].into_iter().chain(rows).collect()
        };
        for part in 0..3 {
            fs::write(folder.join(format!("in/{part}.csv")), rows(part * 4_000)).unwrap();
        }
        let many = 1 << 40;
        let (done, left) = run_until(&line.replace("OUT", "whole"), folder, many);
        done.unwrap();
        let (times, whole) = (many - left, files(&folder.join("whole")));
        assert!(times > 2, "{line}: {times}");
        for patience in 0..times {
            let out = folder.join("out");
            let line = line.replace("OUT", "out");
            let (failed, _) = run_until(&line, folder, patience);
            assert!(failed.is_err(), "{line}: {patience} of {times}");
            for (name, content) in files(&out) {
                assert!(whole.get(&name) == Some(&content), "{line}: {name} after {patience}");
            }
            if is_resumed {
                run_until(&format!("{line} --resume"), folder, many).0.unwrap();
                assert!(files(&out) == whole, "{line}: resumed after {patience}");
                fs::remove_dir_all(&out).unwrap();
            } else {
                assert!(!out.exists(), "{line}: {patience}");
            }
            assert_eq!(fs::read_dir(folder).unwrap().count(), 2, "{line}: {patience}");
        }
    }

    #[test]
    fn runs_are_ended_anywhere() {
        for (line, is_resumed) in [
            ("--seed 1 -o @OUT @in/0.csv @in/1.csv", false),
            ("--seed 1 --memory 1M --temp @in -o @OUT @in/0.csv @in/1.csv", false),
            ("--seed 1 --record 1 -n 1000 -o @OUT @in/0.csv @in/1.csv", false),
            ("--seed 1 --record 1 -o @OUT @in/0.csv @in/1.csv", false),
            ("--seed 1 --csv --header-lines 1 -o @OUT --compress zstd @in", false),
            ("--seed 1 --memory 1M --temp @in --output-dir @OUT --shards 3 @in", true),
            (
                "--seed 1 --memory 2M --temp @in --csv --header-lines 1 --output-dir @OUT \
                 --compress gzip --shards 3 --split a=0.5,b=rest @in",
                true,
            ),
        ] {
            ends_anywhere(line, is_resumed);
        }
    }

    /// What the run was told last: the bytes of an advance, or none that a phase begins.
    #[derive(Default)]
    struct Last(std::sync::Mutex<Option<u64>>);

    impl Host for Last {
        fn begin(&self, _: &'static str, _: Option<u64>) {
            *self.0.lock().unwrap() = None;
        }

        fn advance(&self, bytes: u64) -> io::Result<()> {
            *self.0.lock().unwrap() = Some(bytes);
            Ok(())
        }
    }

    /// If a host ends the run, it can then rely on the outputs being as they were.
    #[test]
    fn a_run_may_be_ended_until_an_output_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "a\nb\nc\n").unwrap();
        fs::write(folder.path().join("y"), "d\ne\nf\n").unwrap();
        fs::create_dir(folder.path().join("z")).unwrap();
        for line in [
            "--seed 1 -o @out @x",
            "--seed 1 --record 2 -o @out @x",
            "--seed 1 --record 2 -n 2 -o @out @x",
            "--seed 1 --together -o @z @x @y",
        ] {
            let host = Arc::new(Last::default());
            let line = line.replace('@', &format!("{}/", folder.path().display()));
            run(line.split(' ').map(OsString::from), host.clone()).unwrap();
            assert_eq!(*host.0.lock().unwrap(), Some(0), "{line}");
        }
    }

    #[test]
    fn streams_are_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "a\nb\n").unwrap();
        for (line, what) in [
            ("-o @y", "inputs"),
            ("-o @y -", "inputs"),
            ("-o @y --files0-from -", "inputs"),
            ("@x", "output"),
            ("--shards 0 @x", "options"),
            ("--help", "options"),
        ] {
            let failure = run_until(line, folder.path(), 99).0.unwrap_err();
            assert_eq!(failure.what(), what, "{line}: {failure}");
        }
        // A list of names is an input like others.
        let (list, x) = (folder.path().join("list"), folder.path().join("x"));
        fs::write(&list, "-\0").unwrap();
        let (refused, _) = run_until("-o @y --files0-from @list", folder.path(), 99);
        assert_eq!(refused.unwrap_err().what(), list.to_str().unwrap());
        fs::write(&list, x.to_str().unwrap()).unwrap();
        let (report, _) = run_until("-o @y --files0-from @list", folder.path(), 99);
        assert!(report.unwrap().starts_with("{\"lines\":2,"));
        let missing = run_until("-o @y @z", folder.path(), 99).0.unwrap_err();
        assert_eq!(missing.os_error(), Some(2), "{missing}");
        assert_eq!(missing.what(), folder.path().join("z").to_str().unwrap());
    }
}
