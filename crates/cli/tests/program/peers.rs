//! The cases of the suites of other programs of this kind, as a table of input and outcome.
//!
//! They are those of GNU coreutils (`tests/shuf/shuf.sh` and `shuf-reservoir.sh`, of 2026) and of
//! uutils (`tests/by-util/test_shuf.rs`, of 2026-08-22). An outcome is an exit code, what is
//! written, and which files are there afterwards; the wording of messages is each program's own.

use std::io::{BufRead, BufReader};
use std::process::Command;

use crate::folder::{Folder, program};

/// What a case expects.
#[derive(Clone, Debug)]
enum Expected {
    /// These lines, in any order.
    Lines(Vec<String>),
    /// So many lines, all of them from these numbers, and each of the numbers at least once if the
    /// last is `true`.
    Numbers(usize, u64, u64, bool),
    /// These bytes.
    Bytes(&'static [u8]),
    /// A thousand lines, and more of them, all from these.
    Endless(&'static [&'static str]),
    /// More than a thousand lines, all different numbers.
    EndlessNumbers,
    /// Exit code 1, and nothing on standard output.
    Failure,
}

use Expected::{Bytes, Endless, EndlessNumbers, Failure, Lines, Numbers};

/// What is said of a case.
#[derive(Clone, Debug)]
enum Verdict {
    /// The program does what the other one does.
    Same(Expected),
    /// It does something else, and why.
    Differs(Expected, &'static str),
}

use Verdict::{Differs, Same};

#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    arguments: Vec<String>,
    input: Vec<u8>,
    verdict: Verdict,
    /// What a file has to have in the end.
    file: Option<(&'static str, &'static [u8])>,
}

fn case(name: &'static str, arguments: &str, input: &str, verdict: Verdict) -> Case {
    let arguments = arguments.split(' ').filter(|part| !part.is_empty()).map(str::to_owned);
    let input = input.as_bytes().to_vec();
    Case { name, arguments: arguments.collect(), input, verdict, file: None }
}

/// The numbers of a range, as lines.
fn lines(first: u64, last: u64) -> Vec<String> {
    (first..=last).map(|number| number.to_string()).collect()
}

fn words(words: &str) -> Expected {
    Lines(words.split(' ').map(str::to_owned).collect())
}

const NOTHING: Expected = Bytes(b"");

const NO_SOURCE: &str = "--seed replaces --random-source: an order is that of a number and the \
                         length, and not of the bytes of a file";

const NO_WORDS: &str = "a seed is a number or 64 hexadecimal digits, given by --seed, and another \
                        program's order is another";

const RANGE_IS_NOT_HELD: &str = "the numbers of a range are computed when they are written, and \
                                 take no memory";

/// A folder with the files that cases name.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in", lines(1, 100).join("\n") + "\n");
    folder.write("file_input.txt", lines(11, 20).join("\n") + "\n");
    folder.write("out", "keep me\n");
    folder.write("empty", "");
    folder.write("file_a", "a\n");
    folder.write("file_b", "b");
    folder.write("file_c", "c\n");
    folder.write("hello", "hello\n");
    folder
}

