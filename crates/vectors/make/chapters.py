"""The cases of each chapter."""

import json
import pathlib

from definitions import (
    LONG, M32, M64, batch_from, batch_of, blocks_map, chain_keys, check, child_of,
    cursor_text, fewest_words, fnv1a64, inverse, key_words, landmark, multipliers, order_by,
    order_of, sample, second, seed_text, seed_words, standard, standard_map, standard_or_walk,
    state_text, taken, walk_map, words, words_of_draw,
)

# The version of the specification.
VERSION = "1"


def summary(head, digest):
    return {"head": head, "digest": hex(int(digest, 16))}


def listed(p):
    """The form of a whole permutation."""
    return summary(p[:12], f"{fnv1a64(p):x}")


def case_of(p, length, seed, epoch, **more):
    """The case of a whole permutation of a seed."""
    assert sorted(p) == list(range(length))
    return {**more, "seed": seed_text(seed, epoch), "length": hex(length), **listed(p)}


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


# Where whole permutations of families are compared.
DRAWN = [(n, s, 3) for n in (1, 2, 5, 100, 257, 1000, 3000) for s in (42, LONG)]
# The families in the order in which the file has them.
COMPACTED = ("VariablePhilox<24>", "RandomSign<VariablePhilox<24>>", "MulXorshift<10>", "MulXorshift<5>")
COMPACTED += ("GridFeistel<12>", "Lcg", "Affine")


def standard_cases():
    seeds, epochs = [0, 1, 42, M64, bytes(32), LONG], [0, 1, M64]
    small = [0, 1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 33, 64, 100, 127, 128, 255, 256]
    of = [(n, s, e) for n in small for s in seeds for e in (0, 1)]
    of += [(n, s, e) for n in (257, 500, 512, 513, 1000, 1023, 1024, 1025) for s in seeds for e in epochs]
    of += [(n, s, 0) for n in (4096, 4097, 8191, 8193, 10000, 16385) for s in (0, 42, LONG)]
    of += [(n, 42, 7) for n in (65536, 65537, 100000, 131073)]
    return [case_of(standard(*o), *o) for o in of]


def chapter_compaction():
    lists = [([3, 0, 5, 2, 7, 4, 1, 6], 5), ([3, 0, 5, 2, 7, 4, 1, 6], 8), ([3, 0, 5, 2, 7, 4, 1, 6], 0)]
    families = [
        case_of(second.survivors(o[0], *MAPS[name](*o)), *o, family=name) for name in COMPACTED for o in DRAWN
    ]
    # Keys and permutations of `thrust::shuffle_copy`, dumped from Thrust.
    keyed = json.loads((pathlib.Path(__file__).parent / "thrust_shuffle.json").read_text())
    return {
        "lists": [
            {"bijection": values, "length": hex(n), "compacted": [v for v in values if v < n]} for values, n in lists
        ],
        "families": families,
        "keyed": [
            {"bits": e["bits"], "length": hex(e["len"]), **summary(e["head"], e["fnv1a64_le"]), "keys": words(e["keys"])}
            for e in keyed
        ],
        "standard": standard_cases(),
    }


# On both sides of where a number no longer fits 32 bits, a double, or a signed number of 64 bits.
LONG_LENGTHS = [2**k + d for k in (32, 53, 63) for d in (-1, 0, 1)] + [M64]


