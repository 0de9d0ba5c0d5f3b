//! Outputs over files that exist: what such a file is, besides what is in it, stays as it is.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use bijective_shuffle::Permutation;

use crate::faults::heeding;
use crate::folder::{Folder, numbered, one_line, program};

/// A user and a group without rights.
const NOBODY: u32 = 65_534;

/// Whether these tests run as root, who alone may do some of what they need.
fn is_root() -> bool {
    let folder = Folder::new();
    folder.write("probe", b"");
    let is_root = chown(folder.path("probe"), Some(1), Some(1)).is_ok();
    if !is_root {
        println!("skipped: only root can do this");
    }
    is_root
}

/// What a file is, besides what is in it: its number, owner, group, mode and links.
fn facts(path: &Path) -> (u32, u32, u32, u64) {
    let found = fs::metadata(path).unwrap();
    (found.uid(), found.gid(), found.mode(), found.nlink())
}

fn inode(folder: &Folder, name: &str) -> u64 {
    fs::metadata(folder.path(name)).unwrap().ino()
}

/// The lines in the order of seed 1.
fn shuffled(count: usize) -> Vec<u8> {
    let text = numbered(count);
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    Permutation::new(count as u64, 1).apply(&lines).unwrap().concat()
}

/// Numbers of lines that take few bytes, and more than are held by the program.
const COUNTS: [usize; 2] = [1000, 200_000];

/// Runs the program as another user, in the folder.
fn run_as(folder: &Folder, user: u32, groups: &str, arguments: &[&str]) -> (i32, String) {
    // The program may be where others cannot go. A process of its own copies it: while this one had
    // the copy open, a child of another test could have it open too, and it could not be run.
    let copy = folder.path("bshuf");
    assert!(Command::new("cp").arg(program()).arg(&copy).status().unwrap().success());
    fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.path(""), Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={user}"));
    let groups = if groups.is_empty() { "--clear-groups" } else { groups };
    command.arg(groups).arg(copy).arg("-q").args(arguments);
    let outcome = folder.finish(&mut command, b"");
    (outcome.code, outcome.stderr)
}

/// Whether another user can be had.
fn has_users() -> bool {
    let has = is_root() && Command::new("setpriv").arg("--version").output().is_ok();
    if !has {
        println!("skipped: there is no setpriv");
    }
    has
}

#[test]
fn links_are_kept() {
    for count in COUNTS {
        let folder = Folder::new();
        folder.write("text", numbered(count));
        fs::hard_link(folder.path("text"), folder.path("other")).unwrap();
        fs::set_permissions(folder.path("text"), Permissions::from_mode(0o600)).unwrap();
        let before = (facts(&folder.path("text")), inode(&folder, "text"));
        for memory in ["1M", "1G"] {
            folder.write("text", numbered(count));
            folder.output(&["--seed", "1", "--memory", memory, "-o", "text", "text"], b"");
            assert!(folder.read("other") == shuffled(count), "{memory}");
            assert_eq!((facts(&folder.path("text")), inode(&folder, "text")), before);
        }
        // Shorter and longer.
        folder.output(&["-o", "text", "-e", "a"], b"");
        assert_eq!(folder.read("other"), b"a\n");
        folder.output(&["-o", "text", "-i", "1-200000"], b"");
        assert_eq!(folder.read("other").iter().filter(|&&byte| byte == b'\n').count(), 200_000);
        assert_eq!(folder.names(), ["other", "text"]);
    }
}

