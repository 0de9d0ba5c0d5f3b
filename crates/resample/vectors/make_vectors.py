#!/usr/bin/env python3
"""Writes what the package gives, from a second implementation: `python3 make_vectors.py > resample.json`.

It shares no code with the crate: it is written from README.md here and docs/specification.md, so that a mistake would
have to be made twice.
"""

import json
import math
import pathlib
import struct
import sys
from fractions import Fraction
from itertools import count

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "vectors" / "make"))

from definitions import LONG, M32, M64, seed_text, walk_map  # noqa: E402
from second import exponential_f64, fnv1a64, key_words, philox4x32_10, word64  # noqa: E402

RESAMPLE = 2**27
LABELS = [k * k % 3 for k in range(50)]


def word_of(seed, epoch, number):
    """The words of the streams of a key."""
    key = word64(key_words(seed, epoch, RESAMPLE | number))
    cache = {}

    def word(w, s):
        b = w // 4 % 2**64
        if (b, s) not in cache:
            cache[b, s] = philox4x32_10([b & M32, b >> 32, s & M32, s >> 32], [key & M32, key >> 32])
        return cache[b, s][w % 4]

    return word


def draws(seed, epoch, row, wide=False):
    word, bits = word_of(seed, epoch, 16), 64 if wide else 32

    def draw(j, r):
        for a in count():
            x = word((2 * j if wide else j) + a * 2**58, row)
            if wide:
                x |= word(2 * j + a * 2**58 + 1, row) << 32
            if x * r % 2**bits >= 2**bits % r:
                return x * r >> bits

    return draw


