//! The commands that the documents show, run as a reader would type them.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use bijective_shuffle_cli::formats::{Codec, Compression};
use tempfile::TempDir;

use crate::sets::{CODECS, ENDS};

/// A folder with what the documents' commands read, and the lines of most files in it.
fn prepared() -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let names: String = (0..100).map(|k| format!("name {k}\n")).collect();
    for file in ["names.txt", "a.txt", "b.txt"] {
        fs::write(folder.path().join(file), &names).unwrap();
    }
    fs::create_dir(folder.path().join("crawl")).unwrap();
    for file in ["crawl/1.txt", "crawl/2.txt"] {
        fs::write(folder.path().join(file), &names).unwrap();
    }
    fs::write(folder.path().join("table.csv"), "name\n\"a\nb\"\nc\n").unwrap();
    fs::write(folder.path().join("r.fq.gz"), "@1\nAC\n+\n!!\n").unwrap();
    fs::write(folder.path().join("s.fa"), ">1\nAC\nGT\n>2\nC\n").unwrap();
    fs::write(folder.path().join("c.vcf"), "##x\n#CHROM\n1\n2\n").unwrap();
    // No records.
    fs::write(folder.path().join("t.tfrecord"), "").unwrap();
    (folder, names)
}

/// Runs commands in a folder, in which there may be other programs.
fn shell(folder: &TempDir, commands: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_bshuf")).parent().unwrap();
    let others = std::env::var("PATH").unwrap();
    let path = format!("{}:{}:{others}", folder.path().display(), program.display());
    let mut shell = Command::new("sh");
    shell.arg("-euc").arg(commands).current_dir(folder).env("PATH", path).output().unwrap()
}

/// Runs the lines of a document's `console` blocks that call `bshuf`, in one folder and in order.
#[track_caller]
fn run_commands(document: &str) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
    // The package, unpacked by itself, does not have the book.
    let Ok(text) = fs::read_to_string(&document) else { return };
    let blocks = text.split("```console\n").skip(1).filter_map(|block| block.split("```").next());
    let commands: Vec<&str> =
        blocks.flat_map(str::lines).filter(|line| line.contains("bshuf ")).collect();
    assert!(commands.len() >= 5, "{}: {commands:?}", document.display());

    let (folder, names) = prepared();
    for command in commands {
        let output = shell(&folder, command);
        assert!(output.status.success(), "{command}: {output:?}");
        let is_to_file = command.contains("--output") || command.contains(" > ");
        assert_eq!(output.stdout.is_empty(), is_to_file, "{command}");
        if command.contains(" > lines.txt") {
            assert_eq!(
                fs::read_to_string(folder.path().join("lines.txt")).unwrap(),
                names.repeat(2)
            );
        } else if command.contains("--undo") {
            assert_eq!(String::from_utf8(output.stdout).unwrap(), names, "{command}");
        } else if command.contains("--head 10") {
            assert_eq!(output.stdout.iter().filter(|&&byte| byte == b'\n').count(), 10);
        }
    }
}

#[test]
fn commands_of_the_readme_run() {
    run_commands("README.md");
}

#[test]
fn commands_of_the_book_run() {
    run_commands("../../docs/files.md");
}

#[test]
fn commands_for_data_sets_run() {
    run_commands("../../docs/data-sets.md");
}

/// A codec with its levels, if it has any.
fn with_levels(codec: &Codec) -> String {
    let has = |level: &i32| format!("{codec}:{level}").parse::<Compression>().is_ok();
    let levels: Vec<i32> = (-100..=100).filter(has).collect();
    match levels[..] {
        [first, .., last] => format!("`{codec}` (levels {first} to {last})"),
        _ => format!("`{codec}`"),
    }
}

