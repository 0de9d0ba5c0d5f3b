//! What the system limits: one line each, and exit code 1, or the same output with less.

use std::fs;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::folder::{Folder, Outcome, is_long, numbered, one_line, program, unprivileged};

/// Has a program start with a limit on a resource.
pub(crate) fn limited(resource: u32, limit: u64, command: &mut Command) -> &mut Command {
    let set = move || {
        let limit = libc::rlimit { rlim_cur: limit as _, rlim_max: limit as _ };
        // SAFETY: `setrlimit` may be called between a fork and the new program, and only reads.
        let result = unsafe { libc::setrlimit(resource as _, &raw const limit) };
        if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    };
    // SAFETY: the function allocates nothing and takes no lock.
    unsafe { command.pre_exec(set) }
}

/// Checks that a run ends as it would without a limit, or with one line and exit code 1.
#[track_caller]
pub(crate) fn check(outcome: &Outcome, expected: &[u8]) -> bool {
    if outcome.code == 0 {
        assert!(outcome.stdout == expected);
        return true;
    }
    assert_eq!((outcome.code, outcome.stdout.len()), (1, 0), "{}", outcome.stderr);
    let complaint = one_line(&outcome.stderr);
    assert!(complaint.starts_with("bshuf: "), "{complaint}");
    false
}

#[test]
fn few_open_files_are_a_failure_of_one_line() {
    let folder = Folder::new();
    let text = numbered(50_000);
    folder.write("text", &text);
    let expected = folder.output(&["--seed", "1", "text"], b"");
    // With fewer than 4 the program is not even loaded.
    let all: Vec<u64> = if is_long() { (4..14).collect() } else { vec![4, 5, 6, 7, 8, 13] };
    for options in [&["--memory", "1M"][..], &[]] {
        let mut done = 0;
        for &files in &all {
            let mut command = Command::new(program());
            command.args(["-q", "--seed", "1", "text"]).args(options);
            let outcome = folder.finish(limited(libc::RLIMIT_NOFILE, files, &mut command), b"");
            done += u32::from(check(&outcome, &expected));
        }
        assert!(done > 0);
    }
}

/// The megabytes of addresses that the program takes to be loaded. There are several times as many
/// with the readers of tables, if they are not optimised.
fn megabytes_to_load(folder: &Folder) -> u64 {
    let is_loaded = |&megabytes: &u64| {
        let mut command = Command::new(program());
        // With too few it is ended by a signal, and may leave a core there.
        command.arg("--version").current_dir(folder.path(""));
        let command = limited(libc::RLIMIT_AS, megabytes << 20, &mut command);
        command.output().is_ok_and(|done| done.status.success())
    };
    (10..1000).step_by(10).find(is_loaded).expect("the program is loaded")
}

#[test]
fn few_addresses_mean_less_memory() {
    let folder = Folder::new();
    let text = numbered(if is_long() { 1_000_000 } else { 100_000 });
    folder.write("text", &text);
    let expected = folder.output(&["--seed", "1", "text"], b"");
    let to_load = megabytes_to_load(&folder);
    for megabytes in (100..=220).step_by(10).chain([380]).map(|more| to_load + more) {
        let mut command = Command::new(program());
        command.args(["-q", "--seed", "1", "text"]);
        let outcome = folder.finish(limited(libc::RLIMIT_AS, megabytes << 20, &mut command), b"");
        assert!(check(&outcome, &expected), "{megabytes} {}", outcome.stderr);
    }
}

/// Checks the line about memory that a run with few addresses ends with.
#[track_caller]
fn refused(folder: &Folder, megabytes: u64, arguments: &[&str]) {
    let mut command = Command::new(program());
    command.args(["-q", "--seed", "1", "--memory", "1G", "-o", "new"]).args(arguments);
    command.env("RAYON_NUM_THREADS", "2");
    // A trace would be more lines.
    command.env("RUST_BACKTRACE", "1");
    let outcome = folder.finish(limited(libc::RLIMIT_AS, megabytes << 20, &mut command), b"");
    assert!(!check(&outcome, b""));
    let complaint = one_line(&outcome.stderr);
    assert!(complaint.starts_with("bshuf: out of memory: "), "{complaint}");
    assert!(!folder.names().iter().any(|name| name.contains("new") || name.starts_with('.')));
}

#[test]
fn memory_that_is_refused_is_a_failure_of_one_line() {
    let folder = Folder::new();
    folder.write("text", vec![b'\n'; 40 << 20]);
    // They would take half a gigabyte, in the first step or in a later one.
    let to_load = megabytes_to_load(&folder);
    refused(&folder, to_load + 180, &["text"]);
    refused(&folder, to_load + 330, &["text"]);
    refused(&folder, to_load + 330, &["--undo", "text"]);
}

