//! What options mean, one by one, and any of them together against a model.

use std::process::Command;

use bijective_shuffle::prelude::*;
use bijective_shuffle::rng::{Fill, Philox4x32Rng};

use crate::folder::{Folder, ended, numbered, one_line, program};
use crate::outside::statistic;

#[test]
fn numbers_below_zero_are_values_that_are_refused() {
    let folder = Folder::new();
    let said = |option: &str| folder.run(&[option, "-1", "text"], b"").stderr;
    assert!(said("--seed").starts_with(
        "error: invalid value '-1' for '--seed <SEED>': the text is not a seed: a number below 2^64"
    ));
    for option in ["--epoch", "-n", "--shards", "--record", "--memory", "--header-lines"] {
        let said = said(option);
        assert!(said.starts_with("error: invalid value '-1' for "), "{said}");
    }
    // It is no file.
    assert!(folder.run(&["-1"], b"").stderr.starts_with("error: unexpected argument '-1'"));
}

#[test]
fn flags_may_be_given_twice() {
    let folder = Folder::new();
    let text = b"a\nb\nc\n";
    for (once, twice) in [
        (&["-z", "--seed", "1"][..], &["-z", "--zero-terminated", "-z", "--seed", "1"][..]),
        (&["-r", "-n", "9", "--seed", "1"], &["-r", "-r", "-n", "9", "--seed", "1"]),
        (&["--undo", "--seed", "1"], &["--undo", "--undo", "--seed", "1"]),
        (&["-q", "--seed", "1"], &["-q", "--quiet", "--seed", "1"]),
        (&["-e", "a", "b", "--seed", "1"], &["-e", "a", "-e", "b", "--seed", "1"]),
        (&["--seed", "1", "-o", "new"], &["--seed", "1", "-o", "new", "--output", "new"]),
    ] {
        assert_eq!(folder.output(twice, text), folder.output(once, text), "{twice:?}");
    }
    for flag in ["--stats", "--progress"] {
        assert_eq!(folder.run(&[flag, flag], text).code, 0, "{flag}");
    }
    std::fs::create_dir(folder.path("folder")).unwrap();
    folder.write("a", b"a\n");
    let together = ["--together", "--together", "-o", "folder", "a"];
    assert_eq!(folder.output(&together, b""), b"");
    // What has a value has one.
    for (option, values) in [
        ("--seed", ["1", "2"]),
        ("--epoch", ["1", "1"]),
        ("--shard", ["0/2", "1/2"]),
        ("--range", ["0..1", "1..2"]),
        ("--output", ["a", "b"]),
        ("--input-range", ["1-2", "1-2"]),
        ("--record", ["1", "2"]),
        ("--memory", ["1M", "2M"]),
    ] {
        let [first, second] = values;
        let outcome = folder.run(&[option, first, option, second], b"");
        assert_eq!((outcome.code, outcome.stdout), (1, vec![]), "{option}");
    }
    assert_eq!(folder.read("a"), b"a\n");
    // Counts are the exception: the smallest holds, as in `shuf`.
    assert_eq!(folder.output(&["-n3", "-n1", "--head", "2", "-e", "a", "a", "a"], b""), b"a\n");
}

#[test]
fn long_options_may_be_cut_short() {
    let folder = Folder::new();
    for (full, cut) in [
        (
            &["--repeat", "--head-count", "5", "--seed", "1"][..],
            &["--rep", "--head-c=5", "--see=1"][..],
        ),
        (&["--input-range", "1-9", "--seed", "1"], &["--in", "1-9", "--see", "1"]),
        (&["--zero-terminated", "--seed", "1"], &["--zero", "--seed=1"]),
        (&["--echo", "--seed", "1", "a", "b"], &["--ec", "--seed", "1", "a", "b"]),
    ] {
        let input = b"a\nb\nc\nd\n";
        assert_eq!(folder.output(cut, input), folder.output(full, input), "{cut:?}");
    }
    // It has to be clear which is meant.
    for cut in ["--he", "--s", "--re", "--e"] {
        assert_eq!(folder.run(&[cut, "1"], b"").code, 1, "{cut}");
    }
}

