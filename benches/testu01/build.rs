//! Says where TestU01 is, if it is to be linked: all of it statically, so that the program can be
//! carried to a machine that has none.

use std::env;
use std::path::Path;

/// TestU01 calls these in this order.
const LIBRARIES: [&str; 3] = ["testu01", "testu01probdist", "testu01mylib"];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=TESTU01_DIR");
    println!("cargo::rustc-check-cfg=cfg(testu01)");
    // Without it everything compiles and is linted, but no battery runs.
    let Some(folder) = env::var_os("TESTU01_DIR") else { return };
    println!("cargo::rustc-cfg=testu01");
    let folder = Path::new(&folder);
    println!("cargo::rustc-link-search=native={}", folder.display());
    for library in LIBRARIES {
        println!("cargo::rustc-link-lib=static={library}");
    }
    let gmp = if folder.join("libgmp.a").exists() { "static" } else { "dylib" };
    println!("cargo::rustc-link-lib={gmp}=gmp");
    println!("cargo::rustc-link-lib=dylib=m");
}
