//! Every pair of options: it is refused, or both do something.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use crate::folder::{Folder, Outcome};
use crate::formats::tfrecord;

/// What a run reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Input {
    /// Lines that are reads, and rows of CSV of four lines each.
    Lines,
    /// Lines that end with a NUL.
    Zeros,
    /// Those of `Lines`, with a NUL in one.
    Binary,
    /// Rows of CSV, of one line with a quote that is a letter, and of two lines.
    Inches,
    /// TFRecords.
    Records,
    /// Arguments.
    Words,
    /// An archive whose samples have different parts.
    Archive,
    /// Nothing.
    None,
}

use Input::{Archive, Binary, Inches, Lines, None, Records, Words, Zeros};

/// Options with the values that they are tried with, and those that they need.
const OPTIONS: [(&[&str], &[&str], Input); 35] = [
    (&["--epoch", "3"], &[], Lines),
    (&["--undo"], &[], Lines),
    (&["-n", "2"], &[], Lines),
    (&["-n", "30%"], &[], Lines),
    (&["--shard", "1/2"], &[], Lines),
    (&["--range", "1..4"], &[], Lines),
    (&["--repeat"], &["-n", "7"], Lines),
    (&["-o", "new"], &[], Lines),
    (&["-z"], &[], Zeros),
    (&["--echo"], &[], Words),
    (&["-i", "1-9"], &[], None),
    (&["--together"], &["-o", "folder"], Lines),
    (&["--record", "2"], &[], Lines),
    (&["--header-bytes", "4"], &["--record", "2"], Lines),
    (&["--blocks", "1"], &[], Lines),
    (&["--files0-from", "list"], &[], None),
    (&["--header-lines", "2"], &[], Lines),
    (&["--csv"], &[], Lines),
    (&["--lines-per-record", "2"], &[], Lines),
    (&["--fastq"], &[], Lines),
    (&["--separator", "\""], &[], Lines),
    (&["--tar"], &[], Archive),
    (&["--uneven"], &[], Archive),
    (&["--output-dir", "shards"], &[], Lines),
    (&["--shards", "2"], &["--output-dir", "shards"], Lines),
    (&["--shard-bytes", "20"], &["--output-dir", "shards"], Lines),
    (&["--shard-records", "4"], &["--output-dir", "shards"], Lines),
    (&["--split", "a=50%,b=rest"], &["--output-dir", "shards"], Lines),
    (&["--compress", "gzip"], &[], Lines),
    (&["--worker", "0/1", "--stage", "count"], &["--output-dir", "shards"], Lines),
    (&["--text"], &[], Binary),
    (&["--loose-quotes"], &["--csv"], Inches),
    (&["--header-prefix", "@1"], &[], Lines),
    (&["--record-start", "@"], &[], Lines),
    (&["--tfrecord"], &[], Records),
];

/// Options that are not tried in pairs, and why.
const LEFT_OUT: [(&str, &str); 12] = [
    ("--seed", "all runs have it"),
    ("--memory", "all runs have it"),
    ("--temp", "it changes where bytes are meanwhile, and no output"),
    ("--temp-compress", "it changes where bytes are meanwhile, and no output"),
    ("--recursive", "it needs a folder in a folder"),
    ("--resume", "it needs a run that was interrupted"),
    ("--backend", "all give the same output"),
    ("--progress", "it changes what is said, and no output"),
    ("--stats", "it changes what is said, and no output"),
    ("--quiet", "it changes what is said, and no output"),
    ("--help", "nothing is shuffled"),
    ("--version", "nothing is shuffled"),
];

/// Pairs in which one option has nothing left to do, and what it would do is done. What does not
/// end with a newline may have a NUL anyway, and the list names a file without one.
const AS_ONE: [(&str, &str); 4] = [
    ("--tar", "--uneven"),
    ("-z", "--text"),
    ("--separator", "--text"),
    ("--files0-from", "--text"),
];

/// What became of a run: its code, what it wrote to standard output, and files with their bytes.
type Done = (i32, Vec<u8>, BTreeMap<String, Vec<u8>>);

