"""Writes the vectors of docs/specification.md, and the examples in its text.

    python3 crates/vectors/make          writes data/*.json, and the examples between their markers
    python3 crates/vectors/make --check  fails if a file or an example is not what it would write,
                                         or if a file is not as data/schema.json describes it

It also writes others.json, which has the families that the specification does not have. The values
come from the second implementation, second.py, and from what is added to it in definitions.py. The
library writes none of them: tests/suite/golden compares it with each.
"""

import json
import sys

from chapters import CHAPTERS, OTHERS, chapter_file
from definitions import ROOT
from examples import with_examples
from schema import faults

DATA = ROOT / "crates" / "vectors" / "data"
TEXT = ROOT / "docs" / "specification.md"


def main():
    is_check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not is_check:
        raise SystemExit(__doc__)
    wanted = {DATA / f"{name}.json": chapter_file(name, *of) for name, of in CHAPTERS.items()}
    wanted[DATA.parent / "others.json"] = chapter_file(*OTHERS)
    wanted[TEXT] = with_examples(TEXT.read_text())
    schema = json.loads((DATA / "schema.json").read_text())
    found = []
    for path, text in wanted.items():
        if path.parent == DATA:
            found += faults(json.loads(text), schema, schema, path.name)
        if not is_check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            found.append(f"{path.relative_to(ROOT)} is not what is written here")
    found += [f"data has {path.name}, of no chapter" for path in set(DATA.iterdir()) - set(wanted) if path.name != "schema.json"]
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
