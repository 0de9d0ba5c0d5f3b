//! Several files in one order.

use std::fs;

use crate::folder::{Folder, numbered};
use crate::outside::statistic;

#[test]
fn files_keep_their_lines_side_by_side() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    let source = numbered(100_000);
    let target: Vec<u8> = (0..100_000).flat_map(|k| format!("{k}\n").into_bytes()).collect();
    folder.write("source", &source);
    folder.write("target", &target);
    for memory in ["1M", "1G"] {
        let options = ["--seed", "8", "--memory", memory];
        let together = ["--output", "new", "--together", "source", "target"];
        assert_eq!(folder.output(&[&options[..], &together].concat(), b""), b"");
        let shuffled = folder.read("new/source");
        assert!(shuffled == folder.output(&[&options[..], &["source"]].concat(), b""));
        let numbers = String::from_utf8(folder.read("new/target")).unwrap();
        let again: String = numbers.lines().map(|number| format!("line {number}\n")).collect();
        assert!(again.as_bytes() == shuffled);
    }
    // In place, and back.
    let undo = ["--seed", "8", "--undo", "--output", "new", "--together"];
    folder.output(&[&undo[..], &["new/source", "new/target"]].concat(), b"");
    assert!(folder.read("new/source") == source && folder.read("new/target") == target);
}

#[test]
fn report_counts_the_line_ends_that_were_added_to_all_files() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    folder.write("a", b"1\n2");
    folder.write("b", b"3\n4");
    let outcome = folder.run(&["--stats", "-o", "new", "--together", "a", "b"], b"");
    assert_eq!(statistic(&outcome.stderr, "line_ends_added"), 2);
}

#[test]
fn files_of_other_lengths_are_refused_and_nothing_is_written() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    fs::create_dir(folder.path("other")).unwrap();
    folder.write("a", numbered(5));
    folder.write("b", numbered(6));
    folder.write("other/a", numbered(5));
    let complain = |files: &[&str]| {
        let complaint = folder.complaint(&[&["-o", "new", "--together"], files].concat(), b"");
        assert_eq!(fs::read_dir(folder.path("new")).unwrap().count(), 0);
        complaint
    };
    assert_eq!(complain(&["a", "b"]), "bshuf: b: has 6 lines, and a has 5");
    assert_eq!(complain(&["a", "missing"]).split(": ").nth(1), Some("missing"));
    assert_eq!(complain(&["a", "other/a"]), "bshuf: other/a: another input has the same name");
    assert_eq!(complain(&["a", "-"]), "bshuf: -: has no name for its output");
    let complaint = folder.complaint(&["-o", "a", "--together", "b"], b"");
    assert_eq!(complaint, "bshuf: a: is not a folder");
    assert_eq!(folder.run(&["--together", "a"], b"").code, 1);
}
