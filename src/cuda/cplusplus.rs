//! Plain C++: device text that is compiled and run without a GPU.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use tempfile::TempDir;

/// A check of undefined behaviour.
const CHECKS: [&str; 2] = ["-fsanitize=undefined", "-fno-sanitize-recover=all"];

/// Compiles and runs a program; `None` if there is no compiler.
pub(crate) fn run(text: &str) -> Option<String> {
    // The compiler's library for the checks need not be there.
    static HAS_CHECKS: OnceLock<bool> = OnceLock::new();
    let has_checks = HAS_CHECKS.get_or_init(|| {
        let compiled = compile("int main() {}", &CHECKS);
        compiled.is_some_and(|(output, ..)| output.status.success())
    });
    let (compiled, binary, _folder) = compile(text, if *has_checks { &CHECKS } else { &[] })?;
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let output = Command::new(&binary).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// What the compiler says of a program, and what it makes of it, in a folder that is gone with the
/// last of these; `None` if there is no compiler.
fn compile(text: &str, options: &[&str]) -> Option<(Output, PathBuf, TempDir)> {
    let folder = tempfile::tempdir().unwrap();
    let (source, binary) = (folder.path().join("program.cpp"), folder.path().join("program"));
    std::fs::write(&source, text).unwrap();
    let compiled = Command::new(std::env::var("CXX").unwrap_or_else(|_| "c++".into()))
        .args(["-std=c++17", "-Wall", "-Wextra", "-pedantic", "-Werror"])
        // Products and sums are rounded one by one, as the device's are where it counts.
        .arg("-ffp-contract=off")
        // Where the texts of bijections find the headers that they consist of.
        .arg(concat!("-I", env!("CARGO_MANIFEST_DIR"), "/gpu"))
        .args(options)
        .arg("-o")
        .args([&binary, &source])
        .output()
        .ok()?;
    Some((compiled, binary, folder))
}