#[test]
fn arguments_are_lines_whatever_is_in_them() {
    let folder = Folder::new();
    let arguments = ["-e", "--stats", "--seed", "4", "a\nb", "c", "", "\n", "\u{e9}\r"];
    let outcome = folder.run(&arguments, b"");
    assert_eq!(outcome.code, 0);
    assert_eq!(statistic(&outcome.stderr, "lines"), 5);
    let items = &arguments[4..];
    let expected: String =
        Permutation::new(5, 4).iter().map(|item| format!("{}\n", items[item as usize])).collect();
    assert_eq!(outcome.stdout, expected.as_bytes());
    assert_eq!(statistic(&outcome.stderr, "bytes"), expected.len() as u64);
    assert_eq!(folder.output(&["-e", "-n", "1", "a\nb"], b""), b"a\nb\n");
    assert_eq!(folder.output(&["-e", "-z", "-n", "1", "a\nb"], b""), b"a\nb\0");
    // They are held already, and so they do not count as memory.
    let words = numbered(20_000);
    let words: Vec<&str> = std::str::from_utf8(&words).unwrap().lines().collect();
    let all = folder.output(&[&["--memory", "1M", "-e"], &words[..]].concat(), b"");
    assert_eq!(all.iter().filter(|&&byte| byte == b'\n').count(), words.len());
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    for (arguments, why) in [
        (&["-q", "--stats"][..], "cannot be used with"),
        (&["--stats", "--quiet"], "cannot be used with"),
        (&["--seed", "5@3", "--epoch", "4"], "'--epoch <N>' gives another"),
        (&["--epoch", "1", "--seed", "5@0"], "'--epoch <N>' gives another"),
        (&["-o", "a", "-o", "b"], "'--output <FILE>' names several files"),
    ] {
        let outcome = folder.run(arguments, b"a\n");
        assert_eq!((outcome.code, outcome.stdout), (1, vec![]), "{arguments:?}");
        assert!(outcome.stderr.contains(why), "{arguments:?} {}", outcome.stderr);
    }
}

#[test]
fn no_input_is_read_for_no_output() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("folder")).unwrap();
    for arguments in [
        &["missing"][..],
        &["missing", "another"],
        &["."],
        &["-r", "missing"],
        &["-z", "missing"],
        &["--record", "8", "missing"],
        &["--shard", "0/2", "missing"],
        &["-o", "new", "missing"],
        &["--together", "-o", "folder", "missing", "another"],
    ] {
        assert_eq!(folder.output(&[&["-n0"], arguments].concat(), b""), b"", "{arguments:?}");
    }
    assert_eq!((folder.read("new"), folder.read("folder/missing")), (vec![], vec![]));
    // A header is wanted.
    for arguments in [&["--record", "8", "--header-bytes", "1", "missing"][..], &["missing.npy"]] {
        folder.complaint(&[&["-n0"], arguments].concat(), b"");
    }
}