/// GNU coreutils.
fn gnu() -> Vec<Case> {
    let letters = "A\nB\nC\nD\nE\n";
    let mut cases = vec![
        case("lines of a file", "in", "", Same(Lines(lines(1, 100)))),
        case("numbers of a range", "-i 1-100", "", Same(Lines(lines(1, 100)))),
        case("arguments", "-e a b c d e", "", Same(words("a b c d e"))),
        case("none of no arguments, without end", "-er", "", Same(Failure)),
        case("an operand besides a range", "-i0-0 1", "", Same(Failure)),
        case(
            "more than 8 KiB through a pipe",
            "",
            &(lines(1, 1860).join("\n") + "\n"),
            Same(Lines(lines(1, 1860))),
        ),
        case("NUL as the end", "--zero-terminated -i 1-1", "", Same(Bytes(b"1\0"))),
        case(
            "memory for a range",
            "--memory 1M -i1-1000000",
            "",
            Differs(Numbers(1_000_000, 1, 1_000_000, true), RANGE_IS_NOT_HELD),
        ),
        case(
            "two of a huge range",
            "-i1-18446744073709551615 -n2",
            "",
            Same(Numbers(2, 1, u64::MAX, false)),
        ),
        case("several counts", "-n10 -i0-9 -n3 -n20", "", Same(Numbers(3, 0, 9, false))),
        case("a range and arguments", "-i0-9 -e A B", "", Same(Failure)),
        case("a count that is none", "-nA", "", Same(Failure)),
        case("two ranges", "-i0-9 -n10 -i8-90", "", Same(Failure)),
        case("a range of one number", "-i1", "", Same(Failure)),
        case("a range of a letter", "-iA", "", Same(Failure)),
        case("a range without its end", "-i1-", "", Same(Failure)),
        case("a range that ends in a letter", "-i1-A", "", Same(Failure)),
        case("two outputs", "-i0-9 -o A -o B", "", Same(Failure)),
        case("two random sources", "-i0-9 --random-source A --random-source B", "", Same(Failure)),
        case(
            "a range without end",
            "--rep -i 0-10",
            "",
            Same(Endless(&["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"])),
        ),
        case("more than a range has", "--rep -i0-9 -n1000", "", Same(Numbers(1000, 0, 9, true))),
        case(
            "more than a range has that begins above 0",
            "--rep -i222-233 -n2000",
            "",
            Same(Numbers(2000, 222, 233, true)),
        ),
        case("none of a range", "--rep -i0-9 -n0", "", Same(NOTHING)),
        case("arguments without end", "--rep -e A B C D", "", Same(Endless(&["A", "B", "C", "D"]))),
        case("lines without end", "--rep", letters, Same(Endless(&["A", "B", "C", "D", "E"]))),
        case(
            "more lines than there are",
            "--rep -n2000",
            "1\n2\n3\n4\n5\n",
            Same(Numbers(2000, 1, 5, true)),
        ),
        case("none of some lines", "--rep -n0", letters, Same(NOTHING)),
    ];
    // The sizes of its reservoirs.
    let sizes = [0_u64, 1, 5, 1023, 1024, 1025, 3071, 3072, 3073];
    for (found, wanted) in sizes.iter().flat_map(|&found| sizes.map(|wanted| (found, wanted))) {
        let text: String = lines(1, found).iter().map(|line| format!("{line}\n")).collect();
        let count = found.min(wanted) as usize;
        let numbers = Numbers(count, 1, found, wanted >= found);
        let arguments = format!("-n {wanted} -o reservoir");
        cases.push(case("lines into a reservoir", &arguments, &text, Same(numbers)));
    }
    cases
}

