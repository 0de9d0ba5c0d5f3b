#!/usr/bin/env python3
"""Fails if a tracked document, or a whole-line comment, has a line of more than 100 columns.

These may be wider: tables, code, link definitions, generated blocks between `<!-- NAME begin -->`
and `<!-- NAME end -->`, and lines with no place to break them, such as a long URL, inline code or a
figure's marker, with which no line may begin. No well-kept tool knows the markers, or breaks doc
comments of Rust and CUDA.
"""

import pathlib
import re
import subprocess
import sys

WIDTH = 100
# What begins a comment, by the suffix of the file. Scripts of the shell have none.
SLASHES, HASH = r"\s*//[/!]?(?: |$)", r"\s*#(?: |$)"
COMMENTS = dict.fromkeys([".rs", ".cuh", ".cu", ".h", ".hpp", ".cpp"], SLASHES)
COMMENTS |= dict.fromkeys([".py", ".toml", ".yml", ""], HASH) | {".md": ""}
# What is never broken: inline code, a link's target, a marker and what stands before it.
ATOM = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)]*\)| ?<!--.*?-->|<[^ >]+>")
FREE = re.compile(r" {4}|\s*(\||\[[^\]]+\]: \S+$|([-*+]|\d+[.)]) +\S+$)")


def faults(path, text):
    comment, fence, generated, found = re.compile(COMMENTS[path.suffix]), None, False, []
    for number, line in enumerate(text.split("\n"), 1):
        mark = comment.match(line)
        if not mark:
            fence = None
            continue
        body = line[mark.end() :]
        opened = re.match(r"\s*(```|~~~)", body)
        block = re.match(r"<!-- .* (begin|end) -->$", body)
        if opened and fence in (None, opened[1]):
            fence = None if fence else opened[1]
        elif block:
            generated = block[1] == "begin"
        elif len(line) > WIDTH and not fence and not generated:
            whole = ATOM.sub(lambda atom: atom[0].replace(" ", "-"), body.rstrip())
            if not FREE.match(whole) and " " in whole.strip():
                found.append(f"{path}:{number}: {len(line)} columns")
    return found


def check_itself():
    """What the check must find, and what it must let pass."""
    long = "word " * 21
    figure = f"<!-- figure: {'x' * 90} -->1<!-- /figure -->"
    wide = [("a.md", f"* {long}"), ("a.md", f"is {figure} or 2"), ("a.rs", f"    /// {long}")]
    wide += [("a.rs", f"//! ```text\n//! x\n//! ```\n//! {long}"), ("a.toml", f"# {long}\nx = '{long}'")]
    wide += [("a.md", f"<!-- x begin -->\n{long}\n<!-- x end -->\n{long}")]
    free = [("a.md", f"| {long} |"), ("a.md", f"```text\n{long}\n```"), ("a.md", f"is {figure}")]
    free += [("a.md", f"[name]: https://example.org/{'x' * 90}"), ("a.md", f"`{long}`")]
    free += [("a.rs", f"let x = {long};"), ("a.md", f"* https://example.org/{'x' * 90}")]
    for count, cases in enumerate([free, wide]):
        for name, text in cases:
            assert len(faults(pathlib.Path(name), text)) == count, text


def main():
    check_itself()
    names = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    paths = [path for path in map(pathlib.Path, names.splitlines()) if path.suffix in COMMENTS]
    # Licences have no suffix either.
    paths = [path for path in paths if path.exists() and not path.name.startswith("LICENSE")]
    found = [fault for path in paths for fault in faults(path, path.read_text())]
    print("\n".join([*found, f"{len(found)} lines of more than {WIDTH} columns in {len(paths)} files"]))
    sys.exit(bool(found))


main()