def row(kind, n, number, seed, epoch, row_number):
    """The items of a row; `number` is the number of draws, or the length of blocks."""
    draw = draws(seed, epoch, row_number)
    if kind == "plain":
        return [draw(j, n) for j in range(number)]
    groups = [[k for k in range(n) if LABELS[k] == label] for label in sorted(set(LABELS[:n]))]
    if kind == "strata":
        groups = [next(group for group in groups if k in group) for k in range(n)]
        return [group[draw(j, len(group))] for j, group in enumerate(groups)]
    if kind == "clusters":
        return [item for j in range(len(groups)) for item in groups[draw(j, len(groups))]]
    if kind == "stationary":
        out = []
        for j in range(n):
            begins = j == 0 or draw(2 * j, number) == 0
            out.append(draw(2 * j + 1, n) if begins else (out[-1] + 1) % n)
        return out
    starts = n - number + 1 if kind == "moving" else n
    return [(draw(j // number, starts) + j % number) % n for j in range(n)]


def total(terms):
    lanes = [0.0] * 16
    for k in range(-(-len(terms) // 16) * 16):
        lanes[k % 16] += terms[k] if k < len(terms) else 0.0
    for half in (8, 4, 2, 1):
        for lane in range(half):
            lanes[lane] += lanes[lane + half]
    return lanes[0]


def weights(n, seed, epoch, row_number):
    word = word_of(seed, epoch, 17)
    numbers = [exponential_f64(word(2 * k, row_number) | word(2 * k + 1, row_number) << 32) for k in range(n)]
    return [number / total(numbers) for number in numbers]


def mean(c, x):
    return total([a * b for a, b in zip(c, x)]) / total(c)


def weighted_mean(c, x, w):
    return total([a * (b * d) for a, b, d in zip(c, x, w)]) / total([a * d for a, d in zip(c, w)])


def median(c, x):
    drawn = sorted(value for value, times in zip(x, c) for _ in range(int(times)))
    place = 0.5 * (len(drawn) - 1)
    low, part = drawn[math.floor(place)], place - math.floor(place)
    return low + (drawn[math.floor(place) + 1] - low) * part if part else low


def correlation(c, x, y):
    x, y = ([value - total(of) / len(of) for value in of] for of in (x, y))
    cx, cy = ([a * b for a, b in zip(c, of)] for of in (x, y))
    products = [(cx, x), (cy, y), (cx, y)]
    xx, yy, xy = (total([a * b for a, b in zip(*pair)]) for pair in products)
    w, sx, sy = total(c), total(cx), total(cy)
    value = (xy - sx * sy / w) / (math.sqrt(xx - sx * sx / w) * math.sqrt(yy - sy * sy / w))
    return min(max(value, -1.0), 1.0)


def values(n, seed, epoch, row_number):
    """Four statistics by counts, and three by weights, as the bits of numbers."""
    x, y = ([(k * k * by % 1009) / 1009 + k / n for k in range(n)] for by in (2654435761, 40503))
    c = [0.0] * n
    for item in row("plain", n, n, seed, epoch, row_number):
        c[item] += 1
    w = weights(n, seed, epoch, row_number)
    by_counts = [mean(c, x), weighted_mean(c, x, y), median(c, x), correlation(c, x, y)]
    by_weights = [mean(w, x), weighted_mean(w, x, y), correlation(w, x, y)]
    return [struct.unpack("<Q", struct.pack("<d", value))[0] for value in by_counts + by_weights]


def count_of(s, q, u):
    """A binomial number, from a word of 128 bits."""
    m, p = (s + 1) * q >> 128, 2**128 - q
    w = {m: 2**128}
    for k in range(m, s):
        if not (up := w[k] * (s - k) * q // ((k + 1) * p)):
            break
        w[k + 1] = up
    for k in range(m, 0, -1):
        if not (down := w[k] * k * p // ((s - k + 1) * q)):
            break
        w[k - 1] = down
    all_, below = sum(w.values()), 0
    for k in sorted(w):
        below += w[k]
        if u < (below << 128) // all_:
            return k
    return max(w)


def batch(n, probability, seed, epoch, step):
    q, word = math.floor(Fraction(probability) * 2**128), word_of(seed, epoch, 32)
    size, items = min(n, M64, 2**138 // q), []
    for b in range(-(-n // size)):
        numbers = (word(2 * k, step) | word(2 * k + 1, step) << 32 for k in count(b * 2**25))
        s = min(size, n - b * size)
        k = count_of(s, q, next(numbers) | next(numbers) << 64)
        chosen = set()
        while len(chosen) < min(k, s - k):
            x = next(numbers)
            if x * s % 2**64 >= 2**64 % s:
                chosen.add(x * s >> 64)
        kept = chosen if k <= s - k else set(range(s)) - chosen
        items += [b * size + item for item in sorted(kept)]
    return items


def main():
    seeds = [(42, 0), (2**64 - 1, 3), (LONG, 7)]
    chapters = {
        "draws": [
            {"n": hex(n), "seed": seed_text(*seed), "row": hex(r),
             "draws": [hex(draw) for draw in map(draws(*seed, r, n > 2**32), range(12), [n] * 12)]}
            for n in (1, 10, 3 * 2**30, 2**32, 2**32 + 1, 2**63 + 1)
            for seed, r in zip(seeds, (0, 5, 2**40))
        ],
        "rows": [
            {"kind": kind, "n": n, "number": number, "seed": seed_text(*seed), "row": hex(r),
             "items": row(kind, n, number, *seed, r)}
            for kind, n, number in (
                ("plain", 50, 50), ("plain", 7, 20), ("plain", 5, 0), ("strata", 50, 0), ("clusters", 50, 0),
                ("moving", 50, 8), ("circular", 50, 8), ("stationary", 50, 5), ("moving", 9, 9), ("circular", 9, 1),
            )
            for seed, r in zip(seeds, (0, 5, 2**40))
        ],
        "values": [
            {"n": n, "seed": seed_text(*seed), "row": hex(r), "bits": [hex(bits) for bits in values(n, *seed, r)]}
            for n in (5, 16, 1003)
            for seed, r in zip(seeds, (1, 5, 2**40))
        ],
        "batches": [
            {"n": hex(n), "q": repr(q), "seed": seed_text(*seed), "step": hex(step), "count": len(items),
             "head": [hex(item) for item in items[:5]], "digest": hex(fnv1a64(items))}
            for n, q in ((100, 0.25), (100, 0.75), (9, 1e-3), (10**8, 1e-5), (10**5, 0.03), (5000, 0.9), (2**64 - 1, 1e-17))
            for seed, step in zip(seeds, (0, 999, 2**64 - 1))
            for items in [batch(n, q, *seed, step)]
        ],
        "fixed": [
            {"n": hex(n), "size": size, "seed": seed_text(seed[0]), "step": hex(step),
             "items": [hex(item) for item in map(walk_map(n, seed[0], step), range(size))]}
            for n, size in ((10, 10), (1000, 5), (10**9, 4))
            for seed, step in zip(seeds, (0, 999, 2**40))
        ],
    }
    # An entry to a line.
    lists = [f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, entries)) + "\n ]" for name, entries in chapters.items()]
    print("{\n" + ",\n".join(lists) + "\n}")


if __name__ == "__main__":
    main()
