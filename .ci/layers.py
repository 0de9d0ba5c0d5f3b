#!/usr/bin/env python3
"""Checks that the modules of each package depend downwards only, and on each other in no circle.

    .ci/layers.py              checks the packages of the library
    .ci/layers.py --graph      also prints which room uses which
    .ci/layers.py --self-test  checks that the checks can fail

A *room* is a module that lib.rs declares, with all that is below it. `PACKAGES` has their order. A
package without one is a single room. Between packages the compiler sees to the order.

* A room uses rooms that stand before it in the order, and no others; nor does a path lead through
  another to what is below.
* The files of a room form no circle. A `mod` line and a re-export (`pub use`) of what a module has
  below it are no use of it, unless the module's own code has the name too. So a mod.rs may define
  what its children use, or use its children, but not both.

* No engine asks a bijection only whether it is trusted: it would evaluate the bijection itself, and
  not the form that is vouched for. `EngineForm` says both at once.

It reads the `use` lines and the paths in code, without comments, strings and what is compiled for
tests only. A path leads to the file that defines its item: re-exports are followed. What has no
path it does not see, such as the methods of a type that came from elsewhere.
"""

import pathlib
import re
import sys

# The rooms of each package, from the bottom to the top.
PACKAGES = {
    "crates/core/src": ["word", "error", "base", "seed", "bijection", "engine", "lib"],
    "crates/affine/src": None,
    "crates/loaders/src": None,
    "crates/rng/src": None,
    "crates/stats/src": None,
    "src": [
        "error",
        "compact",
        "cuda",
        "backend",
        "permutation",
        "exchange",
        "sampler",
        "slice",
        "prelude",
        "guide",
        "lib",
    ],
}

# What else has engines.
ENGINES = ["crates/mpi/src", "crates/wgpu/src"]

ONLY_ASKED = re.compile(r"(?<!\bself)\.trusted\(\)\s*(\.as_ref\(\)\s*)?\.is_")

TOKEN = re.compile(
    r"""
    (?P<skip> //[^\n]* | /\*.*?\*/ | \s+ | b?'(?:\\.[^'\n]*|[^'\\])' | '\w+ )
  | (?P<token> [bc]?r(?P<hashes>\#*)".*?"(?P=hashes) | [bc]?"(?:\\.|[^"\\])*" | \w+ | :: | . )
    """,
    re.DOTALL | re.VERBOSE,
)
# What an item begins with, and a field or an arm does not.
ITEMS = set("pub use mod fn const static struct enum trait impl type unsafe extern".split())
OPENING, CLOSING = set("([{"), set(")]}")


def tokens_of(text):
    """A text's tokens without comments, characters and lifetimes, and the line of each."""
    line, tokens, lines = 1, [], []
    for match in TOKEN.finditer(text):
        if match["token"]:
            tokens.append(match["token"])
            lines.append(line)
        line += match[0].count("\n")
    return tokens, lines