/// The documents, the docstrings and these tests list the codecs that the program has.
#[test]
fn lists_of_codecs_are_those_of_the_table() {
    let listed = |names: Vec<String>, last: &str| {
        let (end, others) = names.split_last().unwrap();
        format!("{}{last}{end}", others.join(", "))
    };
    let [all, compressed] = [Codec::ALL, &Codec::ALL[1..]];
    let named =
        |codecs: &[Codec], last| listed(codecs.iter().map(Codec::to_string).collect(), last);
    let quoted = |codecs: &[Codec], quote: &str| -> Vec<String> {
        let (open, close) = quote.split_at(quote.len() / 2);
        codecs.iter().map(|codec| format!("{open}{codec}{close}")).collect()
    };
    let ends = compressed.iter().map(|codec| format!("`.{}`", codec.extension())).collect();
    let python = listed(quoted(all, "`\"\"`"), " or ");
    let option = listed(quoted(all, "``"), " or ");
    let levels = listed(all.iter().map(with_levels).collect(), " or ");
    let programs = listed(quoted(compressed, "``"), " and ");
    for (document, list) in [
        ("README.md", format!("compressed by {},", named(compressed, " or "))),
        ("../../docs/data-sets.md", format!("| {} |", named(compressed, ", "))),
        ("../../docs/data-sets.md", format!("its compression: {},", listed(ends, ", "))),
        ("../../docs/data-sets.md", format!("it takes {levels},")),
        ("../../docs/data-sets.md", format!("the programs {programs} read")),
        ("../../docs/files.md", format!("compresses the output: {option},")),
        ("../../docs/files.md", format!("begins as {} is", named(compressed, " or "))),
        ("../../python/bijective_shuffle/files.py", format!("| `compress` | {python},")),
        ("../../tests/README.md", format!("shards read by {} and tar", named(compressed, ", "))),
    ] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(document);
        let Ok(text) = fs::read_to_string(path) else { continue };
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        assert!(text.contains(&list), "{document} lacks: {list}");
    }
    assert_eq!(all.iter().map(Codec::to_string).collect::<Vec<_>>(), CODECS);
    for (codec, end) in all.iter().zip(ENDS) {
        assert_eq!(codec.extension(), end.trim_start_matches('.'));
    }
}

/// Does the jobs of an array, one after the other, and says the number that it has.
const SBATCH: &str = r"#!/bin/sh
while [ ${1#--} != $1 ]; do shift; done
last=$(sed -n 's/^#SBATCH --array=0-\([0-9]*\) .*/\1/p' $1)
export SLURM_ARRAY_TASK_COUNT=$((last + 1)) SLURM_ARRAY_TASK_ID
for SLURM_ARRAY_TASK_ID in $(seq 0 $last); do sh $1 $2 2>/dev/null || exit 1; done
echo 7
";

/// Runs a command with each argument behind three colons in place of its braces.
const PARALLEL: &str = r#"#!/bin/sh
while [ $1 != bshuf ]; do shift; done
while [ $1 != ::: ]; do command="$command $1"; shift; done
shift
for argument; do $(echo $command | sed s/{}/$argument/) 2>/dev/null || exit 1; done
"#;

#[test]
fn scripts_for_many_machines_run() {
    use std::os::unix::fs::PermissionsExt;

    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/data-sets.md");
    let Ok(text) = fs::read_to_string(&document) else { return };
    let blocks = text.split("```sh\n").skip(1).filter_map(|block| block.split("```").next());
    let [worker, slurm, parallel] = *blocks.collect::<Vec<_>>() else { panic!("{text}") };
    for commands in [slurm, parallel] {
        let (folder, _) = prepared();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("worker.sh"), worker).unwrap();
        for (name, program) in [("sbatch", SBATCH), ("parallel", PARALLEL)] {
            fs::write(path(name), program).unwrap();
            fs::set_permissions(path(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let output = shell(&folder, commands);
        assert!(output.status.success(), "{output:?}");
        let one = "bshuf --seed 42 --output-dir one --shards 64 crawl; diff -r one shuffled";
        let output = shell(&folder, one);
        assert!(output.status.success(), "{output:?}");
    }
}
