#!/usr/bin/env python3
"""Checks the walks of ARCHITECTURE.md: from a call to its store, or to its launch.

    .ci/walks.py              compares them with src
    .ci/walks.py --write      also mends the numbers of lines
    .ci/walks.py --self-test  checks that the checks can fail

A row of a walk begins with how deep the function is, counted from the call. Then come the file and
the line of its `fn`, below src, and its name:

    | 5 | `compact/cpu/direct.rs:104` | `in_order` | ... |

* A function of that name is defined on that line, and in the type or trait that is named with it.
* It is called by the function one less deep that was named last: that one's body has its name. The
  walks below a smaller heading continue what stands before the first of those.
* No function is deeper than `MOST` has for the heading.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# How deep the walks below a heading may go.
MOST = {
    "From the call to the store, on the CPU": 7,
    "From the call to the launch, on a GPU": 8,
}
ROW = re.compile(r"\| (\d+) \| `([\w/]+\.rs):(\d+)` \| `([\w:]+)`")


def definitions(text, path):
    """The lines, from 1, on which a file defines a function, each with the function's body."""
    *owner, name = path.split("::")
    start = re.compile(rf"( *)(?:pub(?:\([^)]*\))? )?(?:const )?(?:unsafe )?fn {name}\b")
    item, lines = "", text.split("\n")
    for at, line in enumerate(lines):
        if re.match(r"[\w() ]*\b(impl|trait)\b", line):
            item = line
        elif line == "}":
            item = ""
        function = start.match(line)
        if function and all(re.search(rf"\b{name}\b", item) for name in owner):
            end = (k for k in range(at, len(lines)) if lines[k] == function[1] + "}")
            yield at + 1, "\n".join(lines[at + 1 : next(end, at)])


def judge(document, files):
    """What is wrong with a document's walks, how deep those below each heading are, and the
    document with the lines' numbers mended."""
    faults, depths, mended = [], {}, []
    heading, common, above = None, None, []
    for line in document.split("\n"):
        if line.startswith("## "):
            heading, common, above = line[3:], None, []
        elif line.startswith("### "):
            common = above if common is None else common
            above = common
        row = ROW.match(line) if heading in MOST else None
        if row:
            depth, file, number, path = int(row[1]), row[2], row[3], row[4]
            found = list(definitions(files.get(file, ""), path))
            (at, body) = found[0] if len(found) == 1 else (number, "")
            name = path.split("::")[-1]
            if len(found) != 1:
                faults.append(f"src/{file} defines {path} {len(found)} times")
            elif int(number) != at:
                faults.append(f"src/{file}:{at} is where {path} is, not {number}")
            if len(above) < depth - 1:
                faults.append(f"{path} is function {depth} after {len(above)} others")
            elif depth > 1 and not re.search(rf"\b{name}\b", above[depth - 2]):
                faults.append(f"{path} is not called by function {depth - 1} above it")
            if depth > MOST[heading]:
                faults.append(f"{path} is function {depth}, where {MOST[heading]} are to be enough")
            depths[heading] = max(depth, depths.get(heading, 0))
            above = above[: depth - 1] + [body]
            line = line.replace(f"`{file}:{number}`", f"`{file}:{at}`", 1)
        mended.append(line)
    faults += [f"there is no walk below {heading!r}" for heading in MOST if heading not in depths]
    return faults, depths, "\n".join(mended)


CODE = {
    "a.rs": """impl<T> Call for T {
    pub(crate) unsafe fn call(self) {
        B(self).next();
    }
}
""",
    "b.rs": """fn next() {}

impl B {
    fn next(self) {
        store();
        self.launch();
    }
}

fn store() {
}
""",
}
CPU, GPU = (f"## {heading}\n" for heading in MOST)
CALL, NEXT = "| 1 | `a.rs:2` | `Call::call` | |\n", "| 2 | `b.rs:4` | `B::next`, ... | |\n"
STORE, STORES = "| 3 | `b.rs:10` | `store` | |\n", "### One\n{0}### Other\n{0}"
# Documents, and what is to be found in each.
JUDGED = [
    (CPU + CALL + NEXT + STORES.format(STORE) + GPU + CALL, None),
    (CPU + CALL + NEXT.replace("4", "5") + GPU + CALL, "src/b.rs:4 is where B::next is, not 5"),
    (CPU + CALL + NEXT.replace("B::", "") + GPU + CALL, "src/b.rs defines next 2 times"),
    (CPU + CALL + NEXT.replace("B::", "C::") + GPU + CALL, "src/b.rs defines C::next 0 times"),
    (CPU + CALL + STORE + GPU + CALL, "store is function 3 after 1 others"),
    (CPU + CALL + STORE.replace("3", "2") + GPU + CALL, "store is not called by function 1"),
    (CPU + CALL + NEXT + STORE.replace("3", "8") + GPU + CALL, "store is function 8"),
    (CPU + CALL + NEXT, "there is no walk below 'From the call to the launch"),
]


def self_test():
    for document, expected in JUDGED:
        faults, _, mended = judge(document, CODE)
        matches = [fault.startswith(expected) for fault in faults] if expected else [not faults]
        if not any(matches):
            sys.exit(f"self-test: {document} gives {faults}, and not {expected}")
    _, _, mended = judge(JUDGED[1][0], CODE)
    if mended != CPU + CALL + NEXT + GPU + CALL:
        sys.exit(f"self-test: the numbers are mended to\n{mended}")
    print(f"{len(JUDGED)} documents judged as they should be")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    path = ROOT / "ARCHITECTURE.md"
    files = {str(at.relative_to(ROOT / "src").as_posix()): at for at in ROOT.glob("src/**/*.rs")}
    files = {name: at.read_text() for name, at in files.items()}
    document = path.read_text()
    faults, depths, mended = judge(document, files)
    if "--write" in sys.argv:
        path.write_text(mended)
        faults, depths, _ = judge(mended, files)
    if faults:
        sys.exit("\n".join(f"ARCHITECTURE.md: {fault}" for fault in faults))
    for heading, depth in depths.items():
        print(f"{heading}: {depth} functions at most, of {MOST[heading]}")


if __name__ == "__main__":
    main()
