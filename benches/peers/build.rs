//! Compiles the C++ peer, and tells the program which compiler built it, and the version of the
//! library.

use std::env;
use std::fs;
use std::process::Command;

/// The manifest of what is measured.
const LIBRARY: &str = "../../Cargo.toml";

fn main() {
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .file("cpp/std_shuffle.cpp")
        .compile("std_shuffle");
    println!("cargo::rerun-if-changed=cpp/std_shuffle.cpp");

    let rustc = env::var_os("RUSTC").expect("cargo sets it");
    let output = Command::new(rustc).arg("--version").output().expect("the compiler runs");
    let version = String::from_utf8(output.stdout).expect("a version is text");
    println!("cargo::rustc-env=RUSTC_VERSION={}", version.trim());

    let manifest = fs::read_to_string(LIBRARY).expect("the library's manifest is there");
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \""));
    let version = version.and_then(|rest| rest.strip_suffix('"')).expect("it has a version");
    println!("cargo::rustc-env=LIBRARY_VERSION={version}");
    println!("cargo::rerun-if-changed={LIBRARY}");
}
