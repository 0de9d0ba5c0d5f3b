#!/usr/bin/env python3
"""Writes arrangements of designs, from a second implementation: `python3 make_designs.py > designs.json`.

It shares no code with the crate: it is written from designs.md here and docs/specification.md, so that a mistake
would have to be made twice.
"""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "vectors" / "make"))

from definitions import LONG, seed_text, standard  # noqa: E402
from second import EXACT_MAX, M64, domain_bits, exact_domain, exchange_all, fnv1a64, key_words, survivors, word64  # noqa: E402

RESAMPLE = 2**27
PARTS = 2**26


def size(tree):
    kind, *rest = tree
    match kind:
        case "groups":
            return sum(rest[0])
        case "grid":
            return rest[0] * rest[1]
        case "pairs":
            return 2 * rest[0]
        case "with_signs" | "with_one_sign":
            return size(rest[0])
        case "on_rows":
            return len(rest[0])
        case "blocks" | "exchange":
            return sum(map(size, rest[0]))
        case "plots" | "plots_alike":
            return size(rest[0]) * size(rest[1])
    return rest[0]


def shifts(length, mirror):
    return 2 * length if mirror and length > 2 else length


def shifted(x, j, n):
    return (j + x) % n if x < n else n - 1 - (j + x - n) % n


def below(words, count):
    while True:
        product = word64(words) * count
        if product & M64 >= 2**64 % count:
            return product >> 64


def bits(words, count):
    values = []
    while len(values) < count:
        word = word64(words)
        values += [word >> k & 1 for k in range(64)]
    return values[:count]


def order_of_words(length, words):
    """The default order of the next words of a stream."""
    if length <= EXACT_MAX:
        values = list(range(length))
        exchange_all(values, words)
        return values
    width = max(domain_bits(length, 2), 2)
    mask, half, keys = 2**width - 1, (width + 1) // 2, []
    for _ in range(10):
        increment, word = word64(words), word64(words)
        keys.append(((word & ~7) + (5 if word & 4 else 3), increment))

    def forward(x):
        x ^= x >> (half + 1)
        for number, (multiplier, increment) in enumerate(keys):
            x = (x * multiplier + increment) & mask
            x ^= x >> (half + number % 2)
        return x

    return survivors(length, 2**width, forward)


