#!/usr/bin/env python3
"""Checks that modules depend downwards only, and on each other in no circle.

A *room* is a module that lib.rs declares, with all that is below it. `ROOMS` has their order. Every
other library or program is a single room, except tests. Between packages the compiler sees to the
order.

* A room uses rooms that stand before it in the order, and no others; nor does a path lead through
  another to what is below.
* The files of a room form no circle. A `mod` line and a re-export of what a module has below it are
  no use of it, unless the module's own code has the name too. So a mod.rs may define what its
  children use, or use its children, but not both.
* No engine asks a bijection only whether it is trusted: it would evaluate the bijection itself, and
  not the form that is vouched for. `EngineForm` says both at once.
* A type's name is its alone in the whole tree, except in benches and in the packages of languages,
  whose classes bear the names of what they wrap.

It reads the `use` lines and the paths in code, without comments, strings and what is compiled for
tests only. A path leads to the file that defines its item: re-exports are followed. No well-kept
tool judges the files of a module so, and the compiler lets them form circles.
"""

import graphlib
import pathlib
import posixpath
import re
import subprocess
import sys

# The rooms of packages that have several, from the bottom to the top.
ROOMS = {
    "crates/core/src": "word error base seed bijection internal lib",
    # The library, and then the program, which stands on it: sets on dataset, and that on files.
    "crates/cli/src": (
        "formats files dataset tables lines npy text failure streams memory progress selection done signals "
        "threads allocator gather temporary report inputs output arguments generate repeat job arrays sets "
        "rows run program lib"
    ),
    "src": "error compact cuda backend permutation exchange sampler slice prelude guide lib",
}

# Names that several types may bear.
SHARED = {
    "Error": "each package has its own",
    "Sealed": "the supertrait by which a trait is sealed",
    "Cuda": "a build without the engine has the type, and cannot create it",
    "DeviceSource": "without memory to allocate there is the type, and no value of it",
    "Passes": "like `DeviceSource`",
}

