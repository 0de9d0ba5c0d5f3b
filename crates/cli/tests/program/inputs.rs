//! Inputs that are not what they seem to be.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use crate::folder::{Folder, numbered, one_line, program};

#[test]
fn line_without_an_end_does_not_fill_the_disk() {
    let folder = Folder::new();
    fs::create_dir(folder.path("temp")).unwrap();
    // Should it be read on, the limit ends it with another message.
    let script = r#"ulimit -f 65536; exec "$0" "$@""#;
    let endless = |arguments: &[&str], redirected: bool| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(program()).args(["--memory", "8M", "--temp", "temp"]);
        command.args(arguments).current_dir(folder.path(""));
        if redirected {
            command.stdin(fs::File::open("/dev/zero").unwrap());
        }
        let output = command.stdout(Stdio::piped()).output().unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
        one_line(&String::from_utf8(output.stderr).unwrap())
    };
    let why = "line 1 or one near has more than 1048576 bytes: raise --memory";
    assert_eq!(endless(&["-n", "1", "/dev/zero"], false), format!("bshuf: /dev/zero: {why}"));
    assert_eq!(endless(&["-n", "1"], true), format!("bshuf: standard input: {why}"));
    let why = why.replace("1048576", "8388608");
    assert_eq!(endless(&["-r", "-n", "1", "/dev/zero"], false), format!("bshuf: /dev/zero: {why}"));
    // A line behind others, and one that is cut by a block.
    for before in [450_000, 500_000] {
        let text = [numbered(before), vec![b'x'; 1_200_000], numbered(1)].concat();
        let complaint = folder.complaint(&["--memory", "8M", "--temp", "temp"], &text);
        let line = before + 1;
        let why = format!("line {line} or one near has more than 1048576 bytes: raise --memory");
        assert_eq!(complaint, format!("bshuf: standard input: {why}"));
    }
    // As long as it may be.
    let text = [numbered(500_000), vec![b'x'; (1 << 20) - 1], b"\n".to_vec()].concat();
    let shuffled = folder.output(&["--memory", "8M", "--temp", "temp"], &text);
    assert_eq!(shuffled.len(), text.len());
    assert_eq!(fs::read_dir(folder.path("temp")).unwrap().count(), 0);
}

/// Files below a folder, as far as they can be found.
fn files_below(folder: &str, depth: usize, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path().display().to_string();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => files_below(&path, depth - 1, found),
            Ok(kind) if kind.is_file() => found.push(path),
            _ => {}
        }
    }
}

#[test]
fn files_of_the_system_are_read_to_their_ends() {
    let mut found = Vec::new();
    files_below("/sys/kernel", 2, &mut found);
    files_below("/sys/class/net/lo", 1, &mut found);
    let folder = Folder::new();
    let mut count = 0;
    for path in found {
        let (Ok(text), Ok(metadata)) = (fs::read(&path), fs::metadata(&path)) else { continue };
        let is_odd = metadata.len() != text.len() as u64 && !text.is_empty() && text.len() < 4096;
        if !is_odd || metadata.len() != 4096 || fs::read(&path).ok() != Some(text.clone()) {
            continue;
        }
        let lines = |text: &[u8]| {
            let mut lines: Vec<Vec<u8>> =
                text.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
            lines.sort();
            lines
        };
        let expected = crate::folder::ended(&text, b'\n');
        assert_eq!(lines(&folder.output(&[&path], b"")), lines(&expected), "{path}");
        let mut command = Command::new(program());
        command.arg("-q").stdin(fs::File::open(&path).unwrap());
        assert_eq!(lines(&command.output().unwrap().stdout), lines(&expected), "{path}");
        count += 1;
        if count == 20 {
            break;
        }
    }
    if count == 0 {
        println!("skipped: there are no files of the system that say they are longer");
    }
}

#[test]
fn small_files_that_are_holes_are_read() {
    let folder = Folder::new();
    let file = fs::File::create(folder.path("hole")).unwrap();
    file.set_len(5000).unwrap();
    assert!(file.metadata().unwrap().blocks() < 16);
    assert_eq!(folder.output(&["-z", "hole"], b""), vec![0; 5000]);
    folder.output(&["-z", "-o", "hole", "hole"], b"");
    assert_eq!(folder.read("hole"), vec![0; 5000]);
}

