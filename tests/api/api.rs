//! The public API of each package, an item to a line, is the one that was reviewed.
//!
//! The lists are beside this file. The diff of a list is the semver review of a commit: a line that
//! goes or changes is a breaking change, a line that comes is an addition. After a change of the
//! API run `UPDATE_API=1 cargo test -p bijective-shuffle-api`, and commit the lists with the
//! change.
//!
//! All features are on. What a trait demands is listed at the trait, and not again at each type
//! that implements it, so the `Display` of an `Error` is left out. An item is listed once: the
//! prelude's are there by their names alone, and an implementation only where it comes first. A
//! line that the next ones repeat is none: that of an error's kind which has fields, and the head
//! of an `impl` that demands nothing.
//!
//! A type's line ends with the traits that it derives or could derive, `Send` and `Sync`, after a
//! colon. `Clone(B)` demands `B: Clone`, and other conditions are written out. Of `Unpin`,
//! `UnwindSafe` and `RefUnwindSafe` it names those that the type lacks: `!UnwindSafe`.
//!
//! Only packages that promise something about their Rust API have a list (ARCHITECTURE.md).
//!
//! What follows cudarc's and NVIDIA's versions is listed apart, in `cuda.txt`: the module `cuda`,
//! and what errors say of a GPU and its libraries. So is what core has only with the features
//! `rand_core` and `serde`, whose crates it names, in `core-features.txt`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The compiler whose rustdoc writes the format that `public-api` reads, in the version that
/// Cargo.toml names.
const COMPILER: &str = "1.95";

/// The folder that holds what is built.
fn target(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), |set| root.join(set))
}

/// A rustdoc that has the unstable option. Only rustdoc may know: build scripts that see the
/// variable, and all that depends on them, would be built again.
fn unstable_rustdoc(target: &Path) -> PathBuf {
    let rustdoc = target.join("rustdoc-unstable");
    fs::create_dir_all(target).unwrap();
    fs::write(&rustdoc, "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n").unwrap();
    assert!(Command::new("chmod").arg("+x").arg(&rustdoc).status().unwrap().success());
    rustdoc
}

const JSON: [&str; 3] = ["-Zunstable-options", "--output-format=json", "--cap-lints=allow"];

/// What follows `bijective-shuffle` in the names of the packages that have a list.
const LISTED: [&str; 7] = ["-core", "-rng", "-affine", "-stats", "-loaders", "-resample", ""];

