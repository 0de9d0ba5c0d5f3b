//! Lines in memory, and the splitter by itself.

use std::fs;
use std::io::Read;
use std::process::{Command, Stdio};

use bijective_shuffle::Word;
use bijective_shuffle::prelude::*;
use bijective_shuffle_cli::lines::{self as splitter, Divided};
use proptest::prelude::*;

use crate::folder::{Folder, ended, numbered, one_line, program, sorted_lines};

/// The library's word on what the output should be, for lines that all end in a newline.
fn expected(text: &[u8], seed: Seed) -> Vec<u8> {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    Permutation::new(lines.len() as u64, seed).apply(&lines).unwrap().concat()
}

#[test]
fn shuffles_the_readme() {
    let mut command = Command::new(program());
    let output = command.arg("README.md").current_dir(env!("CARGO_MANIFEST_DIR")).output().unwrap();
    assert!(output.status.success());
    let readme = fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    assert_eq!(sorted_lines(&output.stdout), sorted_lines(&readme));
}

#[test]
fn order_is_that_of_the_library() {
    let folder = Folder::new();
    for count in [1, 2, 100, 1000, 20_000] {
        let text = numbered(count);
        assert_eq!(folder.output(&["--seed", "7"], &text), expected(&text, Seed::new(7)));
        assert_eq!(
            folder.output(&["--seed", "7", "--epoch", "2", "--backend", "cpu"], &text),
            expected(&text, Seed::new(7).with_epoch(2))
        );
    }
}

#[test]
fn seed_is_a_text() {
    let folder = Folder::new();
    let text = numbered(100);
    let bits = Seed::from_bytes([7; 32]);
    for (given, seed) in [
        (vec!["--seed", "7@2"], Seed::new(7).with_epoch(2)),
        (vec!["--seed", &"07".repeat(32)], bits),
    ] {
        assert_eq!(folder.output(&given, &text), expected(&text, seed), "{given:?}");
    }
    assert!(folder.run(&["--seed", "seven"], &text).stdout.is_empty());
    for epoch in ["0", "4"] {
        let outcome = folder.run(&["--seed", "7@2", "--epoch", epoch], &text);
        assert_eq!((outcome.code, outcome.stdout), (1, vec![]), "{epoch}");
        assert!(outcome.stderr.contains("'--epoch <N>' gives another"), "{}", outcome.stderr);
    }
}

#[test]
fn fresh_seed_is_drawn_and_reported() {
    let folder = Folder::new();
    let text = numbered(1000);
    let first = folder.run(&[], &text);
    assert_eq!(sorted_lines(&first.stdout), sorted_lines(&text));
    assert_ne!(first.stdout, folder.run(&[], &text).stdout);
    let (_, rest) = first.stderr.split_once("seed ").unwrap();
    let (seed, _) = rest.split_once(',').unwrap();
    assert_eq!(folder.output(&["--seed", seed], &text), first.stdout);
    assert_eq!(folder.output(&["--seed", seed, "--undo"], &first.stdout), text);
}

#[test]
fn report_is_one_line() {
    let folder = Folder::new();
    let outcome = folder.run(&["--seed", "5", "--epoch", "9"], b"a\nbc\nd\n");
    let report = one_line(&outcome.stderr);
    let (before, rest) = report.split_once(", seconds ").unwrap();
    let (seconds, after) = rest.split_once(", ").unwrap();
    assert_eq!(before, "lines 3, bytes 7");
    assert!(seconds.parse::<f64>().unwrap() < 60.0);
    assert_eq!(after, "backend cpu, seed 5, epoch 9");

    let head = folder.run(&["--seed", "5", "--head", "2"], b"ab\ncd\nef\n");
    assert!(head.stderr.starts_with("lines 2, bytes 6, "));
}