#[test]
fn links_in_a_circle_are_errors() {
    let folder = Folder::new();
    folder.write("s", numbered(9));
    fs::create_dir(folder.path("dir")).unwrap();
    for (target, name) in [("l2", "l1"), ("l1", "l2"), ("self", "self"), ("s", "dir/s")] {
        symlink(target, folder.path(name)).unwrap();
    }
    let why = "Too many levels of symbolic links (os error 40)";
    for (options, name) in [
        (&["s", "-o", "l1"][..], "l1"),
        (&["s", "-o", "self"], "self"),
        (&["s", "-o", "self/x"], "self/x"),
        (&["-e", "a", "-o", "l2"], "l2"),
        (&["-i", "1-2", "-o", "l2"], "l2"),
        (&["--together", "-o", "dir", "s"], "dir/s"),
        (&["l1"], "l1"),
        (&["--files0-from", "self"], "self"),
    ] {
        let complaint = folder.complaint(options, b"");
        assert_eq!(complaint, format!("bshuf: {name}: {why}"), "{options:?}");
    }
    // Shards, their index and the temporary folder.
    for options in [&["--output-dir", "self", "s"][..], &["--output-dir", "self/x", "s"]] {
        assert!(folder.complaint(options, b"").starts_with("bshuf: self"), "{options:?}");
    }
    folder.write("large", numbered(300_000));
    let complaint = folder.complaint(&["--memory", "1M", "--temp", "l1", "large"], b"");
    assert_eq!(complaint, format!("bshuf: temporary file: l1: {why}"));
    folder.output(&["--seed", "1", "--output-dir", "out", "s"], b"");
    fs::remove_file(folder.path("out/index.json")).unwrap();
    symlink("index.json", folder.path("out/index.json")).unwrap();
    for options in [&["--output-dir", "out", "--resume", "s"][..], &["out"]] {
        assert!(folder.complaint(options, b"").ends_with(why), "{options:?}");
    }
    assert_eq!(folder.read("s"), numbered(9));
}

#[test]
fn owner_group_and_mode_are_kept() {
    if !is_root() {
        return;
    }
    let folder = Folder::new();
    for mode in [0o600, 0o640, 0o604, 0o444, 0o666, 0o755] {
        folder.write("text", numbered(100));
        chown(folder.path("text"), Some(NOBODY), Some(7)).unwrap();
        fs::set_permissions(folder.path("text"), Permissions::from_mode(mode)).unwrap();
        let (before, number) = (facts(&folder.path("text")), inode(&folder, "text"));
        folder.output(&["--seed", "1", "-o", "text", "text"], b"");
        assert_eq!(folder.read("text"), shuffled(100));
        assert_eq!(facts(&folder.path("text")), before, "{mode:o}");
        // It was replaced whole.
        assert_ne!(inode(&folder, "text"), number);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn attributes_are_kept() {
    use rustix::fs::{XattrFlags, getxattr, listxattr, setxattr};

    let folder = Folder::new();
    folder.write("text", numbered(100));
    let path = folder.path("text");
    if setxattr(&path, "user.origin", b"somewhere", XattrFlags::empty()).is_err() {
        println!("skipped: files here have no attributes");
        return;
    }
    setxattr(&path, "user.empty", b"", XattrFlags::empty()).unwrap();
    let number = inode(&folder, "text");
    folder.output(&["--seed", "1", "-o", "text", "text"], b"");
    assert_eq!(folder.read("text"), shuffled(100));
    assert_ne!(inode(&folder, "text"), number);
    let mut names = vec![0; 1000];
    let bytes = listxattr(&path, names.as_mut_slice()).unwrap();
    let mut names: Vec<&[u8]> = names[..bytes].split(|&byte| byte == 0).collect();
    names.retain(|name| name.starts_with(b"user."));
    names.sort();
    assert_eq!(names, [&b"user.empty"[..], b"user.origin"]);
    let mut value = [0; 20];
    let bytes = getxattr(&path, "user.origin", value.as_mut_slice()).unwrap();
    assert_eq!(value[..bytes], *b"somewhere");
    // Who has access, as a list: the owner reads and writes, user 7 reads, nobody else.
    let entry = |tag: u16, rights: u16, id: u32| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let list = [
        2_u32.to_le_bytes().to_vec(),
        entry(0x01, 6, none),
        entry(0x02, 4, 7),
        entry(0x04, 0, none),
        entry(0x10, 4, none),
        entry(0x20, 0, none),
    ]
    .concat();
    if setxattr(&path, "system.posix_acl_access", &list, XattrFlags::empty()).is_err() {
        println!("skipped: files here have no lists of who has access");
        return;
    }
    let before = facts(&path);
    folder.output(&["-o", "text", "text"], b"");
    let mut value = [0; 100];
    let bytes = getxattr(&path, "system.posix_acl_access", value.as_mut_slice()).unwrap();
    assert_eq!((&value[..bytes], facts(&path)), (&list[..], before));
}

#[test]
fn file_in_a_folder_that_cannot_be_written_is_written() {
    if !has_users() {
        return;
    }
    for count in COUNTS {
        let folder = Folder::new();
        folder.write("text", numbered(count));
        chown(folder.path("text"), Some(NOBODY), Some(NOBODY)).unwrap();
        let before = (facts(&folder.path("text")), inode(&folder, "text"));
        for memory in ["1M", "1G"] {
            fs::write(folder.path("text"), numbered(count)).unwrap();
            let arguments = ["--seed", "1", "--memory", memory, "-o", "text", "text"];
            assert_eq!(run_as(&folder, NOBODY, "", &arguments), (0, String::new()));
            assert!(folder.read("text") == shuffled(count));
            assert_eq!((facts(&folder.path("text")), inode(&folder, "text")), before);
        }
        // A file that is not there cannot be.
        let (code, complaint) = run_as(&folder, NOBODY, "", &["-o", "new", "text"]);
        assert_eq!(code, 1);
        assert!(one_line(&complaint).starts_with("bshuf: new: Permission denied"), "{complaint}");
        assert_eq!(folder.names(), ["bshuf", "text"]);
    }
}

#[test]
fn member_of_a_group_leaves_the_owner() {
    if !has_users() {
        return;
    }
    let folder = Folder::new();
    fs::create_dir(folder.path("shared")).unwrap();
    chown(folder.path("shared"), Some(1), Some(7)).unwrap();
    for (folder_mode, what) in [(0o2775, "shared"), (0o1777, "sticky")] {
        fs::set_permissions(folder.path("shared"), Permissions::from_mode(folder_mode)).unwrap();
        folder.write("shared/text", numbered(100));
        chown(folder.path("shared/text"), Some(1), Some(7)).unwrap();
        fs::set_permissions(folder.path("shared/text"), Permissions::from_mode(0o660)).unwrap();
        let (before, number) = (facts(&folder.path("shared/text")), inode(&folder, "shared/text"));
        let arguments = ["--seed", "1", "-o", "shared/text", "shared/text"];
        assert_eq!(run_as(&folder, NOBODY, "--groups=7", &arguments), (0, String::new()), "{what}");
        assert_eq!(folder.read("shared/text"), shuffled(100));
        assert_eq!(facts(&folder.path("shared/text")), before, "{what}");
        assert_eq!(inode(&folder, "shared/text"), number);
        assert_eq!(fs::read_dir(folder.path("shared")).unwrap().count(), 1);
    }
}

/// Runs a script as root of file systems of its own.
#[cfg(target_os = "linux")]
fn mounted(folder: &Folder, script: &str) -> Option<(i32, String)> {
    let mut probe = Command::new("unshare");
    probe.args(["-m", "sh", "-c", "touch a && touch b && mount --bind a b"]);
    if !probe.current_dir(folder.path("")).status().is_ok_and(|status| status.success()) {
        println!("skipped: nothing can be mounted here");
        return None;
    }
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script]).arg(program());
    let outcome = folder.finish(&mut command, b"");
    Some((outcome.code, outcome.stderr))
}

