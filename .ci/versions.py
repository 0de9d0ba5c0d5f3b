#!/usr/bin/env python3
"""Fails if something names another version than the workspace's, in Cargo.toml.

    .ci/versions.py                what differs: `file:line: it has .., not ..`
    .ci/versions.py --set X.Y.Z    writes a version to all of these places
    .ci/versions.py --tag vX.Y.Z   fails also if the tag differs, or the changelog has no dated
                                   section for it; prints that section, the notes of the release

It also compares the oldest versions of Rust, Python, NumPy and Node that documents and settings
name with those that the manifests require.
"""

import pathlib
import re
import subprocess
import sys
import tomllib

NUMBER = r"(\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?)"
# Where our version stands, by the name of a file; and where the text has to have it at least once.
PLACES = [
    # Of packages; those of programs that are never published have 0.0.0.
    (r"Cargo\.toml", r'^\[(?:workspace\.)?package\]\n(?:(?!\[).*\n)*?version = "(?!0\.0\.0")=?NUMBER"', False),
    # What has a path is ours.
    (r"Cargo\.toml", r'\{[^{}\n]*\bversion = "=?NUMBER"[^{}]*\bpath = ', False),
    (r"Cargo\.toml", r'\{[^{}\n]*\bpath = [^{}]*\bversion = "=?NUMBER"', False),
    (r"Cargo\.lock", r'^name = "bijective-shuffle[\w-]*"\nversion = "(?!0\.0\.0")NUMBER"', True),
    (r"package(?:-lock)?\.json", r'"name": "bijective-shuffle",\n *"version": "NUMBER"', False),
    (r"pyproject\.toml", r'^version = "NUMBER"', False),
    (r"CITATION\.cff", r"^version: NUMBER", True),
    (r"crates/c/(?:src/status\.rs|include/bijective_shuffle\.h)", r'The version of the library, such as "NUMBER"', True),
    (r"docs/c\.md", r"contains its ABI version: NUMBER now", True),
    # How to depend on a package.
    (r".*\.(?:md|txt)", r"find_package\(bijective_shuffle NUMBER", False),
    (r".*\.md", r'^ *bijective[-_]shuffle[\w-]* = (?:\{[^{}\n]*version = )?"[=^~]?NUMBER', False),
    (r".*\.md", r"bijective-shuffle(?:-[a-z]+)?(?:@|[=~]=|>=)NUMBER", False),
]
# What is required: the manifest that says it and its text; and where else it stands.
FLOORS = {
    r'Cargo.toml rust-version = "NUMBER"': [
        (r".*Cargo\.toml", r'^rust-version = "NUMBER"'),
        (r"README\.md", r"^Rust NUMBER or newer"),
        (r"docs/support\.md", r"^\| Rust \| NUMBER \|"),
    ],
    r'python/pyproject.toml requires-python = ">=NUMBER"': [(r"docs/support\.md", r"^\| CPython \| NUMBER")],
    r'python/pyproject.toml "numpy>=NUMBER"': [(r"docs/support\.md", r"^\| NumPy \| NUMBER")],
    r'js/package.json "node": ">=NUMBER"': [
        (r"js/reference/package\.json", r'"node": ">=NUMBER"'),
        (r"docs/support\.md", r"^\| Node \| NUMBER"),
    ],
}


def compiled(pattern):
    return re.compile(pattern.replace("NUMBER", NUMBER), re.M)


def places(files):
    """Each place of our version: the file, and the span of the number in its text."""
    for name, pattern, needed in PLACES:
        some = False
        for path, text in files.items():
            if re.fullmatch(rf"{name}|.*/{name}", path):
                for found in compiled(pattern).finditer(text):
                    some = True
                    yield path, found.span(1)
        if needed and not some:
            yield name, None


def shortened(version, text):
    """As much of a version as the text has: 0.1 of 0.1.0."""
    parts = text.split("-")[0].count(".") + 1
    return version if parts > 2 else ".".join(version.split("-")[0].split(".")[:parts])


def line(text, at):
    return text.count("\n", 0, at) + 1


def unversioned(path, text):
    """The packages of ours on which a published one depends by a path alone."""
    manifest = tomllib.loads(text)
    if "package" not in manifest or manifest["package"].get("publish") is False:
        return
    for table in [manifest, *manifest.get("target", {}).values()]:
        for kind in ["dependencies", "build-dependencies"]:
            for name, wanted in table.get(kind, {}).items():
                if "path" in wanted and "version" not in wanted:
                    yield f"{path}: {name} has no version, so the package cannot be published"


def faults(files, version):
    for path, span in places(files):
        if span is None:
            yield f"no {path} has a version where one is expected"
        elif (found := files[path][slice(*span)]) != (wanted := shortened(version, found)):
            yield f"{path}:{line(files[path], span[0])}: it has {found}, not {wanted}"
    for path, text in files.items():
        if path.endswith("Cargo.toml"):
            yield from unversioned(path, text)


