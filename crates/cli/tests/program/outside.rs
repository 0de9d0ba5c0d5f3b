//! Inputs that are larger than the memory they may take.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::{Command, Stdio};

use bijective_shuffle::Permutation;

use crate::folder::{Folder, is_long, numbered, one_line, program};

/// Some megabytes of lines of many lengths.
fn text() -> Vec<u8> {
    let line = |k: usize| {
        let mut line = format!("{k} ").into_bytes();
        line.resize(line.len() + k * 7919 % 150, b'a' + (k % 26) as u8);
        line.push(b'\n');
        line
    };
    (0..40_000).flat_map(line).collect()
}

/// What the statistics say of a run.
pub(crate) fn statistic(stderr: &str, name: &str) -> u64 {
    let line = one_line(stderr);
    let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
    rest.split([',', '}']).next().unwrap().parse().unwrap()
}

#[test]
fn memory_makes_no_difference_to_the_program() {
    let folder = Folder::new();
    let text = text();
    let open = &text[..text.len() - 1];
    for (name, text) in [("text", &text[..]), ("open", open)] {
        folder.write(name, text);
        for options in [
            &["--seed", "3"][..],
            &["--seed", "3", "--epoch", "1"],
            &["--seed", "3", "--undo"],
            &["--seed", "3", "-n", "1000"],
            &["--seed", "3", "--range", "5000..30000"],
            &["--seed", "3", "--shard", "2/3"],
            &["--seed", "3", "--undo", "--range", "..77"],
        ] {
            let arguments = [options, &[name]].concat();
            let whole = folder.output(&[&["--memory", "1G"], &arguments[..]].concat(), b"");
            for memory in ["1M", "2M", "5M"] {
                let limited = [&["--memory", memory], &arguments[..]].concat();
                let from_file = folder.run(&[&["--stats"], &limited[..]].concat(), b"");
                assert!(from_file.stdout == whole, "{limited:?} {}", from_file.stderr);
                assert!(statistic(&from_file.stderr, "buckets") > 0, "{limited:?}");
            }
            let piped = [&["--memory", "2M"], options].concat();
            assert!(folder.output(&piped, text) == whole, "{piped:?}");
        }
    }
    assert_eq!(folder.names(), ["open", "text"]);
}

#[test]
fn threads_make_no_difference() {
    let folder = Folder::new();
    folder.write("text", text());
    let arguments = ["--seed", "3", "--quiet", "text", "--memory"];
    let whole = folder.output(&["--seed", "3", "text"], b"");
    for threads in ["1", "3", "16"] {
        for memory in ["1M", "3M", "1G"] {
            let mut command = Command::new(program());
            command.args(arguments).arg(memory).env("RAYON_NUM_THREADS", threads);
            assert!(folder.finish(&mut command, b"").stdout == whole, "{threads} {memory}");
        }
    }
}

#[test]
fn short_lines_take_more_memory_than_their_bytes() {
    let folder = Folder::new();
    // It would fit, except for the numbers of so many lines.
    let text = [b"\n".repeat(400_000), numbered(9)].concat();
    folder.write("text", &text);
    let whole = folder.output(&["--seed", "3", "text"], b"");
    for input in [&["text"][..], &[]] {
        let arguments = [&["--seed", "3", "--stats", "--memory", "1M"], input].concat();
        let outcome = folder.run(&arguments, &text);
        assert!(outcome.stdout == whole);
        assert!(statistic(&outcome.stderr, "buckets") > 0);
    }
}

#[test]
fn inputs_of_all_kinds_are_joined() {
    let folder = Folder::new();
    let text = text();
    let (first, second) = text.split_at(text.len() / 2);
    folder.write("first", first);
    folder.write("second", second);
    folder.write("whole", [first, b"\n", second, &text, &text].concat());
    folder.write("text", &text);
    // A cut in the middle of a line ends it, before and after the pipe.
    let names = ["first", "second", "-", "text"];
    assert_ne!(first.last(), Some(&b'\n'));
    for memory in ["1M", "8M", "1G"] {
        let options = ["--seed", "1", "--memory", memory];
        let joined = folder.output(&[&options[..], &names].concat(), &text);
        assert!(joined == folder.output(&[&options[..], &["whole"]].concat(), b""), "{memory}");
        let mut command = Command::new(program());
        command.args(options).arg("--quiet").stdin(File::open(folder.path("text")).unwrap());
        let redirected = command.stderr(Stdio::inherit()).output().unwrap().stdout;
        assert!(redirected == folder.output(&[&options[..], &["text"]].concat(), b""));
    }
}

