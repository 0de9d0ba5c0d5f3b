//! The program beside GNU `shuf`, with the same arguments.

use std::process::Command;

use crate::folder::{Folder, Outcome, numbered, program, sorted_lines};

/// What both programs do, if there is a `shuf`.
fn both(folder: &Folder, arguments: &[&str], input: &[u8]) -> Option<(Outcome, Outcome)> {
    let is_gnu = Command::new("shuf").arg("--version").output().is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).starts_with("shuf (GNU coreutils)")
    });
    is_gnu.then(|| {
        let theirs = folder.finish(Command::new("shuf").args(arguments), input);
        (folder.finish(Command::new(program()).arg("--quiet").args(arguments), input), theirs)
    })
}

#[test]
fn same_lines_and_codes() {
    let folder = Folder::new();
    folder.write("text", numbered(50));
    folder.write("empty", b"");
    let cases: [(&[&str], &[u8]); 30] = [
        (&[], b""),
        (&[], b"\n"),
        (&[], b"a\nb\nc\n"),
        (&["-"], b"a\nb\n"),
        (&["text"], b""),
        (&["empty"], b""),
        (&["-z"], b"a\nb\0c\0"),
        (&["--zero-terminated"], b"\0\0"),
        (&["-n", "0", "text"], b""),
        (&["-n0", "missing"], b""),
        (&["-n", "1000", "text"], b""),
        (&["-n", "99999999999999999999999", "text"], b""),
        (&["--head-count=50", "-n", "70", "text"], b""),
        (&["-e"], b"ignored\n"),
        (&["-e", "a", "b b", ""], b""),
        (&["--echo", "-z", "a", "b"], b""),
        (&["-i", "1-9"], b""),
        (&["--input-range=7-7"], b""),
        (&["-i", "1-0"], b""),
        (&["-i", "18446744073709551610-18446744073709551614", "-z"], b""),
        (&["-r", "-n", "0", "empty"], b""),
        // Errors.
        (&["missing"], b""),
        (&["text/no-folder"], b""),
        (&["-n", "x"], b""),
        (&["-n", "-1"], b""),
        (&["-i", "5-1"], b""),
        (&["-i", "1-2", "-i", "1-2"], b""),
        (&["-e", "-i", "1-2"], b""),
        (&["-r", "empty"], b""),
        (&["--no-such-option"], b""),
    ];
    for (arguments, input) in cases {
        let Some((ours, theirs)) = both(&folder, arguments, input) else { return };
        assert_eq!(ours.code, theirs.code, "{arguments:?} {ours:?}");
        let delimiter = if arguments.concat().contains('z') { 0 } else { b'\n' };
        let sorted = |outcome: &Outcome| {
            let mut lines: Vec<Vec<u8>> = outcome
                .stdout
                .split_inclusive(|&byte| byte == delimiter)
                .map(<[u8]>::to_vec)
                .collect();
            lines.sort();
            lines
        };
        assert_eq!(sorted(&ours), sorted(&theirs), "{arguments:?}");
        assert_eq!(ours.stderr.is_empty(), theirs.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn as_many_lines() {
    let folder = Folder::new();
    folder.write("text", numbered(50));
    for arguments in [
        &["-n", "7", "text"][..],
        &["-n", "20", "-n", "7", "text"],
        &["-r", "-n", "200", "text"],
        &["-r", "-n", "200", "-i", "10-12"],
        &["-r", "-n", "9", "-e", "a", "b"],
        &["-i", "0-18446744073709551614", "-n", "5"],
    ] {
        let Some((ours, theirs)) = both(&folder, arguments, b"") else { return };
        let lines =
            |outcome: &Outcome| outcome.stdout.iter().filter(|&&byte| byte == b'\n').count();
        assert_eq!((ours.code, lines(&ours)), (0, lines(&theirs)), "{arguments:?} {ours:?}");
    }
}

#[test]
fn output_is_replaced_by_both() {
    let folder = Folder::new();
    for arguments in [&["-o", "text", "text"][..], &["--output=text", "-e", "a", "b"]] {
        folder.write("text", b"c\nb\na\n");
        let Some((ours, _)) = both(&folder, &["-e", "x"], b"") else { return };
        assert_eq!(ours.stdout, b"x\n");
        let theirs = folder.finish(Command::new("shuf").args(arguments), b"");
        let expected = folder.read("text");
        folder.write("text", b"c\nb\na\n");
        let ours = folder.run(&[&["--quiet"], arguments].concat(), b"");
        assert_eq!(ours, theirs);
        assert_eq!(sorted_lines(&folder.read("text")), sorted_lines(&expected));
    }
}

#[test]
fn repeated_lines_are_drawn_from_all_of_them() {
    let folder = Folder::new();
    let text = numbered(20);
    let drawn = folder.output(&["-r", "-n", "2000", "--seed", "3"], &text);
    let mut lines = sorted_lines(&drawn);
    assert_eq!(lines.len(), 2000);
    // With 2000 draws a line is left out once in 10^43 times, and the seed is always the same.
    lines.dedup();
    assert_eq!(lines, sorted_lines(&text));
    let again = |options: &[&str]| folder.output(&[&["-r"], options].concat(), &text);
    assert_eq!(again(&["-n", "2000", "--seed", "3"]), drawn);
    assert!(drawn.starts_with(&again(&["-n", "70", "--seed", "3"])));
    assert_ne!(again(&["-n", "2000", "--seed", "4"]), drawn);
    assert_ne!(again(&["-n", "2000", "--seed", "3", "--epoch", "1"]), drawn);
    // What is drawn in no order has to be in memory.
    folder.write("large", numbered(100_000));
    let complaint = folder.complaint(&["-r", "-n", "3", "--memory", "1M", "large"], b"");
    assert_eq!(complaint, "bshuf: large: lines must fit memory to be repeated: raise --memory");
    // All of them have an end, as nothing says which is the last of the file.
    assert_eq!(folder.output(&["-r", "-n", "3"], b"a"), b"a\na\na\n");
}

#[test]
fn draws_never_change() {
    let folder = Folder::new();
    let drawn = folder.output(&["-r", "-n", "12", "-i", "0-999", "--seed", "42"], b"");
    assert_eq!(String::from_utf8(drawn).unwrap().replace('\n', " "), DRAWS);
}

/// The first draws below 1000 of seed 42.
const DRAWS: &str = "457 836 178 791 39 939 301 502 526 840 37 28 ";

#[test]
fn numbers_and_arguments_have_the_order_of_lines() {
    let folder = Folder::new();
    let numbers: String = (3..2003).map(|number| format!("{number}\n")).collect();
    let order = ["--seed", "9", "--epoch", "2"];
    let lines = folder.output(&order, numbers.as_bytes());
    let range = [&order[..], &["-i", "3-2002"]].concat();
    assert_eq!(folder.output(&range, b""), lines);
    for part in [&["-n", "30"][..], &["--range", "100..300"], &["--shard", "1/3"]] {
        let of_lines = folder.output(&[&order[..], part].concat(), numbers.as_bytes());
        assert_eq!(folder.output(&[&range[..], part].concat(), b""), of_lines);
        assert!(of_lines.len() > 30);
    }
    let words: Vec<String> = (0..300).map(|number| format!("w{number}")).collect();
    let mut echo = [&order[..], &["-e"]].concat();
    echo.extend(words.iter().map(String::as_str));
    let text = words.join("\n") + "\n";
    assert_eq!(folder.output(&echo, b""), folder.output(&order, text.as_bytes()));
}

#[test]
fn shards_and_ranges_are_parts_of_the_whole() {
    let folder = Folder::new();
    let text = numbered(1000);
    let part = |options: &[&str]| folder.output(&[&["--seed", "6"], options].concat(), &text);
    let whole = part(&[]);
    let shards = ["0/3", "1/3", "2/3"].map(|shard| part(&["--shard", shard]));
    assert_eq!(shards.concat(), whole);
    assert_eq!([part(&["--range", "..400"]), part(&["--range", "400.."])].concat(), whole);
    assert_eq!(part(&["--range", "0..1000"]), whole);
    assert_eq!(part(&["--range", "990..5000"]), part(&["--range", "990.."]));
    assert_eq!(part(&["--range", "2000..5000"]), b"");
    assert_eq!(
        part(&["--shard", "1/2", "--range", "10..20", "-n", "3"]),
        part(&["--range", "510..513"])
    );
    let undone = folder.output(&["--seed", "6", "--undo", "--range", "10..20"], &whole);
    assert_eq!(undone, numbered(20)[numbered(10).len()..]);
    for bad in [["--shard", "3/3"], ["--shard", "x"], ["--range", "4..3"], ["--range", "4"]] {
        assert_eq!(folder.run(&bad, &text).code, 1, "{bad:?}");
    }
}

#[test]
fn statistics_are_one_line_of_json() {
    let folder = Folder::new();
    let outcome = folder.run(&["--stats", "--seed", "5@9", "-n", "2"], b"ab\ncd\nef\n");
    let line = crate::folder::one_line(&outcome.stderr);
    assert!(line.starts_with(r#"{"lines":2,"bytes":6,"seconds":0."#), "{line}");
    let end = r#","backend":"cpu","seed":"5","epoch":9,"buckets":0,"splits":0,"temporary_bytes":0,"line_ends_added":0,"inputs":1,"empty_inputs":0,"columns_rewritten":0,"records":"lines"}"#;
    assert!(line.ends_with(&end), "{line}");
}

#[test]
fn manual_and_completions_are_made() {
    let folder = Folder::new();
    let man = String::from_utf8(folder.run(&["--generate", "man"], b"").stdout).unwrap();
    assert!(man.contains(".TH bshuf 1") && man.contains("\\-\\-input\\-range"));
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = folder.run(&["--generate", shell], b"");
        assert_eq!(outcome.code, 0);
        let text = String::from_utf8(outcome.stdout).unwrap();
        assert!(text.contains("bshuf") && text.contains("head-count"), "{shell}");
    }
    let help = folder.run(&["-h"], b"");
    assert_eq!(help.code, 0);
    assert!(help.stdout.iter().filter(|&&byte| byte == b'\n').count() <= 84);
    assert_eq!(folder.run(&["--version"], b"").code, 0);
}