/// uutils.
fn uutils() -> Vec<Case> {
    let ten = lines(1, 10).join("\n");
    let (max, below) = (u64::MAX, u64::MAX - 1);
    let full = |arguments: &str| arguments.replace("MAX-1", &below.to_string());
    let full = |arguments: &str| full(arguments).replace("MAX", &max.to_string());
    let seven = "1\n2\n3\n4\n5\n6\n7\n";
    let mut cases = vec![
        case("invalid_arg", "--definitely-invalid", "", Same(Failure)),
        case("output_is_random_permutation", "", &ten, Same(Lines(lines(1, 10)))),
        case("explicit_stdin_file", "-", &ten, Same(Lines(lines(1, 10)))),
        case("zero_termination", "-z -i1-10", "", Same(Lines(lines(1, 10)))),
        case("zero_termination_multi", "-z -z -i1-10", "", Same(Lines(lines(1, 10)))),
        case(
            "very_large_range",
            "-n 10 -i0-1234567890",
            "",
            Same(Numbers(10, 0, 1_234_567_890, false)),
        ),
        case(
            "very_large_range_offset",
            "-n 10 -i1234567890-2147483647",
            "",
            Same(Numbers(10, 1_234_567_890, 2_147_483_647, false)),
        ),
        case(
            "range_repeat_no_overflow_1_max",
            &full("-rn1 -i1-MAX"),
            "",
            Same(Numbers(1, 1, max, false)),
        ),
        case(
            "range_repeat_no_overflow_0_max_minus_1",
            &full("-rn1 -i0-MAX-1"),
            "",
            Same(Numbers(1, 0, below, false)),
        ),
        case(
            "range_permute_no_overflow_1_max",
            &full("-n1 -i1-MAX"),
            "",
            Same(Numbers(1, 1, max, false)),
        ),
        case(
            "range_permute_no_overflow_0_max_minus_1",
            &full("-n1 -i0-MAX-1"),
            "",
            Same(Numbers(1, 0, below, false)),
        ),
        case(
            "range_permute_no_overflow_0_max",
            &full("-n1 -i0-MAX"),
            "",
            Differs(Failure, "it has 2^64 numbers, which no count of 64 bits can say, as GNU's"),
        ),
        case(
            "range_full_huge_no_head_count_memory_exhausted",
            &full("-i1-MAX"),
            "",
            Differs(EndlessNumbers, RANGE_IS_NOT_HELD),
        ),
        case(
            "range_huge_head_count_memory_exhausted",
            &full("-nMAX -i1-MAX"),
            "",
            Differs(EndlessNumbers, RANGE_IS_NOT_HELD),
        ),
        case(
            "very_high_range_full",
            "-i2147483641-2147483647",
            "",
            Same(Lines(lines(2_147_483_641, 2_147_483_647))),
        ),
        case("range_repeat", "-r -n 500 -i12-34", "", Same(Numbers(500, 12, 34, false))),
        case("empty_input", "", "", Same(NOTHING)),
        case("echo", "-e 1 2 3 4 5 6 7 8 9 10", "", Same(Lines(lines(1, 10)))),
        case("echo_multi", "-e a b -e c", "", Same(words("a b c"))),
        case("echo_postfix", "a b c -e", "", Same(words("a b c"))),
        case("echo_short_collapsed_zero", "-ez a b c", "", Same(words("a b c"))),
        case("head_count", "-n 5", &ten, Same(Numbers(5, 1, 10, false))),
        case("zero_head_count_pipe", "-n0", "", Same(NOTHING)),
        case("zero_head_count_pipe_explicit", "-n0 -", "", Same(NOTHING)),
        case("zero_head_count_file_unreadable", "-n0 /invalid/unreadable", "", Same(NOTHING)),
        case(
            "zero_head_count_file_touch_output_negative",
            "-n0 -o /invalid/unwritable",
            "",
            Same(Failure),
        ),
        Case {
            file: Some(("file", b"")),
            ..case(
                "zero_head_count_file_touch_output_positive_new",
                "-n0 -o file",
                "",
                Same(NOTHING),
            )
        },
        Case {
            file: Some(("empty", b"")),
            ..case(
                "zero_head_count_file_touch_output_positive_existing",
                "-n0 -o empty",
                "",
                Same(NOTHING),
            )
        },
        Case {
            file: Some(("out", b"keep me\n")),
            ..case(
                "output_not_truncated_when_input_missing",
                "-o out does-not-exist",
                "",
                Same(Failure),
            )
        },
        Case {
            file: Some(("out", b"keep me\n")),
            ..case(
                "output_not_truncated_when_random_source_missing",
                "-o out --random-source=does-not-exist in",
                "",
                Same(Failure),
            )
        },
        case("zero_head_count_echo", "-n0 -e hello", "", Same(NOTHING)),
        case("zero_head_count_range", "-n0 -i4-8", "", Same(NOTHING)),
        case("head_count_multi_big_then_small", "-n 6 -n 5", &ten, Same(Numbers(5, 1, 10, false))),
        case("head_count_multi_small_then_big", "-n 5 -n 6", &ten, Same(Numbers(5, 1, 10, false))),
        case("repeat", "-r -n 15000", &ten, Same(Numbers(15_000, 1, 10, true))),
        case("repeat_multi", "-r -r -n 15000", &ten, Same(Numbers(15_000, 1, 10, true))),
        case("file_input", "file_input.txt", "", Same(Lines(lines(11, 20)))),
        case("echo_and_input_range_not_allowed", "-e 0 -i 0-2", "", Same(Failure)),
        case("input_range_and_file_not_allowed", "-i 0-9 file_a", "", Same(Failure)),
        case("invalid_input_range_one", "-i 0", "", Same(Failure)),
        case("invalid_input_range_two", "-i a-9", "", Same(Failure)),
        case("invalid_input_range_three", "-i 0-b", "", Same(Failure)),
        case("multiple_input_ranges", "-i 2-9 -i 2-9", "", Same(Failure)),
        case("multiple_outputs", "-o file_a -o file_b", "", Same(Failure)),
        case(
            "two_input_files",
            "file_a file_b",
            "",
            Differs(words("a b"), "several inputs are joined"),
        ),
        case(
            "three_input_files",
            "file_a file_b file_c",
            "",
            Differs(words("a b c"), "several inputs are joined"),
        ),
        case("invalid_input_line_count", "-n a", "", Same(Failure)),
        case(
            "multiple_input_line_count",
            "-i10-200 -n 10 -n 5",
            "",
            Same(Numbers(5, 10, 200, false)),
        ),
        case("repeat_empty_range", "-ri4-3", "", Same(Failure)),
        case("repeat_empty_echo", "-re", "", Same(Failure)),
        case("repeat_empty_input", "-r", "", Same(Failure)),
        case("range_one_elem", "-i5-5", "", Same(Bytes(b"5\n"))),
        case("range_empty", "-i5-4", "", Same(NOTHING)),
        case("range_empty_minus_one", "-i5-3", "", Same(Failure)),
        case("range_repeat_one_elem", "-n1 -ri5-5", "", Same(Bytes(b"5\n"))),
        case("range_repeat_empty", "-n1 -ri5-4", "", Same(Failure)),
        case("range_repeat_empty_minus_one", "-n1 -ri5-3", "", Same(Failure)),
        case("head_count_does_not_overflow_file", "-n4294967296 hello", "", Same(words("hello"))),
        case("head_count_does_not_overflow_args", "-n4294967296 -e a", "", Same(words("a"))),
        case("head_count_does_not_overflow_range", "-n4294967296 -i1-1", "", Same(words("1"))),
        case("empty_range_no_repeat", "-i4-3", "", Same(NOTHING)),
    ];
    for (name, options, input) in [
        ("gnu_compat_range_repeat", "-r -i1-99", ""),
        ("gnu_compat_args_no_repeat", "-e 1 2 3 4 5 6 7", ""),
        ("gnu_compat_from_stdin", "", seven),
        ("gnu_compat_from_file", "in", ""),
        ("gnu_compat_limited_from_file", "-n5 in", ""),
        ("gnu_compat_limited_from_stdin", "-n7", seven),
        ("gnu_compat_range_no_repeat", "-i1-10", ""),
    ] {
        let arguments = format!("--random-source=hello {options}");
        cases.push(case(name, &arguments, input, Differs(Failure, NO_SOURCE)));
    }
    for (name, options) in [
        ("seed_args_repeat", "--random-seed=🌱 -e -r -n10 foo bar baz qux"),
        ("seed_args_no_repeat", "--random-seed=🌱 -e foo bar baz qux"),
        ("seed_range_repeat", "--random-seed=🦀 -r -i1-99 -n10"),
        ("seed_range_no_repeat", "--random-seed=12345 -i1-10"),
        ("seed_long_range_no_repeat", "--random-seed=67890 -i1-100 -n50"),
    ] {
        cases.push(case(name, options, "", Differs(Failure, NO_WORDS)));
    }
    // Arguments that are not words.
    let echo = |name, arguments: &[&str], expected| Case {
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        ..case(name, "", "", Same(expected))
    };
    let separators = ["-e", "-n2", "a\nb", "c\nd"];
    cases.push(echo("echo_separators_in_arguments", &separators, words("a b c d")));
    #[cfg(target_os = "linux")]
    cases.push(case("write_errors_are_reported", "-i1-10 -o/dev/full", "", Same(Failure)));
    cases
}