class Reader:
    """Reads one file: the modules that it declares, and the paths that it has."""

    def __init__(self, text, module):
        self.tokens, self.lines = tokens_of(text)
        self.tokens.append("")
        self.module = module
        self.inline = set()  # modules within the file
        self.children = []  # (name, the file's path if an attribute has it)
        self.imports = []  # (line, module, path, the name it gets, whether it is a re-export)
        self.paths = []  # (line, module, path)
        self.names = set()  # names that code has outside of `use` lines
        self.read()

    def closing(self, at):
        """The place of the bracket that closes the one at a place."""
        depth = 0
        for place in range(at, len(self.tokens)):
            depth += (self.tokens[place] in OPENING) - (self.tokens[place] in CLOSING)
            if depth == 0:
                return place
        return len(self.tokens) - 1

    def after_item(self, at):
        """The place after the item, the field or the arm at a place, and its attributes."""
        while self.tokens[at] == "#":
            at = self.closing(at + 1) + 1
        is_item = self.tokens[at] in ITEMS
        while self.tokens[at] not in (";" if is_item else ",", "}", ""):
            if self.tokens[at] in OPENING:
                at, opened = self.closing(at), self.tokens[at]
                if is_item and opened == "{":
                    return at + 1
            at += 1
        return at if self.tokens[at] == "}" else at + 1

    def read(self):
        at, scopes, path = 0, [], None
        tokens = self.tokens
        while tokens[at]:
            token, module = tokens[at], self.module + tuple(filter(None, scopes))
            if token == "#" and tokens[at + 1] == "[":
                end = self.closing(at + 1)
                attribute = "".join(tokens[at + 2 : end])
                if re.match(r"cfg\((test|all\(test\b)", attribute):
                    end = self.after_item(end + 1) - 1
                elif attribute.startswith("path="):
                    path = attribute.split('"')[1]
                at = end + 1
            elif token == "$":  # a macro's parameter
                at += 1 if tokens[at + 1] == "crate" else 2
            elif token == "pub" and tokens[at + 1] == "(":
                after = self.closing(at + 1) + 1
                at = self.read_use(after, module, True) if tokens[after] == "use" else after
            elif token == "pub" and tokens[at + 1] == "use":
                at = self.read_use(at + 1, module, True)
            elif token == "use" and tokens[at + 1] != "<":  # that is of a type
                at = self.read_use(at, module, False)
            elif token == "mod" and tokens[at + 2] == ";":
                self.children.append((module + (tokens[at + 1],), path))
                at, path = at + 3, None
            elif token == "mod" and tokens[at + 2] == "{":
                self.inline.add(module + (tokens[at + 1],))
                scopes.append(tokens[at + 1])
                at += 3
            elif token in "{}":
                scopes.append(None) if token == "{" else scopes.pop()
                at += 1
            elif re.match(r"[A-Za-z_]", token) and '"' not in token:
                at = self.read_path(at, module)
            else:
                at += 1

    def read_path(self, at, module):
        line, names = self.lines[at], [self.tokens[at]]
        is_start = self.tokens[at - 1] not in ("::", ".")
        while self.tokens[at + 1] == "::" and re.match(r"[A-Za-z_]", self.tokens[at + 2]):
            at += 2
            names.append(self.tokens[at])
        if is_start:
            self.names.add(names[0])
            if len(names) > 1:
                self.paths.append((line, module, tuple(names)))
        return at + 1

    def read_use(self, at, module, is_public):
        end = self.tokens.index(";", at)
        self.read_tree(at + 1, end, module, (), is_public)
        return end + 1

    def read_tree(self, at, end, module, prefix, is_public):
        """Reads the paths of a `use` from a place on, and gives the place after them."""
        names, alias, line = [], None, self.lines[at]
        while at < end and self.tokens[at] not in (",", "}"):
            token = self.tokens[at]
            if token == "{":
                at += 1
                while self.tokens[at] != "}":
                    at = self.read_tree(at, end, module, prefix + tuple(names), is_public)
                    at += self.tokens[at] == ","
                return at + 1
            if token == "as":
                alias = self.tokens[at + 1]
                at += 1
            elif token != "::":
                names.append(token)
            at += 1
        if names == ["self"] and prefix:
            names = []
        path = prefix + tuple(names)
        self.imports.append((line, module, path, alias or path[-1], is_public))
        return at


