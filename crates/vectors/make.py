#!/usr/bin/env python3
"""Writes the vectors of docs/specification.md, and the examples in its text.

    make.py          writes data/*.json, and the examples between their markers
    make.py --check  fails if a file or an example is not what it would write, or if a file does
                     not have the form that data/schema.json describes

The values are those of tests/vectors where that has them. All others come from the second
implementation, tests/vectors/make_vectors.py, and from what is added to it here. The library writes
none of them: tests/library.rs compares it with each.
"""

import json
import pathlib
import re
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(__file__).resolve().parent / "data"
TEXT = ROOT / "docs" / "specification.md"
sys.path.insert(0, str(ROOT / "tests" / "vectors"))

import make_vectors as second  # noqa: E402
from make_vectors import M32, M64, EXACT_MAX, fnv1a64, key_words, word64  # noqa: E402

VERSION = "1"
LONG = bytes(range(32))


# What the second implementation has not: the form of seeds, single places, samplers, states.


def seed_text(seed, epoch=0):
    text = seed.hex() if isinstance(seed, bytes) else str(seed)
    return f"{text}@{epoch}" if epoch else text


def standard(length, seed, epoch):
    return (second.exact if length <= EXACT_MAX else second.chain)(length, seed, epoch)


def standard_map(length, seed, epoch):
    """The default bijection: its number of points, and its values."""
    if length > EXACT_MAX:
        return second.chain_map(length, seed, epoch, 10)
    values = second.exact(max(length, 1), seed, epoch) if length else [0]
    return len(values), values.__getitem__


def walk_map(length, seed, epoch):
    if length > EXACT_MAX:
        return second.walk_map(length, seed, epoch)
    return standard_map(length, seed, epoch)[1]


