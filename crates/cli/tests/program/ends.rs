//! Lines that have no end: none is lost, and none is glued to another.

use std::fs;

use bijective_shuffle::prelude::*;
use proptest::prelude::*;

use crate::folder::{Folder, ended, numbered};
use crate::outside::statistic;

/// The lines of a text in which all of them end.
fn lines_of(text: &[u8], delimiter: u8) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == delimiter).collect()
}

#[test]
fn shards_are_not_glued() {
    let folder = Folder::new();
    folder.write("open", b"1\n2\n3\n4\n5\n6\n7\n8\n9\n10");
    for parts in
        [&[["--shard", "0/2"], ["--shard", "1/2"]], &[["--range", "..6"], ["--range", "6.."]]]
    {
        let outputs =
            parts.map(|part| folder.output(&[&["--seed", "1", "open"], &part[..]].concat(), b""));
        let mut lines = lines_of(&outputs.concat(), b'\n').concat();
        assert_eq!(lines.iter().filter(|&&byte| byte == b'\n').count(), 10);
        lines.sort();
        assert_eq!(lines, [&b"\n".repeat(10)[..], b"01123456789"].concat());
    }
}

#[test]
fn empty_lines_are_kept() {
    let folder = Folder::new();
    for seed in 0..20 {
        let seed = seed.to_string();
        let shuffled = folder.output(&["--seed", &seed], b"a\n\nb");
        let mut lines = lines_of(&shuffled, b'\n');
        lines.sort();
        assert_eq!(lines, [&b"\n"[..], b"a\n", b"b\n"], "{seed}");
        assert_eq!(folder.output(&["--seed", &seed, "--undo"], &shuffled), b"a\n\nb\n");
    }
}

#[test]
fn report_says_that_a_line_had_no_end() {
    let folder = Folder::new();
    folder.write("open", b"a\nb");
    folder.write("closed", b"a\n");
    folder.write("empty", b"");
    folder.write("large", [&numbered(100_000)[..], b"open"].concat());
    for (files, ends) in [
        (&["open"][..], 1),
        (&["closed"], 0),
        (&["empty"], 0),
        (&["open", "closed", "open", "empty"], 2),
        (&["large", "--memory", "1M"], 1),
        (&["-z", "open", "closed"], 2),
        (&["open", "-n", "1"], 1),
    ] {
        let outcome = folder.run(&[&["--stats"], files].concat(), b"");
        assert_eq!(statistic(&outcome.stderr, "line_ends_added"), ends, "{files:?}");
        let outcome = folder.run(files, b"");
        let said = outcome.stderr.contains(&format!(", line ends added {ends}\n"));
        assert_eq!(said, ends > 0, "{}", outcome.stderr);
    }
}

#[test]
fn files_in_one_order_may_lack_their_ends() {
    let folder = Folder::new();
    fs::create_dir(folder.path("new")).unwrap();
    folder.write("a", b"1\n\n3\n4");
    folder.write("b", b"one\r\n\r\nthree\r\nfour");
    folder.output(&["--seed", "5", "--together", "-o", "new", "a", "b"], b"");
    let (a, b) = (folder.read("new/a"), folder.read("new/b"));
    let word = |line: &[u8]| match line {
        b"1\n" => &b"one\r\n"[..],
        b"\n" => b"\r\n",
        b"3\n" => b"three\r\n",
        b"4\n" => b"four\r\n",
        _ => panic!("{line:?}"),
    };
    let words: Vec<&[u8]> = lines_of(&a, b'\n').into_iter().map(word).collect();
    assert_eq!(words.concat(), b);
    folder.output(&["--seed", "5", "--undo", "--together", "-o", "new", "new/a", "new/b"], b"");
    assert_eq!(folder.read("new/a"), b"1\n\n3\n4\n");
    assert_eq!(folder.read("new/b"), b"one\r\n\r\nthree\r\nfour\r\n");
}

/// Any bytes, with many ends of lines, some as on Windows.
fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        3 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        2 => Just(b"\0".to_vec()),
        4 => proptest::collection::vec(b'a'..b'd', 1..4),
        1 => proptest::collection::vec(any::<u8>(), 1..9),
    ];
    let any = proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
    let line = proptest::collection::vec(b'a'..b'd', 0..4);
    let windows = (proptest::collection::vec(line.clone(), 0..20), line)
        .prop_map(|(lines, last)| [lines.join(&b"\r\n"[..]), b"\r\n".to_vec(), last].concat());
    prop_oneof![3 => any, 1 => windows]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn no_line_is_lost(
        texts in proptest::collection::vec(text(), 1..4),
        seed: u64,
        is_zero: bool,
        is_large in prop_oneof![4 => Just(false), 1 => Just(true)],
        cut in 0..=200_u64,
        ranks in 1..6_u64,
    ) {
        let folder = Folder::new();
        let delimiter = if is_zero { 0 } else { b'\n' };
        let mut texts = texts;
        if is_large {
            // Too much for the memory.
            let many: Vec<u8> = (0..100_000).flat_map(|k| format!("{k}").into_bytes().into_iter().chain([delimiter])).collect();
            texts[0].splice(0..0, many);
        }
        let all: Vec<u8> = texts.iter().flat_map(|text| ended(text, delimiter)).collect();
        let names: Vec<String> = (0..texts.len()).map(|number| format!("t{number}")).collect();
        for (name, text) in names.iter().zip(&texts) {
            folder.write(name, text);
        }
        let seed_text = seed.to_string();
        let mut options = vec!["--seed", seed_text.as_str(), "--memory", "1M"];
        options.push(if is_zero { "-z" } else { "--text" });
        // The last is read from a pipe.
        let (last, files) = names.split_last().unwrap();
        let files: Vec<&str> = files.iter().map(String::as_str).chain(["-"]).collect();
        let piped = texts.last().unwrap();
        let run = |more: &[&str]| folder.output(&[&options[..], more, &files].concat(), piped);

        let whole = run(&[]);
        let lines = lines_of(&all, delimiter);
        let expected = Permutation::new(lines.len() as u64, seed).apply(&lines).unwrap().concat();
        prop_assert!(whole == expected);
        let named: Vec<&str> = names.iter().map(String::as_str).collect();
        prop_assert!(folder.output(&[&options[..], &named].concat(), b"") == whole, "{last}");

        let shards: Vec<u8> =
            (0..ranks).flat_map(|rank| run(&["--shard", &format!("{rank}/{ranks}")])).collect();
        prop_assert!(shards == whole);
        let [start, end] = [format!("..{cut}"), format!("{cut}..")];
        prop_assert!([run(&["--range", &start]), run(&["--range", &end])].concat() == whole);
        prop_assert!(whole.starts_with(&run(&["-n", &cut.to_string()])));
        folder.write("shards", &shards);
        let undo = [&options[..], &["--undo"]].concat();
        prop_assert!(folder.output(&[&undo[..], &["shards"]].concat(), b"") == all);
        prop_assert!(folder.output(&undo, &whole) == all);
        let parts = [&undo[..], &["--range", &start]].concat();
        let rest = [&undo[..], &["--range", &end]].concat();
        prop_assert!([folder.output(&parts, &whole), folder.output(&rest, &whole)].concat() == all);
    }
}