def floors(files):
    for source, others in FLOORS.items():
        path, pattern = source.split(" ", 1)
        required = compiled(pattern).search(files[path])[1]
        for name, pattern in others:
            found = [(other, place) for other, text in files.items() if re.fullmatch(name, other) for place in compiled(pattern).finditer(text)]
            if not found:
                yield f"{name} does not say that {path} requires {required}"
            for other, place in found:
                if place[1] != required:
                    yield f"{other}:{line(files[other], place.start(1))}: it has {place[1]}, and {path} {required}"


def changed(files, version):
    """The files that differ once each place has the version."""
    spans = {}
    for path, span in places(files):
        if span:
            spans.setdefault(path, set()).add(span)
    for path, found in spans.items():
        text = files[path]
        for start, end in sorted(found, reverse=True):
            text = text[:start] + shortened(version, text[start:end]) + text[end:]
        if text != files[path]:
            yield path, text


def notes(changelog, version):
    """The section of a version, without its heading."""
    found = re.search(rf"^## \[?{re.escape(version)}\]? - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    return found and found[1].strip()


def current(files):
    return tomllib.loads(files["Cargo.toml"])["workspace"]["package"]["version"]


def check_itself():
    """What the check must find, and what it must let pass."""
    for name, text, count in [
        ("Cargo.toml", '[package]\nname = "a"\nversion = "0.2.0"', 1),
        ("crates/a/Cargo.toml", '[package]\nversion = "0.0.0"\npublish = false', 0),
        ("crates/a/Cargo.toml", '[dependencies]\nb = { path = "../b", version = "=0.2.0" }', 1),
        ("crates/a/Cargo.toml", '[dependencies]\nb = { version = "0.2.0", features = [\n"x"], path = "../b" }', 1),
        ("crates/a/Cargo.toml", '[dependencies]\nb = { version = "0.2.0", features = ["x"] }', 0),
        ("crates/a/Cargo.toml", '[package]\nname = "a"\n[dependencies]\nb = { path = "../b" }', 1),
        ("crates/a/Cargo.toml", '[package]\nname = "a"\n[dev-dependencies]\nb = { path = "../b" }', 0),
        ("a/Cargo.lock", 'name = "bijective-shuffle-core"\nversion = "0.1.1"', 1),
        ("js/package.json", '{ "name": "bijective-shuffle",\n  "version": "0.1.3" }', 1),
        ("docs/a.md", "find_package(bijective_shuffle 0.2)", 1),
        ("docs/a.md", "find_package(bijective_shuffle 0.1)", 0),
        ("docs/a.md", 'bijective-shuffle = { version = "0.2", features = []', 1),
        ("docs/a.md", "pip install bijective-shuffle==0.1.0", 0),
        ("docs/a.md", "npm install bijective-shuffle@0.3.0", 1),
    ]:
        found = [fault for fault in faults({name: text}, "0.1.0") if not fault.startswith("no ")]
        assert len(found) == count, (name, text, found)
        after = {name: text} | dict(changed({name: text}, "0.1.0"))
        left = [fault for fault in faults(after, "0.1.0") if " it has " in fault]
        assert not left, left
    assert shortened("1.2.3-rc.1", "0.1") == "1.2" and shortened("1.2.3-rc.1", "0.1.0") == "1.2.3-rc.1"
    log = "# Changelog\n\n## Unreleased\n\n* d\n\n## 0.2.0 - 2026-01-02\n\n* a\n\n## 0.1.0 - 2025-01-02\n\n* b\n"
    assert (notes(log, "0.2.0"), notes(log, "0.1.0"), notes(log, "0.3.0")) == ("* a", "* b", None)


def main():
    check_itself()
    listed = subprocess.run(["git", "ls-files"], check=True, capture_output=True, text=True).stdout
    suffixes = {".toml", ".lock", ".json", ".cff", ".md", ".txt", ".rs", ".h"}
    paths = [path for path in map(pathlib.Path, listed.splitlines()) if path.suffix in suffixes and path.is_file()]
    files = {str(path): path.read_text() for path in paths}
    arguments = sys.argv[1:]
    if arguments[:1] == ["--set"] and len(arguments) == 2:
        if not re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?", arguments[1]):
            sys.exit(f"{arguments[1]} is no version, such as 1.2.3 or 1.2.3-rc.1.")
        for path, text in changed(files, arguments[1]):
            pathlib.Path(path).write_text(text)
            files[path] = text
    elif arguments and not (arguments[0] == "--tag" and len(arguments) == 2):
        sys.exit(__doc__)
    version = current(files)
    found = [*faults(files, version), *floors(files)]
    if arguments[:1] == ["--tag"]:
        section = notes(files["CHANGELOG.md"], version)
        if arguments[1] != f"v{version}":
            found.append(f"the tag is {arguments[1]}, and Cargo.toml has {version}")
        if section is None:
            found.append(f"CHANGELOG.md has no section `## {version} - YYYY-MM-DD`")
        repository = tomllib.loads(files["Cargo.toml"])["workspace"]["package"].get("repository")
        if not repository or repository not in files["js/package.json"]:
            found.append("Cargo.toml, under [workspace.package], and js/package.json do not name one repository")
        if not found:
            print(section)
            return
    print("\n".join([*found, f"{len(found)} places differ from version {version}"]))
    sys.exit(bool(found))


main()
