#!/usr/bin/env python3
"""Writes the vectors of crates/vectors as C tables for vectors.c, and those of chapter 7 as lines for
walk.cpp: tables.py TABLES LINES

It takes the groups whose functions this library has.
"""

import json
import pathlib
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent.parent / "vectors/data"

ORDERS = {"shuffled": "BS_ORDER_SHUFFLED", "blocks": "BS_ORDER_BLOCKS", "sequential": "BS_ORDER_SEQUENTIAL"}
GENERATORS = {
    "Philox4x32Rng": "BS_GENERATOR_PHILOX4X32",
    "Lcg32": "BS_GENERATOR_LCG32",
    "Lcg64": "BS_GENERATOR_LCG64",
    "Mwc": "BS_GENERATOR_MWC",
    "Xorwow": "BS_GENERATOR_XORWOW",
    "LaggedFibonacci521": "BS_GENERATOR_LAGGED_FIBONACCI521",
    "LaggedFibonacci1279": "BS_GENERATOR_LAGGED_FIBONACCI1279",
    "XorShift1024Weyl": "BS_GENERATOR_XORSHIFT1024_WEYL",
}


def word(value):
    """A number, or a word of the vectors, as a constant."""
    return f"UINT64_C({int(value, 16) if isinstance(value, str) else value})"


def words(values):
    """A list, which may be empty."""
    return f"{len(values)}, (const uint64_t[]){{{', '.join(map(word, values)) or 0}}}"


def seed(text):
    number, _, epoch = text.partition("@")
    if len(number) == 64:
        key = "".join(f"\\x{number[k:k + 2]}" for k in range(0, 64, 2))
        return f'{{(const uint8_t *)"{key}", 0, UINT64_C({epoch or 0})}}'
    return f"{{NULL, UINT64_C({number}), UINT64_C({epoch or 0})}}"


def table(kind, name, rows):
    body = "".join(f"    {{{', '.join(row)}}},\n" for row in rows)
    return f"static const struct {kind} {name}[] = {{\n{body}}};\n"


def listed(kind, case, block="0x0", window="0x0"):
    of = [seed(case["seed"]), word(case["length"]), word(block), word(window)]
    return [kind, *of, words(case["head"]), word(case["digest"])]


def line(case, places, items, digest="0"):
    """A seed, an epoch, a length, a digest, and pairs of a place and its item, in decimal digits."""
    number, _, epoch = case["seed"].partition("@")
    decimal = lambda value: str(int(value, 16) if isinstance(value, str) else value)
    pairs = [decimal(value) for pair in zip(places, items) for value in pair]
    return " ".join([number, epoch or "0", decimal(case["length"]), decimal(digest), *pairs]) + "\n"


def sampler(case):
    numbers = [case.get("rank", 0), case.get("ranks", 1), case.get("batch", 1)]
    tail = f"BS_TAIL_{case.get('tail', 'pad').upper()}"
    numbers += [case.get("block", "0x0"), case.get("window", "0x0")]
    settings = [word(case["length"]), *map(word, numbers), tail, ORDERS[case["order"]]]
    return f"{{{', '.join([seed(case['seed']), *settings])}}}"


def main():
    read = lambda name: json.loads((DATA / f"{name}.json").read_text())["cases"]
    walk, views, blocks = read("07-walk"), read("08-permutations"), read("09-blocks")
    samplers, generators, compaction = read("10-sampler"), read("11-generators"), read("06-compaction")

    orders = [listed("NEW", case) for case in compaction["standard"]]
    # As the order of a seed, up to 256 items are drawn.
    orders += [listed("NEW", case) for case in read("04-draws")["permutations"] if int(case["length"], 16) <= 256]
    orders += [listed("WALK", case) for case in walk["permutations"]]
    orders += [listed("BLOCKS", case, case["block"], case["window"]) for case in blocks["permutations"]]
    inverses = {"new": "NEW_INVERSE", "walk": "WALK_INVERSE"}
    orders += [listed(inverses[case["order"]], case) for case in views["inverses"]]
    rows = [["NEW", seed(f"{case['seed'].split('@')[0]}@{int(case['first'], 16)}"), word(case["length"]),
             word(case["count"]), "0", words(case["head"]), word(case["digest"])] for case in views["rows"]]

    points = [["WALK", seed(case["seed"]), word(case["length"]), "0", "0", words(case["places"]), words(case["items"])]
              for case in walk["places"]]
    points += [["NEW", seed(case["seed"]), word(case["length"]), "0", "0", words(case["places"]), words(case["items"])]
               for case in views["ends"]]
    points += [["BLOCKS", seed(case["seed"]), *(word(case[field]) for field in ("length", "block", "window")),
                words(case["slots"]), words(case["indexes"])] for case in blocks["points"]]
    shards = [[word(case[field]) for field in ("length", "rank", "ranks", "start", "end")] for case in views["shards"]]
    samples = [[seed(case["seed"]), word(case["length"]), words(case["items"])] for case in views["samples"]]
    lists = [[words(case["bijection"]), word(case["length"]), words(case["compacted"])] for case in compaction["lists"]]

    epochs = [[sampler(case), word(case["epoch"]), str(len(case["batches"])),
               words([len(batch) for batch in case["batches"]]), words(sum(case["batches"], [])),
               word(case["consumed"])] for case in samplers["epochs"]]
    resumes = [[sampler(case), f'"{case["text"]}"', word(case["steps_remaining"]), words(case["taken"]),
                f'"{case["after"]}"'] for case in samplers["resumes"]]
    refused = [[sampler(case), json.dumps(case["text"])] for case in samplers["refused_states"]]

    starts = [[GENERATORS[case["generator"]], seed(case["seed"]), word(case["stream"]), words(case["words"])]
              for case in generators["starts"]]
    numbers = [[GENERATORS[case["generator"]], f"KIND_{case['kind'].upper()}", seed(case["seed"]),
                *(word(case[field]) for field in ("first", "count", "length")), words(case["bits_of_head"]),
                word(case["digest"])] for case in generators["numbers"]]
    scaled = [[f"KIND_{case['kind'].upper()}", seed(case["seed"]), str(case["mean"]), str(case["deviation"]),
               words(case["bits_of_head"])] for case in generators["scaled"]]

    text = "/* Written by tables.py from crates/vectors. */\n"
    for kind, name, all_rows in [
        ("listed", "ORDERS", orders), ("listed", "ROWS", rows), ("points", "POINTS", points),
        ("shard", "SHARDS", shards), ("sample", "SAMPLES", samples), ("list", "LISTS", lists), ("epoch", "EPOCHS", epochs),
        ("resume", "RESUMES", resumes), ("refused", "REFUSED", refused), ("start", "STARTS", starts),
        ("numbers", "NUMBERS", numbers), ("scaled", "SCALED", scaled),
    ]:
        text += table(kind, name, all_rows)
    pathlib.Path(sys.argv[1]).write_text(text)

    lines = [line(case, range(len(case["head"])), case["head"], case["digest"]) for case in walk["permutations"]]
    lines += [line(case, case["places"], case["items"]) for case in walk["places"]]
    pathlib.Path(sys.argv[2]).write_text("".join(lines))


main()
