#!/usr/bin/env python3
"""Counts the lines of code of the library: without tests, comments and empty lines.

    .ci/size.py              prints the lines and the files of each room
    .ci/size.py --files      also prints those of each file, largest first
    .ci/size.py --self-test  checks that it counts what it should

Counted is each line of src with code on it, also in a macro or an attribute. What is compiled for
tests only is left out, in files and within them, and so are documentation and comments.
"""

import pathlib
import sys

from layers import ROOMS, Reader, Tree, room_of


def lines_of_code(text):
    """The numbers of the lines with code that is not compiled for tests only."""
    reader = Reader(text, ())
    tokens, found, at = reader.tokens, set(), 0
    while tokens[at]:
        end = at + 1
        if tokens[at] == "#" and tokens[at + 1] == "[":
            end = reader.closing(at + 1) + 1
            if "".join(tokens[at + 2 : end]).startswith(("cfg(test", "cfg(all(test")):
                at = reader.after_item(end)
                continue
        for token, line in zip(tokens[at:end], reader.lines[at:end]):
            found.update(range(line, line + token.count("\n") + 1))
        at = end
    return found


def self_test():
    text = """//! No code.
    use core::ptr; // one
    #[cfg(test)]
    mod tests { fn f() {} }

    /* not
    this */
    const TEXT: &str = "two // lines
    of text"; #[inline] /// and
    fn f() {}
    """
    found = lines_of_code(text)
    if found != {2, 8, 9, 10}:
        sys.exit(f"self-test: the lines {sorted(found)} are counted")
    print("lines counted as they should be")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    source = pathlib.Path(__file__).parent.parent / "src"
    paths = sorted(source.rglob("*.rs"))
    files = {path.relative_to(source).as_posix(): path.read_text() for path in paths}
    # Only the files that are compiled for more than tests.
    lines = {file: len(lines_of_code(files[file])) for file in Tree(files).readers}
    for room in ROOMS:
        of_room = [count for file, count in lines.items() if room_of(file) == room]
        print(f"{room:12} {sum(of_room):6} lines in {len(of_room):3} files")
    print(f"{'src':12} {sum(lines.values()):6} lines in {len(lines):3} files")
    if "--files" in sys.argv:
        for file, count in sorted(lines.items(), key=lambda pair: -pair[1]):
            print(f"{count:6} {file}")


if __name__ == "__main__":
    main()
