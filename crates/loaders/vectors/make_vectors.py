#!/usr/bin/env python3
"""Writes what the package gives, from a second implementation: `python3 make_vectors.py > loaders.json`.

It shares no code with the crate: it is written from README.md here and docs/specification.md, so that a mistake would
have to be made twice. Where the crate sums in parallel, this one goes from item to item; where the crate looks up a
place, this one counts up to it.
"""

import json
import math
import pathlib
import sys
from fractions import Fraction

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "vectors" / "make"))

from definitions import LONG, M32, M64, check, child_of, dashed, seed_text, seed_words, walk_map  # noqa: E402
from second import exponential_f64, fnv1a64, generator_words, philox4x32_10  # noqa: E402

LOADER = 2**28
MIXED = [k * k * 2654435761 % 1000 for k in range(5000)]


def philox_of(seed, epoch, number):
    """The blocks of Philox4x32Rng, of the seed's child for a loader: a function of block and stream."""
    child = child_of(seed, epoch, LOADER + number)
    stream = generator_words(child, 0, 0, 0)
    key = [next(stream), next(stream)]
    return lambda i, s: philox4x32_10([i & M32, i >> 32, s & M32, s >> 32], key)


def integers(weights):
    """Floating-point weights as whole numbers."""
    count_bits = (len(weights) - 1).bit_length()
    largest, power = Fraction(max(weights)), 0
    while largest * Fraction(2) ** power < 2 ** (63 - count_bits):
        power += 1
    while largest * Fraction(2) ** power >= 2 ** (63 - count_bits):
        power -= 1
    rounded = [round(Fraction(weight) * Fraction(2) ** power) for weight in weights]
    return [max(number, 1) if weight > 0 else 0 for number, weight in zip(rounded, weights)]


def table(weights):
    """The alias table, by filling one gap after another."""
    n, room = len(weights), sum(weights)
    columns = [[min(n * w, room), k] for k, w in enumerate(weights)]
    heavy = [k for k in range(n) if n * weights[k] >= room]
    gaps = [k for k in range(n) if n * weights[k] < room]
    at, left = 0, n * weights[heavy[0]]  # what is left of a heavy item
    for k in gaps:
        # A heavy item that fits its own column is done: the next one fills what is missing there.
        while left <= room:
            columns[heavy[at]] = [left, heavy[at + 1]]
            left = n * weights[heavy[at + 1]] - (room - left)
            at += 1
        columns[k] = [n * weights[k], heavy[at]]
        left -= room - n * weights[k]
    while at + 1 < len(heavy):
        columns[heavy[at]] = [left, heavy[at + 1]]
        left = n * weights[heavy[at + 1]] - (room - left)
        at += 1
    columns[heavy[at]] = [left, heavy[at]]
    return [[room, n], *columns]


def draws(weights, seed, epoch, places):
    (total, n), *columns = table(weights)
    philox = philox_of(seed, epoch, 0)
    out = []
    for p in places:
        s = 0
        while True:
            a, b, c, d = philox(p, s)
            x, y = (a | b << 32) * n, (c | d << 32) * total
            if (x & M64) >= 2**64 % n and (y & M64) >= 2**64 % total:
                break
            s += 1
        own, alias = columns[x >> 64]
        out.append(x >> 64 if y >> 64 < own else alias)
    return out