#[test]
fn undo_gives_back_the_same_lines() {
    let folder = Folder::new();
    let long = numbered(3000);
    let open = &long[..long.len() - 1];
    let texts: [&[u8]; 16] = [
        b"",
        b"\n",
        b"\n\n\n\n\n\n",
        b"one",
        b"one\n",
        b"\none",
        b"a\nb",
        b"a\nb\n",
        b"a\n\n\nb\n\nc\n",
        b"a\r\nb\r\nc",
        b"\0a\0\n\0\0\nb\0",
        b"a\0b\0c\0",
        b"\0\0",
        b"\xFF\xFE\n\xC3\n\x80\xF0\n\xC3\x28",
        &long,
        open,
    ];
    for text in texts {
        for options in
            [&["-a", "--seed", "3"][..], &["-a", "--seed", "3@8"], &["-z", "--seed", "3"]]
        {
            let ended = ended(text, if options[0] == "-z" { 0 } else { b'\n' });
            let shuffled = folder.output(options, text);
            assert_eq!(shuffled.len(), ended.len());
            assert_eq!(folder.output(&[options, &["--undo"]].concat(), &shuffled), ended);
        }
    }
    assert_ne!(folder.output(&["--seed", "3"], open), open);
}

#[test]
fn large_input_takes_several_rounds() {
    let folder = Folder::new();
    // Some 25 MB: lines of all lengths up to 2000, one in the middle of 3 MB, and the last without
    // an end.
    let mut text: Vec<u8> = (0..25_000)
        .flat_map(|k| [vec![b'a' + (k % 26) as u8; k * 7919 % 2001], vec![b'\n']].concat())
        .collect();
    text.splice(10_000_000..10_000_000, vec![b'x'; 3_000_000]);
    text.push(b'z');
    folder.write("text", &text);
    let shuffled = folder.output(&["--seed", "1", "text"], b"");
    text.push(b'\n');
    assert!(shuffled == expected(&text, Seed::new(1)));
    folder.write("shuffled", &shuffled);
    assert!(folder.output(&["--seed", "1", "--undo", "shuffled"], b"") == text);
}

#[test]
fn files_are_joined_line_by_line() {
    let folder = Folder::new();
    folder.write("open", b"a\nb");
    folder.write("closed", b"c\n");
    folder.write("empty", b"");
    let joined = |names: &[&str], input| {
        let shuffled = folder.output(&[&["--seed", "4"], names].concat(), input);
        folder.output(&["--seed", "4", "--undo"], &shuffled)
    };
    assert_eq!(joined(&["open", "closed"], b""), b"a\nb\nc\n");
    assert_eq!(joined(&["closed", "open"], b""), b"c\na\nb\n");
    assert_eq!(joined(&["open", "empty"], b""), b"a\nb\n");
    assert_eq!(joined(&["open", "empty", "open", "empty"], b""), b"a\nb\na\nb\n");
    assert_eq!(joined(&["empty", "empty"], b""), b"");
    assert_eq!(joined(&["open", "-", "closed"], b"d"), b"a\nb\nd\nc\n");
    assert_eq!(joined(&["-"], b"d\ne"), b"d\ne\n");
}

#[test]
fn head_is_the_start_of_the_whole() {
    let folder = Folder::new();
    let text = numbered(1000);
    for text in [&text[..], &text[..text.len() - 1]] {
        let whole = folder.output(&["--seed", "6"], text);
        // Both ways to get at the start of the order, and both ends.
        for head in ["0", "1", "10", "300", "999", "1000", "1001", "18446744073709551615"] {
            let part = folder.output(&["--seed", "6", "--head", head], text);
            assert!(whole.starts_with(&part));
            let count = head.parse().unwrap_or(usize::MAX).min(1000);
            assert_eq!(part.split_inclusive(|&byte| byte == b'\n').count(), count);
            assert!(part.is_empty() || part.ends_with(b"\n"));
        }
    }
    assert_eq!(folder.output(&["--head", "3"], b""), b"");
}

/// The samples of the specification's vectors, which packages for other languages are compared with
/// too.
#[test]
fn heads_are_the_samples_of_every_language() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../vectors/data/08-permutations.json");
    let chapter: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let word = |value: &serde_json::Value| {
        u64::from_str_radix(value.as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
    };
    let folder = Folder::new();
    let cases = chapter["cases"]["samples"].as_array().unwrap();
    assert!(cases.len() >= 20);
    for case in cases {
        let (len, count) = (word(&case["length"]), case["count"].to_string());
        let range = if len == 0 { "1-0".to_owned() } else { format!("0-{}", len - 1) };
        let seed = case["seed"].as_str().unwrap();
        let (seed, epoch) = seed.split_once('@').unwrap_or((seed, "0"));
        let arguments = ["--seed", seed, "--epoch", epoch, "-i", &range, "-n", &count];
        let items = case["items"].as_array().unwrap().iter();
        let expected: String = items.map(|item| format!("{}\n", word(item))).collect();
        assert_eq!(folder.output(&arguments, b""), expected.as_bytes(), "{arguments:?}");
    }
}

