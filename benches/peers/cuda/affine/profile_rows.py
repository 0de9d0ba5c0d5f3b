#!/usr/bin/env python3
"""Picks from a profile by Nsight Compute, `ncu --csv --page raw`, what tells by what a kernel is bound. Rows begin with
the date, the revision and the machine, which are given.

    python3 profile_rows.py REVISION MACHINE <profile.csv
"""

import csv
import datetime
import re
import sys

WANTED = (
    ("milliseconds", r"gpu__time_duration\.sum"),
    ("instructions of warps", r"smsp__inst_executed\.sum"),
    ("issue, % of cycles", r"smsp__issue_active\.avg\.pct_of_peak_sustained_active|smsp__issue_active\.avg\.per_cycle_active"),
    ("XU (population counts), %", r"sm__inst_executed_pipe_xu\.avg\.pct_of_peak_sustained_active"),
    ("ALU, %", r"sm__inst_executed_pipe_alu\.avg\.pct_of_peak_sustained_active"),
    ("uniform, %", r"sm__inst_executed_pipe_uniform\.avg\.pct_of_peak_sustained_active"),
    ("DRAM, %", r"(gpu__dram|dram)__throughput\.avg\.pct_of_peak_sustained_elapsed"),
    ("occupancy, %", r"sm__warps_active\.avg\.pct_of_peak_sustained_active"),
    ("bank conflicts, loads", r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld\.sum"),
    ("bank conflicts, stores", r"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st\.sum"),
    ("waits for memory", r"smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active\.ratio"),
    ("waits for XU or ALU", r"smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active\.ratio"),
    ("waits for the barrier", r"smsp__average_warps_issue_stalled_barrier_per_issue_active\.ratio"),
)


# How many of a unit of the profile make one of the column's.
SCALES = {
    "milliseconds": {"ns": 1e6, "us": 1e3, "ms": 1, "nsecond": 1e6, "usecond": 1e3, "msecond": 1},
    # A rate for each cycle, if it is not a percentage.
    "issue, % of cycles": {"": 0.01, "inst/cycle": 0.01, "%": 1},
}


def cell(name, unit, text):
    """A number in the unit that its column's name says. A unit that is not known is an error."""
    number = text.replace(",", "")
    scales = SCALES.get(name)
    if scales is None:
        return number
    return f"{float(number) / scales[unit]:.3f}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    origin = [datetime.datetime.now(datetime.timezone.utc).date().isoformat(), *sys.argv[1:]]
    table = list(csv.reader(line for line in sys.stdin if line.startswith('"')))
    if len(table) < 3:
        sys.exit("there is no table with a row of units and rows of kernels")
    heads, units, *rows = table
    column = {}
    for name, pattern in WANTED:
        found = [k for k, head in enumerate(heads) if re.fullmatch(pattern, head)]
        if found:
            column[name] = found[0]
        else:
            print(f"# not in the profile: {name}")
    out = csv.writer(sys.stdout)
    out.writerow(["date", "revision", "machine", "kernel", *column])
    for row in rows:
        kernel = row[heads.index("Kernel Name")].split("<")[0].removeprefix("void ")
        out.writerow(origin + [kernel] + [cell(name, units[k], row[k]) for name, k in column.items()])


main()
