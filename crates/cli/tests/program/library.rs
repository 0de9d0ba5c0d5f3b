//! The memory of a shuffle in another program, which leaves its allocator as it is.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::process::Command;

use bijective_shuffle_cli::files::{FileOrder, FileShuffle, Items, TemporaryFile};

use crate::folder::{Folder, numbered};

/// Names the file that the process shuffles in place of the test.
const FILE: &str = "BIJECTIVE_SHUFFLE_PEAK_OF";

const MEMORY: u64 = 16 << 20;

/// What the process takes or has taken at most, by its name in the system's file.
fn of_process(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn shuffle(path: &Path) {
    let before = of_process("RssAnon");
    let mut source = File::open(path).unwrap();
    let lines = FileShuffle::new(Items::Lines { delimiter: b'\n' }, MEMORY as usize);
    let count = lines.count(&mut source, &()).unwrap();
    let order = FileOrder::shuffle(count.items, 42);
    let mut store = TemporaryFile::in_folder(&std::env::temp_dir()).unwrap();
    let mut output = BufWriter::new(io::sink());
    lines.run(&order, &count, &mut source, &mut store, &mut output, &()).unwrap();
    // How much of the program itself is in memory is the system's choice.
    let most = of_process("VmHWM") - of_process("RssFile");
    println!("{before} bytes before, at most {most}");
    // The stacks of its threads, and what it says of where blocks are.
    assert!(most <= before + MEMORY + (2 << 20), "{before} bytes before, at most {most}");
}

/// In a process of its own, whose allocator nobody has set.
#[test]
fn a_shuffle_of_the_library_keeps_to_its_memory() {
    if let Some(path) = std::env::var_os(FILE) {
        return shuffle(path.as_ref());
    }
    let folder = Folder::new();
    folder.write("text", numbered(6_000_000));
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "--nocapture", "library::a_shuffle_of_the_library_keeps_to_its_memory"]);
    // More threads have more memory of their own.
    test.env(FILE, folder.path("text")).env("RAYON_NUM_THREADS", "2");
    let outcome = folder.finish(&mut test, b"");
    assert_eq!(outcome.code, 0, "{} {}", String::from_utf8_lossy(&outcome.stdout), outcome.stderr);
}