def sample(weights, count, seed, epoch):
    philox = philox_of(seed, epoch, 1)
    keys = []
    for k, weight in enumerate(weights):
        if weight:
            words = philox(k // 2, 0)[k % 2 * 2 :]
            keys.append((exponential_f64(words[0] | words[1] << 32) / float(weight), k))
    return [k for _, k in sorted(keys)[:count]]


def mixed(lengths, changes, seed, epoch, count):
    """The first places of a mixture, counted up. `changes` has (place, sets from then on, weights)."""
    child = child_of(seed, epoch, LOADER + 2)
    taken, orders, out = [0] * len(lengths), {}, []
    for p in range(count):
        for begin, weights in changes:
            if begin <= p:
                start, of = begin, weights
        low, high, k = 0, len(of), p - start
        while high - low > 1:
            middle = (low + high) // 2
            half, all_ = sum(of[low:middle]), sum(of[low:high])
            before, after = (math.floor(Fraction((k + d) * half + all_ // 2, all_)) for d in (0, 1))
            if after > before:
                high, k = middle, before
            else:
                low, k = middle, k - before
        number, place = divmod(taken[low], lengths[low])
        taken[low] += 1
        if (low, number) not in orders:
            own = child_of(child, low, LOADER + 2)
            orders[low, number] = walk_map(lengths[low], own, number)
        out.append((low, orders[low, number](place)))
    return out


def order(n, seed, epoch, number):
    """What a loader's order has at each place."""
    place = walk_map(n, child_of(seed, epoch, LOADER + number), 0)
    return [place(k) for k in range(n)]


def packed(lengths, length, overlap, seed, epoch):
    """The pieces of all sequences, from a list of all tokens."""
    tokens = [(d, k) for d in order(len(lengths), seed, epoch, 3) for k in range(lengths[d])]
    out = []
    for sequence in order((len(tokens) - overlap) // length, seed, epoch, 4):
        pieces = []
        for d, k in tokens[sequence * length :][: length + overlap]:
            if pieces and pieces[-1][0] == d:
                pieces[-1][2] += 1
            else:
                pieces.append([d, k, k + 1])
        out.append(pieces)
    return out


def by_length(lengths, most, window, seed, epoch):
    """The items of all batches."""
    items, batches = order(len(lengths), seed, epoch, 5), []
    for first in range(0, len(items), window):
        left = sorted(items[first : first + window], key=lambda k: -lengths[k])
        while left:
            size = most // max(lengths[left[0]], 1)
            batches.append(left[:size])
            left = left[size:]
    return [batches[k] for k in order(len(batches), seed, epoch, 6)]


def fingerprint_of_lengths(lengths, numbers, seed):
    samples = [lengths[(len(lengths) - 1) * k // 15] for k in range(16)]
    return check([len(lengths), *numbers, *seed_words(seed), *samples])


def stream(n, size, seed, epoch):
    """The items of a stream of `n`, and what is in the buffer before each step."""
    philox = philox_of(seed, epoch, 7)
    buffer, out, buffers = list(range(min(n, size))), [], []
    following = iter(range(size, n))
    for step in range(n):
        buffers.append(list(buffer))
        low, high = philox(step // 2, 0)[step % 2 * 2 :][:2]
        place = (low | high << 32) * len(buffer) >> 64
        out.append(buffer[place])
        last = next(following, None)
        if last is None:
            last = buffer.pop()
        if place < len(buffer):
            buffer[place] = last
    return out, buffers


def parts(shares, seed, epoch, stratum, n):
    unit = math.gcd(*shares)
    of_place = [part for part, share in enumerate(shares) for _ in range(share // unit)]
    own = child_of(child_of(seed, epoch, LOADER + 8), stratum, LOADER + 8)
    quota = len(of_place)
    return [of_place[walk_map(quota, child_of(own, k // quota, LOADER + 8), 0)(k % quota)] for k in range(n)]


def dealt(shares, seed, epoch, counts):
    """The parts of whole strata, by their counts."""
    quota = sum(shares) // math.gcd(*shares)
    left = sum(count % quota for count in counts)
    least = [int(share > 0 and left == sum(counts)) for share in shares]
    exact = [Fraction(left * share, sum(shares)) for share in shares]
    numbers = [max(math.floor(share), few) for share, few in zip(exact, least)]
    while sum(numbers) != left:
        more = sum(numbers) < left
        off = [(exact[part] - numbers[part]) * (1 if more else -1) for part in range(len(shares))]
        part = max(range(len(shares)), key=lambda part: (more or numbers[part] > least[part], off[part], -part))
        numbers[part] += 1 if more else -1
    line = iter(sorted((Fraction(2 * k + 1, 2 * number), part)
                       for part, number in enumerate(numbers) for k in range(number)))
    own, out = child_of(seed, epoch, LOADER + 8), []
    for stratum, count in enumerate(counts):
        whole = count - count % quota
        out += parts(shares, seed, epoch, stratum, whole)
        place = walk_map(quota, child_of(child_of(own, stratum, LOADER + 8), whole // quota, LOADER + 8), 0)
        ranked = sorted(range(count - whole), key=place)
        of_item = {item: next(line)[1] for item in ranked}
        out += [of_item[item] for item in range(count - whole)]
    return out


def part_of_id(shares, seed, epoch, text):
    unit = math.gcd(*shares)
    of_place = [part for part, share in enumerate(shares) for _ in range(share // unit)]
    text = text.encode()
    words = [int.from_bytes(text[k : k + 8], "little") for k in range(0, len(text), 8)]
    hash = check([*seed_words(child_of(seed, epoch, LOADER + 8)), len(text), *words])
    return of_place[hash * len(of_place) >> 64]


def node_blocks(blocks, kept, nodes, seed, epoch):
    """The blocks of each node."""
    bounds = [blocks * k // nodes for k in range(nodes + 1)]
    base = order(blocks, seed, 0, 9)
    homes, pool, counts = [], [], []
    for node in range(nodes):
        home = base[bounds[node] : bounds[node + 1]]
        own = order(len(home), child_of(seed, epoch, LOADER + 9), node, 9)
        home = [home[k] for k in own]
        counts.append(len(home) - min(math.ceil(len(home) * kept), len(home)))
        pool += home[: counts[-1]]
        homes.append(home)
    exchanged = iter([pool[k] for k in order(len(pool), seed, epoch, 10)] if pool else [])
    out = []
    for node in range(nodes):
        own = [next(exchanged) for _ in range(counts[node])] + homes[node][counts[node] :]
        reading = order(len(own), child_of(seed, epoch, LOADER + 10), node, 10)
        out.append([own[k] for k in reading])
    return out


def fingerprint_weighted(weights, seed):
    (total, n), *columns = table(weights)
    samples = [part for k in range(16) for part in columns[(n - 1) * k // 15]]
    return check([n, total, *seed_words(seed), *samples])


def fingerprint_mixed(lengths, changes, seed, epoch):
    numbers = [epoch, *seed_words(seed), len(lengths), *lengths]
    for start, weights in changes:
        numbers += [start, len(weights), *(sum(weights[:k]) for k in range(len(weights) + 1))]
    return check(numbers)


def hexed(values):
    return [hex(value) for value in values]


def text_of(lengths, changes, seed, epoch):
    lists = [lengths, *([place, *weights] for place, weights in changes)]
    return " ".join([seed_text(seed, epoch), *map(dashed, lists)])


def main():
    seeds = [(42, 0), (2**64 - 1, 2**64 - 1), (LONG, 7)]
    weights = {"few": [1, 0, 3, 5], "one": [7], "equal": [3, 3, 3], "wide": [2**63, 1, 0, 2**62 - 1], "mixed": MIXED}
    floats = [[0.5, 0.0, 1.5, 1e-300], [5e-324, 1e-323, 1.7e308], [1.0] * 3, [0.1, 0.2, 0.3, 0.4, 0.5]]
    places = [0, 1, 2, 3, 4, 1000, 2**32 - 1, 2**32, 2**64 - 1]
    sets = [
        ([1000, 10, 300], [(0, [5, 3, 2])]),
        ([7, 5, 4, 1, 600], [(0, [1, 2, 3, 4, 5])]),
        ([100, 50, 1000, 20], [(0, [1, 1]), (77, [1, 0, 2]), (300, [2, 2, 4, 7])]),
        ([12], [(0, [4])]),
        ([9, 300], [(0, [2**63, 2**62])]),
    ]
    seeded = [(name, seed) for name in weights for seed in seeds]
    chapters = {
        "weights": [{"name": name, "weights": hexed(w)} for name, w in weights.items()],
        "integers": [{"weights": w, "integers": hexed(integers(w))} for w in floats],
        "tables": [
            {"weights": name, "digest": hex(fnv1a64([x for e in table(w) for x in e])), "head": list(map(hexed, table(w)[:5]))}
            for name, w in weights.items()
        ],
        "draws": [
            {
                "weights": name,
                "seed": seed_text(*seed),
                "places": hexed(places),
                "items": draws(weights[name], *seed, places),
                "digest": hex(fnv1a64(draws(weights[name], *seed, range(300)))),
                "fingerprint": hex(fingerprint_weighted(weights[name], seed[0])),
            }
            for name, seed in seeded
        ],
        "samples": [
            {"weights": name, "seed": seed_text(*seed), "items": sample(weights[name], count, *seed)}
            for name, count in (("few", 3), ("wide", 2), ("mixed", 40))
            for seed in seeds
        ],
        "mixtures": [
            {
                "lengths": lengths,
                "seed": seed_text(*seed),
                "changes": [{"from": p, "weights": hexed(w)} for p, w in changes],
                "head": mixed(lengths, changes, *seed, 12),
                "digest": hex(fnv1a64([x for e in mixed(lengths, changes, *seed, 1000) for x in e])),
                "fingerprint": hex(fingerprint_mixed(lengths, changes, *seed)),
                "text": text_of(lengths, changes, *seed),
            }
            for lengths, changes in sets
            for seed in seeds
        ],
        "packed": [
            {
                "lengths": lengths,
                "length": length,
                "overlap": overlap,
                "seed": seed_text(*seed),
                "head": packed(lengths, length, overlap, *seed)[:4],
                "digest": hex(fnv1a64([x for s in packed(lengths, length, overlap, *seed) for p in s for x in p])),
                "fingerprint": hex(fingerprint_of_lengths(lengths, [sum(lengths), length, overlap], seed[0])),
            }
            for lengths, length, overlap in (([5, 0, 40, 3, 3, 12], 8, 1), ([k * k % 23 for k in range(200)], 16, 0))
            for seed in seeds
        ],
        "lengths": [
            {
                "lengths": lengths,
                "max_tokens": most,
                "window": window,
                "seed": seed_text(*seed),
                "head": by_length(lengths, most, window, *seed)[:4],
                "digest": hex(fnv1a64([x for batch in by_length(lengths, most, window, *seed) for x in (len(batch), *batch)])),
                "fingerprint": hex(fingerprint_of_lengths(lengths, [sum(lengths), most, window], seed[0])),
            }
            for lengths, most, window in (([5, 0, 40, 3, 3, 12], 40, 4), ([k * k % 23 for k in range(200)], 100, 64))
            for seed in seeds
        ],
        "streams": [
            {
                "items": n,
                "size": size,
                "seed": seed_text(*seed),
                "head": stream(n, size, *seed)[0][:10],
                "digest": hex(fnv1a64(stream(n, size, *seed)[0])),
                "step": step,
                "buffer": stream(n, size, *seed)[1][step],
            }
            for n, size, step in ((1000, 30, 700), (1000, 30, 980), (20, 30, 5), (500, 1, 77))
            for seed in seeds
        ],
        "splits": [
            {
                "shares": shares,
                "seed": seed_text(*seed),
                "stratum": stratum,
                "head": parts(shares, *seed, stratum, 20),
                "digest": hex(fnv1a64(parts(shares, *seed, stratum, 1000))),
                "ids": {text: part_of_id(shares, *seed, text) for text in ("", "a", "cat.jpg", "0123456789abcdef")},
            }
            for shares, stratum in (([8, 1, 1], 0), ([70, 0, 30], 3), ([1, 1, 1, 1, 1], 0), ([600, 300], 2**40))
            for seed in seeds
        ],
        "dealt": [
            {"shares": shares, "seed": seed_text(*seed), "counts": counts, "parts": dealt(shares, *seed, counts)}
            for shares, counts in (
                ([9, 1], [8]),
                ([1, 3, 3], [4]),
                ([60, 5, 0, 5], [3, 1]),
                ([4, 1], [2, 2, 0, 2, 7]),
                ([1, 1, 1, 1, 1], [7, 2, 13, 1, 6]),
            )
            for seed in seeds
        ],
        "nodes": [
            {
                "blocks": blocks,
                "kept": kept,
                "nodes": nodes,
                "seed": seed_text(*seed),
                "of_node": node_blocks(blocks, kept, nodes, *seed),
            }
            for blocks, kept, nodes in ((20, 0.75, 3), (7, 1.0, 2), (30, 0.0, 4))
            for seed in seeds
        ],
    }
    # An entry to a line.
    lists = [f' "{name}": [\n  ' + ",\n  ".join(map(json.dumps, entries)) + "\n ]" for name, entries in chapters.items()]
    print("{\n" + ",\n".join(lists) + "\n}")


if __name__ == "__main__":
    main()