/// Whether an output has the lines that are expected.
fn check(case: &Case, expected: &Expected, stdout: &[u8]) {
    let delimiter = if case
        .arguments
        .iter()
        .any(|argument| ["-z", "-ez", "--zero-terminated"].contains(&argument.as_str()))
    {
        0
    } else {
        b'\n'
    };
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    assert!(stdout.is_empty() || stdout.ends_with(&[delimiter]), "{case:?}");
    let mut found: Vec<String> = stdout.split(|&byte| byte == delimiter).map(text).collect();
    found.pop();
    match expected {
        Lines(lines) => {
            let mut sorted = lines.clone();
            sorted.sort();
            // The chance that ten or more lines keep their order is below one in three million.
            assert!(lines.len() < 10 || found != *lines, "{case:?}");
            found.sort();
            assert_eq!(found, sorted, "{case:?}");
        }
        Numbers(count, first, last, is_each) => {
            assert_eq!(found.len(), *count, "{case:?}");
            let mut numbers: Vec<u64> = found.iter().map(|line| line.parse().unwrap()).collect();
            assert!(numbers.iter().all(|number| (first..=last).contains(&number)), "{case:?}");
            numbers.sort();
            numbers.dedup();
            let is_repeated = case.arguments.iter().any(|argument| argument.starts_with("-r"))
                || case.arguments.contains(&"--rep".to_owned());
            assert!(is_repeated || numbers.len() == *count, "{case:?}");
            assert!(
                !is_each || *count == 0 || numbers.len() as u64 == last - first + 1,
                "{case:?}"
            );
        }
        Bytes(bytes) => assert_eq!(stdout, *bytes, "{case:?}"),
        Endless(_) | EndlessNumbers | Failure => unreachable!(),
    }
}

