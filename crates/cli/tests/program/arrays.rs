//! NumPy arrays of all kinds, also beside NumPy itself where it is installed.

use std::fs;
use std::path::Path;
use std::process::Command;

use bijective_shuffle::Permutation;

use crate::folder::Folder;

/// An array of version 1 with this dictionary, without any padding.
fn array(dictionary: &[u8], data: &[u8]) -> Vec<u8> {
    let length = u16::try_from(dictionary.len()).unwrap().to_le_bytes();
    [b"\x93NUMPY\x01\0", &length[..], dictionary, data].concat()
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn names_in_latin_1_stay_as_they_are() {
    let folder = Folder::new();
    let dictionary = |rows: usize| {
        let rest = format!(", 'fortran_order': False, 'shape': ({rows},), }}");
        [b"{'descr': [('\xE9\xFC', '<u2')]", rest.as_bytes()].concat()
    };
    let data: Vec<u8> = (0..200).collect();
    folder.write("x.npy", array(&dictionary(100), &data));
    let order: Vec<u64> = Permutation::new(100, 5).iter().collect();
    for (options, places) in
        [(["-n", "3"], 0..3), (["--shard", "1/4"], 25..50), (["--range", "7..9"], 7..9)]
    {
        let found = folder.output(&[&["--seed", "5", "x.npy"], &options[..]].concat(), b"");
        assert!(contains(&found, &dictionary(places.len())), "{found:?}");
        let rows = order[places].iter().flat_map(|&row| &data[2 * row as usize..][..2]);
        assert!(found.ends_with(&rows.copied().collect::<Vec<u8>>()));
    }
    let both = folder.output(&["x.npy", "x.npy"], b"");
    assert!(contains(&both, &dictionary(200)));
}

#[test]
fn rows_of_no_bytes_are_counted() {
    let folder = Folder::new();
    let empty = |rows: usize| {
        let rest = format!("{{'shape': ({rows}, 0), 'fortran_order': False, 'descr': '<f4'}}");
        array(rest.as_bytes(), b"")
    };
    folder.write("x.npy", empty(10));
    assert_eq!(folder.output(&["x.npy"], b""), empty(10));
    for (options, rows) in [
        (&["-n", "3"][..], "(3, 0)"),
        (&["--shard", "1/3"], "(3, 0)"),
        (&["-r", "-n", "77"], "(77, 0)"),
        (&["x.npy"], "(20, 0)"),
    ] {
        let found = folder.output(&[&["x.npy"], options].concat(), b"");
        assert!(contains(&found, format!("'shape': {rows}").as_bytes()), "{found:?}");
    }
    let huge = format!("{{'descr': '|V0', 'fortran_order': False, 'shape': ({},), }}", u64::MAX);
    folder.write("huge.npy", array(huge.as_bytes(), b""));
    assert_eq!(
        folder.complaint(&["huge.npy", "huge.npy"], b""),
        "bshuf: huge.npy: has more rows than can be counted with those before"
    );
}

#[test]
fn options_of_lines_and_records_are_refused() {
    let folder = Folder::new();
    let dictionary = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    // The end of a name may be in capitals.
    folder.write("X.NPY", array(dictionary, b"abcdefgh"));
    assert_eq!(folder.output(&["-n", "0", "X.NPY"], b"").len(), 128);
    for (options, why) in [
        (&["-z"][..], "--zero-terminated: rows of arrays and tables do not end with a delimiter"),
        (
            &["--record", "8"],
            "X.NPY: a NumPy array states the size of its rows: leave out --record",
        ),
        (&["missing.npY", "lines"], "lines: is not a NumPy array, but others are"),
    ] {
        let complaint = folder.complaint(&[options, &["X.NPY"]].concat(), b"");
        assert_eq!(complaint, format!("bshuf: {why}"));
    }
}

/// Makes arrays of many types with NumPy, shuffles them in parts and back, and has NumPy compare.
/// Where NumPy is not installed there is nothing to do: the unit tests have its headers.
#[test]
fn numpy_reads_what_it_wrote() {
    let folder = Folder::new();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let has_numpy = Command::new(&python).args(["-c", "import numpy"]).output();
    if !has_numpy.is_ok_and(|output| output.status.success()) {
        println!("skipped: {python} has no NumPy");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/arrays.py");
    let numpy = |step: &str| {
        let mut command = Command::new(&python);
        command.arg(&script).arg(step).current_dir(folder.path(""));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    numpy("write");
    let names = folder.names();
    assert!(names.len() > 30, "{names:?}");
    for folder_name in ["whole", "back", "head", "both"] {
        fs::create_dir(folder.path(folder_name)).unwrap();
    }
    for name in &names {
        let to = |place: &str| format!("{place}/{name}");
        let seed = ["--seed", "3", "-o"];
        folder.output(&[&seed[..], &[&to("whole"), name]].concat(), b"");
        folder.output(&[&seed[..], &[&to("back"), "--undo", &to("whole")]].concat(), b"");
        assert_eq!(folder.read(&to("back")), folder.read(name), "{name}");
        folder.output(&[&seed[..], &[&to("head"), "-n", "11", name]].concat(), b"");
        folder.output(&[&seed[..], &[&to("both"), name, name]].concat(), b"");
    }
    let order = |rows: u64| {
        Permutation::new(rows, 3).iter().map(|row| format!("{row}\n")).collect::<String>()
    };
    folder.write("order", order(100));
    folder.write("order_of_both", order(200));
    numpy("compare");
}