/// Writes rustdoc's JSON of a package, and says where it is.
fn rustdoc_json(package: &str, root: &Path) -> PathBuf {
    let target = target(root);
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--locked", "--lib", "--all-features", "--quiet", "--package", package])
        .arg("--")
        .args(JSON)
        .env("RUSTDOC", unstable_rustdoc(&target))
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

/// For an implementation of which the type's line tells: the type's path, and what the line says.
/// That is nothing where the line names only the types without it.
fn trait_of(line: &str) -> Option<(&str, String)> {
    const NAMED: [&str; 11] = [
        "Clone",
        "Copy",
        "Debug",
        "Default",
        "Eq",
        "Hash",
        "Ord",
        "PartialEq",
        "PartialOrd",
        "Send",
        "Sync",
    ];
    const NAMED_WHERE_LACKING: [&str; 3] = ["RefUnwindSafe", "Unpin", "UnwindSafe"];
    // Not stable, and no one can name them.
    const UNNAMED: [&str; 3] = ["Freeze", "StructuralPartialEq", "UnsafeUnpin"];
    let (head, conditions) = line.split_once(" where ").unwrap_or((line, ""));
    let (head, implementor) = head.strip_prefix("impl")?.split_once(" for ")?;
    let (generics, path) = head.rsplit_once(' ')?;
    let (lacks, path) = path.strip_prefix('!').map_or(("", path), |path| ("!", path));
    let name = path.strip_prefix("core::")?.rsplit("::").next()?;
    let said = if UNNAMED.contains(&name) || NAMED_WHERE_LACKING.contains(&name) && lacks.is_empty()
    {
        String::new()
    } else if lacks == "!" {
        format!("!{name}")
    } else if NAMED.contains(&name) {
        let generics = generics.strip_prefix('<').and_then(|text| text.strip_suffix('>'));
        let conditions: Vec<String> = generics
            .into_iter()
            .chain([conditions])
            .flat_map(|part| part.split(", "))
            .filter(|part| part.contains(": ") && !part.starts_with("const "))
            .map(|part| last_names(part).trim_end_matches(&format!(": {name}")).to_owned())
            .collect();
        let joined = conditions.join(", ");
        if joined.is_empty() { name.to_owned() } else { format!("{name}({joined})") }
    } else {
        return None;
    };
    Some((implementor.split('<').next()?, said))
}

/// A text with the last name of each path.
fn last_names(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    words
        .map(|word| word.rfind("::").filter(|&at| at > 0).map_or(word, |at| &word[at + 2..]))
        .collect()
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

/// Whether a line of core's names another crate, which only an optional feature lets it do.
fn is_of_feature(line: &str) -> bool {
    ["rand_core::", "serde_core::"].iter().any(|name| line.contains(name))
}

/// An item to a line, without what implementations of traits repeat.
fn listing(json: &Path) -> String {
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .build()
        .unwrap_or_else(|error| {
            panic!(
                "run this with Rust {COMPILER}, whose format is known (RUSTUP_TOOLCHAIN): {error}"
            )
        });
    let items: Vec<String> = api.items().map(ToString::to_string).collect();
    let mut traits: HashMap<&str, BTreeSet<String>> = HashMap::new();
    for (path, said) in items.iter().filter_map(|line| trait_of(line)) {
        traits.entry(path).or_default().extend((!said.is_empty()).then_some(said));
    }
    let (mut lines, mut implementor) = (Vec::new(), None);
    let (mut listed, mut is_in_prelude) = (HashSet::new(), false);
    for item in &items {
        let mut line = item.clone();
        if let Some(path) = described(item) {
            is_in_prelude = path.contains("::prelude::");
            if is_in_prelude {
                line = format!("pub use {path}");
            } else if let Some(said) = traits.get(path) {
                line.push(':');
                line.extend(said.iter().map(|name| format!(" {name}")));
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
        if !is_bare_head(&line) && trait_of(&line).is_none() && listed.insert(line.clone()) {
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
    for part in LISTED {
        let package = format!("bijective-shuffle{part}");
        let list = listing(&rustdoc_json(&package, &root));
        let (cuda, own): (Vec<_>, Vec<_>) =
            list.split_inclusive('\n').partition(|line| is_of_cuda(line));
        let (features, own): (Vec<_>, Vec<_>) =
            own.into_iter().partition(|line| part == "-core" && is_of_feature(line));
        if part == "-core" {
            compare("core-features", &features.concat());
        }
        compare(&package, &own.concat());
        of_cuda.extend(cuda);
    }
    compare("cuda", &of_cuda);
}

/// A type's line in the list of a package that has the text.
fn line_of_specimen(text: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let folder = target(&root).join("api");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("specimen.rs"), text).unwrap();
    let status = Command::new(unstable_rustdoc(&target(&root)))
        .args(["specimen.rs", "--edition=2024", "--out-dir=."])
        .args(JSON)
        .current_dir(&folder)
        .status()
        .unwrap();
    assert!(status.success(), "rustdoc failed");
    let list = listing(&folder.join("specimen.json"));
    let [_, line] = list.lines().collect::<Vec<_>>()[..] else { panic!("{list}") };
    line.to_owned()
}

#[test]
fn each_trait_that_a_type_loses_changes_its_line() {
    let derived =
        ["Clone", "Copy", "Debug", "Default", "Eq", "Hash", "Ord", "PartialEq", "PartialOrd"];
    let line = |derived: &[&str], field: &str| {
        let derived = derived.join(", ");
        line_of_specimen(&format!("#[derive({derived})] pub struct S<T>({field});"))
    };
    let all = line(&derived, "T");
    for name in ["Copy", "Debug", "Default", "Hash", "Ord"] {
        let others = derived.iter().copied().filter(|&other| other != name).collect::<Vec<_>>();
        let without = all.replace(&format!(" {name}(T)"), "");
        assert_eq!((line(&others, "T"), without.len() < all.len()), (without, true));
    }
    let start = "pub struct specimen::S<T>(_):";
    assert_eq!(line(&[], "std::sync::Mutex<T>"), format!("{start} Send(T) Sync(T: Send)"));
    assert_eq!(line(&["Debug"], "*const T"), format!("{start} !Send !Sync Debug(T)"));
    assert_eq!(line(&[], "fn(T)"), format!("{start} Send Sync"));
    let object = line(&[], "Box<dyn Fn(T) + Send>");
    assert_eq!(object, format!("{start} !RefUnwindSafe !Sync !UnwindSafe Send"));
}

#[test]
fn packages_that_promise_semantic_versioning_have_a_list() {
    let rows = include_str!("../../ARCHITECTURE.md").lines().filter(|line| line.starts_with("| `"));
    let promising: Vec<&str> = rows
        .filter(|row| row.contains("| semantic versioning"))
        .flat_map(|row| {
            row.split(" | ")
                .next()
                .unwrap()
                .split('`')
                .filter_map(|name| name.strip_prefix("crates/"))
        })
        .collect();
    assert!(!promising.is_empty());
    for name in promising {
        assert!(LISTED.contains(&&*format!("-{name}")), "{name} has no list");
    }
}
