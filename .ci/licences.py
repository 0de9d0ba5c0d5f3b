#!/usr/bin/env python3
"""Fails if a dependency has a licence that deny.toml does not allow.

deny.toml makes exceptions for single crates. Here they hold for members of the workspace that are
not published, and never for what the published packages or their tests depend on. Every target and
feature is looked at.
"""

import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent


def is_allowed(expression, allowed):
    """Whether licences that are allowed meet an SPDX expression. `/` is an old form of `OR`."""
    tokens = re.findall(r"[()]|[^\s()]+", expression.replace("/", " OR "))

    def alternatives():
        met = parts()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            met |= parts()
        return met

    def parts():
        met = part()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            met &= part()
        return met

    def part():
        token = tokens.pop(0)
        if token == "(":
            met = alternatives()
            tokens.pop(0)
            return met
        # An exception to a licence only permits more.
        if tokens and tokens[0] == "WITH":
            del tokens[:2]
        return token in allowed

    return alternatives()


def reached(start, edges):
    """All packages that those depend on, and themselves."""
    found, next_ones = set(start), list(start)
    while next_ones:
        for number in edges[next_ones.pop()] - found:
            found.add(number)
            next_ones.append(number)
    return found


def check(manifest, rules):
    """Checks what a workspace depends on, prints the faults, and returns how many there are."""
    allowed = set(rules["allow"])
    exceptions = {exception["crate"]: allowed | set(exception["allow"]) for exception in rules["exceptions"]}
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--all-features", "--manifest-path", manifest]
    metadata = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {node["id"]: {dependency["pkg"] for dependency in node["deps"]} for node in metadata["resolve"]["nodes"]}

    # `publish` is an empty list where it is `false`.
    published = {number for number in metadata["workspace_members"] if packages[number]["publish"] is None}
    strict = reached(published, edges)
    faults = []
    for number in sorted(reached(metadata["workspace_members"], edges)):
        package = packages[number]
        name, licence = package["name"], package["license"] or "none stated"
        lists = allowed if number in strict else exceptions.get(name, allowed)
        if not is_allowed(licence, lists):
            faults.append(f"{name} {package['version']}: {licence}" + " (published)" * (number in strict))
    for fault in faults:
        print(fault)
    counts = f"{len(packages)} packages checked, {len(strict)} of them with the published ones"
    print(f"{manifest}: {counts}; {len(faults)} not allowed")
    return len(faults)


def main():
    rules = tomllib.loads((ROOT / "deny.toml").read_text())["licenses"]
    # Every workspace of which something is published.
    manifests = ["Cargo.toml", "crates/wgpu/Cargo.toml"]
    sys.exit(any([check(manifest, rules) for manifest in manifests]))


main()
