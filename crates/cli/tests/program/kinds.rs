//! Random files of binary formats and of CSV, written and read by Python: `kinds.py`.

use std::path::Path;
use std::process::Command;

use crate::folder::{Folder, is_long, program};

/// A run that ends with the code 0 has kept all records of its file, by another reader.
///
/// `BIJECTIVE_SHUFFLE_LONG=1 cargo test -p bijective-shuffle-cli --test program kinds` takes 100
/// files of each kind.
#[test]
fn files_of_all_kinds_are_whole_or_refused() {
    let folder = Folder::new();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    if Command::new(&python).arg("--version").output().is_err() {
        println!("skipped: there is no {python}");
        return;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program/kinds.py");
    let mut command = Command::new(&python);
    command.arg(&script).arg(program()).arg(if is_long() { "100" } else { "1" });
    let output = command.current_dir(folder.path("")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
}