/// Runs a case.
fn run(case: &Case) {
    let folder = folder();
    let (Same(expected) | Differs(expected, _)) = &case.verdict;
    let mut command = Command::new(program());
    command.arg("--quiet").args(&case.arguments);
    if matches!(expected, Endless(_) | EndlessNumbers) {
        let mut child = folder.spawn(&mut command);
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &case.input).unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let mut found: Vec<String> = stdout.lines().take(1000).map(Result::unwrap).collect();
        child.wait().unwrap();
        assert_eq!(found.len(), 1000, "{case:?}");
        match expected {
            Endless(lines) => assert!(found.iter().all(|line| lines.contains(&line.as_str()))),
            _ => {
                found.sort();
                found.dedup();
                assert_eq!(found.len(), 1000);
                assert!(found.iter().all(|line| line.parse::<u64>().is_ok()));
            }
        }
        return;
    }
    let outcome = folder.finish(&mut command, &case.input);
    if matches!(expected, Failure) {
        assert_eq!((outcome.code, outcome.stdout.len()), (1, 0), "{case:?} {outcome:?}");
        assert!(!outcome.stderr.is_empty(), "{case:?}");
    } else {
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{case:?}");
        let has_file = case.arguments.contains(&"reservoir".to_owned());
        let stdout = if has_file { folder.read("reservoir") } else { outcome.stdout };
        check(case, expected, &stdout);
    }
    if let Some((name, bytes)) = case.file {
        assert_eq!(folder.read(name), bytes, "{case:?}");
    }
}