#[test]
fn files_larger_than_memory_may_be_written_to_an_input() {
    let folder = Folder::new();
    let text = text();
    folder.write("text", &text);
    let options = ["--seed", "1", "--memory", "1M", "--output", "text", "text"];
    assert_eq!(folder.output(&options, b""), b"");
    assert!(folder.read("text") == folder.output(&["--seed", "1"], &text));
    folder.output(&[&options[..], &["--undo"]].concat(), b"");
    assert!(folder.read("text") == text);
    assert_eq!(folder.names(), ["text"]);
}

#[test]
fn long_line_is_named() {
    let folder = Folder::new();
    let text = [numbered(100_000), vec![b'x'; 200_000], b"\n".to_vec(), numbered(9)].concat();
    folder.write("text", &text);
    let complaint =
        folder.complaint(&["--memory", "1M", "--seed", "1", "--output", "new", "text"], b"");
    assert!(complaint.starts_with("bshuf: text: line "), "{complaint}");
    assert!(complaint.ends_with(" has more than 131072 bytes: raise --memory"), "{complaint}");
    assert_eq!(folder.names(), ["text"]);
    let whole = folder.output(&["--seed", "1", "text"], b"");
    assert!(folder.output(&["--memory", "2M", "--seed", "1", "text"], b"") == whole);
}

/// In memory and not, which takes a minute, and 13 GB of disk.
#[test]
fn files_of_4_gib_are_shuffled() {
    if !is_long() {
        return;
    }
    let folder = Folder::new();
    let script = "yes 'a line of the same length' | cat -n | head -c 4294967296 > text";
    let made = Command::new("sh").args(["-c", script]).current_dir(folder.path("")).status();
    assert!(made.unwrap().success());
    let sum = |memory: &str| {
        let script = r#""$0" -q --seed 1 --memory "$1" text | cksum"#;
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(program()).arg(memory);
        folder.finish(&mut command, b"").stdout
    };
    assert_eq!(sum("256M"), sum("16G"));
}

/// A file with this number of lines that end with a NUL. They are empty, except for some; nearly
/// all of the file is a hole, which takes no room on a disk.
fn write_sparse(folder: &Folder, lines: u64, marks: &[(u64, u8)]) {
    let mut file = File::create(folder.path("sparse")).unwrap();
    file.set_len(lines + marks.len() as u64).unwrap();
    for (before, &(line, mark)) in marks.iter().enumerate() {
        // Each line before has its NUL, and some have a mark.
        file.seek(SeekFrom::Start(line + before as u64)).unwrap();
        file.write_all(&[mark]).unwrap();
    }
}

/// Shuffles lines that are empty except for some, and looks where those are in the output.
fn empty_lines_are_shuffled(lines: u64, memory: &str) {
    let folder = Folder::new();
    let marks = [(0, b'a'), (lines / 3, b'b'), (lines - 5, b'c'), (lines - 1, b'd')];
    write_sparse(&folder, lines, &marks);
    let order = Permutation::new(lines, 1);
    let mut expected = marks.map(|(line, mark)| (order.position(line).unwrap(), mark));
    expected.sort();

    let mut command = Command::new(program());
    command.args(["--quiet", "--seed", "1", "-z", "--memory", memory, "sparse"]);
    let mut child = folder.spawn(&mut command);
    let mut stdout = child.stdout.take().unwrap();
    let (mut found, mut place, mut block) = (Vec::new(), 0, vec![0; 1 << 20]);
    loop {
        let count = stdout.read(&mut block).unwrap();
        for &byte in &block[..count] {
            match byte {
                0 => place += 1,
                mark => found.push((place, mark)),
            }
        }
        if count == 0 {
            break;
        }
    }
    assert!(child.wait().unwrap().success());
    assert_eq!((found.as_slice(), place), (&expected[..], lines));

    // A part of the order, which one of them begins.
    let (start, mark) = expected[1];
    let range = format!("{start}..{}", start + 9);
    let options = ["--seed", "1", "-z", "--memory", memory, "--range", &range, "sparse"];
    let part = folder.output(&options, b"");
    assert!(part.starts_with(&[mark, 0]), "{part:?}");
    assert_eq!(part.iter().filter(|&&byte| byte == 0).count(), 9);
}

#[test]
fn empty_lines_are_told_apart() {
    empty_lines_are_shuffled(1_000_000, "4M");
    empty_lines_are_shuffled(1_000_000, "1G");
}

/// Takes some minutes, and 25 GB of disk.
#[test]
fn more_than_2_to_the_32_lines_are_shuffled() {
    if !is_long() {
        return;
    }
    empty_lines_are_shuffled((1 << 32) + 5, "1G");
}
