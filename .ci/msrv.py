#!/usr/bin/env python3
"""Fails if a dependency, of the crate or of its tests, states a newer compiler than Cargo.toml's rust-version."""

import json
import subprocess
import sys


def version(text):
    return tuple(int(part) for part in (text + ".0.0").split(".")[:3])


metadata = json.loads(
    subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"],
        check=True,
        capture_output=True,
    ).stdout
)
packages = {package["name"]: package["rust_version"] for package in metadata["packages"]}
ours = packages["bijective-shuffle"]
newer = {name: stated for name, stated in packages.items() if stated and version(stated) > version(ours)}
for name, stated in sorted(newer.items()):
    print(f"{name} needs Rust {stated}; Cargo.toml says {ours}")
print(f"{len(packages)} packages checked against Rust {ours}")
sys.exit(bool(newer))