#[cfg(unix)]
#[test]
fn streams_that_are_closed_are_noticed() {
    let folder = Folder::new();
    folder.write("text", b"a\nb\n");
    let shell = |script: &str| {
        let mut command = Command::new("sh");
        folder.finish(command.args(["-c", script]).arg(program()), b"")
    };
    for (script, name) in [
        (r#""$0" text >&-"#, "standard output"),
        (r#""$0" -i 1-3 >&-"#, "standard output"),
        (r#""$0" --help >&-"#, "standard output"),
        (r#""$0" --version >&-"#, "standard output"),
        (r#""$0" --generate bash >&-"#, "standard output"),
        (r#""$0" <&-"#, "standard input"),
        (r#""$0" text - <&-"#, "standard input"),
        (r#""$0" --record 1 <&- >&2"#, "standard input"),
    ] {
        let outcome = shell(script);
        assert_eq!((outcome.code, outcome.stdout.as_slice()), (1, &b""[..]), "{script}");
        let complaint = one_line(&outcome.stderr);
        assert!(complaint.starts_with(&format!("bshuf: {name}: Bad file desc")), "{complaint}");
    }
    for script in [
        r#""$0" -q text <&-"#,
        r#""$0" -q -o new text >&-"#,
        r#""$0" text >/dev/null 2>&-"#,
        r#""$0" -q </dev/null"#,
        r#""$0" -q text 1<>/dev/null"#,
    ] {
        assert_eq!(shell(script).code, 0, "{script}");
    }
    assert_eq!(folder.read("new").len(), 4);
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (word ^ (word >> 31)) % bound
    }

    /// Whether a chance of one in so many comes true.
    fn is_one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }

    fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// Lines of some letters, perhaps without the last end.
    fn text(&mut self, most: u64, delimiter: u8) -> Vec<u8> {
        let mut text = Vec::new();
        for _ in 0..self.below(most + 1) {
            for _ in 0..self.below(6) {
                text.push(*self.pick(&[&b'a', &b'b', &b'\r', &b' ', &0xE9, &(b'\n' ^ delimiter)]));
            }
            text.push(delimiter);
        }
        if self.is_one_in(2) {
            text.pop();
        }
        text
    }
}

/// Where the items come from.
enum Source {
    Files(Vec<Vec<u8>>),
    Arguments(Vec<String>),
    Range(u64, u64),
    Records { size: usize, header: usize, files: Vec<Vec<u8>> },
}

/// A command line, and what should come of it.
struct Trial {
    arguments: Vec<String>,
    files: Vec<Vec<u8>>,
    /// What is written, and how many items of it; `None` if the command line makes no sense.
    expected: Option<(Vec<u8>, usize)>,
    ends_added: usize,
}

/// The items of a source, and what stands before them.
fn items(source: &Source, delimiter: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    let line = |text: String| [text.as_bytes(), &[delimiter]].concat();
    match source {
        Source::Files(files) => {
            let all: Vec<u8> = files.iter().flat_map(|text| ended(text, delimiter)).collect();
            let lines = all.split_inclusive(|&byte| byte == delimiter).map(<[u8]>::to_vec);
            (vec![], lines.collect())
        }
        Source::Arguments(arguments) => (vec![], arguments.iter().cloned().map(line).collect()),
        Source::Range(first, last) => {
            (vec![], (*first..=*last).map(|number| line(number.to_string())).collect())
        }
        Source::Records { size, header, files } => {
            let records = files.iter().flat_map(|text| text[*header..].chunks(*size));
            (files[0][..*header].to_vec(), records.map(<[u8]>::to_vec).collect())
        }
    }
}

/// Draws a command line and says what should come of it.
fn trial(dice: &mut Dice) -> Trial {
    let is_zero = dice.is_one_in(4);
    let delimiter = if is_zero { 0 } else { b'\n' };
    let is_large = dice.is_one_in(25);
    let source = match dice.below(8) {
        0 => Source::Arguments(
            (0..dice.below(9))
                .map(|_| dice.pick(&["", "a", "b c", "-", "d\ne"]).to_owned())
                .collect(),
        ),
        1 => {
            let first = dice.below(1000);
            Source::Range(first, first + dice.below(3000))
        }
        2 => {
            let (size, header) = (1 + dice.below(9) as usize, dice.below(3) as usize * 4);
            let mut file = || {
                let records = dice.below(200) as usize * if is_large { 3000 } else { 1 };
                (0..header + size * records).map(|k| (k * 31 % 251) as u8).collect()
            };
            Source::Records { size, header, files: vec![file(), file()] }
        }
        _ => {
            let mut files: Vec<_> =
                (0..1 + dice.below(3)).map(|_| dice.text(60, delimiter)).collect();
            if is_large {
                files[0].splice(
                    0..0,
                    (0..120_000).flat_map(|k| {
                        let mut line = format!("{k}").into_bytes();
                        line.push(delimiter);
                        line
                    }),
                );
            }
            Source::Files(files)
        }
    };
    let (header, items) = items(&source, delimiter);
    let count = items.len() as u64;

    let mut arguments: Vec<String> = Vec::new();
    let mut add = |parts: &[&str]| arguments.extend(parts.iter().map(|&part| part.to_owned()));
    let (seed, epoch) = (dice.below(1 << 40), dice.below(3));
    match dice.below(3) {
        0 => add(&["--seed", &format!("{seed}@{epoch}")]),
        1 => add(&["--see", &seed.to_string(), "--epoch", &epoch.to_string()]),
        _ => add(&[&format!("--seed={seed}"), "--ep", &epoch.to_string()]),
    }
    let seed = Seed::new(seed).with_epoch(epoch);
    if is_zero {
        add(dice.pick(&[&["-z"][..], &["--zero-terminated"], &["-z", "-z"]]));
    }
    let is_repeated = dice.is_one_in(6);
    let is_undone = dice.is_one_in(4);
    let mut head = None;
    if is_repeated || dice.is_one_in(4) {
        for _ in 0..1 + dice.below(2) {
            let count = dice.below(count + 5);
            add(&["-n", &count.to_string()]);
            head = Some(head.map_or(count, |head: u64| head.min(count)));
        }
    }
    if is_repeated {
        add(&[dice.pick(&["-r", "--repeat", "--rep"])]);
    }
    if is_undone {
        add(&["--undo"]);
    }
    let shard = dice.is_one_in(5).then(|| {
        let ranks = 1 + dice.below(5);
        (dice.below(ranks), ranks)
    });
    if let Some((rank, ranks)) = shard {
        add(&["--shard", &format!("{rank}/{ranks}")]);
    }
    let range = dice.is_one_in(5).then(|| {
        let start = dice.below(count + 3);
        (start, start + dice.below(count + 3))
    });
    if let Some((start, end)) = range {
        add(&["--range", &format!("{start}..{end}")]);
    }
    add(&["--memory", if is_repeated { "1G" } else { dice.pick(&["1M", "2M", "1G"]) }]);
    let mut is_sensible = !(is_undone && (is_repeated || head.is_some()))
        && !(is_repeated && (shard.is_some() || range.is_some()))
        && !(is_repeated && count == 0 && head != Some(0));
    let mut files = Vec::new();
    let mut ends_added = 0;
    match source {
        Source::Files(texts) => {
            if !is_zero {
                // They may have a NUL.
                add(&[dice.pick(&["-a", "--text"])]);
            }
            ends_added = texts.iter().filter(|text| ended(text, delimiter) != **text).count();
            files = texts;
        }
        Source::Arguments(words) => {
            add(&[dice.pick(&["-e", "--echo"]), "--"]);
            words.iter().for_each(|word| add(&[word]));
        }
        Source::Range(first, last) => {
            add(&["-i", &format!("{first}-{last}")]);
            is_sensible &= !is_undone;
        }
        Source::Records { size, header, files: texts } => {
            add(&["--record", &size.to_string(), "--header-bytes", &header.to_string()]);
            is_sensible &= !is_zero;
            files = texts;
        }
    }

    // The model.
    let mut chosen: Vec<u64> = if is_repeated {
        let draws = head.filter(|_| count > 0).unwrap_or(0);
        let mut words = vec![0_u64; draws as usize];
        Philox4x32Rng::new(seed, 0).fill_u64(&mut words);
        words.iter().map(|&word| ((u128::from(word) * u128::from(count)) >> 64) as u64).collect()
    } else {
        let order: Vec<u64> = Permutation::new(count, seed).iter().collect();
        let mut back = vec![0; order.len()];
        (0..count).for_each(|place| back[order[place as usize] as usize] = place);
        if is_undone { back } else { order }
    };
    if !is_repeated {
        if let Some((rank, ranks)) = shard {
            chosen = chosen[(count * rank / ranks) as usize..(count * (rank + 1) / ranks) as usize]
                .to_vec();
        }
        if let Some((start, end)) = range {
            let end = (end as usize).min(chosen.len());
            chosen = chosen[(start as usize).min(end)..end].to_vec();
        }
        chosen.truncate(head.unwrap_or(u64::MAX) as usize);
    }
    if head == Some(0) {
        ends_added = 0;
    }
    let written = chosen.iter().flat_map(|&item| items[item as usize].iter().copied());
    let written = header.into_iter().chain(written).collect();
    let expected = is_sensible.then_some((written, chosen.len()));
    Trial { arguments, files, expected, ends_added }
}

/// Trials of command lines, of which `BIJECTIVE_SHUFFLE_LONG` takes more.
#[test]
fn options_do_what_a_model_does() {
    let trials = if std::env::var_os("BIJECTIVE_SHUFFLE_LONG").is_some() { 6000 } else { 300 };
    let (mut sensible, mut large) = (0, 0);
    for number in 0..trials {
        let mut dice = Dice(number);
        let Trial { arguments, files, expected, ends_added } = trial(&mut dice);
        let folder = Folder::new();
        let mut command = Command::new(program());
        command.arg("--stats").args(&arguments);
        // One of the files comes through a pipe.
        let piped = dice.below(2 * files.len() as u64 + 1) as usize;
        for (place, file) in files.iter().enumerate() {
            let name = format!("file{place}");
            folder.write(&name, file);
            command.arg(if place == piped { "-" } else { &name });
        }
        let has_file = dice.is_one_in(4);
        if has_file {
            let name = dice.pick(&["new", "file0"]);
            // Behind `--` it would be an argument.
            if arguments.contains(&"--".to_owned()) {
                command = with_output(&command, name);
            } else {
                command.args(["--output", name]);
            }
            let outcome = folder.finish(&mut command, files.get(piped).map_or(b"", Vec::as_slice));
            check(number, &arguments, &outcome, expected.as_ref(), ends_added, || {
                folder.read(name)
            });
        } else {
            let outcome = folder.finish(&mut command, files.get(piped).map_or(b"", Vec::as_slice));
            check(number, &arguments, &outcome, expected.as_ref(), ends_added, || {
                outcome.stdout.clone()
            });
        }
        sensible += usize::from(expected.is_some());
        large += usize::from(files.iter().any(|file| file.len() > 1 << 19));
    }
    println!("{trials} trials, {sensible} that make sense, {large} larger than memory");
    assert!(sensible > trials as usize / 2 && large > 0, "{sensible} {large}");
}

/// The same command, with an output before its other arguments.
fn with_output(command: &Command, name: &str) -> Command {
    let mut other = Command::new(command.get_program());
    other.args(["--output", name]).args(command.get_args());
    other
}

fn check(
    number: u64,
    arguments: &[String],
    outcome: &crate::folder::Outcome,
    expected: Option<&(Vec<u8>, usize)>,
    ends_added: usize,
    written: impl Fn() -> Vec<u8>,
) {
    let shown = format!("trial {number}: {arguments:?}: {}", outcome.stderr);
    let Some((bytes, items)) = expected else {
        assert_eq!((outcome.code, outcome.stdout.len()), (1, 0), "{shown}");
        return;
    };
    assert_eq!(outcome.code, 0, "{shown}");
    assert!(written() == *bytes, "{shown}");
    assert_eq!(statistic(&outcome.stderr, "lines"), *items as u64, "{shown}");
    assert_eq!(statistic(&outcome.stderr, "bytes"), bytes.len() as u64, "{shown}");
    assert_eq!(statistic(&outcome.stderr, "line_ends_added"), ends_added as u64, "{shown}");
}

#[test]
fn an_option_does_not_go_without_the_one_that_it_needs() {
    let folder = Folder::new();
    folder.write("text", b"1\n2\n");
    let mut cases = vec![
        (&["--header-bytes", "1"][..], "record"),
        (&["--header-bytes", "1", "-z"], "record"),
        (&["--header-bytes", "1", "-e"], "record"),
        (&["--together"], "output"),
    ];
    let others: [&[&str]; 5] = [&[], &["-o", "x"], &["-r", "-n", "1"], &["--record", "1"], &["-e"]];
    let of_shards: [&[&str]; 6] = [
        &["--shards", "2"],
        &["--shard-bytes", "1M"],
        &["--shard-records", "2"],
        &["--split", "a=rest"],
        &["--resume"],
        &["--worker", "0/2", "--stage", "count", "--seed", "5"],
    ];
    let all = of_shards.map(|option| others.map(|other| [option, other].concat()));
    cases.extend(all.iter().flatten().map(|options| (options.as_slice(), "output-dir")));
    cases.push((&["--worker", "0/2", "--output-dir", "x"], "stage"));
    cases.push((&["--stage", "count", "--output-dir", "x"], "worker"));
    for (options, needed) in cases {
        let outcome = folder.run(&[options, &["text"]].concat(), b"");
        assert_eq!((outcome.code, outcome.stdout.len()), (1, 0), "{options:?}");
        let said = format!("'{}' needs '--{needed}'", options[0]);
        assert!(outcome.stderr.contains(&said), "{options:?}: {}", outcome.stderr);
        assert_eq!(folder.names(), ["text"], "{options:?}");
    }
}

#[test]
fn an_epoch_may_be_said_twice() {
    let folder = Folder::new();
    let expected = folder.output(&["--seed", "5@3"], &numbered(99));
    for options in [&["--seed", "5@3", "--epoch", "3"][..], &["--epoch", "3", "--seed", "5"]] {
        assert!(folder.output(options, &numbered(99)) == expected, "{options:?}");
    }
}