class Tree:
    """All files of a library, given as texts by their paths below src."""

    def __init__(self, files):
        self.files = files
        self.readers = {}
        self.module_files = {}  # the file of each module
        self.imported = {}  # the path that a name of a module stands for
        self.read("lib.rs", ())

    def read(self, file, module):
        reader = self.readers[file] = Reader(self.files[file], module)
        for known in {module} | reader.inline:
            self.module_files.setdefault(known, file)
        for _, within, path, name, _ in reader.imports:
            self.imported.setdefault(within, {}).setdefault(name, path)
        here = pathlib.PurePosixPath(file)
        folder = here.parent if here.stem in ("lib", "mod") else here.parent / here.stem
        for child, path in reader.children:
            below = "/".join(child[len(module) :])
            choices = [folder / f"{below}.rs", folder / below / "mod.rs"]
            if path:
                choices = [here.parent / path]
            found = [str(choice) for choice in choices if str(choice) in self.files]
            if not found:
                sys.exit(f"{file}: there is no file of the module {'::'.join(child)}")
            self.read(found[0], child)

    def absolute(self, module, path):
        """A module and the rest of a path from there, or `None` if the path is of another crate."""
        if path[0] == "crate":
            return (), path[1:]
        if path[0] not in ("self", "super"):
            names = self.imported.get(module, ())
            is_here = module + path[:1] in self.module_files or path[0] in names
            return (module, path) if is_here else None
        while path and path[0] in ("self", "super"):
            module, path = module[:-1] if path[0] == "super" else module, path[1:]
        return module, path

    def resolve(self, module, path, depth=0):
        """The file of the definition that a path leads to; `None` for modules and other crates."""
        start = self.absolute(module, path)
        if not start:
            return None
        at, rest = start
        for k, name in enumerate(rest):
            known = self.imported.get(at, {}).get(name)
            if at + (name,) in self.module_files:
                at += (name,)
            elif known and depth < 9 and (at, path) != (module, known):
                return self.resolve(at, known + rest[k + 1 :], depth + 1)
            else:
                return self.module_files[at]
        return None

    def way(self, module, path):
        """The files that a path makes the module's file depend on."""
        start = self.absolute(module, path)
        if not start:
            return set()
        whole, is_glob = start[0] + start[1], path[-1] == "*"
        found = {self.module_files.get(whole[:-1]) if is_glob else self.resolve(module, path)}
        if whole[:1] != module[:1] and len(whole) > 1:
            found.add(self.module_files.get(whole[:1]))
        return found - {None, self.module_files[module]}

    def uses(self):
        """Which file uses which: (file, line, used file, the path)."""
        for file, reader in self.readers.items():
            found = set()
            for line, module, path, name, is_public in reader.imports:
                is_shown = is_public and name not in reader.names
                for used in self.way(module, path):
                    if not (is_shown and self.is_below(used, module)):
                        found.add((line, "::".join(path), used))
            for line, module, path in reader.paths:
                found |= {(line, "::".join(path), used) for used in self.way(module, path)}
            yield from ((file, line, used, path) for line, path, used in sorted(found))

    def is_below(self, file, module):
        return self.readers[file].module[: len(module)] == module


def room_of(file, rooms):
    return file.split("/")[0].removesuffix(".rs") if rooms else ""


def circles(graph):
    """The sets of files that can all be reached from each other (Tarjan's algorithm)."""
    order, low, stack, found = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for after in sorted(graph.get(node, ())):
            if after not in order:
                visit(after)
            if after in stack:
                low[node] = min(low[node], low[after])
        if low[node] == order[node]:
            circle = stack[stack.index(node) :]
            del stack[-len(circle) :]
            if len(circle) > 1:
                found.append(circle)

    for node in sorted(graph):
        if node not in order:
            visit(node)
    return found


def trusting(files):
    """The files in which a bijection is asked only whether it is trusted."""
    code = {file: re.sub("//.*", "", text) for file, text in files.items() if "tests" not in file}
    return [f"trust: {file}" for file, text in sorted(code.items()) if ONLY_ASKED.search(text)]


def read(source):
    return {path.relative_to(source).as_posix(): path.read_text() for path in source.rglob("*.rs")}


