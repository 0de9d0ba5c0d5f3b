#!/usr/bin/env python3
"""Runs benches of two builds in turns and prints how many times as fast the second is.

    cargo bench --no-run -p bijective-shuffle-benches --bench shuffle --bench rng   # in each checkout
    benches/beside.py OLD NEW --rounds 7 --csv rows.csv

`OLD` and `NEW` are the two checkouts, whose builds are in `target`. Each round runs
each bench once with either build, the one right after the other, and the order changes from round
to round. A row of the CSV is one run: its bench, its build, its round, and the fastest and the
median time in nanoseconds, as divan reports them. The printed ratio is the median over the rounds
of the old median time divided by the new one.
"""

import argparse
import csv
import datetime
import pathlib
import re
import statistics
import subprocess
import sys

# A bench of each kind of work, by the names that divan prints: the last is mostly the length.
BENCHES = [
    "shuffle par_bijective_shuffle 129",
    "shuffle par_bijective_shuffle 4097",
    "shuffle par_bijective_shuffle 1048577",
    "shuffle par_bijective_unshuffle 1048577",
    "shuffle workspace_shuffle 16777217",
    "shuffle workspace_unshuffle 16777217",
    "bijection standard 24",
    "bijection standard_inverse 24",
    "permutations batch 256",
    "sampler shuffled (64, 1024)",
    "views get_walk 1073741823",
    "rng words Philox4x32Rng 8192",
]
UNITS = {"ns": 1.0, "µs": 1e3, "ms": 1e6, "s": 1e9}
TIME = re.compile(r"([\d.]+) (ns|µs|ms|s)\b")


def program(checkout: pathlib.Path, bench: str) -> pathlib.Path:
    """The newest executable of the bench."""
    folder = checkout / "target/release/deps"
    found = [p for p in folder.glob(f"{bench}-*") if not p.suffix and p.is_file()]
    if not found:
        sys.exit(f"{folder} has no bench `{bench}`: run `cargo bench --no-run` there")
    return max(found, key=lambda path: path.stat().st_mtime)


def times(checkout: pathlib.Path, path: str) -> tuple[float, float]:
    """The fastest and the median time of one run, in nanoseconds."""
    bench, function = path.split()[:2]
    command = [program(checkout, bench), "--bench", "--max-time", "0.5", f"^{bench}::{function}(::|$)"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [bench]
    for line in text.splitlines():
        label = line.lstrip("│├╰─ ")
        # A level of the tree is three characters wide.
        names[(len(line) - len(label)) // 3 :] = [re.split(r"\s{2,}", label)[0]]
        found = [float(number) * UNITS[unit] for number, unit in TIME.findall(line)]
        if found and " ".join([bench, *names[1:]]) == path:
            return found[0], found[2]
    sys.exit(f"There is no bench `{path}` in:\n{text}")


def revision(checkout: pathlib.Path) -> str:
    command = ["git", "-C", checkout, "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def machine() -> str:
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return " family ".join(
        re.search(rf"^{key}\s*: (.*)$", text, re.M)[1] for key in ("model name", "cpu family")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--csv", type=pathlib.Path)
    options = parser.parse_args()
    builds = {"old": options.old, "new": options.new}
    origins = {
        build: [datetime.date.today(), revision(checkout), machine()]
        for build, checkout in builds.items()
    }
    if options.csv:
        options.csv.touch()  # Fails now rather than after the last round.
    rows = []
    for round_ in range(options.rounds):
        for bench in BENCHES:
            order = list(builds) if round_ % 2 == 0 else list(builds)[::-1]
            for build in order:
                rows.append([*origins[build], bench, build, round_, *times(builds[build], bench)])
    if options.csv:
        with options.csv.open("w", newline="") as file:
            print(f"# $ benches/beside.py OLD NEW --rounds {options.rounds}", file=file)
            writer = csv.writer(file)
            writer.writerow("date revision machine bench build round fastest_ns median_ns".split())
            writer.writerows(rows)
    for bench in BENCHES:
        medians = {b: [r[-1] for r in rows if r[3:5] == [bench, b]] for b in builds}
        ratio = statistics.median(a / b for a, b in zip(medians["old"], medians["new"]))
        print(f"{ratio:6.3f}  {bench}")


if __name__ == "__main__":
    main()