#[test]
fn few_threads_are_a_failure_of_one_line() {
    let folder = Folder::new();
    let text = numbered(50_000);
    let expected = folder.output(&["--seed", "1"], &text);
    // The limit is one of a user, and not of the one who may do anything.
    let own = Folder::new();
    let Some(start) = unprivileged(&own) else { return };
    let command = |options: &[&str]| {
        let mut command = start();
        command.args(["-q", "--seed", "1", "--temp", "/tmp"]).args(options);
        command.env("RAYON_NUM_THREADS", "2");
        command
    };
    for options in [&["--memory", "1M"][..], &[]] {
        for threads in 0..6 {
            let mut command = command(options);
            let outcome = own.finish(limited(libc::RLIMIT_NPROC, threads, &mut command), &text);
            check(&outcome, &expected);
            assert!(!outcome.stderr.contains("internal error"), "{}", outcome.stderr);
        }
    }
}

/// An input without an end goes to a disk of some mebibytes.
#[test]
fn endless_inputs_leave_room_on_the_disk() {
    let folder = Folder::new();
    fs::create_dir(folder.path("disk")).unwrap();
    let on_disk = |size: &str, arguments: &[&std::ffi::OsStr]| {
        let script = format!(r#"mount -t tmpfs -o size={size} none disk && yes | "$@""#);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", &script, "sh"]).args(arguments);
        command
    };
    // Not every machine lets its users do that.
    let can_mount = on_disk("1M", &["true".as_ref()]).current_dir(folder.path("")).output();
    if !can_mount.is_ok_and(|done| done.status.success()) {
        println!("skipped: no disk can be mounted");
        return;
    }
    let options = ["-q", "-n", "1", "--memory", "1M", "--temp", "disk"].map(std::ffi::OsStr::new);
    for (size, kept) in [("32M", "2 MiB"), ("12M", "768 KiB")] {
        let options = [&[program().as_os_str()], &options[..]].concat();
        let outcome = folder.finish(&mut on_disk(size, &options), b"");
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (1, &b""[..]));
        let expected = format!(
            "bshuf: standard input: temporary file: disk: {kept} are kept free: No space left on \
             device (os error 28)"
        );
        assert_eq!(one_line(&outcome.stderr), expected);
    }
}

#[test]
fn memory_is_found_without_proc() {
    let folder = Folder::new();
    let text = numbered(1000);
    let script = r#"mount -t tmpfs none /proc && exec "$0" "$@""#;
    let hidden = |program: &std::path::Path, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--map-root-user", "sh", "-c", script]);
        command.arg(program).args(arguments);
        command
    };
    // Not every machine lets its users do that.
    let can_hide = hidden("true".as_ref(), &[]).output().is_ok_and(|done| done.status.success());
    if can_hide {
        let outcome = folder.finish(&mut hidden(program(), &["-q", "--seed", "1"]), &text);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        assert_eq!(outcome.stdout, folder.output(&["--seed", "1"], &text));
    }
}

#[test]
fn a_shard_for_which_there_is_no_room_is_named() {
    let folder = Folder::new();
    folder.write("text", numbered(10_000));
    let mut command = Command::new(program());
    command.args(["--seed", "1", "--output-dir", "out", "--shards", "2", "text"]);
    let ignored = || {
        // SAFETY: `signal` may be called between a fork and the new program.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        Ok(())
    };
    // SAFETY: the function allocates nothing and takes no lock.
    unsafe { command.pre_exec(ignored) };
    let outcome = folder.finish(limited(libc::RLIMIT_FSIZE, 8192, &mut command), b"");
    assert_eq!(outcome.code, 1);
    let complaint = one_line(&outcome.stderr);
    let start = "bshuf: out/part-00000-of-00002.txt: File too large";
    assert!(complaint.starts_with(start), "{complaint}");
}

#[test]
fn a_number_of_threads_is_a_number() {
    let folder = Folder::new();
    for (threads, why) in [("x", Some("\"x\"")), (" 2", Some("\" 2\"")), ("2", None), ("", None)] {
        let mut command = Command::new(program());
        command.args(["-q", "--seed", "1"]).env("RAYON_NUM_THREADS", threads);
        let outcome = folder.finish(&mut command, b"1\n");
        let said = why.map(|text| format!("bshuf: RAYON_NUM_THREADS: {text} is not a number\n"));
        assert_eq!(outcome.stderr, said.clone().unwrap_or_default());
        assert_eq!(outcome.stdout, if said.is_some() { &b""[..] } else { b"1\n" });
    }
}
