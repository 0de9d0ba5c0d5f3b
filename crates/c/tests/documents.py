#!/usr/bin/env python3
"""Fails if code in docs/c.md does not stand in a file that CI compiles or runs."""

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
    text = (ROOT / "docs/c.md").read_text()
    blocks = re.findall(r"```(?!console)\w+\n(.*?)```", text, re.DOTALL)
    strange = [block for block in blocks if not any(flat(block) in code for code in compiled)]
    for block in strange:
        print(f"docs/c.md has code that is in no example:\n{textwrap.indent(block, '    ')}")
    sys.exit(bool(strange) or len(blocks) < 4)


main()
