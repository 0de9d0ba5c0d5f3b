#!/usr/bin/env python3
"""Fails if a document or a comment names a file or a program of the repository that is not there,
or if a file is compiled by a package in whose folder it does not lie.

It looks at inline code in tracked documents, and at whole-line comments in sources. A path begins
with a folder of the repository, and leads on from there or from the package of the file that names
it.

In documents, what follows `--bench`, `--bin`, `--example` and `--test` is a target of Cargo, and
what follows `-p` is a package. A table of features has those of the package's manifest. Each program
of `tests` is named in tests/README.md.

What chooses among tests by their names, in a command, in an array of these scripts or after
`"--exact"` in a test, is a part of the name of one: libtest says nothing of a filter that matches none.

A file that two packages need is in a package on which both depend: no `path`, in an attribute or in
a manifest, and no `include!` leads out of a package.
"""

import itertools
import os
import pathlib
import re
import subprocess
import sys
import tomllib

# What begins a comment, by the suffix of the file.
SLASHES, HASH = re.compile(r"\s*(//|/?\*)"), re.compile(r"\s*#")
COMMENTS = dict.fromkeys([".rs", ".ts", ".mjs", ".c", ".h", ".hpp", ".cpp", ".cu", ".cuh", ".wgsl"], SLASHES)
COMMENTS |= dict.fromkeys([".py", ".toml", ".yml", ""], HASH)
FOLDERS = r"(?:src|gpu|docs|tests|benches|crates|examples|fuzz|python|js|proofs|\.ci)"
PATH = re.compile(rf"(?<![\w./@<-]){FOLDERS}/[\w./-]*\w")
CODE = re.compile(rf"(?<=`){FOLDERS}/[\w./-]*\w(?=/?`)")
TARGET = re.compile(r"(?:--(?:bench|bin|example|test) +|-p +(?=bijective-))([a-z][\w-]*\w)")
FEATURE = re.compile(r"^\| `([\w-]+)` \| (?:yes|no) \|")
COMPILED = re.compile(r'#\[(?:cfg_attr\([^\]]*)?path = "([^"]+)"|\binclude!\("([^"]+)"\)|^path = "([^"]+\.rs)"', re.M)
# A module, a test, and a test that a macro makes; back ends, and the laws that each keeps.
TEST = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:mod (\w+) \{|(#\[test\])|fn (\w+)|(\w+): [A-Z]+ \")", re.M)
BACK_ENDS, BACK_END = re.compile(r"^back_ends! \{(.*?)^\}", re.M | re.S), re.compile(r"^    (\w+): ", re.M)
LAWS = re.compile(r"^ +\w+: ([a-z_ \n]+);$", re.M)
LAW_NAMES = " ".join(LAWS.findall(pathlib.Path("tests/laws/src/laws.rs").read_text())).split()
# Commands that take names of tests, what their options take, and arrays of names.
COMMAND = r"cargo (?:\+nightly )?(?:miri )?test|compute-sanitizer"
FUNCTION = r'|interpreted|under_thread_sanitizer|emulated|named \w+|"\$\{tests\[@\]\}"'
RUNS = {"": re.compile(rf"(?:{COMMAND}{FUNCTION}) ([^|\n]*)"), ".md": re.compile(rf"(?:{COMMAND}) ([^`|\n]*)")}
OPTIONS = re.compile(r"(?<!\S)(?:-p|--(?:tool|test|bin|features|target(?:-dir)?|manifest-path))[ =]\S+")
ARRAYS = re.compile(r"\b(?:skipped|most|modules|laws)\+?=\(([^)]*)\)")
CHILD, NAMED = re.compile(r'"--exact"[^;]*'), re.compile(r'"([a-z]\w*(?:::\w+)*)"')
FILTER = re.compile(r"(?:--skip=)?([a-z]\w*(?:::\w+)*(?:::)?)")
# Files of other projects, and one that a build makes.
OTHERS = {"tests/shuf/shuf.sh", "tests/by-util/test_shuf.rs", "js/dist/page/index.html"}


def targets(paths):
    """The names that Cargo knows: those of its manifests, and of files and folders by themselves."""
    manifests = [path.read_text() for path in paths if path.name == "Cargo.toml"]
    names = {name for text in manifests for name in re.findall(r'^name = "(.*)"', text, re.M)}
    programs = [path for path in paths if path.suffix == ".rs"]
    kinds = {"benches", "examples", "tests", "bin"}
    names |= {path.stem for path in programs if path.parent.name in kinds}
    return names | {path.parent.name for path in programs if path.name == "main.rs" and path.parts[-3] in kinds}


def packages(path):
    """The folders that a path may lead on from."""
    return [folder for folder in path.parents if folder == pathlib.Path() or (folder / "Cargo.toml").exists()]


def strays(path, text):
    """The files of other packages that one compiles."""
    for found in COMPILED.finditer(text):
        file = pathlib.Path(os.path.normpath(path.parent / (found[1] or found[2] or found[3])))
        if packages(file / "_")[0] != packages(path)[0]:
            yield f"{path}:{text.count(chr(10), 0, found.start()) + 1}: {file} is another package's"


def tests(path, text):
    """The names of a file's tests, as the program that has it writes them."""
    parts = re.sub(r"^.*?\b(?:src|tests(?:/suite|/conformance)?)/", "", str(path.with_suffix("")))
    modules = [part for part in parts.split("/") if part not in {"mod", "main", "lib"}]
    open_modules, is_test = [], False
    for indent, module, attribute, function, of_macro in TEST.findall(text):
        open_modules = [(at, name) for at, name in open_modules if at < len(indent)]
        if module:
            open_modules.append((len(indent), module))
        elif attribute:
            is_test = True
        elif of_macro or is_test:
            yield "::".join([*modules, *(name for _, name in open_modules), function or of_macro])
            is_test = False
    for lines in BACK_ENDS.findall(text):
        yield from ("::".join([*modules, name, law]) for name in BACK_END.findall(lines) for law in LAW_NAMES)


def filters(path, text):
    """What chooses among tests in a text, with the place where it stands there."""
    if path.suffix == ".rs":
        # Tests that run one of themselves in another process.
        yield from ((child.start(), name) for child in CHILD.finditer(text) for name in NAMED.findall(child[0]))
    if path.suffix not in RUNS or path.suffix == "" and path.parts[0] != ".ci":
        return
    if path.suffix == "":
        text = re.sub(r"^ *#.*", lambda comment: " " * len(comment[0]), text, flags=re.M)
    found = [(m.start(), m[1]) for m in RUNS[path.suffix].finditer(text.replace("\\\n", "  "))]
    for at, words in found + [(m.start(), m[1]) for m in ARRAYS.finditer(text)]:
        for word in OPTIONS.sub("", words).split():
            choices = [part.split(",") for part in re.split(r"[{}]", word)]
            for name in map("".join, itertools.product(*choices)):
                if match := FILTER.fullmatch(name):
                    yield at, match[1]


def faults(path, text, known, names=()):
    if path.suffix in {".rs", ".toml"}:
        yield from strays(path, text)
    for at, name in filters(path, text):
        if not any(name in test for test in names):
            yield f"{path}:{text.count(chr(10), 0, at) + 1}: no test has {name} in its name"
    for number, line in enumerate(text.split("\n"), 1):
        if path.suffix == ".md":
            named = CODE.findall(line)
            for name in set(TARGET.findall(line)) - known:
                yield f"{path}:{number}: Cargo knows no {name}"
            for name in FEATURE.findall(line):
                if name not in tomllib.loads((packages(path)[0] / "Cargo.toml").read_text())["features"]:
                    yield f"{path}:{number}: the package has no feature {name}"
        else:
            named = PATH.findall(line) if COMMENTS[path.suffix].match(line) else []
        for name in named:
            if name not in OTHERS and not any((folder / name).exists() for folder in packages(path)):
                yield f"{path}:{number}: there is no {name}"


def check_itself():
    """What the check must find, and what it must let pass."""
    wrong = [("a.md", "in `src/gone.rs`"), ("a.rs", "/// See src/gone.rs."), ("a.py", "# docs/gone.md has it.")]
    wrong += [("crates/core/src/lib.rs", "// It is in src/nowhere.rs."), (".ci/run", "# By tests/gone.")]
    right = [("a.md", "in src/gone.rs"), ("a.md", "`src/lib.rs`"), ("a.rs", 'let path = "src/gone.rs";')]
    right += [("crates/core/src/lib.rs", "// It is in src/word.rs."), ("a.rs", "// https://x.org/docs/gone")]
    wrong += [("a.md", "`cargo test --test gone`"), ("a.md", "cargo run -p bijective-gone")]
    right += [("a.md", "`cargo test --test suite views::`"), ("a.md", "--no-run, --bench=NAME")]
    wrong += [("a.md", "`cargo test views::gone`"), ("a.md", "cargo test -p bijective-shuffle \\\n  -- --skip gone")]
    wrong += [(".ci/run", "named suite --skip gone"), (".ci/run", "laws=(views:: views::{each,gone})")]
    wrong += [("tests/suite/a.rs", 'args(["--exact", "gone::each"]).env("A", "1");')]
    right += [("tests/suite/a.rs", 'args(["--exact", "views::each"]).env("A", "1");')]
    right += [(".ci/run", "named suite --skip each"), (".ci/run", "# named suite gone\nlaws=(views::{each,a_few})")]
    wrong += [("a.md", "| `gone` | no | nothing |")]
    right += [("a.md", "| `cuda` | yes | a GPU |"), ("crates/cli/a.md", "| `tables` | no | Parquet |")]
    wrong += [("crates/core/src/lib.rs", '#[cfg_attr(a, path = "../../rng/src/lib.rs")]')]
    wrong += [("crates/rng/src/lib.rs", '#[path = "../../core/src/word.rs"]\nmod word;')]
    wrong += [("fuzz/a.rs", 'include!("../src/lib.rs");'), ("fuzz/Cargo.toml", 'path = "../src/a.rs"')]
    wrong += [("tests/suite/main.rs", '#[path = "../api/api.rs"]')]
    right += [("tests/a/main.rs", '#[path = "../common/mod.rs"]'), ("fuzz/Cargo.toml", '[lib]\npath = "a.rs"')]
    right += [("src/lib.rs", '#[path = "cuda/none.rs"]'), ("crates/core/src/a.rs", '#[path = "."]')]
    for count, cases in enumerate([right, wrong]):
        for name, text in cases:
            found = [*faults(pathlib.Path(name), text, {"suite", "bijective-shuffle"}, {"views::each", "views::a_few"})]
            assert len(found) == count, (text, found)
    file = '    one: ONE "1" {\n#[test]\nfn two() {}\nmod tests {\n    fn help() {}\n    #[test]\n    fn three() {}\n}'
    assert [*tests(pathlib.Path("src/a/mod.rs"), file)] == ["a::one", "a::two", "a::tests::three"]
    assert "b::cpu::every_length" in tests(pathlib.Path("tests/suite/b.rs"), "back_ends! {\n    cpu: Some(1);\n}")


def main():
    check_itself()
    names = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    paths = [path for path in map(pathlib.Path, names.splitlines()) if path.suffix in {".md", *COMMENTS}]
    paths = [path for path in paths if path.is_file()]
    known = targets(paths)
    names = {name for path in paths if path.suffix == ".rs" for name in tests(path, path.read_text())}
    found = [fault for path in paths for fault in faults(path, path.read_text(), known, names)]
    listed = pathlib.Path("tests/README.md").read_text()
    programs = [path for path in paths if path.parent == pathlib.Path("tests") and path.suffix == ".rs"]
    found += [f"tests/README.md: it does not name {path}" for path in programs if f"{path.stem}`" not in listed and str(path) not in listed]
    print("\n".join([*found, f"{len(found)} paths lead nowhere, or out of a package, in {len(paths)} files"]))
    sys.exit(bool(found))


main()