#[cfg(target_os = "linux")]
#[test]
fn mount_points_are_written() {
    let folder = Folder::new();
    for (count, memory) in [(1000, "1G"), (200_000, "1M")] {
        folder.write("text", numbered(count));
        folder.write("point", b"");
        let script = format!(
            r#"mount --bind text point && exec "$0" -q --seed 1 --memory {memory} -o point text"#
        );
        let Some(outcome) = mounted(&folder, &script) else { return };
        assert_eq!(outcome, (0, String::new()));
        assert!(folder.read("text") == shuffled(count));
        assert_eq!(folder.read("point"), b"");
    }
    assert_eq!(folder.names(), ["a", "b", "point", "text"]);
}

/// There, a file without a name could not get one.
#[cfg(target_os = "linux")]
#[test]
fn outputs_are_replaced_without_proc() {
    let folder = Folder::new();
    folder.write("text", numbered(1000));
    fs::set_permissions(folder.path("text"), Permissions::from_mode(0o640)).unwrap();
    let script = r#"umount -l /proc && for file in text new; do
        "$0" -q --memory 1G --seed 1 -o $file text || exit; done"#;
    let Some(outcome) = mounted(&folder, script) else { return };
    assert_eq!(outcome, (0, String::new()));
    assert_eq!(folder.read("text"), shuffled(1000));
    assert_eq!(facts(&folder.path("text")).2 & 0o7777, 0o640);
    assert_eq!(folder.read("new").len(), folder.read("text").len());
    assert_eq!(folder.names(), ["a", "b", "new", "text"]);
}

