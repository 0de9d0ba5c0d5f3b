#!/usr/bin/env python3
"""Fails if code in docs/c.md, or C++ in docs/inside-kernels.md, does not stand in a file that CI
compiles or runs."""

import pathlib
import re
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
TESTS = [ROOT / "crates/c/tests" / name for name in ["header.cpp", "items.cpp"]]
FILES = [*(ROOT / "crates/c/examples").iterdir(), *TESTS]


def flat(text):
    return re.sub(r"(?m)^[ \t]+", "", text)


def main():
    compiled = [flat(path.read_text()) for path in FILES]
    failed = False
    for page, languages, least in [("c.md", r"(?!console)\w+", 4), ("inside-kernels.md", "cpp", 2)]:
        text = (ROOT / "docs" / page).read_text()
        blocks = re.findall(rf"```{languages}\n(.*?)```", text, re.DOTALL)
        strange = [block for block in blocks if not any(flat(block) in code for code in compiled)]
        for block in strange:
            print(f"docs/{page} has code that is in no example:\n{textwrap.indent(block, '    ')}")
        failed |= bool(strange) or len(blocks) < least
    sys.exit(failed)


main()