#[test]
fn known_formats_are_not_taken_for_lines() {
    let folder = Folder::new();
    let lines = numbered(50);
    let gzip = [&b"\x1F\x8B\x08\0"[..], &lines].concat();
    for (name, bytes, why) in [
        ("gzip", gzip.clone(), "its gzip data are damaged: corrupt deflate stream"),
        (
            "xz",
            b"\xFD7zXZ\0\0\x04".to_vec(),
            "is compressed by xz, and has no lines: try `xz -dc FILE | bshuf`",
        ),
        (
            "array",
            b"\x93NUMPY\x01\0v\0{'descr': '<f4'}\n".to_vec(),
            "is a NumPy array, and has no lines: give it a name that ends in .npy",
        ),
        (
            "parquet",
            b"PAR1\x15\n\x15\n\x03\0\0\0PAR1".to_vec(),
            "is a Parquet file, and has no lines: give it a name that ends in .parquet",
        ),
        (
            "arrow",
            b"ARROW1\0\0\xFF\n\xFFARROW1".to_vec(),
            "is an Arrow file, and has no lines: give it a name that ends in .arrow",
        ),
        (
            "zip",
            b"PK\x03\x04\x14\0a\nb\n".to_vec(),
            "is a ZIP archive, as of `numpy.savez`, and has no lines of bytes: unpack it",
        ),
        (
            "wide",
            b"\xFF\xFEa\0\n\0b\0\n\0".to_vec(),
            "is text in UTF-16 or UTF-32, and has no lines of bytes: convert it, as by \
             `iconv -t UTF-8`",
        ),
    ] {
        folder.write(name, &bytes);
        assert_eq!(folder.complaint(&[name], b""), format!("bshuf: {name}: {why}"));
        assert_eq!(folder.complaint(&[], &bytes), format!("bshuf: standard input: {why}"));
        folder.write("text", &lines);
        let complaint = folder.complaint(&["--memory", "1M", "-o", "text", "text", name], b"");
        assert_eq!(complaint, format!("bshuf: {name}: {why}"));
        assert_eq!(folder.read("text"), lines);
        // Records of bytes are what they are.
        assert_eq!(folder.output(&["--record", "1", name], b"").len(), bytes.len());
    }
    folder.write("names", b"\xFF\xFEa\0b\0");
    assert_eq!(folder.output(&["-z", "names"], b"").len(), 6);
    for text in [&b"PAR1\nPAR1"[..], b"PAR1", b"PK\nPK\n", b"BZh9 1AY\n", b"ARROW1\na\n"] {
        assert_eq!(folder.run(&[], text).code, 0, "{}", text.escape_ascii());
    }
    // The program that is proposed helps.
    if Command::new("gzip").arg("--version").output().is_ok() {
        folder.write("lines", &lines);
        let script = r#"gzip lines && gzip -dc lines.gz | "$0" -q --seed 1"#;
        let mut command = Command::new("sh");
        let outcome = folder.finish(command.args(["-c", script]).arg(program()), b"");
        assert_eq!(outcome.stdout, folder.output(&["--seed", "1"], &lines));
    }
}

#[test]
fn streams_are_read_once() {
    let folder = Folder::new();
    folder.write("text", numbered(3));
    folder.write("list", b"text\0-\0-\0");
    fs::create_dir(folder.path("out")).unwrap();
    let why = "is named twice, but can be read only once";
    let twice = |options: &[&str], name: &str, input: &[u8]| {
        assert_eq!(
            folder.complaint(options, input),
            format!("bshuf: {name}: {why}"),
            "{options:?}"
        );
    };
    let standard = "standard input";
    twice(&["-", "-"], standard, b"a\n");
    twice(&["-", "text", "-"], standard, b"a\n");
    twice(&["--csv", "-", "-"], standard, b"a\n");
    twice(&["--record", "2", "-", "-"], standard, b"a\n");
    twice(&["--output-dir", "shards", "-", "-"], standard, b"a\n");
    twice(&["--together", "-o", "out", "-", "-"], standard, b"a\n");
    twice(&["--files0-from", "-"], standard, b"text\0-\0");
    twice(&["--files0-from", "/dev/stdin"], standard, b"-");
    twice(&["--files0-from", "-"], "/dev/stdin", b"/dev/stdin");
    twice(&["--files0-from", "list"], standard, b"a\n");
    twice(&["/dev/stdin", "-"], standard, b"a\n");
    twice(&["-", "/dev/stdin"], "/dev/stdin", b"a\n");
    // A file as standard input is at its end, too, and so is any other pipe.
    for (script, name) in [
        (r#""$0" - - < text"#, standard),
        (r#"mkfifo pipe; echo a > pipe & "$0" pipe pipe; code=$?; cat pipe; exit $code"#, "pipe"),
        (r#"echo a | "$0" /dev/fd/3 /dev/fd/3 3<&0"#, "/dev/fd/3"),
    ] {
        let mut command = Command::new("sh");
        let outcome = folder.finish(command.args(["-c", script]).arg(program()), b"");
        let expected = (1, format!("bshuf: {name}: {why}"));
        assert_eq!((outcome.code, one_line(&outcome.stderr)), expected, "{script}");
    }
    // Files are read as often as they are named, and arguments are lines.
    assert_eq!(folder.output(&["text", "-", "text"], b"a\n").len(), 2 * 21 + 2);
    assert_eq!(folder.output(&["--files0-from", "-"], b"text\0text\0").len(), 2 * 21);
    assert_eq!(folder.output(&["-e", "-", "-"], b""), b"-\n-\n");
    assert_eq!(folder.output(&["-n", "1", "/dev/null", "/dev/null"], b""), b"");
}