/// Runs cases, and counts those that are the same and those that differ.
fn count(cases: &[Case]) -> (usize, usize) {
    cases.iter().for_each(run);
    let differ = cases.iter().filter(|case| matches!(case.verdict, Differs(..))).count();
    for case in cases {
        if let Differs(expected, why) = &case.verdict {
            println!("differs: {}: {expected:?} because {why}", case.name);
        }
    }
    println!("{} cases: {} same, {differ} differ", cases.len(), cases.len() - differ);
    (cases.len() - differ, differ)
}

#[test]
fn cases_of_gnu_coreutils() {
    assert_eq!(count(&gnu()), (107, 1));
}

#[test]
fn cases_of_uutils() {
    let linux = usize::from(cfg!(target_os = "linux"));
    assert_eq!(count(&uutils()), (57 + linux, 17));
}

/// Those of GNU that take more than arguments and an input.
#[cfg(unix)]
#[test]
fn cases_of_gnu_coreutils_with_streams() {
    let folder = folder();
    let shell = |script: &str, arguments: &[&str]| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(program()).arg("--quiet").args(arguments);
        folder.finish(&mut command, b"")
    };
    // None of a file, and no line of an empty one, without a standard input.
    for arguments in [&["-r", "-n", "0", "in"][..], &["/dev/null"]] {
        let outcome = shell(r#"exec "$0" "$@" <&-"#, arguments);
        assert_eq!((outcome.code, outcome.stdout.len()), (0, 0), "{arguments:?} {outcome:?}");
    }
    // One number of 2^64 - 1, twice, where the program is at the same place in memory.
    let one = |_| folder.output(&["-i", "1-18446744073709551615", "-n", "1"], b"");
    let [first, second] = [0, 1].map(one);
    assert_ne!(first, second);
    // A system without random numbers: they come from elsewhere, or that is an error.
    if Command::new("strace").arg("--version").output().is_ok() {
        let traced = r#"exec strace -f -o /dev/null -e inject=getrandom:error=ENOSYS "$0" "$@""#;
        let outcome = shell(traced, &["-i", "1-9"]);
        assert!(
            outcome.code == 0 && outcome.stdout.len() == 18 || outcome.code == 1,
            "{outcome:?}"
        );
    } else {
        println!("skipped: there is no strace");
    }
}

/// Names and arguments that are not UTF-8, as in two cases of uutils.
#[cfg(target_os = "linux")]
#[test]
fn cases_of_uutils_that_are_not_utf_8() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = Folder::new();
    let odd = OsStr::from_bytes(b"a\xFFb");
    std::fs::write(folder.path("").join(odd), b"foo\n").unwrap();
    let run = |arguments: &[&OsStr]| {
        folder.finish(Command::new(program()).arg("-q").args(arguments), b"")
    };
    assert_eq!(run(&[odd]).stdout, b"foo\n");
    let echoed = run(&[OsStr::new("-e"), odd, OsStr::new("ok")]).stdout;
    assert!(echoed == b"a\xFFb\nok\n" || echoed == b"ok\na\xFFb\n");
}

/// A file that may not be read, as in a case of GNU.
#[cfg(unix)]
#[test]
fn case_of_gnu_coreutils_that_cannot_read() {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::PermissionsExt;

    use crate::folder::{one_line, unprivileged};

    let folder = Folder::new();
    let Some(start) = unprivileged(&folder) else { return };
    folder.write("unreadable", b"a\n");
    set_permissions(folder.path("unreadable"), Permissions::from_mode(0o200)).unwrap();
    let run = |head: &str| folder.finish(start().args([head, "unreadable"]), b"");
    let nothing = run("-n0");
    assert_eq!((nothing.code, nothing.stdout), (0, Vec::new()));
    let refused = run("-n1");
    assert_eq!((refused.code, refused.stdout), (1, Vec::new()));
    let complaint = one_line(&refused.stderr);
    assert!(complaint.starts_with("bshuf: unreadable: Permission denied"), "{complaint}");
}