#[test]
fn lines_may_be_written_to_an_input() {
    let folder = Folder::new();
    let text = numbered(500);
    folder.write("text", &text);
    assert_eq!(folder.output(&["--seed", "1", "--output", "text", "text"], b""), b"");
    assert_eq!(folder.read("text"), expected(&text, Seed::new(1)));
    folder.output(&["--seed", "1", "--undo", "--output", "text", "text"], b"");
    assert_eq!(folder.read("text"), text);
    folder.output(&["--seed", "1", "--output", "new", "text"], b"");
    assert_eq!(folder.read("new"), expected(&text, Seed::new(1)));
    assert_eq!(folder.names(), ["new", "text"]);
}

#[cfg(unix)]
#[test]
fn output_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = Folder::new();
    let mode = |name| fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o777;
    folder.write("plain", b"as created\n");
    folder.write("secret", b"old\n");
    fs::set_permissions(folder.path("secret"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::create_dir(folder.path("below")).unwrap();
    symlink("../secret", folder.path("below/link")).unwrap();
    symlink("below/link", folder.path("link")).unwrap();
    symlink("below/fresh", folder.path("dangling")).unwrap();

    folder.output(&["--output", "link"], b"new\n");
    assert_eq!((folder.read("secret"), mode("secret")), (b"new\n".to_vec(), 0o640));
    folder.output(&["--output", "dangling"], b"new\n");
    assert_eq!(
        (folder.read("below/fresh"), mode("below/fresh")),
        (b"new\n".to_vec(), mode("plain"))
    );
    for link in ["link", "below/link", "dangling"] {
        assert!(folder.path(link).is_symlink());
    }
}

#[test]
fn failure_leaves_the_output_as_it_was() {
    let folder = Folder::new();
    folder.write("old", b"old\n");
    for arguments in [
        &["--output", "old", "missing"][..],
        &["--output", "old", "old", "old/no-folder"],
        &["--output", "old", "--backend", "cuda", "old"],
    ] {
        folder.complaint(arguments, b"");
        assert_eq!(
            (folder.read("old"), folder.names()),
            (b"old\n".to_vec(), vec!["old".to_owned()])
        );
    }
}

/// A limit on the size of files stands in for a full disk.
#[cfg(target_os = "linux")]
#[test]
fn failure_in_writing_leaves_the_output_as_it_was() {
    let folder = Folder::new();
    folder.write("old", b"old\n");
    let script = r#"trap "" XFSZ; ulimit -f 8; exec "$0" "$@""#;
    let mut limited = Command::new("sh");
    limited.args(["-c", script]).arg(program()).args(["--output", "old"]);
    let outcome = folder.finish(&mut limited, &numbered(10_000));
    assert_eq!(outcome.code, 1);
    assert!(one_line(&outcome.stderr).starts_with("bshuf: old: File too large"));
    assert_eq!((folder.read("old"), folder.names()), (b"old\n".to_vec(), vec!["old".to_owned()]));
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let folder = Folder::new();
    folder.write("text", b"a\n");
    fs::create_dir(folder.path("folder")).unwrap();
    let missing = folder.complaint(&["text", "missing"], b"");
    assert!(missing.starts_with("bshuf: missing: "), "{missing}");
    let directory = folder.complaint(&["folder", "text"], b"");
    assert_eq!(directory, "bshuf: folder: is a folder without files to read");
    let output = folder.complaint(&["--output", "folder"], b"a\n");
    assert!(output.starts_with("bshuf: folder: "), "{output}");
    let nowhere = folder.complaint(&["--output", "missing/new"], b"a\n");
    assert!(nowhere.starts_with("bshuf: missing/new: "), "{nowhere}");
}

#[test]
fn missing_gpu_is_an_error() {
    let mut command = Command::new(program());
    // Where there is a GPU, it is hidden.
    command.args(["--backend", "cuda"]).env("CUDA_VISIBLE_DEVICES", "");
    let outcome = Folder::new().finish(&mut command, b"a\n");
    assert_eq!((outcome.code, outcome.stdout), (1, vec![]));
    let complaint = one_line(&outcome.stderr);
    assert!(complaint.starts_with("bshuf: cannot shuffle: back end cuda is not available: "));
}

#[test]
fn usage_errors_are_errors() {
    let folder = Folder::new();
    for arguments in [
        &["--undo"][..],
        &["--undo", "--seed", "1", "--head", "2"],
        &["--seed", "-1"],
        &["--backend", "abacus"],
        &["--shuffle"],
    ] {
        let outcome = folder.run(arguments, b"a\n");
        assert_eq!((outcome.code, outcome.stdout), (1, vec![]), "{arguments:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_is_noticed() {
    let folder = Folder::new();
    let full = || Stdio::from(fs::OpenOptions::new().write(true).open("/dev/full").unwrap());
    // A text that fits any buffer, one without an end, and one that does not fit.
    for text in [b"a\nb\n".to_vec(), b"a".to_vec(), numbered(100_000)] {
        folder.write("text", &text);
        let complaint = folder.complaint(&["--output", "/dev/full", "text"], b"");
        assert!(complaint.starts_with("bshuf: /dev/full: No space left"), "{complaint}");

        let mut command = Command::new(program());
        let child = command.arg(folder.path("text")).stdout(full()).stderr(Stdio::piped());
        let output = child.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let complaint = one_line(&String::from_utf8(output.stderr).unwrap());
        assert!(complaint.starts_with("bshuf: standard output: No space"), "{complaint}");
    }
    // Where the message cannot be written it is dropped, which is no reason to fail.
    let mut command = Command::new(program());
    let child = command.arg(folder.path("text")).stdout(Stdio::null()).stderr(full());
    assert!(child.status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn program_ends_quietly_when_nobody_reads() {
    use std::os::unix::process::ExitStatusExt;

    const SIGPIPE: i32 = 13;
    let folder = Folder::new();
    folder.write("text", numbered(100_000));
    for arguments in [&["text"][..], &["--repeat", "text"], &["-i", "1-1000000"]] {
        let mut child = folder.spawn(Command::new(program()).args(arguments));
        let mut stdout = child.stdout.take().unwrap();
        stdout.read_exact(&mut [0; 10]).unwrap();
        drop(stdout);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(SIGPIPE), "{arguments:?}");
        assert_eq!(output.stderr, b"");
    }
}

/// The pieces of a text as the splitter sees them.
fn pieces<W: Word>(lines: &splitter::Lines<'_, W>) -> Vec<Vec<u8>> {
    (0..lines.count()).map(|number| lines.get(number).to_vec()).collect()
}

proptest! {
    #[test]
    fn splitter_agrees_with_a_plain_one(
        text in proptest::collection::vec(prop_oneof![Just(0), Just(b'\n'), any::<u8>()], 0..300),
        delimiter in prop_oneof![Just(0), Just(b'\n'), any::<u8>()],
        chunk in 1_usize..40,
    ) {
        let plain: Vec<&[u8]> = text.split_inclusive(|&byte| byte == delimiter).collect();
        prop_assert_eq!(plain.concat(), &text[..]);
        prop_assert_eq!(pieces(&splitter::split::<u32>(&text, delimiter)), &plain[..]);
        prop_assert_eq!(pieces(&splitter::split::<u64>(&text, delimiter)), &plain[..]);
        prop_assert_eq!(pieces(&splitter::split_in_chunks::<u32>(&text, delimiter, chunk)), plain);
    }
}

#[test]
fn splitter_cuts_at_chunk_boundaries() {
    for chunk in 1..6 {
        // All texts of up to 7 bytes of two kinds.
        for bits in 1_u32..1 << 8 {
            let text: Vec<u8> =
                (0..bits.ilog2()).map(|k| if bits >> k & 1 == 1 { b'\n' } else { b'a' }).collect();
            let plain: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
            assert_eq!(pieces(&splitter::split_in_chunks::<u64>(&text, b'\n', chunk)), plain);
        }
    }
    // And some that the splitter cuts up by itself.
    for length in [(1 << 18) - 1, 1 << 18, (1 << 18) + 1, 1_000_003] {
        let text: Vec<u8> =
            (0..length).map(|k| if k % 4093 % 97 < 2 { b'\n' } else { b'a' }).collect();
        let plain: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
        assert_eq!(pieces(&splitter::split::<u32>(&text, b'\n')), plain);
    }
}
