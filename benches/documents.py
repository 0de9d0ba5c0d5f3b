#!/usr/bin/env python3
"""Fills the tables and figures of README.md, docs and benches/notes from the rows in results.

    python3 benches/documents.py            writes what the rows say into the documents
    python3 benches/documents.py --check    fails where a document says something else

`<!-- peers NAME begin -->` and `<!-- peers NAME end -->` surround a table, `<!-- figure: NAME -->`
and `<!-- /figure -->` a figure in a sentence. tables.py says what each name is computed from. A
sentence can quote any cell of any table as `TABLE; ROW; COLUMN`.
"""

import csv
import math
import re
import statistics
import sys
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ORIGIN = ["date", "revision", "machine"]


class Wrong(Exception):
    """A document or a file of rows is not what it has to be."""


class Rows:
    """Rows of one or several files: dictionaries from column to cell."""

    def __init__(self, rows, comments=()):
        self.rows, self.comments = list(rows), list(comments)

    def where(self, **wanted):
        """The rows whose columns have this cell, or one of these."""
        def fits(row, column, cell):
            return row[column] in (cell if isinstance(cell, list) else [cell])
        return Rows([row for row in self.rows if all(fits(row, *item) for item in wanted.items())],
                    self.comments)

    def all(self, column):
        """The different cells of a column, in their order."""
        return list(dict.fromkeys(row[column] for row in self.rows))

    def text(self, column):
        """The cell of the first row."""
        if not self.rows:
            raise Wrong(f"there is no row for `{column}`")
        return self.rows[0][column]

    def number(self, column):
        return float(self.text(column))

    def median(self, column="seconds"):
        """The median over all rows; not a number if there are none or the cell is a dash."""
        cells = [float(row[column]) for row in self.rows if row[column] != "-"]
        return statistics.median(cells) if cells else math.nan

    def speed(self, name):
        """Items a second of a contender, by the median of its rows; all have one length."""
        rows = self.where(name=name)
        if not rows.rows:
            return math.nan
        if "seconds" in rows.rows[0]:
            return float(rows.text("length")) / rows.median()
        column = next(c for c in ("items_per_second", "numbers_per_second") if c in rows.rows[0])
        return 1 / statistics.median(1 / float(row[column]) for row in rows.rows)

    def best(self, names):
        """The speed of the fastest of some contenders."""
        return max((s for s in map(self.speed, names) if not math.isnan(s)), default=math.nan)

    def origins(self):
        rows = (f"{r['date']}, revision {r['revision']}, {r['machine']}" for r in self.rows)
        return list(dict.fromkeys(rows))


def parse(text):
    """The rows of a file: comments, a line of columns that begins with an origin, cells."""
    lines = [line.strip() for line in text.splitlines()]
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    cells = [row for row in csv.reader(l for l in lines if l and not l.startswith("#"))]
    if not cells or cells[0][:3] != ORIGIN:
        raise Wrong(f"the columns do not begin with {', '.join(ORIGIN)}")
    head = []
    for column in cells[0]:
        same = sum(re.sub(r" \(\d\)$", "", known) == column for known in head)
        head.append(f"{column} ({same + 1})" if same else column)
    for row in cells[1:]:
        if len(row) != len(head):
            raise Wrong(f"{len(row)} cells for {len(head)} columns: {','.join(row)}")
        origin = re.fullmatch(r"\d{4}-\d\d-\d\d", row[0]) and re.fullmatch(
            r"[0-9a-fA-F]{7,}(-dirty)?", row[1]) and row[2]
        if not origin or any("|" in cell for cell in row):
            raise Wrong(f"no origin, or a cell that cannot be in a table: {','.join(row)}")
    return Rows([dict(zip(head, row)) for row in cells[1:]], comments)


class Results:
    """The folder with the rows, and which of its files were read."""

    def __init__(self, folder):
        self.folder, self.used = folder, set()

    @cache
    def _file(self, name):
        try:
            return parse((self.folder / name).read_text())
        except Wrong as wrong:
            raise Wrong(f"{name}: {wrong}") from None

    def rows(self, *patterns):
        """The rows of the files whose names are so, one after the other."""
        there = sorted(path.name for path in self.folder.glob("*.csv"))
        names = [name for p in patterns for name in there if fnmatch(name, f"{p}.csv")]
        if not names:
            raise Wrong(f"there are no rows {', '.join(patterns)}")
        self.used.update(names)
        files = [self._file(name) for name in names]
        return Rows((r for f in files for r in f.rows), (c for f in files for c in f.comments))


class Table:
    """A table of a document, or one whose cells sentences quote."""

    def __init__(self, head, rows, origins=()):
        self.head, self.rows, self.origins = list(head), [list(r) for r in rows], list(origins)
        if not self.rows:
            raise Wrong("no row is left")

    def __str__(self):
        lines = [self.head, ["---"] * len(self.head), *self.rows]
        cell = lambda text: f" {text} |" if text else " |"
        above = "".join(f"* {origin}\n" for origin in self.origins)
        return above + ("\n" if above else "") + "".join(
            f"|{''.join(map(cell, line))}\n" for line in lines)

    def cell(self, row, column):
        """The cell of the row that begins so; `COLUMN (2)` is the second column of that name."""
        name, number = re.fullmatch(r"(.*?)(?: \((\d)\))?", column).groups()
        same = [at for at, head in enumerate(self.head) if head == name]
        if len(same) < int(number or 1):
            raise Wrong(f"there is no column `{column}`")
        begin = row.split(" / ")
        for cells in self.rows:
            if cells[:len(begin)] == begin:
                return cells[same[int(number or 1) - 1]]
        raise Wrong(f"there is no row `{row}`")


