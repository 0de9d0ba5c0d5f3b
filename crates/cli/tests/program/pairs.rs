//! Every pair of options: it is refused, or both do something.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use crate::folder::{Folder, Outcome};

/// What a run reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Input {
    /// Lines that are reads, and rows of CSV of four lines each.
    Lines,
    /// Lines that end with a NUL.
    Zeros,
    /// Arguments.
    Words,
    /// An archive whose samples have different parts.
    Archive,
    /// Nothing.
    None,
}

use Input::{Archive, Lines, None, Words, Zeros};

/// Options with the values that they are tried with, and those that they need.
const OPTIONS: [(&[&str], &[&str], Input); 30] = [
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
    (&["--header", "4"], &["--record", "2"], Lines),
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
];

/// Pairs in which one option has nothing left to do, and what it would do is done.
const AS_ONE: [(&str, &str); 1] = [("--tar", "--uneven")];

/// What became of a run: its code, what it wrote to standard output, and files with their bytes.
type Done = (i32, Vec<u8>, BTreeMap<String, Vec<u8>>);

fn run(options: &[&str], input: Input) -> (Done, String) {
    let folder = Folder::new();
    folder.write("text", b"@1,\"\nAC\n+\n!\"\n@2,\"\nGT\n+\n,\"\n@3,\"\nTT\n+\n#\"\n");
    folder.write("zeros", "1 2 3 4 5 6 7 8 9 ".replace(' ', "\0"));
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
            files.insert(name, fs::read(path).unwrap());
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
            if (is_as(one) || is_as(other)) && !AS_ONE.contains(&names) {
                ignored.push((one.0, other.0));
            }
        }
    }
    println!("{refused} pairs are refused");
    assert_eq!(ignored, []);
}
