//! Says what the linker has to know of the shared library.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var(name).expect("set by Cargo");
    let (major, minor) = (variable("CARGO_PKG_VERSION_MAJOR"), variable("CARGO_PKG_VERSION_MINOR"));
    // Before 1.0.0, a minor version may break programs.
    let version = if major == "0" { format!("0.{minor}") } else { major };
    match variable("CARGO_CFG_TARGET_OS").as_str() {
        "linux" | "android" | "freebsd" | "netbsd" | "openbsd" => {
            let soname = format!("libbijective_shuffle.so.{version}");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,{soname}");
            // Its threads live as long as the process, so its code has to.
            println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        "macos" | "ios" => {
            let name = format!("@rpath/libbijective_shuffle.{version}.dylib");
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,{name}");
        }
        _ => {}
    }
}