SKIPPED = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?'(?:\\.[^'\n]*|[^'\\])'|[bc]?r(\#*)".*?"\1|[bc]?"(?:\\.|[^"\\])*\"""", re.S
)
TESTED = re.compile(r"#\[cfg\((?:test|all\(test\b)[^\]]*\]")
INLINE = re.compile(r"\bmod \w+ \{")
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([\w:{][^;]*);")
ELSEWHERE = re.compile(r'#\[path = "([^"]+)"\]\s+(?:pub(?:\([^)]*\))? )?mod (\w+);')
PATH = re.compile(r"(?<![\w.:])(?:\$crate|[A-Za-z_]\w*)(?:::[A-Za-z_]\w*)+")
OWN_NAME = re.compile(r"\bextern crate self as (\w+);")
ONLY_ASKED = re.compile(r"(?<!\bself)\.trusted\(\)\s*(\.as_ref\(\)\s*)?\.is_")
TYPE = re.compile(
    r"^(?: *(?:pub(?:\([^)]*\))? )?(?:unsafe )?(?:struct|enum|trait|union)|(?:pub(?:\([^)]*\))? )?type) (\w+)", re.M
)
ITEM = re.compile(r"(pub|use|mod|fn|const|static|struct|enum|trait|impl|type|unsafe|extern)\b")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def end_of(text, at):
    """Where the item, the field or the arm at a place ends, with the attributes before it."""
    while text[at:].lstrip().startswith("#"):
        at = text.index("]", at) + 1
    is_item, depth = ITEM.match(text[at:].lstrip()), 0
    for at in range(at, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0 or depth == 0 and (text[at] in ";}" if is_item else text[at] == ","):
            return at if depth < 0 else at + 1
    return len(text)


def code_of(text):
    """A file without comments, strings and tests, line for line."""
    text = SKIPPED.sub(lambda skipped: blank(skipped[0]), text)
    while tested := TESTED.search(text):
        end = end_of(text, tested.end())
        text = text[: tested.start()] + blank(text[tested.start() : end]) + text[end:]
    # A module within the file is the file, and what is above it too.
    for inline in list(INLINE.finditer(text)):
        end = end_of(text, inline.start())
        body = re.sub(r"\bsuper::(?!super)", "self:: ", text[inline.start() : end])
        text = text[: inline.start()] + body.replace(":: ", "::") + " " * body.count(":: ") + text[end:]
    return text


def paths_of(tree):
    """The paths of a `use`, and the name that each gets."""
    tree = re.sub(r"\s+", " ", tree)
    while "{" in tree:
        tree = re.sub(
            r"([\w:]*)\{([^{}]*)\}",
            lambda group: ", ".join(group[1] + part.strip() for part in group[2].split(",") if part.strip()),
            tree,
        )
    for part in tree.split(","):
        path, _, alias = part.strip().removesuffix("::self").partition(" as ")
        names = tuple(path.removesuffix("::self").split("::"))
        yield names, alias or names[-1]


class Tree:
    """The files of a library, which are given as texts by their paths below src."""

    def __init__(self, files):
        self.files, self.code, self.module, self.of_module, self.imported = files, {}, {}, {}, {}
        self.roots = {"crate", "$crate"}
        self.read("lib.rs" if "lib.rs" in files else "main.rs", ())

    def read(self, file, module):
        code = self.code[file] = code_of(self.files[file])
        self.roots |= set(OWN_NAME.findall(code))
        self.module[file] = module
        # One of several files is the module's, and the names are those of all.
        self.of_module[module] = self.of_module.get(module) or file
        names = {name: path for use in USE.finditer(code) for path, name in paths_of(use[2])}
        self.imported[module] = names | self.imported.get(module, {})
        for child in re.findall(r"\bmod (\w+);", code):
            below = "/".join(module + (child,))
            # A `path` may be an alternative.
            self.of_module.setdefault(module + (child,))
            paths = [path for path, name in ELSEWHERE.findall(self.files[file]) if name == child]
            paths = [posixpath.join(posixpath.dirname(file), path) for path in paths]
            for name in (f"{below}.rs", f"{below}/mod.rs", *paths):
                if name in self.files and name not in self.code:
                    self.read(name, module + (child,))

    def absolute(self, module, path):
        """A module and the rest of a path from there, or `None` if the path is of another crate."""
        if path[0] in self.roots:
            return (), path[1:]
        if path[0] not in ("self", "super"):
            is_here = module + path[:1] in self.of_module or path[0] in self.imported[module]
            return (module, path) if is_here else None
        while path and path[0] in ("self", "super"):
            module, path = module[:-1] if path[0] == "super" else module, path[1:]
        return module, path

    def resolve(self, module, path, depth=0):
        """The file of the definition that a path leads to; `None` for those of other crates."""
        at, rest = self.absolute(module, path) or (None, ())
        for k, name in enumerate(rest):
            known = self.imported.get(at, {}).get(name)
            if at + (name,) in self.of_module:
                at += (name,)
            elif known and depth < 9 and (at, path) != (module, known):
                return self.resolve(at, known + rest[k + 1 :], depth + 1)
            else:
                return self.of_module[at]
        return None

    def uses(self):
        """Which file uses which: (file, line, used file, the path)."""
        for file, code in self.code.items():
            module, own = self.module[file], USE.sub(lambda use: blank(use[0]), code)
            found = [(use.start(), *path, use[1]) for use in USE.finditer(code) for path in paths_of(use[2])]
            found += [(path.start(), tuple(path[0].split("::")), "", None) for path in PATH.finditer(own)]
            for place, path, name, public in found:
                is_shown = public and not re.search(rf"\b{re.escape(name)}\b", own)
                for used in self.way(module, path):
                    if not (is_shown and self.module[used][: len(module)] == module):
                        yield file, code.count("\n", 0, place) + 1, used, "::".join(path)

    def way(self, module, path):
        """The files that a path makes the module's file depend on."""
        start = self.absolute(module, path)
        if not start:
            return set()
        whole = start[0] + start[1]
        found = {self.of_module.get(whole[:-1]) if path[-1] == "*" else self.resolve(module, path)}
        if whole[:1] != module[:1] and len(whole) > 1:
            found.add(self.of_module.get(whole[:1]))
        return found - {None, self.of_module[module]}


def faults(files, rooms):
    """What is wrong with a library, as texts."""
    tree, order = Tree(files), rooms.split()
    room = {file: file.split("/")[0].removesuffix(".rs") if order else "" for file in tree.code}
    for name in sorted(set(room.values()) - set(order or [""])):
        yield f"the room {name!r} is not in the order of rooms"
    yield from (f"trust: {file}" for file, code in tree.code.items() if ONLY_ASKED.search(code))
    graph = {}
    for file, line, used, path in tree.uses():
        if room[file] == room[used]:
            graph.setdefault(file, set()).add(used)
        elif {room[file], room[used]} <= set(order) and order.index(room[used]) > order.index(room[file]):
            yield f"upwards: {file}:{line}: {path} is in {used}"
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield "circle: " + " is used by ".join(error.args[1])


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
    ({"low/part.rs": "use crate::high::High;"}, "upwards: low/part.rs:1"),
    ({"low/part.rs": "fn f() {\n crate::high::high() }"}, "upwards: low/part.rs:2"),
    ({"low/part.rs": "use crate::{\n Low,\n High};"}, "upwards: low/part.rs:1"),
    ({"low/part.rs": "pub use super::super::High as Part;"}, "upwards: low/part.rs:1"),
    ({"low/part.rs": "use crate::high::Low;", "high.rs": "pub use crate::low::Low;"}, "upwards:"),
    ({"low/part.rs": "use crate::high::*;"}, "upwards: low/part.rs:1"),
    ({"low/mod.rs": "mod part; pub use part::Part; pub struct Low(Part);"}, "circle:"),
    ({"low/mod.rs": "mod part; pub struct Low(part::Part);"}, "circle:"),
    ({"low/mod.rs": "mod part; use part::Part; pub struct Low;"}, "circle:"),
    ({"high.rs": "fn f() { g.trusted()\n.as_ref().is_some_and(h) }"}, "trust: high.rs"),
    ({"lib.rs": '#[path = "low/none.rs"]\nmod low; mod high;', "low/none.rs": "use crate::high::High;"}, "upwards:"),
    ({"lib.rs": "extern crate self as own; mod low; mod high;", "low/part.rs": "use own::high::High;"}, "upwards:"),
    ({"lib.rs": "mod low; mod high; mod cellar;", "cellar.rs": ""}, "the room 'cellar'"),
]


def main():
    assert not list(faults(CLEAN, "low high lib")), list(faults(CLEAN, "low high lib"))
    for change, expected in BROKEN:
        found = list(faults(CLEAN | change, "low high lib"))
        assert any(fault.startswith(expected) for fault in found), (change, found)
    assert TYPE.findall("pub(in a::b) struct A;\n    type B = u8;\npub type C = u8;") == ["A", "C"]
    root, found = pathlib.Path(__file__).parent.parent, []
    listed = subprocess.check_output(["git", "ls-files", "*/lib.rs", "*/main.rs"], cwd=root, text=True)
    packages, types = {path.rpartition("/")[0] for path in listed.split() if "tests/" not in path}, {}
    for package in sorted(packages):
        source = root / package
        files = {path.relative_to(source).as_posix(): path.read_text() for path in source.rglob("*.rs")}
        found += [f"{package}: {fault}" for fault in faults(files, ROOMS.get(package, ""))]
        if not package.startswith(("benches/", "crates/c/", "fuzz", "js/", "python/")):
            for file, code in Tree(files).code.items():
                for name in set(TYPE.findall(code)) - SHARED.keys():
                    types.setdefault(name, []).append(f"{package}/{file}")
    found += [f"several types {name}: {', '.join(at)}" for name, at in sorted(types.items()) if len(at) > 1]
    sys.exit("\n".join(found) or None)


main()
