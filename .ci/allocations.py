#!/usr/bin/env python3
"""Fails if a package allocates by a number without a way to fail, and `allocations.txt` has no reason.

A caller who gives a number for which there is no memory gets an error, or a panic that the function
documents; an allocation of the standard library's ends the program instead. So what is as large as
a number says is allocated by `try_with_capacity`, `try_reserve` or a `Buffer`. This
looks for `vec![_; n]`, `with_capacity`, `reserve`, `resize`, `to_vec`, `concat`, `repeat`, and
ranges of numbers that are collected, outside of tests. A `resize` within the room that
`try_with_capacity` or `try_reserve` has made is none. A `Vec` that PyO3 makes of an argument is as
large as the argument's `__len__` says; a `List` is not.

A line of `allocations.txt` is a file or folder, how many there are, and why they may be.
"""

import pathlib
import re
import subprocess
import sys

PACKAGES = r"(src|python/src|js/(wasm|webgpu)/src|crates/(core|engine|affine|rng|stats|loaders|resample|mpi|wgpu|wgsl|bindings|c|cli)/src)/"
TESTS = r"(^|/)(tests?|\w+_tests|\w*model|fake|emulation)(\.rs|/)"
SIZED = re.compile(
    r"vec!\[[^;\]]*;\s*(?!\d+\])|(?<!try_)with_capacity\(|\.reserve(?:_exact)?\((?!&|plan\))"
    r"|(?P<of>\w+)?\.resize(?:_with)?\(|\.(?:to_vec|concat|repeat)\("
    r"|\(\w*\.\.=?[^();]*(?:\(\))?[^();]*\)(?:[^;{}]|\{[^{}]*\})*?\.collect\b"
)
CONVERTED = re.compile(r"\bfn \w+[<(][^{};]*?\w: Vec<|: Vec<[^;]*\.extract\(")  # in Python's package
LOOK_BACK = 1200  # characters before a `resize` in which its room is made


def code(text):
    """The text without comments and what is for tests alone, with as many lines."""
    text = re.sub(r"(?m)//.*$", "", text)
    for test in reversed(list(re.finditer(r"#\[cfg\((?:all\(|any\()?test\b", text))):
        depth, end = 0, test.end()
        while end < len(text) and not (depth == 0 and text[end] in ";}"):
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
            if depth == 0 and text[end - 1] == "}":
                break
        text = text[: test.start()] + "\n" * text.count("\n", test.start(), end) + text[end:]
    return text


def is_in_room(text, found):
    name, before = found["of"], text[max(0, found.start() - LOOK_BACK) : found.start()]
    made = rf"\b{name}\b[^;]*= *(?:check::)?try_with_capacity(?:_u64)?\(|\b{name}\.try_reserve|(?:try_reserve\w*|ensure_capacity)\(&?(?:mut )?{name}\b"
    return bool(name and re.search(made, before))


def main():
    root = pathlib.Path(__file__).parent.parent
    found = {}
    for name in subprocess.check_output(["git", "ls-files", "*.rs"], cwd=root, text=True).split():
        if re.match(PACKAGES, name) and not re.search(TESTS, name):
            text = code((root / name).read_text())
            places = [hit for hit in SIZED.finditer(text) if not is_in_room(text, hit)]
            if name.startswith("python/"):
                places += CONVERTED.finditer(text)
            if places:
                found[name] = [text.count("\n", 0, hit.start()) + 1 for hit in places]
    allowed = {}
    for line in (root / ".ci/allocations.txt").read_text().splitlines():
        path, count, why = line.split(maxsplit=2)
        allowed[path] = int(count)
    wrong = []
    for path, count in allowed.items():
        own = {name: found.pop(name) for name in list(found) if name.startswith(path)}
        if sum(map(len, own.values())) != count:
            lines = ", ".join(f"{name}:{line}" for name, lines in own.items() for line in lines)
            wrong.append(f"{path}: {count} are allowed, and these are there: {lines or 'none'}")
    wrong += [f"{name}:{line}: no reason is given" for name, all in found.items() for line in all]
    if wrong:
        print(*wrong, sep="\n")
        sys.exit("See .ci/allocations.py for what is looked for, and what to do.")


main()