def faults(files, rooms):
    """What is wrong with a library, as texts, and the uses between its rooms."""
    tree = Tree(files)
    uses = list(tree.uses())
    found = [
        f"the room {room!r} is not in the order of rooms"
        for room in sorted({room_of(file, rooms) for file in tree.readers} - set(rooms or [""]))
    ] + trusting(files)
    rank = {room: k for k, room in enumerate(rooms or [""])}
    graph, between = {}, {}
    for file, line, used, path in uses:
        here, there = room_of(file, rooms), room_of(used, rooms)
        if here == there:
            graph.setdefault(file, set()).add(used)
        else:
            between.setdefault(here, set()).add(there)
            if here in rank and there in rank and rank[there] > rank[here]:
                found.append(f"upwards: {file}:{line}: {path} is in {used}")
    for circle in circles(graph):
        lines = [
            f"    {file}:{line}: {path} is in {used}"
            for file, line, used, path in uses
            if file in circle and used in circle
        ]
        found.append("circle:\n" + "\n".join(lines))
    return found, between


CLEAN = {
    "lib.rs": "pub mod low; mod high; pub use high::High; pub use low::Low;",
    "low/mod.rs": """
        //! [`crate::high::High`] is only said.
        mod part;
        pub use part::Part;
        pub struct Low;
        const TEXT: &str = "crate::high::High"; // crate::high::High
        pub(in crate::high) const RAW: &str = r#" " crate::high::High "#;
        #[cfg(test)]
        mod tests { use crate::high::High; }
        #[cfg(test)]
        fn only_tested() -> [u8; 2] { crate::high::high() }
    """,
    "low/part.rs": "use super::Low; pub struct Part(Low); mod inner { use super::Part; }",
    "high.rs": """
        use crate::low::{self, Low};
        pub struct High<'a>(&'a low::Part, Low);
        macro_rules! of { ($use:ident) => { $crate::low::$use } }
    """,
}

# What is changed in the clean tree, and what has to be found.
BROKEN = [
    ({}, None),
    ({"low/part.rs": "use crate::high::High;"}, "upwards: low/part.rs:1"),
    ({"low/part.rs": "fn f() {\n crate::high::high() }"}, "upwards: low/part.rs:2"),
    ({"low/part.rs": "use crate::{\n Low,\n High};"}, "upwards: low/part.rs:3"),
    ({"low/part.rs": "pub use super::super::High as Part;"}, "upwards: low/part.rs:1"),
    ({"low/part.rs": "use crate::high::Low;", "high.rs": "pub use crate::low::Low;"}, "upwards:"),
    ({"low/part.rs": "use crate::high::*;"}, "upwards: low/part.rs:1"),
    ({"low/mod.rs": "mod part; pub use part::Part; pub struct Low(Part);"}, "circle:"),
    ({"low/mod.rs": "mod part; pub struct Low(part::Part);"}, "circle:"),
    ({"low/mod.rs": "mod part; use part::Part; pub struct Low;"}, "circle:"),
    ({"high.rs": "fn f() { g.trusted()\n.as_ref().is_some_and(h) }"}, "trust: high.rs"),
    ({"lib.rs": "mod low; mod high; mod cellar;", "cellar.rs": ""}, "the room 'cellar'"),
]


def self_test():
    for change, expected in BROKEN:
        found, _ = faults(CLEAN | change, ["low", "high", "lib"])
        matches = [fault.startswith(expected) for fault in found] if expected else []
        if not (any(matches) if expected else not found):
            sys.exit(f"self-test: {change} gives {found}, and not {expected}")
    print(f"{len(BROKEN)} trees judged as they should be")


def main():
    if "--self-test" in sys.argv:
        return self_test()
    root, all_found = pathlib.Path(__file__).parent.parent, []
    for package, rooms in PACKAGES.items():
        files = read(root / package)
        found, between = faults(files, rooms)
        all_found += [f"{package}: {fault}" for fault in found]
        if "--graph" in sys.argv:
            for room, used in between.items():
                print(f"{package}, {room}: {' '.join(sorted(used))}")
        print(f"{package}: {len(files)} files, {len(rooms or [package])} rooms")
    for package in ENGINES:
        all_found += [f"{package}: {fault}" for fault in trusting(read(root / package))]
    if all_found:
        sys.exit("\n".join(all_found))
    print("no arrow upwards, no circle")


if __name__ == "__main__":
    main()