def blocks_map(length, block, window, seed, epoch):
    """BlockShuffle at single slots."""
    seed = second.child(seed, epoch)
    count = -(-length // block)
    outer = walk_map(count, seed, 0)
    tail = length - (count - 1) * block
    # Where the last block, which may be short, is read. Walks are not inverted here: in a long list
    # of blocks it is looked for.
    last = next(k for k in range(count) if outer(k) == count - 1)

    def start(position):
        return position * block if position <= last else (position - 1) * block + tail

    def forward(slot):
        low, high = 0, count
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if start(middle) <= slot else (low, middle)
        number = low // window
        first, end = start(number * window), start(min((number + 1) * window, count))
        place = first + walk_map(end - first, seed, number + 1)(slot - first)
        low, high = number * window, min((number + 1) * window, count)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if start(middle) <= place else (low, middle)
        return outer(low) * block + place - start(low)

    return forward


def check(numbers):
    """The checksum of what is saved: the finalizer of SplitMix64 after each number."""
    state = 0
    for number in numbers:
        x = (state ^ number) + 0x9E3779B97F4A7C15 & M64
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & M64
        x = (x ^ x >> 27) * 0x94D049BB133111EB & M64
        state = x ^ x >> 31
    return state


def samples(last, forward):
    return [forward(last * k // 15) for k in range(16)]


def dashed(numbers):
    return "-".join(f"{number:x}" for number in numbers)


def seed_words(seed):
    return list(struct.unpack("<4Q", seed)) if isinstance(seed, bytes) else [seed]


def state_text(length, seed, epoch, consumed, forward):
    numbers = [length, epoch, consumed]
    return dashed([*numbers, check(numbers + seed_words(seed) + samples(length - 1, forward))])


def cursor_text(length, at, last, forward, inverted=False):
    numbers = [length, *at]
    return dashed([*numbers, check([*numbers, last, int(inverted), *samples(last, forward)])])


def order_of(length, seed, epoch, order):
    """The map of an epoch of a sampler."""
    if order["order"] == "sequential":
        return lambda place: place
    if order["order"] == "blocks":
        return blocks_map(length, int(order["block"], 16), int(order["window"], 16), seed, epoch)
    return walk_map(length, seed, epoch)


def batch_of(length, consumed, rank, world, batch, tail, forward):
    """A rank's items of the next step and what is consumed then, or None."""
    left, whole = length - consumed, world * batch
    if left == 0 or left < whole and tail == "drop":
        return None
    places = {"short": left, "pad": -(-left // world) * world, "fill": whole}
    places = whole if left >= whole else places[tail]
    items = []
    for offset in range(rank, places, world):
        items.append(forward(consumed + offset if offset < left else (offset - left) % length))
    return items, consumed + min(left, whole)


def is_prime(n):
    """Miller and Rabin, with bases that decide all numbers below 2^64."""
    if n < 2:
        return False
    for p in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        if n % p == 0:
            return n == p
    odd, twos = n - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    for base in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37):
        x = pow(base, odd, n)
        if x in (1, n - 1):
            continue
        for _ in range(twos - 1):
            x = x * x % n
            if x == n - 1:
                break
        else:
            return False
    return True


def multipliers(count):
    a, found = M32, []
    while len(found) < count:
        if is_prime(2**31 * a - 1) and is_prime(2**32 * a - 1):
            found.append(a)
        a -= 1
    return found


# Chapters.


def words(values):
    return [hex(value) for value in values]


def golden(name):
    return json.loads((ROOT / "tests" / "vectors" / f"{name}.json").read_text())


def golden_seed(entry):
    seed = bytes.fromhex(entry["seed_bytes"]) if "seed_bytes" in entry else int(entry["seed"])
    return seed_text(seed, int(entry["epoch"]))


# Fields of tests/vectors that are numbers there, and words here.
WIDE = ("block", "window")


def from_golden(entry, *more):
    """An entry of tests/vectors in the form that it has here."""
    case = {name: hex(entry[name]) if name in WIDE else entry[name] for name in more}
    if "epoch" in entry:
        case["seed"] = golden_seed(entry)
    return {**case, "length": hex(entry["len"]), **summary(entry["head"], entry["fnv1a64_le"])}


def summary(head, digest):
    return {"head": head, "digest": hex(int(digest, 16))}


def listed(p):
    """The form of a whole permutation."""
    return summary(p[:12], f"{fnv1a64(p):x}")


SEEDS = [(42, 0), (42, 3), (M64, M64), (LONG, 0), (LONG, 2**32 + 5)]


def chapter_words():
    lengths = [0, 1, 2, 3, 4, 5, 256, 257, 2**32 - 1, 2**32, 2**32 + 1, 2**63, 2**63 + 1, M64]
    factors = [(0, M64), (1, M64), (M64, M64), (2**32, 2**32), (0x123456789ABCDEF, 0xFEDCBA9876543210)]
    odd = [(2, 3), (8, 0x6F), (16, 0xBEEF), (32, 0xDEADBEEF), (33, 0x1DEADBEEF), (64, 0x9E3779B97F4A7C15)]
    seeds = [("42", 42, 0), ("42@3", 42, 3), ("007@00", 7, 0), (f"{M64}@{M64}", M64, M64), ("0", 0, 0)]
    seeds += [(LONG.hex(), LONG, 0), (LONG.hex().upper() + "@1", LONG, 1), ("1" * 64, bytes([0x11] * 32), 0)]
    refused = ["", "@", "@1", "1@", "1@2@3", "+1", "-1", "1@+2", " 1", "1 ", "0x1", "a", "1.0", "\u0661"]
    refused += [str(2**64), f"1@{2**64}", LONG.hex()[1:], LONG.hex() + "0", "g" + LONG.hex()[1:]]
    lists = [[], [0], [1, 2, 3], [M64], list(range(100))]
    return {
        "bits": [{"length": hex(n), "bits": second.domain_bits(n, 0)} for n in lengths],
        "products": [
            {"a": hex(a), "b": hex(b), "low": hex(a * b & M64), "high": hex(a * b >> 64)} for a, b in factors
        ],
        "odd_inverses": [
            {"bits": bits, "number": hex(a), "inverse": hex(pow(a, -1, 2**bits))} for bits, a in odd
        ],
        "seeds": [
            {"text": text, "words": words(seed_words(seed)), "epoch": hex(epoch), "written": seed_text(seed, epoch)}
            for text, seed, epoch in seeds
        ],
        "refused_seeds": [{"text": text} for text in refused],
        "digests": [{"values": words(values), "digest": hex(fnv1a64(values))} for values in lists],
        "checks": [{"values": words(values), "check": hex(check(values))} for values in lists],
    }


def chapter_philox():
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    inputs = [([0] * 4, [0] * 2), ([M32] * 4, [M32] * 2), pi, ([1, 0, 0, 0], [0, 0]), ([0, 0, 0, 0], [1, 0])]
    return {
        "blocks": [
            {"key": words(k), "counter": words(c), "output": words(second.philox4x32_10(c, k))} for c, k in inputs
        ]
    }


DOMAINS = [
    ("bits", 0), ("bits", 8), ("bits", 20), ("bits", 64), ("exact", 0), ("exact", 256), ("exact", 2**31 - 1),
    ("exact", 2**31), ("exact", 0x123456789ABCDEF), ("exact", M64), ("blocks", 0), ("generator", 0),
    ("generator", 5), ("generator", 2**24 | 521 << 12 | 353),
]


def domain_word(kind, value):
    if kind == "exact":
        return second.exact_domain(value)
    return {"bits": value, "blocks": 2**30, "generator": 2**29 | value}[kind]


def taken(stream, count):
    return [next(stream) for _ in range(count)]


def chapter_keys():
    used = [20, 2**31 | 100, 2**30, 2**29 | 3]
    return {
        "domains": [{"kind": k, "value": hex(v), "word": hex(domain_word(k, v))} for k, v in DOMAINS],
        "streams": [
            {"seed": seed_text(*of), "domain": hex(domain), "words": words(taken(key_words(*of, domain), 10))}
            for of in SEEDS
            for domain in used
        ],
        "children": [
            {"seed": seed_text(*of), "domain": hex(domain), "child": seed_text(child_of(*of, domain))}
            for of in SEEDS
            for domain in (2**30, 2**29, 2**29 | 5)
        ],
    }


def child_of(seed, epoch, domain):
    stream = key_words(seed, epoch, domain)
    if isinstance(seed, bytes):
        return b"".join(word.to_bytes(4, "little") for word in taken(stream, 8))
    return word64(stream)


def batch_from(number):
    """How many ranges one word serves from a range on, and their product."""
    count, product = 1, number
    while number - count > 1 and product * (number - count) <= 2**56:
        product *= number - count
        count += 1
    return count, product


def words_of_draw(length, seed, epoch):
    """How many words of 64 bits a draw takes, counted by a stream that counts."""
    drawn, plain = [0], second.key_words

    def counting(*of):
        for word in plain(*of):
            drawn[0] += 1
            yield word

    second.key_words = counting
    try:
        second.exact(length, seed, epoch)
    finally:
        second.key_words = plain
    return drawn[0] // 2


def fewest_words(length):
    number, count = max(length, 1), 0
    while number > 1:
        number, count = number - batch_from(number)[0], count + 1
    return count


def chapter_draws():
    rejecting = [n for n in range(200) if words_of_draw(256, n, 0) > fewest_words(256)][:3]
    of = [(n, *s) for n in (0, 1, 2, 3, 5, 8, 13, 16, 17, 52, 100, 255, 256) for s in SEEDS]
    of += [(256, n, 0) for n in rejecting] + [(1000, 42, 0), (1000, LONG, 3)]
    return {
        "batches": [
            {"range": hex(n), "count": batch_from(n)[0], "product": hex(batch_from(n)[1])}
            for n in (2, 3, 5, 8, 13, 16, 17, 18, 52, 100, 256, 257, 1000, 2**28, 2**29, 2**56, M64)
        ],
        "permutations": [
            {"seed": seed_text(*s), "length": hex(n), "drawn": words_of_draw(n, *s), **listed(second.exact(n, *s))}
            for n, *s in of
        ],
    }


MAPS = {
    "MulXorshift<10>": lambda *of: second.chain_map(*of, rounds=10),
    "MulXorshift<5>": lambda *of: second.chain_map(*of, rounds=5),
    "VariablePhilox<24>": lambda *of: second.philox_map(*of, random_sign=False),
    "RandomSign<VariablePhilox<24>>": lambda *of: second.philox_map(*of, random_sign=True),
    "GridFeistel<12>": second.grid_map,
    "Lcg": second.lcg_map,
    "Affine": second.affine_map,
}


def chain_keys(length, seed, epoch, rounds=10):
    """The keys of MulXorshift, modulo the domain."""
    bits = second.domain_bits(length, 2)
    stream = key_words(seed, epoch, second.domain_bits(length, 0))
    drawn = [(word64(stream), word64(stream)) for _ in range(rounds)]
    return {
        "bits": bits,
        "increments": words(c % 2**bits for c, _ in drawn),
        "multipliers": words(((a & ~7) + (5 if a & 4 else 3)) % 2**bits for _, a in drawn),
    }


def chapter_families():
    lengths = [1, 2, 3, 4, 5, 7, 8, 100, 257, 1000, 65536, 65537, 2**31, 2**31 + 1, 2**32, 10**12, 2**63, M64]
    points = []
    for name, family in MAPS.items():
        for number, length in enumerate(lengths):
            of = SEEDS[number % len(SEEDS)]
            size, forward = family(length, *of)
            slots = sorted({size * k // 7 % size for k in range(8)} | {size - 1})
            points.append({
                "family": name, "seed": seed_text(*of), "length": hex(length), "last": hex(size - 1),
                "slots": words(slots), "indexes": words(map(forward, slots)),
            })
    return {
        "chains": [
            {"seed": seed_text(*of), "length": hex(n), **chain_keys(n, *of)}
            for n, of in zip((1, 257, 1000, 2**31, 10**12, M64), SEEDS + SEEDS[:1])
        ],
        "points": points,
    }


def chapter_compaction():
    lists = [([3, 0, 5, 2, 7, 4, 1, 6], 5), ([3, 0, 5, 2, 7, 4, 1, 6], 8), ([3, 0, 5, 2, 7, 4, 1, 6], 0)]
    families = [from_golden(e, "family") for e in golden("families") if e["family"] in MAPS]
    keyed = golden("thrust_shuffle")
    return {
        "lists": [
            {"bijection": values, "length": hex(n), "compacted": [v for v in values if v < n]} for values, n in lists
        ],
        "families": families,
        "keyed": [{**from_golden(e, "bits"), "keys": words(e["keys"])} for e in keyed],
        "standard": [from_golden(e) for e in golden("standard")],
    }


def chapter_walk():
    golden_walks = [e for e in golden("families") if e["family"] == "CycleWalk<MulXorshift<10>>"]
    of = [(n, *s) for n in (0, 1, 5, 256, 257, 512, 513, 1000, 4097) for s in SEEDS[:4]]
    places = []
    for number, length in enumerate((10, 1000, 10**6, 2**32 + 1, 10**12, 2**53, 2**63 + 1, M64)):
        s = SEEDS[number % len(SEEDS)]
        forward = walk_map(length, *s)
        at = sorted({length * k // 7 % length for k in range(8)} | {length - 1})
        places.append({
            "seed": seed_text(*s), "length": hex(length), "places": words(at), "items": words(map(forward, at)),
        })
    return {
        # Lengths of up to 256 are walked here as well, which `walk` does not do.
        "walked_chains": [from_golden(e) for e in golden_walks],
        "permutations": [
            {"seed": seed_text(*s), "length": hex(n), **listed([walk_map(n, *s)(k) for k in range(n)])} for n, *s in of
        ],
        "places": places,
    }


def order_by(kind, length, seed, epoch):
    if kind == "new":
        return standard(length, seed, epoch)
    return [walk_map(length, seed, epoch)(k) for k in range(length)]


def inverse(p):
    q = [0] * len(p)
    for place, item in enumerate(p):
        q[item] = place
    return q


def cursor_case(kind, length, of, at, inverted=False):
    """A cursor at a place, with a stride, and a landmark: a slot and the survivors before it."""
    p = order_by(kind, length, *of)
    size, forward = standard_map(length, *of) if kind == "new" else (length, walk_map(length, *of))
    next_place, left, stride = at[:3]
    read = inverse(p) if inverted else p
    return {
        "order": kind, "seed": seed_text(*of), "length": hex(length), "inverted": inverted,
        "text": cursor_text(length, at, size - 1, forward, inverted),
        "left": left, "head": read[next_place : next_place + left * stride : stride][:5],
    }


def landmark(length, of, place):
    """The slot of a place of `new`, with the survivors before it."""
    size, forward = standard_map(length, *of)
    slots = [slot for slot in range(size) if forward(slot) < length]
    return [slots[place], place]


def chapter_permutations():
    rows = []
    for length, seed in [(5, 42), (32, LONG), (300, 42)]:
        for first, count in [(0, 4), (2**32 - 1, 2), (M64 - 1, 1)]:
            values = [v for row in range(first, first + count) for v in standard(length, seed, row)]
            case = {"seed": seed_text(seed), "length": hex(length), "first": hex(first), "count": count}
            rows.append({**case, **listed(values)})
    inverses = [
        {"order": kind, "seed": seed_text(*s), "length": hex(n), **listed(inverse(order_by(kind, n, *s)))}
        for kind in ("new", "walk")
        for n in (1, 5, 256, 257, 1000)
        for s in SEEDS[1:4:2]
    ]
    shares = [(10, 3), (1000, 7), (2, 5), (2**63 + 1, 3), (M64, 4)]
    shards = [
        {"length": hex(n), "rank": rank, "world": world, "start": hex(n * rank // world),
         "end": hex(n * (rank + 1) // world)}
        for n, world in shares
        for rank in (0, 1, world - 1)
    ]
    of = SEEDS[1]
    cursors = [
        cursor_case("new", 100, of, [0, 100, 1, 0, 0]),
        cursor_case("new", 100, of, [7, 31, 3, 7, 7]),
        cursor_case("new", 1000, of, [0, 1000, 1, 0, 0]),
        cursor_case("new", 1000, of, [400, 200, 1, *landmark(1000, of, 400)]),
        cursor_case("new", 1000, SEEDS[3], [123, 10, 8, 0, 0]),
        cursor_case("new", 1000, of, [500, 100, 1, 0, 0], inverted=True),
        cursor_case("walk", 1000, of, [999, 1, 1, 999, 999]),
        cursor_case("walk", 1000, SEEDS[4], [5, 50, 19, 0, 0]),
    ]
    good = cursors[3]["text"]
    refused = [good[:-1] + ("0" if good[-1] != "0" else "1"), good + "-0", "+" + good, good.replace("-", "--", 1)]
    refused += [good.replace("3e8-", "3e7-", 1), ""]
    case = {name: cursors[3][name] for name in ("order", "seed", "length", "inverted")}
    return {
        "rows": rows,
        "inverses": inverses,
        "shards": shards,
        "cursors": cursors,
        "refused_cursors": [{**case, "text": text} for text in refused],
    }


def chapter_blocks():
    points = []
    for number, (length, block, window) in enumerate([(10, 3, 2), (5001, 1000, 2), (10**12, 10**8, 16), (M64, 2**52, 3)]):
        s = SEEDS[number]
        forward = blocks_map(length, block, window, *s)
        slots = sorted({length * k // 7 % length for k in range(8)} | {length - 1})
        points.append({
            "seed": seed_text(*s), "length": hex(length), "block": hex(block), "window": hex(window),
            "slots": words(slots), "indexes": words(map(forward, slots)),
        })
    reading = []
    for length, block, window, s in [(10, 3, 2, SEEDS[0]), (5000, 16, 20, SEEDS[1]), (20000, 64, 8, SEEDS[3])]:
        seed = second.child(*s)
        order = standard_or_walk(-(-length // block), seed, 0)
        reading.append({
            "seed": seed_text(*s), "length": hex(length), "block": hex(block), "window": hex(window),
            "blocks": order[:12],
        })
    return {
        "reading": reading,
        "permutations": [from_golden(e, "block", "window") for e in golden("blocks")],
        "points": points,
    }


def standard_or_walk(length, seed, epoch):
    return [walk_map(length, seed, epoch)(k) for k in range(length)]


ORDERS = [{"order": "shuffled"}, {"order": "sequential"}, {"order": "blocks", "block": "0xa", "window": "0x4"}]


def epoch_case(length, seed, epoch, rank, world, batch, tail, order):
    forward = order_of(length, seed, epoch, order)
    batches, consumed = [], 0
    while (step := batch_of(length, consumed, rank, world, batch, tail, forward)) is not None:
        items, consumed = step
        batches.append(items)
    ranks = {"rank": rank, "world": world, "batch": batch, "tail": tail}
    return {
        "seed": seed_text(seed), "length": hex(length), **order, **ranks, "epoch": hex(epoch), "batches": batches,
        "consumed": hex(consumed),
    }


def resume_case(length, seed, epoch, consumed, rank, world, batch, tail, order):
    forward = order_of(length, seed, epoch, order)
    ranks = {"rank": rank, "world": world, "batch": batch, "tail": tail}
    items, after = batch_of(length, consumed, rank, world, batch, tail, forward)
    left, whole = length - consumed, world * batch
    steps = left // whole if tail == "drop" else -(-left // whole)
    return {
        "seed": seed_text(seed), "length": hex(length), **order,
        "text": state_text(length, seed, epoch, consumed, forward),
        **ranks, "steps_left": steps, "taken": items, "after": state_text(length, seed, epoch, after, forward),
    }


def chapter_sampler():
    epochs = []
    for tail in ("short", "pad", "fill", "drop"):
        for rank, world, batch in [(0, 1, 4), (0, 3, 2), (2, 3, 2), (1, 16, 2)]:
            epochs.append(epoch_case(10, 42, 0, rank, world, batch, tail, ORDERS[0]))
    for number, order in enumerate(ORDERS):
        epochs.append(epoch_case(300, (42, LONG)[number % 2], 7, 1, 4, 24, "pad", order))
    epochs.append(epoch_case(3, 42, M64, 4, 8, 2, "fill", ORDERS[0]))
    resumes = [
        resume_case(1000, 42, 5, 128, 0, 1, 100, "pad", ORDERS[0]),
        resume_case(1000, LONG, 5, 128, 1, 3, 16, "short", ORDERS[0]),
        resume_case(1000, LONG, M64, 990, 1, 3, 16, "fill", ORDERS[0]),
        resume_case(300, 42, 2, 96, 1, 2, 8, "drop", ORDERS[1]),
        resume_case(300, 42, 2, 96, 1, 2, 8, "drop", ORDERS[2]),
    ]
    good = resumes[0]["text"]
    case = {"seed": "42", "length": hex(1000), **ORDERS[0]}
    refused = [good[:-1] + ("0" if good[-1] != "0" else "1"), good + "-0", good.replace("-5-", "-6-"), "", "-" + good]
    refused = [{**case, "text": text} for text in refused]
    refused += [{**case, "seed": "43", "text": good}, {**case, "length": hex(1001), "text": good}]
    return {"epochs": epochs, "resumes": resumes, "refused_states": refused}


def chapter_generators():
    numbers = []
    for e in golden("generators"):
        case = {name: e[name] for name in ("generator", "kind")}
        case |= {"seed": golden_seed(e), "first": hex(e["first"]), "count": e["count"], "length": hex(e["len"])}
        numbers.append({**case, "bits_of_head": words(e["head"]), "digest": hex(int(e["fnv1a64_le"], 16))})
    starts = []
    for name, (draw, _) in second.GENERATORS.items():
        for seed, epoch, stream in [(42, 0, 0), (LONG, 3, 2)]:
            starts.append({
                "generator": name, "seed": seed_text(seed, epoch), "stream": hex(stream),
                "words": words(taken(draw(seed, epoch, stream), 5)),
            })
    good = multipliers(4)
    different = [
        {"seed": "42", "stream": hex(k), "multiplier": hex(a), "words": words(taken(second.mwc(42, 0, k, a=a), 4))}
        for k, a in enumerate(good)
    ]
    stream = second.philox_rng(42, 0, 0)
    raw = b"".join(word.to_bytes(4, "little") for word in taken(stream, 3))[:10]
    scaled = []
    mean, deviation = 178.0, 7.0
    for kind in ("f32", "f64"):
        rounded = second.f32 if kind == "f32" else float
        letter = "f" if kind == "f32" else "d"
        drawn = taken(second.NUMBERS[f"normal_{kind}"](second.philox_rng(42, 0, 0)), 4)
        values = [rounded(mean + rounded(deviation * second.of_bits(letter, bits))) for bits in drawn]
        scaled.append({
            "kind": f"normal_{kind}", "seed": "42", "mean": 178, "deviation": 7,
            "bits_of_head": words(second.to_bits(letter, value) for value in values),
        })
    return {
        "starts": starts,
        "numbers": numbers,
        "bytes": [{"generator": "Philox4x32Rng", "seed": "42", "stream": "0x0", "bytes": raw.hex()}],
        "scaled": scaled,
        "different": different,
        "leapfrog": [
            {
                "generator": name, "seed": "42", "count": count, "stream": hex(k),
                "words": words(taken(second.GENERATORS[name][0](42, 0, 0), k + 3 * count + 1)[k::count]),
            }
            for name in ("Lcg32", "Lcg64")
            for count, k in ((1, 0), (7, 3))
        ],
    }


CHAPTERS = {
    "01-words": ("Numbers, seeds as text, digests and checksums", chapter_words),
    "02-philox": ("The block function Philox4x32-10", chapter_philox),
    "03-keys": ("Key streams: domains, epochs, children", chapter_keys),
    "04-draws": ("Exact draws, which up to 256 items take", chapter_draws),
    "05-families": ("Families of bijections, at single points", chapter_families),
    "06-compaction": ("Compaction, and the order of a plain seed", chapter_compaction),
    "07-walk": ("Cycle walking, and the order with random access", chapter_walk),
    "08-permutations": ("Rows, inverses, shards, cursors", chapter_permutations),
    "09-blocks": ("Shuffles of blocks", chapter_blocks),
    "10-sampler": ("Batches of ranks, and states", chapter_sampler),
    "11-generators": ("Streams of random numbers", chapter_generators),
}


def chapter_file(name):
    about, cases = CHAPTERS[name]
    groups = []
    for group, of in cases().items():
        lines = ",\n".join("      " + json.dumps(case) for case in of)
        groups.append(f'    "{group}": [\n{lines}\n    ]')
    head = f'  "specification": "{VERSION}",\n  "chapter": "{name}",\n  "about": "{about}",\n  "cases": {{\n'
    return "{\n" + head + ",\n".join(groups) + "\n  }\n}\n"


# The schema, of which these few words are understood.


def faults(value, schema, root, at):
    """What is wrong with a value by a schema."""
    known = {"$schema", "$id", "$ref", "$defs", "title", "description", "type", "const", "enum", "pattern", "minimum"}
    known |= {"maximum", "items", "minItems", "required", "properties", "patternProperties", "additionalProperties"}
    if schema.keys() - known:
        raise SystemExit(f"{at}: the schema has words that are not understood: {schema.keys() - known}")
    if "$ref" in schema:
        return faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, at)
    types = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict}
    if "type" in schema:
        is_bool = isinstance(value, bool)
        if not isinstance(value, types[schema["type"]]) or is_bool != (schema["type"] == "boolean"):
            return [f"{at} is no {schema['type']}"]
    found = []
    if "const" in schema and value != schema["const"] or value not in schema.get("enum", [value]):
        found.append(f"{at} is {value!r}")
    if "pattern" in schema and not re.search(schema["pattern"], value):
        found.append(f"{at} is not like {schema['pattern']}: {value!r}")
    if isinstance(value, int) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        found.append(f"{at} is {value}")
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            found.append(f"{at} has {len(value)} items")
        for number, item in enumerate(value):
            found += faults(item, schema.get("items", {}), root, f"{at}[{number}]")
    if isinstance(value, dict):
        found += [f"{at} has no {name}" for name in schema.get("required", []) if name not in value]
        for name, item in value.items():
            patterns = schema.get("patternProperties", {}).items()
            of = [s for pattern, s in patterns if re.search(pattern, name)]
            of += [schema["properties"][name]] if name in schema.get("properties", {}) else []
            if not of and schema.get("additionalProperties") is False:
                found.append(f"{at} has {name}, which the schema has not")
            for sub in of:
                found += faults(item, sub, root, f"{at}.{name}")
    return found


# The examples of the text.


def hex32(values):
    return " ".join(f"{value:08x}" for value in values)


def hex64(value):
    return f"{value:016x}"


def points(values):
    return " ".join(f"0x{value:x}" for value in values)


def example_words():
    lines = [f"bytes {LONG.hex()}", "words " + " ".join(map(hex64, seed_words(LONG)))]
    lines += [f"the text at epoch 3 is {seed_text(LONG, 3)}", ""]
    return [*lines, f"of 1, 2, 3: digest {hex64(fnv1a64([1, 2, 3]))}, check {hex64(check([1, 2, 3]))}"]


def example_philox():
    counter, key = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344], [0xA4093822, 0x299F31D0]
    lines, c, k = [f"key      {hex32(key)}", f"counter  {hex32(counter)}"], counter, key
    for number in (1, 2):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        lines.append(f"round {number}  a = {hex64(a)}  b = {hex64(b)}")
        c = [(b >> 32) ^ c[1] ^ k[0], b & M32, (a >> 32) ^ c[3] ^ k[1], a & M32]
        k = [k[0] + 0x9E3779B9 & M32, k[1] + 0xBB67AE85 & M32]
        lines.append(f"         x = {hex32(c)}  key = {hex32(k)}")
    return [*lines, f"block    {hex32(second.philox4x32_10(counter, key))}"]


def example_keys():
    stream = taken(key_words(42, 3, 10), 8)
    long_stream = taken(key_words(LONG, 3, 10), 4)
    lines = ["seed 42, epoch 3, domain of 10 bits", "key         0000002a 00000000"]
    for j in range(2):
        lines.append(f"counter     {hex32([j, 10, 3, 0])}")
        lines.append(f"words {4 * j} to {4 * j + 3}  {hex32(stream[4 * j : 4 * j + 4])}")
    pair = [stream[0] | stream[1] << 32, stream[2] | stream[3] << 32]
    lines += [f"as words of 64 bits: {hex64(pair[0])} {hex64(pair[1])}", ""]
    lines += ["the seed of the bytes 00, 01, .., 1f at epoch 3, the same domain"]
    x = [0, 10, 3, 0]
    for quarter in seed_words(LONG):
        key = [quarter & M32, quarter >> 32]
        x = second.philox4x32_10(x, key)
        lines.append(f"key {hex32(key)}  block {hex32(x)}")
    assert x == long_stream
    lines += ["", f"child of seed 42 at epoch 3 for blocks:  {hex64(child_of(42, 3, 2**30))}"]
    return lines


def example_draw():
    length, seed, epoch = 10, 42, 0
    domain = second.exact_domain(length)
    stream = key_words(seed, epoch, domain)
    word = word64(stream)
    count, product = batch_from(length)
    lines = [f"seed {seed}, epoch {epoch}, {length} items: domain {domain:08x}"]
    lines += [f"batch from {length}: {count} ranges, product 0x{product:x}, least remainder 0x{2**64 % product:x}"]
    lines += [f"word {hex64(word)}, remainder {hex64(word * product & M64)}: accepted"]
    values = list(range(length))
    for number in range(length, 1, -1):
        other = word * number >> 64
        word = word * number & M64
        values[number - 1], values[other] = values[other], values[number - 1]
        if number in (10, 9, 2):
            lines.append(f"range {number}: other {other}, rest {hex64(word)}, values {' '.join(map(str, values))}")
    assert values == second.exact(length, seed, epoch)
    return lines


def example_chain():
    length, seed, epoch = 1000, 42, 0
    bits, mask, half = 10, 1023, 5
    keys = chain_keys(length, seed, epoch)
    stream = key_words(seed, epoch, 10)
    drawn = [word64(stream), word64(stream)]
    lines = [f"seed {seed}, epoch {epoch}, {length} items: {bits} bits, s = {half}"]
    lines += [f"first words {hex64(drawn[0])} {hex64(drawn[1])}"]
    lines += ["c  " + " ".join(keys["increments"]), "a  " + " ".join(keys["multipliers"])]
    x = 700
    x ^= x >> half + 1
    lines.append(f"slot {points([700])}, after the first xorshift {points([x])}")
    after = []
    for r, (c, a) in enumerate(zip(keys["increments"], keys["multipliers"])):
        x = x * int(a, 16) + int(c, 16) & mask
        x ^= x >> half + r % 2
        after.append(x)
    assert x == second.chain_map(length, seed, epoch, 10)[1](700)
    return [*lines, f"after each round  {points(after)}"]


def example_philox_round():
    key, point = 2, 0b10110
    size, forward = second.philox_keyed(5, [key])
    product = 0xD2B74407B1CE6E93 * 2 & M64
    assert size == 32
    lines = ["b = 5: 2 bits on the left, 3 on the right; one round with the key 00000002"]
    lines += [f"point {points([point])}: left 2, right 6; product {hex64(product)}, high {product >> 32:08x}, low {product & M32:08x}"]
    index = forward(point)
    return [*lines, f"left {index >> 3}, right {index & 7}: value {points([index])}"]


def example_grid():
    length, seed, epoch, slot = 700, 42, 0, 600
    size, forward = second.grid_map(length, seed, epoch)
    domain = second.exact_domain(size - 1)
    keys = taken(key_words(seed, epoch, domain), 4)
    p, q, t, _ = keys
    row, column = divmod(slot, 32)
    y = ((p | 1) * column + q) % 2**16
    h = (t | 1) * (y ^ y >> 8) % 2**16
    lines = [f"seed {seed}, epoch {epoch}, {length} items: {size // 32} rows of 32 columns, domain {domain:08x}"]
    lines += [f"first half-round: p, q, t, u  {hex32(keys)}"]
    lines += [f"slot {slot}: row {row}, column {column}, hash {points([h])}, row {(row - h * (size // 32) // 2**16) % (size // 32)}"]
    return [*lines, f"value {forward(slot)}"]


def example_affine():
    stream = key_words(42, 0, 3)
    drawn = [word64(stream) for _ in range(8)]
    size, forward = second.lcg_map(5, 42, 0)
    lines = ["seed 42, epoch 0, 5 items: 3 bits, words of 64 bits"]
    lines += [" ".join(map(hex64, drawn[k : k + 4])) for k in (0, 4)]
    lines += [f"Lcg     multiplier {(drawn[0] | 1) % 8}, increment {drawn[1] % 8}: {' '.join(str(forward(x)) for x in range(8))}"]
    size, forward = second.affine_map(5, 42, 0)
    offset = forward(0)
    columns = [forward(2**j) ^ offset for j in range(3)]
    lines += [f"Affine  words modulo 8: {' '.join(str(word % 8) for word in drawn)}"]
    lines += [f"        columns {' '.join(map(str, columns))}, offset {offset}: {' '.join(str(forward(x)) for x in range(8))}"]
    return lines


def example_cursor():
    case = cursor_case("new", 1000, (42, 0), [400, 200, 1, 0, 0])
    own = cursor_case("new", 1000, (42, 0), [400, 200, 1, *landmark(1000, (42, 0), 400)])
    lines = ["Permutation::new(1000, 42), places 400 to 599: two texts of the same cursor"]
    return [*lines, case["text"], own["text"]]


def example_compaction():
    p = standard(1000, 42, 0)
    size, forward = second.chain_map(1000, 42, 0, 10)
    # So many that one of them does not survive.
    count = next(slot for slot in range(size) if forward(slot) >= 1000) + 4
    values = [forward(slot) for slot in range(count)]
    lines = ["seed 42, epoch 0, 1000 items, of 1024 points"]
    lines += [f"slots {count - 8} to {count - 1}    {points(values[-8:])}"]
    lines += [f"places {count - 8} to {count - 2}   {points(p[count - 8 : count - 1])}"]
    return [*lines, f"digest of all     {hex64(fnv1a64(p))}"]


def example_walk():
    length = 10**12
    size, step = second.chain_map(length, 42, 0, 10)
    lines = ["seed 42, epoch 0, 10^12 items: 40 bits"]
    shown = 0
    for place in range(100):
        steps, x = [], place
        while not steps or x >= length:
            x = step(x)
            steps.append(x)
        if len(steps) > 1 or place == 0:
            lines.append(f"place {place}: " + " -> ".join(map(hex, steps)))
            shown += 1
        if shown == 3:
            return lines


def example_blocks():
    length, block, window, seed = 10, 3, 2, 42
    child = second.child(seed, 0)
    order = standard_or_walk(4, child, 0)
    lines = ["seed 42, epoch 0: 10 items in blocks of 3, 2 blocks to a window", f"child {hex64(child)}"]
    lines += [f"blocks, by epoch 0 of the child: {' '.join(map(str, order))}"]
    for number in (0, 1):
        read = [i for b in order[2 * number : 2 * number + 2] for i in range(3 * b, min(3 * b + 3, length))]
        drawn = standard_or_walk(len(read), child, number + 1)
        lines += [f"window {number} reads {' '.join(map(str, read))}"]
        lines += [f"  its order, by epoch {number + 1}: {' '.join(map(str, drawn))}"]
    return [*lines, f"order {' '.join(map(str, second.blocks(length, block, window, seed, 0)))}"]


def example_sampler():
    order = walk_map(10, 42, 0)
    lines = ["seed 42, epoch 0, 10 items, 3 ranks, batches of 2, padded"]
    lines += [f"order {' '.join(str(order(k)) for k in range(10))}"]
    for rank in range(3):
        case = epoch_case(10, 42, 0, rank, 3, 2, "pad", ORDERS[0])
        lines.append(f"rank {rank}: " + " | ".join(" ".join(map(str, batch)) for batch in case["batches"]))
    return [*lines, f"state after the first step: {state_text(10, 42, 0, 6, order)}"]


def example_generators():
    lines = ["seed 42, epoch 0, stream 1, the first words"]
    for name, (draw, _) in second.GENERATORS.items():
        lines.append(f"{name:<20} {hex32(taken(draw(42, 0, 1), 4))}")
    return lines


def example_numbers():
    lines = ["Philox4x32Rng, seed 42, epoch 0, stream 0: the first numbers, as bits"]
    for kind, draw in second.NUMBERS.items():
        width = 16 if kind.endswith("64") else 8
        bits = taken(draw(second.philox_rng(42, 0, 0)), 2)
        lines.append(f"{kind:<16} " + " ".join(f"{value:0{width}x}" for value in bits))
    return lines


def example_jump():
    power = second.xorshift1024_jump()
    limbs = [power >> 64 * k & M64 for k in range(16)]
    return [" ".join(hex64(limb) for limb in limbs[k : k + 4]) for k in range(0, 16, 4)]


def example_coefficients():
    def rows(name, values, kind):
        width = 8 if kind == "f" else 16
        return f"{name:<5} " + " ".join(f"{second.to_bits(kind, value):0{width}x}" for value in values)

    lines = []
    for kind, tables in (("f", second.TABLES_F32), ("d", second.TABLES_F64)):
        _, _, _, _, odd, even, low, high, sines, cosines = tables
        lines += [f"f{32 if kind == 'f' else 64}"]
        lines += [rows("P", odd, kind), rows("Q", even, kind), rows("LOW", [low], kind), rows("HIGH", [high], kind)]
        lines += [rows("S", sines[:3], kind), *([rows("", sines[3:], kind)] if kind == "d" else [])]
        lines += [rows("C", cosines[:3], kind), *([rows("", cosines[3:], kind)] if kind == "d" else [])]
    turn32, turn64 = second.f32(second.math.tau / 2**34), second.math.tau / 2**54
    return [*lines, f"TURN  f32 {second.to_bits('f', turn32):08x}  f64 {second.to_bits('d', turn64):016x}"]


EXAMPLES = {
    "numbers of chapter 1": example_words,
    "philox": example_philox,
    "keys": example_keys,
    "draw": example_draw,
    "chain": example_chain,
    "philox round": example_philox_round,
    "grid": example_grid,
    "affine": example_affine,
    "compaction": example_compaction,
    "walk": example_walk,
    "cursor": example_cursor,
    "blocks": example_blocks,
    "sampler": example_sampler,
    "generators": example_generators,
    "numbers": example_numbers,
    "jump": example_jump,
    "coefficients": example_coefficients,
}


def with_examples(text):
    """The text with what belongs between its markers."""
    for name, example in EXAMPLES.items():
        block = "\n```text\n" + "\n".join(line.rstrip() for line in example()) + "\n```\n"
        pattern = rf"(<!-- {name} begin -->).*?(<!-- {name} end -->)"
        text, count = re.subn(pattern, lambda m: m[1] + block + m[2], text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{TEXT} has {count} places for the example {name}")
    return text


def main():
    is_check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not is_check:
        raise SystemExit(__doc__)
    wanted = {DATA / f"{name}.json": chapter_file(name) for name in CHAPTERS}
    wanted[TEXT] = with_examples(TEXT.read_text())
    schema = json.loads((DATA / "schema.json").read_text())
    found = []
    for path, text in wanted.items():
        if path != TEXT:
            found += faults(json.loads(text), schema, schema, path.name)
        if not is_check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            found.append(f"{path.relative_to(ROOT)} is not what make.py writes")
    found += [f"data has {path.name}, of no chapter" for path in set(DATA.iterdir()) - set(wanted) if path.name != "schema.json"]
    if found:
        raise SystemExit("\n".join(found))


if __name__ == "__main__":
    main()