fn run(options: &[&str], input: Input) -> (Done, String) {
    let folder = Folder::new();
    folder.write("text", b"@1,\"\nAC\n+\n!\"\n@2,\"\nGT\n+\n,\"\n@3,\"\nTT\n+\n#\"\n");
    folder.write("zeros", "@1 2 3 4 5 6 7 8 9 ".replace(' ', "\0"));
    folder.write("binary", b"@1,\"\nA\0\n+\n!\"\n@2,\"\nGT\n+\n,\"\n@3,\"\nTT\n+\n#\"\n");
    let inches = |k| format!("@{k},5\" x\n@{k},\"x\ny\"\n");
    folder.write("inches", (1..9).map(inches).collect::<String>());
    folder.write("records", [b"one", b"two", b"six"].map(|text| tfrecord(text)).concat());
    folder.write("list", b"text\0");
    fs::create_dir(folder.path("folder")).unwrap();
    let mut archive = tar::Builder::new(Vec::new());
    for name in ["1.a", "1.b", "2.a", "3.a"] {
        let mut header = tar::Header::new_ustar();
        header.set_size(1);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, &b"x"[..]).unwrap();
    }
    folder.write("x.tar", archive.into_inner().unwrap());
    let operand: &[&str] = match input {
        Lines => &["text"],
        Zeros => &["zeros"],
        Binary => &["binary"],
        Inches => &["inches"],
        Records => &["records"],
        Words => &["1", "2", "3", "4", "5", "6", "7", "8", "9"],
        Archive => &["x.tar"],
        None => &[],
    };
    let line = [&["--seed", "5", "--memory", "1M"], options, operand].concat();
    let Outcome { code, stdout, stderr } = folder.run(&line, b"");
    let mut files = BTreeMap::new();
    let mut left = vec![folder.path("")];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let name = path.strip_prefix(folder.path("")).unwrap().display().to_string();
            let bytes = fs::read(path).unwrap();
            // The stamp of a run has the times of its inputs, which differ.
            let is_stamp = |line: &&[u8]| line.trim_ascii_start().starts_with(b"\"run\"");
            let lines = bytes.split_inclusive(|&byte| byte == b'\n');
            files.insert(name, lines.filter(|line| !is_stamp(line)).collect::<Vec<_>>().concat());
        }
    }
    ((code, stdout, files), stderr)
}

/// The options of a list with those that they need, each once.
fn with_needed(chosen: &[(&[&'static str], &[&'static str], Input)]) -> Vec<&'static str> {
    let given: Vec<&[&str]> = chosen.iter().map(|(option, _, _)| *option).collect();
    let mut needed: Vec<&[&str]> = Vec::new();
    for (_, need, _) in chosen {
        let is_there = given.iter().chain(&needed).any(|one| one.first() == need.first());
        if !need.is_empty() && !is_there {
            needed.push(need);
        }
    }
    given.into_iter().chain(needed).flatten().copied().collect()
}

#[test]
fn every_option_of_the_help_is_tried_or_left_out_for_a_reason() {
    let help = Folder::new().run(&["--help"], b"").stdout;
    let help = String::from_utf8(help).unwrap();
    // Each option stands at the start of a line, behind its letter if it has one. What is said of
    // it, and may be wrapped before the name of another, is indented further.
    let options = help.lines().filter_map(|line| {
        let line = Some(line.trim_start()).filter(|text| line.len() - text.len() <= 6)?;
        let (letter, long) = line.split_once("--").filter(|(letter, _)| letter.len() <= 4)?;
        let end = long.find(|c: char| !c.is_ascii_alphanumeric() && c != '-');
        let name = format!("--{}", &long[..end.unwrap_or(long.len())]);
        Some((letter.trim_end_matches(", ").to_owned(), name))
    });
    let mut known = OPTIONS.iter().map(|(option, ..)| option[0]).collect::<Vec<_>>();
    known.extend(OPTIONS.iter().filter(|(option, ..)| option.len() > 2).map(|(o, ..)| o[2]));
    known.extend(LEFT_OUT.iter().map(|(option, _)| *option));
    let (mut count, mut unknown) = (0, Vec::new());
    for (letter, name) in options {
        count += 1;
        if !known.contains(&name.as_str()) && !known.contains(&letter.as_str()) {
            unknown.push(name);
        }
    }
    assert_eq!(unknown, Vec::<String>::new());
    assert!(count > LEFT_OUT.len(), "{help}");
}

#[test]
fn no_option_of_a_pair_is_ignored() {
    let mut alone: HashMap<(&str, &str, Input), Done> = HashMap::new();
    let (mut refused, mut ignored) = (0, Vec::new());
    for (at, &one) in OPTIONS.iter().enumerate() {
        for &other in &OPTIONS[at + 1..] {
            if one.0[0] == other.0[0] {
                continue;
            }
            let input = [one.2, other.2].into_iter().find(|&input| input != Lines);
            let input = input.unwrap_or(Lines);
            let (together, said) = run(&with_needed(&[one, other]), input);
            if together.0 != 0 {
                assert_eq!((together.0, together.1.len()), (1, 0), "{one_:?} {said}", one_ = one.0);
                refused += 1;
                continue;
            }
            let mut is_as = |one: (&[&'static str], &[&'static str], Input)| {
                let name = (one.0[0], one.0[one.0.len() - 1], input);
                *alone.entry(name).or_insert_with(|| run(&with_needed(&[one]), input).0) == together
            };
            let names = (one.0[0], other.0[0]);
            // An option that needs the other is never without it.
            let is_needed = other.1.contains(&one.0[0]);
            if (is_as(one) || !is_needed && is_as(other)) && !AS_ONE.contains(&names) {
                ignored.push((one.0, other.0));
            }
        }
    }
    println!("{refused} pairs are refused");
    assert_eq!(ignored, []);
}
