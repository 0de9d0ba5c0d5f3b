//! Plain C++: device text that is compiled and run without a GPU.

use std::path::Path;
use std::process::Command;

/// Compiles and runs a program; `None` if there is no compiler.
pub(crate) fn run(text: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("program.cpp"), folder.path().join("program"));
    std::fs::write(&source, text).unwrap();
    let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".into());
    let compile = |options: &[&str]| {
        Command::new(&compiler)
            .args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"])
            // Multiplications and additions are rounded one by one, as the device's are where it
            // counts.
            .arg("-ffp-contract=off")
            // Where the texts of bijections find the headers that they consist of.
            .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/gpu"))
            .args(options)
            .args([Path::new("-o"), &binary, &source])
            .output()
            .ok()
    };
    // With a check of undefined behaviour, where the compiler's library for it is there.
    let mut compiled = compile(&["-fsanitize=undefined", "-fno-sanitize-recover=all"])?;
    if !compiled.status.success() {
        compiled = compile(&[])?;
    }
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&binary).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}
