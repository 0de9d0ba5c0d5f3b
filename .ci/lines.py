#!/usr/bin/env python3
"""Fails if a comment or a document has a line of more than 100 columns that could be broken.

Looked at are the prose of Markdown files, and whole-line comments of Rust, CUDA, C++, Python and
shell files and of manifests; doc comments are Markdown too. These may be wider:

* tables, code blocks and link definitions;
* generated blocks, between `<!-- NAME begin -->` and `<!-- NAME end -->`;
* lines with no place to break them: a long URL, inline code, or a figure's marker, with which no
  line may begin.

`.ci/lines.py` checks every tracked file; `.ci/lines.py FILE..` checks some.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 100
# What begins a comment, by the suffix of the file. Scripts of the shell have none.
SLASHES, HASH = r"(\s*//[/!]?(?: |$))", r"(\s*#(?: |$))"
COMMENTS = dict.fromkeys([".rs", ".cuh", ".cu", ".h", ".hpp", ".cpp"], SLASHES)
COMMENTS |= dict.fromkeys([".py", ".toml", ".yml", ""], HASH)

# What is never broken: inline code, a link's target, a marker.
ATOM = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\]\([^)]*\)|<!--.*?-->|<[^ >]+>")
# What begins an item of a list.
ITEM = re.compile(r"^\s*([-*+]|\d+[.)]) ")
# What must not begin a line: a marker, or what would then be a list, a heading, a quotation, ...
NO_START = re.compile(r"<!--|([-+*>]|#{1,6}|\d+[.)]|=+|--+|\|.*)$|[>|]|```|~~~")


def words(text):
    """The parts of a text between which a line may be broken."""
    text = ATOM.sub(lambda atom: atom[0].replace(" ", "\0"), text)
    parts = []
    for part in text.split():
        if parts and NO_START.match(part):
            parts[-1] += " " + part
        else:
            parts.append(part)
    return [part.replace("\0", " ") for part in parts]


def is_breakable(line):
    """Whether a line has a place to break it behind its list marker."""
    return len(words(ITEM.sub("", line))) > 1


def markdown_faults(lines, room):
    """The numbers of Markdown lines, counted from 0, that are too wide and could be broken."""
    fence, generated, listed, indented, before = None, False, False, False, ""
    for number, line in enumerate(lines):
        text = line.strip()
        # Lines that are indented after an empty one are code, but in a list.
        is_code = line.startswith("    ") and not listed and (indented or not before)
        indented = is_code or (indented and not text)
        if text and not line.startswith(" "):
            listed = bool(ITEM.match(line))
        before = text
        if fence:
            fence = None if text.startswith(fence) else fence
        elif text.startswith(("```", "~~~")):
            fence = text[:3]
        elif text.startswith("<!-- ") and text.endswith((" begin -->", " end -->")):
            generated = text.endswith(" begin -->")
        elif generated or is_code or text.startswith("|") or re.fullmatch(r"\[[^\]]+\]: \S+", text):
            continue
        elif len(line) > room and is_breakable(line):
            yield number


def comment_faults(lines, comment):
    """The same of a program's comments. Each run of comment lines is a text of its own."""
    start = 0
    while start < len(lines):
        mark = re.match(comment, lines[start] + " ")
        if not mark:
            start += 1
            continue
        end = start
        while end < len(lines) and (same := re.match(comment, lines[end] + " ")):
            if same[1] != mark[1]:
                break
            end += 1
        width = len(mark[1])
        body = [line[width:] for line in lines[start:end]]
        yield from (start + number for number in markdown_faults(body, WIDTH - width))
        start = end


def faults(path, text):
    lines = text.split("\n")
    comment = COMMENTS.get(path.suffix)
    found = comment_faults(lines, comment) if comment else markdown_faults(lines, WIDTH)
    return [f"{path}:{number + 1}: {len(lines[number])} columns" for number in found]


def check_itself():
    """What the check must find, and what it must let pass."""
    long = "word " * 21
    cases = [
        ("a.md", long, 1),
        ("a.md", f"* {long}", 1),
        ("a.md", f"# {long}", 1),
        ("a.md", f"| {long} |", 0),
        ("a.md", f"```text\n{long}\n```\n{long}", 1),
        ("a.md", f"<!-- peers x begin -->\n{long}\n<!-- peers x end -->\n{long}", 1),
        ("a.md", f"[name]: https://example.org/{'x' * 90}", 0),
        ("a.rs", f"//! [`Name`]: {long}", 1),
        ("a.md", f"* https://example.org/{'x' * 90}", 0),
        ("a.md", f"`{long}`", 0),
        ("a.md", f"[name](https://example.org/{'x' * 90}) end", 1),
        ("a.md", f"is <!-- figure: {'x' * 90} -->1<!-- /figure -->", 0),
        ("a.md", f"is <!-- figure: {'x' * 90} -->1<!-- /figure --> or 2", 1),
        ("a.rs", f"    /// {long}", 1),
        ("a.rs", f"//! ```text\n//! {long}\n//! ```\n//! {long}", 1),
        ("a.rs", f"/// | {long} |\n// {long}", 1),
        ("a.rs", f"let x = {long};", 0),
        ("a.md", f"text\n\n    {long}\n\n    {long}\ntext\n    {long}", 1),
        ("a.md", f"* item\n\n    {long}", 1),
        ("a.toml", f"# {long}\nx = '{long}'", 1),
        ("a.cuh", f"// {long}\nint x;\n//\n// {long}", 2),
    ]
    for name, text, expected in cases:
        found = faults(pathlib.Path(name), text)
        if len(found) != expected:
            sys.exit(f"{name}: {found} where {expected} were to be found in\n{text}")


def main():
    check_itself()
    names = sys.argv[1:]
    if not names:
        command = ["git", "ls-files"]
        run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        names = run.stdout.split("\n")[:-1]
    # Licences have no suffix either.
    names = [name for name in names if not pathlib.Path(name).name.startswith("LICENSE")]
    suffixes = COMMENTS.keys() | {".md"}
    paths = [path for name in names if (path := pathlib.Path(name)).suffix in suffixes]
    paths = [path for path in paths if (ROOT / path).exists()]
    found = [fault for path in paths for fault in faults(path, (ROOT / path).read_text())]
    print("\n".join([*found, f"{len(found)} lines of more than {WIDTH} columns in {len(paths)} files"]))
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