class Drawing:
    """Arrangement `k` of a seed, with the number of the next part."""

    def __init__(self, seed, k):
        self.seed, self.k, self.part = seed, k, 0

    def own_seed(self):
        part, self.part = self.part, self.part + 1
        if part == 0:
            return self.seed
        words = key_words(self.seed, 0, RESAMPLE | PARTS + part)
        if isinstance(self.seed, bytes):
            return b"".join(next(words).to_bytes(4, "little") for _ in range(8))
        return word64(words)

    def words(self, number):
        return key_words(self.own_seed(), self.k, exact_domain(number))

    def draw(self, tree):
        """The order and the signs of a tree."""
        kind, *rest = tree
        n = size(tree)
        flat = [1] * n
        match kind:
            case "fixed":
                return list(range(n)), flat
            case "free":
                return standard(n, self.own_seed(), self.k), flat
            case "derangements":
                domain = exact_domain(n) if n <= EXACT_MAX else domain_bits(n, 0)
                words = key_words(self.own_seed(), self.k, domain)
                while True:
                    order = order_of_words(n, words)
                    if all(j != row for j, row in enumerate(order)):
                        return order, flat
            case "groups":
                drawn, order = standard(n, self.own_seed(), self.k), []
                for count in rest[0]:
                    order += sorted(drawn[len(order) : len(order) + count])
                return order, flat
            case "series":
                x = below(self.words(n), shifts(n, rest[1]))
                return [shifted(x, j, n) for j in range(n)], flat
            case "grid":
                rows, columns, mirror = rest
                across = shifts(columns, mirror)
                down, right = divmod(below(self.words(n), shifts(rows, mirror) * across), across)
                cell = lambda j: shifted(down, j // columns, rows) * columns + shifted(right, j % columns, columns)
                return [cell(j) for j in range(n)], flat
            case "pairs":
                order = list(range(n))
                for j, bit in enumerate(bits(self.words(n // 2), n // 2)):
                    if bit:
                        order[j], order[j + n // 2] = j + n // 2, j
                return order, flat
            case "with_signs":
                own = bits(self.words(n), n)
                return self.draw(rest[0])[0], [1 - 2 * bit for bit in own]
            case "with_one_sign":
                (bit,) = bits(self.words(1), 1)
                return self.draw(rest[0])[0], [1 - 2 * bit] * n
            case "on_rows":
                own, own_signs = self.draw(rest[1])
                order, signs = [0] * n, [0] * n
                for j, row in enumerate(rest[0]):
                    order[row], signs[row] = rest[0][own[j]], own_signs[j]
                return order, signs
            case "blocks":
                sources = list(range(len(rest[0])))
                return self.side_by_side(rest[0], sources)
            case "exchange":
                sources = list(range(len(rest[0])))
                for number, part in enumerate(rest[0]):
                    members = [k for k, other in enumerate(rest[0]) if other == part]
                    if members[0] == number:
                        drawn = standard(len(members), self.own_seed(), self.k)
                        for place, index in zip(members, drawn):
                            sources[place] = members[index]
                return self.side_by_side(rest[0], sources)
            case "plots" | "plots_alike":
                between, within = rest
                plots, _ = self.draw(between)
                alike = self.draw(within) if kind == "plots_alike" else None
                order, signs = [], []
                for plot in plots:
                    own, own_signs = alike or self.draw(within)
                    order += [row + plot * size(within) for row in own]
                    signs += own_signs
                return order, signs

    def side_by_side(self, parts, sources):
        starts = [sum(map(size, parts[:number])) for number in range(len(parts))]
        order, signs = [], []
        for part, source in zip(parts, sources):
            own, own_signs = self.draw(part)
            order += [row + starts[source] for row in own]
            signs += own_signs
        return order, signs


FREE = ["free", 3]
TREES = [
    ["free", 7],
    ["free", 300],
    ["derangements", 6],
    ["derangements", 300],
    ["groups", [2, 4, 3]],
    ["groups", [100, 200]],
    ["series", 10, True],
    ["grid", 3, 4, True],
    ["pairs", 70],
    ["with_signs", ["fixed", 70]],
    ["with_one_sign", ["series", 5, False]],
    ["with_signs", ["plots", FREE, ["free", 2]]],
    ["blocks", [FREE, ["fixed", 2], ["series", 4, False], ["pairs", 2]]],
    ["exchange", [["free", 2], FREE, ["free", 2], ["series", 4, True], FREE, FREE]],
    ["plots", ["groups", [2, 2]], ["with_one_sign", FREE]],
    ["plots_alike", ["series", 4, True], ["free", 5]],
    ["plots", ["free", 2], ["plots", FREE, ["blocks", [["free", 2], ["groups", [1, 2]]]]]],
    ["on_rows", [4, 2, 0, 6, 1, 5, 3], ["blocks", [["with_one_sign", FREE], ["free", 4]]]],
]


def entries():
    for tree in TREES:
        for seed, k in [(0, 0), (42, 1), (42, 2**40), (LONG, 7)]:
            order, signs = Drawing(seed, k).draw(tree)
            entry = {"design": tree, "seed": seed_text(seed), "k": hex(k)}
            if size(tree) <= 40:
                entry |= {"order": order, "signs": signs}
            else:
                entry |= {"order_digest": hex(fnv1a64(order)), "signs_digest": hex(fnv1a64([s & M64 for s in signs]))}
            yield entry


print("[\n" + ",\n".join("  " + json.dumps(entry) for entry in entries()) + "\n]")
