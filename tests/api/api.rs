//! The public API of each package, an item to a line, is the one that was reviewed.
//!
//! The lists are beside this file. The diff of a list is the semver review of a commit: a line that
//! goes or changes is a breaking change, a line that comes is an addition. After a change of the
//! API run `UPDATE_API=1 cargo test -p bijective-shuffle-api`, and commit the lists with the
//! change.
//!
//! All features are on. What a trait demands is listed at the trait, and not again at each type
//! that implements it, so the `Display` of an `Error` is left out; so are derived and automatic
//! implementations, and those that could be derived (`Debug`, `Clone`, `Eq`). An item is listed
//! once: the prelude's are there by their names alone, and an implementation only where it comes
//! first. A line that the next ones repeat is none: that of an error's kind which has fields, and
//! the head of an `impl` that demands nothing.
//!
//! The package `bijective-shuffle-engine` has no list, since it promises nothing.
//!
//! What follows cudarc's and NVIDIA's versions is listed apart, in `cuda.txt`: the module `cuda`,
//! and what errors say of a GPU and its libraries.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The compiler whose rustdoc writes the format that `public-api` reads, in the version that
/// Cargo.toml names.
const COMPILER: &str = "1.95";

/// Writes rustdoc's JSON of a package, and says where it is.
fn rustdoc_json(package: &str, root: &Path) -> PathBuf {
    let target = env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |set| root.join(set));
    // The option is unstable. Only rustdoc may know: build scripts that see the variable, and all
    // that depends on them, would be built again.
    let rustdoc = target.join("rustdoc-unstable");
    fs::create_dir_all(&target).unwrap();
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&rustdoc).status().unwrap().success());
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--locked", "--lib", "--all-features", "--quiet", "--package", package])
        .args(["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"])
        .env("RUSTDOC", &rustdoc)
        .current_dir(root)
        .status()
        .unwrap();
    assert!(status.success(), "rustdoc failed");
    target.join("doc").join(package.replace('-', "_")).with_extension("json")
}

/// The path that a line begins to describe, if it is that of a type, a trait or a module.
fn described(line: &str) -> Option<&str> {
    const KINDS: [&str; 6] = ["mod ", "use ", "struct ", "enum ", "trait ", "type "];
    let line = line.trim_start_matches("#[non_exhaustive] ").strip_prefix("pub ")?;
    let line = line.trim_start_matches("unsafe ");
    let path = KINDS.iter().find_map(|kind| line.strip_prefix(kind))?;
    path.split(['<', '(', ' ']).next().map(|path| path.trim_end_matches(':'))
}

/// Whether a line is the head of an `impl` of a type's own methods that demands nothing: the
/// methods' lines say all of it.
fn is_bare_head(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("impl") else { return false };
    let is_own = !rest.split(" where ").next().unwrap().contains(" for ");
    let before_bounds: Vec<&str> = rest.split(": ").collect();
    let is_const = |text: &str| text.rsplit([',', '<']).next().unwrap().contains("const ");
    let demands = before_bounds.split_last().unwrap().1.iter().any(|text| !is_const(text));
    is_own && !demands && !rest.contains(" where ")
}

/// Whether a line says that a type has a trait that could be derived.
fn is_like_derived(line: &str) -> bool {
    const DERIVED: [&str; 4] =
        ["core::fmt::Debug", "core::clone::Clone", "core::cmp::Eq", "core::cmp::PartialEq"];
    line.starts_with("impl") && DERIVED.iter().any(|name| line.contains(&format!("{name} for ")))
}

/// Whether a line is about what follows the versions of others.
fn is_of_cuda(line: &str) -> bool {
    [
        "bijective_shuffle::cuda",
        "bijective_shuffle::error::GpuError",
        "bijective_shuffle::error::Unavailable",
    ]
    .iter()
    .any(|name| line.contains(name))
}

/// An item to a line, without what implementations of traits repeat.
fn listing(json: &Path) -> String {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .unwrap_or_else(|error| {
            panic!(
                "run this with Rust {COMPILER}, whose format is known (RUSTUP_TOOLCHAIN): {error}"
            )
        });
    let (mut lines, mut implementor) = (Vec::new(), None);
    let (mut listed, mut is_in_prelude) = (HashSet::new(), false);
    for mut line in api.items().map(ToString::to_string) {
        if let Some(path) = described(&line) {
            is_in_prelude = path.contains("::prelude::");
            if is_in_prelude {
                line = format!("pub use {path}");
            }
        } else if is_in_prelude {
            continue;
        }
        if line.starts_with("impl") {
            let header = line.split(" where ").next().unwrap();
            implementor = header.split_once(" for ").map(|(_, name)| format!("{name}::"));
        } else if implementor.as_ref().is_some_and(|name| line.contains(name.as_str())) {
            continue;
        }
        // The trait is hidden: what it has is the engine's.
        if line.contains("::EngineHooks") {
            continue;
        }
        // The chapters are there for rustdoc alone. What begins with `&` is what a trait demands of
        // a reference.
        let is_left_out = line.contains("::guide") || line.contains(" &'a ");
        if is_left_out && !line.starts_with("impl") {
            continue;
        }
        if !is_bare_head(&line) && !is_like_derived(&line) && listed.insert(line.clone()) {
            lines.push(line);
        }
    }
    without_repetition(&lines)
}

/// The lines, except those that others say as well.
fn without_repetition(lines: &[String]) -> String {
    let error = |line: &str| line.strip_prefix("impl core::error::Error for ").map(str::to_owned);
    let errors: HashSet<String> = lines.iter().filter_map(|line| error(line)).collect();
    let display = |line: &str| line.strip_prefix("impl core::fmt::Display for ").map(str::to_owned);
    let is_repeated = |k: usize| {
        let fields = format!("{}::", lines[k]);
        let is_kind = described(&lines[k]).is_none() && lines[k].starts_with("pub ");
        let has_fields = is_kind && lines.get(k + 1).is_some_and(|line| line.starts_with(&fields));
        has_fields || display(&lines[k]).is_some_and(|name| errors.contains(&name))
    };
    let kept = (0..lines.len()).filter(|&k| !is_repeated(k));
    kept.flat_map(|k| [&*lines[k], "\n"]).collect()
}

fn compare(name: &str, list: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name).with_extension("txt");
    if env::var_os("UPDATE_API").is_some() {
        fs::write(&path, list).unwrap();
        return;
    }
    let reviewed = fs::read_to_string(&path).unwrap();
    let gone = reviewed.lines().filter(|line| !list.lines().any(|other| other == *line));
    let come = list.lines().filter(|line| !reviewed.lines().any(|other| other == *line));
    let differences: Vec<String> =
        gone.map(|line| format!("- {line}")).chain(come.map(|line| format!("+ {line}"))).collect();
    assert!(differences.is_empty(), "{name}: UPDATE_API=1\n{}", differences.join("\n"));
}

// One test for all: rustdoc would wait for rustdoc.
#[test]
fn the_public_api_is_the_one_that_was_reviewed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let mut of_cuda = String::new();
    for part in ["-core", "-rng", "-affine", "-stats", "-loaders", ""] {
        let package = format!("bijective-shuffle{part}");
        let list = listing(&rustdoc_json(&package, &root));
        let (cuda, own): (Vec<_>, Vec<_>) =
            list.split_inclusive('\n').partition(|line| is_of_cuda(line));
        compare(&package, &own.concat());
        of_cuda.extend(cuda);
    }
    compare("cuda", &of_cuda);
}