def chapter_walk():
    of = [(n, *s) for n in (0, 1, 5, 256, 257, 512, 513, 1000, 4097) for s in SEEDS[:4]]
    places = []
    lengths = (10, 1000, 10**6, 2**32 + 1, 10**12, 2**53, 2**63 + 1, M64)
    for number, length in enumerate(lengths + tuple(n for n in LONG_LENGTHS if n not in lengths)):
        s = SEEDS[number % len(SEEDS)]
        forward = walk_map(length, *s)
        at = sorted({length * k // 7 % length for k in range(8)} | {length - 1})
        places.append({
            "seed": seed_text(*s), "length": hex(length), "places": words(at), "items": words(map(forward, at)),
        })
    return {
        # Lengths of up to 256 are walked here as well, which `walk` does not do.
        "walked_chains": [case_of(second.walked(*o), *o) for o in DRAWN],
        "permutations": [
            {"seed": seed_text(*s), "length": hex(n), **listed([walk_map(n, *s)(k) for k in range(n)])} for n, *s in of
        ],
        "places": places,
    }


def cursor_case(kind, length, of, at, inverted=False):
    """A cursor at a place, with a stride, and a landmark: a slot and the survivors before it."""
    p = order_by(kind, length, *of)
    size, forward = standard_map(length, *of) if kind == "new" else (length, walk_map(length, *of))
    next_place, left, stride = at[:3]
    read = inverse(p) if inverted else p
    return {
        "order": kind, "seed": seed_text(*of), "length": hex(length), "inverted": inverted,
        "text": cursor_text(length, at, size - 1, forward, inverted),
        "remaining": left, "head": read[next_place : next_place + left * stride : stride][:5],
    }


SAMPLES = [
    (0, 0), (1, 1), (3, 2), (5, 3), (5, 5), (200, 7), (256, 256), (257, 0), (257, 12), (1000, 10), (1000, 1000),
    (2**16 + 1, 5), (10**6, 12), (2**31, 4), (2**32, 6), (2**32 + 1, 6), (10**12, 20), (2**53, 5), (2**63 + 1, 5), (M64, 8),
]


def ends(length, count, seed, epoch):
    """The first and the last places of the order of a seed, and the items there."""
    size, forward = standard_map(length, seed, epoch)
    last, slot = [], size - 1
    while len(last) < count:
        item, slot = forward(slot), slot - 1
        last += [item] if item < length else []
    places = [*range(count), *range(length - count, length)]
    return {"places": words(places), "items": words(sample(length, count, seed, epoch) + last[::-1])}


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
        {"length": hex(n), "rank": rank, "ranks": ranks, "start": hex(n * rank // ranks),
         "end": hex(n * (rank + 1) // ranks)}
        for n, ranks in shares
        for rank in (0, 1, ranks - 1)
    ]
    samples = [
        {"seed": seed_text(*SEEDS[number % len(SEEDS)]), "length": hex(n), "count": count,
         "items": words(sample(n, count, *SEEDS[number % len(SEEDS)]))}
        for number, (n, count) in enumerate(SAMPLES)
    ]
    last = [
        {"seed": seed_text(*SEEDS[number % len(SEEDS)]), "length": hex(n), **ends(n, 4, *SEEDS[number % len(SEEDS)])}
        for number, n in enumerate(LONG_LENGTHS)
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
        "samples": samples,
        "ends": last,
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
    shapes = [(1, 1, 1), (10, 3, 2), (100, 100, 1), (100, 1, 100), (1000, 10, 7), (1000, 64, 5), (3000, 1, 300)]
    shapes += [(5000, 16, 20), (5001, 1000, 2), (20000, 64, 8)]
    return {
        "reading": reading,
        "permutations": [
            case_of(second.blocks(n, block, window, s, e), n, s, e, block=hex(block), window=hex(window))
            for n, block, window in shapes
            for s in (42, LONG)
            for e in (0, 3)
        ],
        "points": points,
    }


ORDERS = [{"order": "shuffled"}, {"order": "sequential"}, {"order": "blocks", "block": "0xa", "window": "0x4"}]


def epoch_case(length, seed, epoch, rank, ranks, batch, tail, order):
    forward = order_of(length, seed, epoch, order)
    batches, consumed = [], 0
    while (step := batch_of(length, consumed, rank, ranks, batch, tail, forward)) is not None:
        items, consumed = step
        batches.append(items)
    share = {"rank": rank, "ranks": ranks, "batch": batch, "tail": tail}
    return {
        "seed": seed_text(seed), "length": hex(length), **order, **share, "epoch": hex(epoch), "batches": batches,
        "consumed": hex(consumed),
    }


def resume_case(length, seed, epoch, consumed, rank, ranks, batch, tail, order):
    forward = order_of(length, seed, epoch, order)
    share = {"rank": rank, "ranks": ranks, "batch": batch, "tail": tail}
    items, after = batch_of(length, consumed, rank, ranks, batch, tail, forward)
    left, whole = length - consumed, ranks * batch
    steps = left // whole if tail == "drop" else -(-left // whole)
    return {
        "seed": seed_text(seed), "length": hex(length), **order,
        "text": state_text(length, seed, epoch, consumed, forward),
        **share, "steps_remaining": steps, "taken": items, "after": state_text(length, seed, epoch, after, forward),
    }


def chapter_sampler():
    epochs = []
    for tail in ("short", "pad", "fill", "drop"):
        for rank, ranks, batch in [(0, 1, 4), (0, 3, 2), (2, 3, 2), (1, 16, 2)]:
            epochs.append(epoch_case(10, 42, 0, rank, ranks, batch, tail, ORDERS[0]))
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
    for name, (_, block) in second.GENERATORS.items():
        for kind in second.NUMBERS:
            for of in [(42, 0), (LONG, 3)]:
                for first, count in [(0, 1), (1, 3), (5, 40 if block < 100 else 4)]:
                    length = 2 * count * block if count > 1 else 1500
                    values = second.rows(name, kind, *of, first, count, length)
                    numbers.append({
                        "generator": name, "kind": kind, "seed": seed_text(*of), "first": hex(first), "count": count,
                        "length": hex(length), "bits_of_head": words(values[:3]), "digest": hex(fnv1a64(values)),
                    })
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


def chapter_others():
    return {"families": [case_of(draw(*o), *o, family=name) for name, draw in second.OTHERS.items() for o in DRAWN]}


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


# What the specification does not have.
OTHERS = "others", "Families that the specification does not have", chapter_others


def chapter_file(name, about, cases):
    groups = []
    for group, of in cases().items():
        lines = ",\n".join("      " + json.dumps(case) for case in of)
        groups.append(f'    "{group}": [\n{lines}\n    ]')
    head = f'  "specification": "{VERSION}",\n  "chapter": "{name}",\n  "about": "{about}",\n  "cases": {{\n'
    return "{\n" + head + ",\n".join(groups) + "\n  }\n}\n"
