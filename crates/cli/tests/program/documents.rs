//! The commands that the documents show, run as a reader would type them.

use std::fs;
use std::path::Path;
use std::process::Command;

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
    let program = Path::new(env!("CARGO_BIN_EXE_bshuf")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    for command in commands {
        let mut shell = Command::new("sh");
        shell.arg("-euc").arg(command).current_dir(&folder).env("PATH", &path);
        let output = shell.output().unwrap();
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

#[cfg(feature = "datasets")]
#[test]
fn commands_for_data_sets_run() {
    run_commands("../../docs/data-sets.md");
}
