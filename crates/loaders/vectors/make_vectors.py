#!/usr/bin/env python3
"""Writes what the package gives, from a second implementation: `python3 make_vectors.py > loaders.json`.

It shares no code with the crate: it is written from docs/loaders.md and docs/specification.md, so that a mistake would
have to be made twice. Where the crate sums in parallel, this one goes from item to item.
"""

import bisect
import fractions
import json
import math
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "vectors" / "make"))

from definitions import child, join, key_words, philox, walk  # noqa: E402
from generators import exponential_f64, philox_key  # noqa: E402