#[test]
fn room_for_more_is_found_before_anything_is_lost() {
    let folder = Folder::new();
    folder.write("text", numbered(1000));
    fs::hard_link(folder.path("text"), folder.path("other")).unwrap();
    // The temporary file is where files may be as large; the output may not.
    let script = r#"ulimit -f 16; exec "$0" "$@""#;
    let mut limited = Command::new("sh");
    limited.args(["-c", script]).arg(program()).args(["-o", "text", "-i", "1-100000"]);
    let outcome = folder.finish(&mut limited, b"");
    assert_eq!(outcome.code, 1);
    let complaint = one_line(&outcome.stderr);
    assert!(complaint.starts_with("bshuf: text: File too large"), "{complaint}");
    assert_eq!(folder.read("text"), numbered(1000));
}

#[test]
fn many_files_are_shuffled_together() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    let names: Vec<String> = (0..1100).map(|number| format!("f{number}")).collect();
    for name in &names {
        folder.write(name, numbered(20));
    }
    folder.write("new/f7", b"old\n");
    let script = r#"ulimit -n 64; exec "$0" "$@""#;
    let mut limited = Command::new("sh");
    limited.args(["-c", script]).arg(program());
    limited.args(["-q", "--seed", "1", "--together", "-o", "new"]).args(&names);
    let outcome = folder.finish(&mut limited, b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    for name in &names {
        assert_eq!(folder.read(&format!("new/{name}")), shuffled(20));
    }
    assert_eq!(fs::read_dir(folder.path("new")).unwrap().count(), 1100);
    // The last one does not fit the others, and so none is written.
    folder.write("f1099", numbered(21));
    folder.write("new/f7", b"old\n");
    let arguments = ["--seed", "2", "--together", "-o", "new"];
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let complaint = folder.complaint(&[&arguments[..], &names].concat(), b"");
    assert_eq!(complaint, "bshuf: f1099: has 21 lines, and f0 has 20");
    assert_eq!((folder.read("new/f7"), folder.read("new/f8")), (b"old\n".to_vec(), shuffled(20)));
    assert_eq!(fs::read_dir(folder.path("new")).unwrap().count(), 1100);
}

/// Starts a program that has opened its output, and waits for its input.
fn waiting(folder: &Folder, output: &str, before: &str) -> (std::process::Child, File) {
    let made = Command::new("mkfifo").arg(folder.path("fifo")).status();
    assert!(made.unwrap().success());
    let script = format!(r#"{before} exec "$0" -q -o {output} fifo"#);
    let mut command = Command::new("sh");
    let command = heeding(libc::SIGQUIT, command.args(["-c", &script]).arg(program()));
    let child = folder.spawn(command);
    // The program opens it when it has its output.
    let fifo = fs::OpenOptions::new().write(true).open(folder.path("fifo")).unwrap();
    (child, fifo)
}

/// Not all file systems have files without a name.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_left_however_the_program_ends() {
    for signal in ["KILL", "ABRT", "QUIT", "USR1", "USR2", "XCPU", "TERM"] {
        for output in ["new", "old"] {
            let folder = Folder::new();
            folder.write("old", b"old\n");
            let (mut child, fifo) = waiting(&folder, output, "ulimit -c 0;");
            if folder.names() != ["fifo", "old"] {
                println!("skipped: files here cannot be without a name");
            } else {
                let id = child.id().to_string();
                assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
                assert!(!child.wait().unwrap().success());
                assert_eq!(folder.names(), ["fifo", "old"], "{signal}");
                assert_eq!(folder.read("old"), b"old\n");
            }
            drop(fifo);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Looks at the files that a program has open.
#[cfg(target_os = "linux")]
#[test]
fn private_outputs_are_private_from_the_start() {
    let folder = Folder::new();
    folder.write("old", b"secret\n");
    fs::set_permissions(folder.path("old"), Permissions::from_mode(0o600)).unwrap();
    if Command::new("strace").arg("--version").output().is_err() {
        println!("skipped: there is no strace");
        return;
    }
    let script = r#"umask 0; exec strace -f -o trace -e trace=openat "$0" -q -o old old"#;
    let outcome = folder.finish(Command::new("sh").args(["-c", script]).arg(program()), b"");
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let trace = String::from_utf8(folder.read("trace")).unwrap();
    let made: Vec<&str> = trace
        .lines()
        .filter(|line| line.contains("O_TMPFILE") || line.contains("O_CREAT"))
        .collect();
    assert!(!made.is_empty() && made.iter().all(|line| line.contains(", 0600)")), "{made:?}");
}
