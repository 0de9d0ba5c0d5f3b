//! Compiles the C++ peer, and tells the program which compiler built it.

use std::env;
use std::process::Command;

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
}
