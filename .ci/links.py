#!/usr/bin/env python3
"""Fails if a document or page links to what its reader cannot reach.

Looked at are the Markdown files of the packages that are published, all pages that rustdoc has
made of the library (so run `cargo doc --no-deps --all-features` first), and those of the book (so
run `.ci/book` first). A link may lead to

* a page of the web, which is not fetched; but one of docs.rs that is about this library must be
  among the pages or files that are going to be there;
* a file of the same package, or a heading in it. Not from a README, which crates.io shows without
  the files;
* from a page of rustdoc or of the book, another page there, or an anchor in it.

The other Markdown files of the repository may lead to any file of it. And where a Markdown file
names a file of the repository as code, such as `src/lib.rs`, that file must be there.
"""

import html
import os
import pathlib
import posixpath
import re
import subprocess
import sys
from functools import cache
from urllib.parse import unquote, urldefrag, urlsplit

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
PAGES = TARGET / "doc"
BOOK = TARGET / "book"
LIBRARY = "bijective-shuffle"
# The packages that are published, and their folders.
PACKAGES = {
    LIBRARY: ROOT,
    "bijective-shuffle-affine": ROOT / "crates" / "affine",
    "bijective-shuffle-core": ROOT / "crates" / "core",
    "bijective-shuffle-loaders": ROOT / "crates" / "loaders",
    "bijective-shuffle-rng": ROOT / "crates" / "rng",
    "bijective-shuffle-stats": ROOT / "crates" / "stats",
    "bijective-shuffle-cli": ROOT / "crates" / "cli",
    "bijective-shuffle-mpi": ROOT / "crates" / "mpi",
}
DOCS = f"https://docs.rs/{LIBRARY}/latest/"
SOURCE = f"https://docs.rs/crate/{LIBRARY}/latest/source/"


def packaged(package):
    command = ["cargo", "package", "--list", "--allow-dirty", "--locked", "--package", package]
    # A package may be a workspace of its own.
    listed = subprocess.run(
        command, cwd=PACKAGES[package], check=True, capture_output=True, text=True
    )
    return set(listed.stdout.split("\n")[:-1])


def tracked():
    """The files of the repository, except for those that have been removed and not committed."""
    command = ["git", "ls-files"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\n")[:-1]
    return {name for name in names if (ROOT / name).exists()}


def holds(files, path):
    """Whether the path is one of the files, or a folder of some."""
    folder = path.rstrip("/") + "/"
    return path in files or any(file.startswith(folder) for file in files)


def markdown_links(text):
    """The targets of links and images, without what stands in code."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    text = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "code", text, flags=re.S)
    inline = re.findall(r"\]\(\s*<?([^)>\s]+)", text)
    return inline + re.findall(r"^ {0,3}\[[^\]^]+\]:\s*<?(\S+?)>?\s*$", text, flags=re.M)


@cache
def headings(path):
    """The anchors of a Markdown file."""
    lines = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.M | re.S).split("\n")
    titles = [line.lstrip("#").strip().lower() for line in lines if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


@cache
def page(path):
    """The text of a page, and its anchors."""
    text = re.sub(r"<script.*?</script>", "", path.read_text(), flags=re.S)
    return text, {unquote(html.unescape(anchor)) for anchor in re.findall(r'\bid="([^"]+)"', text)}


def web_fault(url, files):
    """What is wrong with a link to docs.rs that is about the library."""
    if url.startswith(SOURCE) and not holds(files[LIBRARY], url.removeprefix(SOURCE)):
        return "not in the package"
    if url.startswith(DOCS):
        path, anchor = urldefrag(unquote(url.removeprefix(DOCS)))
        found = PAGES / path / "index.html" if path.endswith("/") else PAGES / path
        if not found.is_file():
            return "no such page"
        if anchor and anchor not in page(found)[1]:
            return "no such anchor"
    return None


def markdown_fault(package, name, target, files):
    """What is wrong with a link in a file of a package, or of the repository, which is `None`."""
    folder = PACKAGES.get(package, ROOT)
    if urlsplit(target).scheme:
        return web_fault(target, files)
    path, anchor = urldefrag(unquote(target))
    if path and package and name == "README.md":
        return "crates.io does not show files"
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) if path else name
    if not holds(files[package], path):
        return "not there"
    if anchor and anchor not in headings(folder / path):
        return "no such heading"
    return None


def page_fault(origin, target, files):
    # An item of another crate, whose pages are not here. They are on docs.rs, which knows where.
    if re.fullmatch(r"\w+(::\w+)+", target):
        return None
    # rustdoc's own, on the page of another package's root that is inlined as a module.
    if target == "all.html":
        return None
    if urlsplit(target).scheme:
        return web_fault(target, files)
    path, anchor = urldefrag(unquote(target))
    found = pathlib.Path(os.path.normpath(origin.parent / path)) if path else origin
    if not found.is_file():
        return "no such page"
    # Lines of source are made by a script, on the page.
    is_source = found.is_relative_to(PAGES / "src")
    if anchor and not is_source and anchor not in page(found)[1]:
        return "no such anchor"
    return None


FOLDERS = r"(?:src|gpu|docs|tests|benches|crates|examples|fuzz|python|\.ci)"


def named_files(text):
    """What inline code names that looks like a file or folder of the repository."""
    text = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    return re.findall(rf"`({FOLDERS}/[\w./-]*\w)/?`", text)


def main():
    pages = sorted((PAGES / LIBRARY.replace("-", "_")).rglob("*.html"))
    if not pages:
        sys.exit(f"No pages in {PAGES}: run `cargo doc --no-deps --all-features`.")
    # All of it on one page, for printing, where anchors of chapters would meet.
    book = sorted(path for path in BOOK.rglob("*.html") if path.name not in {"print.html", "toc.html", "404.html"})
    if not book:
        sys.exit(f"No pages in {BOOK}: run `.ci/book`.")
    files = {package: packaged(package) for package in PACKAGES} | {None: tracked()}
    faults, links = [], 0
    for package, names in files.items():
        for name in sorted(name for name in names if name.endswith(".md")):
            for target in markdown_links((PACKAGES.get(package, ROOT) / name).read_text()):
                links += 1
                if fault := markdown_fault(package, name, target, files):
                    faults.append(f"{package or 'repository'}, {name}: {target}: {fault}")
    for name in sorted(name for name in files[None] if name.endswith(".md")):
        for path in named_files((ROOT / name).read_text()):
            if not holds(files[None], path):
                faults.append(f"{name}: {path}: no such file")
    for origin in pages + book:
        for target in set(re.findall(r'(?:\bhref|<img[^>]* src)="([^"]+)"', page(origin)[0])):
            links += 1
            if fault := page_fault(origin, html.unescape(target), files):
                faults.append(f"{origin.relative_to(TARGET)}: {target}: {fault}")
    for fault in faults:
        print(fault)
    count = len(pages) + len(book)
    print(f"{links} links on {count} pages and in documents; {len(faults)} lead nowhere")
    sys.exit(bool(faults))


main()
