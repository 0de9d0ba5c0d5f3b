//! What goes wrong on the way: one clear line each, no partial output, inputs untouched.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::folder::{Folder, numbered, one_line, program};

const SIGPIPE: i32 = 13;

/// The signals that end a program that does not hear them, and that are no faults of its own.
const ENDING: [i32; 10] = [
    libc::SIGALRM,
    libc::SIGHUP,
    libc::SIGINT,
    libc::SIGPROF,
    libc::SIGQUIT,
    libc::SIGTERM,
    libc::SIGUSR1,
    libc::SIGUSR2,
    libc::SIGVTALRM,
    libc::SIGXCPU,
];

fn make_fifo(folder: &Folder) {
    let made = Command::new("mkfifo").arg(folder.path("fifo")).status();
    assert!(made.unwrap().success());
}

/// Runs the program where files can have some kilobytes only, which stands in for a full disk.
fn limited(folder: &Folder, arguments: &[&str], input: &[u8]) -> String {
    let script = r#"ulimit -f 512; exec "$0" "$@""#;
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(program()).args(arguments);
    let outcome = folder.finish(&mut command, input);
    assert_eq!((outcome.code, outcome.stdout.as_slice()), (1, &b""[..]));
    one_line(&outcome.stderr)
}

#[test]
fn a_full_disk_is_named_where_lines_are_written() {
    let folder = Folder::new();
    let text = numbered(100_000);
    folder.write("text", &text);
    folder.write("old", b"old\n");
    let options = ["--memory", "1M", "--output", "old"];
    let complaint = limited(&folder, &[&options[..], &["text"]].concat(), b"");
    let temporary = std::env::temp_dir().display().to_string();
    let expected = format!("temporary file: {temporary}: File too large");
    assert!(complaint.starts_with(&format!("bshuf: {expected}")), "{complaint}");
    let complaint = limited(&folder, &options, &text);
    assert!(complaint.starts_with(&format!("bshuf: standard input: {expected}")), "{complaint}");
    let complaint = limited(&folder, &["--output", "old", "text"], b"");
    assert!(complaint.starts_with("bshuf: old: File too large"), "{complaint}");
    let complaint = limited(&folder, &["--output", "old", "--record", "1", "text"], b"");
    assert!(complaint.starts_with("bshuf: old: File too large"), "{complaint}");
    assert_eq!(folder.names(), ["old", "text"]);
    assert_eq!((folder.read("old"), folder.read("text")), (b"old\n".to_vec(), text.clone()));

    let arguments = ["--memory", "1M", "--temp", "missing", "text"];
    let complaint = folder.complaint(&arguments, b"");
    assert!(complaint.starts_with("bshuf: temporary file: missing: No such file"), "{complaint}");
    let complaint = folder.complaint(&["--memory", "1M", "-o", "/dev/full", "text"], b"");
    assert!(complaint.starts_with("bshuf: /dev/full: No space left"), "{complaint}");
}

#[test]
fn input_that_changes_is_named() {
    let folder = Folder::new();
    make_fifo(&folder);
    let text = numbered(100_000);
    for memory in ["1M", "1G"] {
        for changed in [&text[..text.len() - 5], &[&text[..], b"more\n"].concat()] {
            folder.write("text", &text);
            let mut command = Command::new(program());
            let arguments = ["--memory", memory, "--output", "new", "text", "fifo"];
            let child = folder.spawn(command.args(arguments));
            // It opens the second input when it has seen the first.
            let mut fifo = fs::OpenOptions::new().write(true).open(folder.path("fifo")).unwrap();
            folder.write("text", changed);
            fifo.write_all(b"a\n").unwrap();
            drop(fifo);
            let output = child.wait_with_output().unwrap();
            assert_eq!((output.status.code(), output.stdout), (Some(1), vec![]));
            let complaint = one_line(&String::from_utf8(output.stderr).unwrap());
            assert_eq!(complaint, "bshuf: text: changed while it was read");
            assert_eq!(folder.names(), ["fifo", "text"]);
        }
    }
}

