//! [`Folder`]: where the program runs, and what became of it.

use std::fs;
#[cfg(unix)]
use std::io::ErrorKind;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use tempfile::TempDir;

/// The program.
pub(crate) fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_bshuf"))
}

/// Whether the long forms of tests are asked for.
pub(crate) fn is_long() -> bool {
    std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some()
}

/// A folder in which the program runs.
pub(crate) struct Folder(TempDir);

/// Starts a copy of the program in `own` as a user to whom the system may refuse something: root
/// starts it as another one. `None`, and a line that says so, where it cannot.
#[cfg(unix)]
pub(crate) fn unprivileged(own: &Folder) -> Option<impl Fn() -> Command> {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    const USER: u32 = 54_321;
    // SAFETY: it only says who the user is.
    let is_root = unsafe { libc::getuid() } == 0;
    let path = own.path("bshuf");
    fs::copy(program(), &path).unwrap();
    fs::set_permissions(own.path(""), fs::Permissions::from_mode(0o755)).unwrap();
    let command = move || {
        let mut command = Command::new(&path);
        if is_root {
            command.uid(USER).gid(USER);
        }
        command
    };
    // There may be no such user in a container, or no way to the program.
    let is_run = loop {
        match command().arg("--version").output() {
            // What another test starts at this moment still has the copy open.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => thread::yield_now(),
            done => break done.is_ok_and(|done| done.status.success()),
        }
    };
    if !is_run {
        println!("skipped: there is no other user");
    }
    is_run.then_some(command)
}

/// What became of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.path(name), bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn spawn(&self, command: &mut Command) -> Child {
        command
            .current_dir(self.0.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// Runs the program with these arguments and this standard input.
    pub(crate) fn run(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        self.finish(Command::new(program()).args(arguments), input)
    }

    pub(crate) fn finish(&self, command: &mut Command, input: &[u8]) -> Outcome {
        let mut child = self.spawn(command);
        let mut stdin = child.stdin.take().unwrap();
        thread::scope(|scope| {
            // A program that does not read it may end before all is written.
            scope.spawn(move || drop(stdin.write_all(input)));
            let output = child.wait_with_output().unwrap();
            Outcome {
                code: output.status.code().unwrap(),
                stdout: output.stdout,
                stderr: String::from_utf8(output.stderr).unwrap(),
            }
        })
    }

    /// The output of a run that succeeds and says nothing.
    pub(crate) fn output(&self, arguments: &[&str], input: &[u8]) -> Vec<u8> {
        let outcome = self.run(&[&["--quiet"], arguments].concat(), input);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{arguments:?}");
        outcome.stdout
    }

    /// The one line, without its end, that a run that fails says.
    pub(crate) fn complaint(&self, arguments: &[&str], input: &[u8]) -> String {
        let outcome = self.run(arguments, input);
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (1, &b""[..]), "{arguments:?}");
        one_line(&outcome.stderr)
    }
}

#[track_caller]
pub(crate) fn one_line(stderr: &str) -> String {
    let line = stderr.strip_suffix('\n').unwrap();
    assert!(!line.contains('\n'), "{stderr}");
    line.to_owned()
}

/// A text whose last line ends as it should.
pub(crate) fn ended(text: &[u8], delimiter: u8) -> Vec<u8> {
    let Some((&last, before)) = text.split_last().filter(|(last, _)| **last != delimiter) else {
        return text.to_vec();
    };
    let mut others: Vec<&[u8]> = before.split(|&byte| byte == delimiter).collect();
    others.pop();
    let has_returns = delimiter == b'\n' && !others.is_empty();
    let is_windows =
        has_returns && last != b'\r' && others.iter().all(|line| line.ends_with(b"\r"));
    [text, if is_windows { b"\r" } else { b"" }, &[delimiter]].concat()
}

/// The given number of different lines.
pub(crate) fn numbered(count: usize) -> Vec<u8> {
    (0..count).flat_map(|k| format!("line {k}\n").into_bytes()).collect()
}

pub(crate) fn sorted_lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    lines.sort();
    lines
}