def number(value, digits):
    if not math.isfinite(value):
        raise Wrong("not measured")
    return f"{value:.{digits}f}"


def spread(values, digits):
    """From the least to the greatest."""
    least, most = number(min(values), digits), number(max(values), digits)
    return least if least == most else f"{least} to {most}"


class Computed:
    """What the documents have between their markers, by name, made when it is asked for."""

    def __init__(self, results, tables, figures):
        self.results, self.tables, self.figures = results, tables, figures
        self.used = set()

    @cache
    def table(self, name):
        if name not in self.tables:
            raise Wrong(f"`{name}` is computed by nothing")
        self.used.add(name)
        return self.tables[name](self.results)

    def figure(self, name):
        if name in self.figures:
            self.used.add(name)
            return self.figures[name](self.results)
        parts = name.split("; ")
        if len(parts) != 3:
            raise Wrong(f"`{name}` is computed by nothing")
        return self.table(parts[0]).cell(*parts[1:])

    def unused(self):
        return sorted((set(self.tables) | set(self.figures)) - self.used)


MARKERS = re.compile(r"<!-- peers (?P<table>(?:(?!-->).)*?) begin -->(?:(?!<!--).)*?<!-- peers (?P=table) end -->"
                     r"|<!-- figure: (?P<figure>(?:(?!-->).)*?) -->(?:(?!<!--).)*?<!-- /figure -->", re.S)


def fill(text, computed):
    """A document with what was computed between its markers."""
    # Markdown takes such a marker, and the rest of its line, for a block of HTML.
    if re.search(r"^\s*<!-- figure: ", text, re.M):
        raise Wrong("a line begins with the marker of a figure")

    def one(match):
        name = match["table"] or match["figure"]
        try:
            if match["figure"]:
                return f"<!-- figure: {name} -->{computed.figure(name)}<!-- /figure -->"
            body = str(computed.table(name)).strip()
        except Wrong as wrong:
            raise Wrong(f"{name}: {wrong}") from None
        return f"<!-- peers {name} begin -->\n\n{body}\n\n<!-- peers {name} end -->"

    left = MARKERS.sub("", text)
    if re.search(r"<!-- (peers .* (begin|end) |figure: |/figure )", left) or "<!-- peers " in left:
        raise Wrong("a marker has no end, or no begin")
    return MARKERS.sub(one, text)


# Pages whose figures are not between markers yet.
LATER = ["docs/quality.md", "docs/proof.md"]
UNITS = set("""times s ms us ns seconds minutes milliseconds microseconds nanoseconds % percent M G
    M/s G/s GB/s TB/s GiB/s MB/s MiB/s faster slower""".split())


def unmarked(text):
    """The first number with a unit in a sentence, outside code, tables and markers."""
    text = re.sub(r"^\s*```.*?^\s*```", " ", text, flags=re.M | re.S)
    text = MARKERS.sub(" quoted ", text)
    words = re.sub(r"`[^`]*`", " code ", text).split()
    for number, unit in zip(words, words[1:]):
        digits = re.sub(r"^\D+|\D+$", "", number)
        if re.fullmatch(r"\d+(\.\d+)?", digits) and "^" not in number and unit.strip(".,;:()*") in UNITS:
            return f"{number} {unit}"
    return None


def documents(root):
    """All documents and drawings as they should be, by their paths below the root."""
    from tables import DRAWINGS, FIGURES, TABLES
    results = Results(root / "benches/results")
    computed = Computed(results, TABLES, FIGURES)
    files = {}
    paths = ["README.md", *(p for f in ("docs", "docs/results", "benches/notes")
                            for p in sorted(str(p.relative_to(root)) for p in (root / f).glob("*.md")))]
    for path in paths:
        text = (root / path).read_text()
        try:
            files[path] = fill(text, computed)
            figure = unmarked(text)
            if figure and path not in LATER and not path.startswith("benches/"):
                raise Wrong(f'"{figure}" is in a sentence and in no marker')
        except Wrong as wrong:
            raise Wrong(f"{path}: {wrong}") from None
    files.update({path: draw(results) for path, draw in DRAWINGS.items()})
    if computed.unused():
        raise Wrong(f"computed, and in no document: {', '.join(computed.unused())}")
    there = {path.name for path in results.folder.glob("*.csv")}
    if idle := sorted(there - results.used):
        raise Wrong(f"rows that no table uses: {', '.join(idle)}")
    return files


def run(root, check):
    """Writes the documents, or returns where they say something else."""
    stale = []
    for path, text in documents(root).items():
        there = (root / path).read_text() if (root / path).exists() else ""
        if there == text:
            continue
        if not check:
            (root / path).write_text(text)
            print(f"written to {path}", file=sys.stderr)
            continue
        lines = zip(there.splitlines() + [""], text.splitlines() + [""])
        at, (old, new) = next((n, p) for n, p in enumerate(lines, 1) if p[0] != p[1])
        stale.append(f"{path}: line {at} is\n  {old}\nand not\n  {new}")
    return stale


if __name__ == "__main__":
    try:
        failures = run(ROOT, "--check" in sys.argv[1:])
    except Wrong as wrong:
        failures = [str(wrong)]
    if failures:
        sys.exit("\n".join(failures) + "\nthe rows say something else, or a marker is wrong; "
                 "`python3 benches/documents.py` writes what they say")