#[test]
fn standard_input_that_changes_is_named() {
    let folder = Folder::new();
    make_fifo(&folder);
    let text = numbered(100_000);
    for memory in ["1M", "1G"] {
        folder.write("text", &text);
        let mut command = Command::new(program());
        command
            .args(["--memory", memory, "--output", "new", "-", "fifo"])
            .current_dir(folder.path(""));
        command.stdin(fs::File::open(folder.path("text")).unwrap()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let mut fifo = fs::OpenOptions::new().write(true).open(folder.path("fifo")).unwrap();
        // As long as before, so that the time alone tells.
        let old = fs::metadata(folder.path("text")).unwrap().modified().unwrap();
        let file = fs::OpenOptions::new().write(true).open(folder.path("text")).unwrap();
        (&file).write_all(b"LINE").unwrap();
        file.set_modified(old + Duration::from_secs(1)).unwrap();
        fifo.write_all(b"a\n").unwrap();
        drop(fifo);
        let output = child.wait_with_output().unwrap();
        let complaint = one_line(&String::from_utf8(output.stderr).unwrap());
        assert_eq!(complaint, "bshuf: standard input: changed while it was read");
        assert_eq!(folder.names(), ["fifo", "text"]);
    }
}

#[test]
fn input_that_is_cut_short_is_named() {
    let folder = Folder::new();
    // Long enough to be mapped.
    folder.write("text", numbered(200_000));
    let mut child = folder.spawn(Command::new(program()).args(["--repeat", "text"]));
    let mut stdout = child.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 10]).unwrap();
    fs::File::create(folder.path("text")).unwrap();
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let complaint = one_line(&String::from_utf8(output.stderr).unwrap());
    assert_eq!(complaint, "bshuf: an input was cut short while it was read");
}

/// Starts a program that has part of its output, and waits for more input. Returns when the output
/// is there, under a name that it will lose.
fn waiting(folder: &Folder, command: &mut Command) -> std::process::Child {
    make_fifo(folder);
    fs::create_dir(folder.path("new")).unwrap();
    folder.write("text", numbered(1000));
    let arguments = ["--output", "new", "--together", "text", "fifo"];
    let child = folder.spawn(command.args(arguments));
    while fs::read_dir(folder.path("new")).unwrap().next().is_none() {
        thread::sleep(Duration::from_millis(5));
    }
    child
}

fn send(signal: i32, child: &std::process::Child) {
    let kill = Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status();
    assert!(kill.unwrap().success());
}

/// Has a program start with the usual response to a signal, and leave no image of its memory. A
/// shell starts what is to run in the background, perhaps these tests, with SIGINT and SIGQUIT
/// ignored.
pub(crate) fn heeding(signal: i32, command: &mut Command) -> &mut Command {
    let heed = move || {
        // SAFETY: `signal` may be called between a fork and the new program, and changes the child
        // only.
        let before = unsafe { libc::signal(signal, libc::SIG_DFL) };
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `setrlimit` is a call of the system alone, which reads the limit where it is.
        let limited = unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
        if before == libc::SIG_ERR || limited != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: the function allocates nothing and takes no lock.
    unsafe { command.pre_exec(heed) }
}

#[test]
fn signals_leave_nothing_behind() {
    for signal in ENDING {
        let folder = Folder::new();
        let child = waiting(&folder, heeding(signal, &mut Command::new(program())));
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(signal), "{output:?}");
        assert_eq!((output.stdout, output.stderr), (vec![], vec![]));
        assert_eq!(fs::read_dir(folder.path("new")).unwrap().count(), 0);
    }
}

#[test]
fn broken_pipe_leaves_nothing_behind() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    let made = Command::new("mkfifo").arg(folder.path("new/second")).status();
    assert!(made.unwrap().success());
    for file in ["first", "second"] {
        folder.write(file, numbered(100_000));
    }
    let mut command = Command::new(program());
    let child = folder.spawn(command.args(["--output", "new", "--together", "first", "second"]));
    // The second output is a pipe, which is closed long before its end.
    let mut pipe = fs::File::open(folder.path("new/second")).unwrap();
    pipe.read_exact(&mut [0; 10]).unwrap();
    drop(pipe);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.signal(), Some(SIGPIPE), "{output:?}");
    let names: Vec<_> = fs::read_dir(folder.path("new")).unwrap().collect();
    assert_eq!(names.len(), 1, "{names:?}");
}

#[test]
fn signals_that_are_ignored_stay_ignored() {
    let folder = Folder::new();
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" INT; exec "$0" "$@""#]).arg(program());
    let child = waiting(&folder, &mut command);
    send(libc::SIGINT, &child);
    let fifo = fs::OpenOptions::new().write(true).open(folder.path("fifo")).unwrap();
    (&fifo).write_all(&numbered(1000)).unwrap();
    drop(fifo);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(folder.read("new/text"), folder.read("new/fifo"));
    assert_eq!(fs::read_dir(folder.path("new")).unwrap().count(), 2);
}
