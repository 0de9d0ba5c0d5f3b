"""Writes the vectors of the specification as checks that Coq computes.

    proofs/vectors.py >Vectors.v

A check fails to compile unless the maps that the theorems are about give what the library gives:
the library's tests compare the same vectors with the Rust code.
"""

import json
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "crates/vectors/data"
FAMILIES = {
    "MulXorshift<10>": "(mul_xorshift_of 10)",
    "MulXorshift<5>": "(mul_xorshift_of 5)",
    "VariablePhilox<24>": "variable_philox_of",
    "RandomSign<VariablePhilox<24>>": "random_sign_of",
    "GridFeistel<12>": "grid_of",
    "Lcg": "lcg_of",
    "Affine": "affine_of",
}
# Longer orders take long to compute in Coq.
LONGEST = 300


def chapter(name):
    return json.loads((DATA / f"{name}.json").read_text())["cases"]


def number(value):
    return int(value, 16) if isinstance(value, str) else value


def numbers(values):
    return "[" + "; ".join(str(number(value)) for value in values) + "]"


def seed(text):
    """A seed's text, as chapter 1 defines it."""
    words, _, epoch = text.partition("@")
    if len(words) == 64:
        data = bytes.fromhex(words)
        words = [int.from_bytes(data[k : k + 8], "little") for k in range(0, 32, 8)]
    else:
        words = [int(words)]
    return f"(Seed {numbers(words)} {int(epoch or 0)})"


def check(name, function, cases):
    """One check of all cases, which are terms in Coq."""
    if not cases:
        raise SystemExit(f"There are no vectors for {name}.")
    cases = ";\n   ".join(cases)
    print(f"\nExample {name} : forallb ({function})\n  [{cases}] = true.")
    print("Proof. vm_cast_no_check (eq_refl true). Qed.")


def by_family(cases):
    return {
        name: [case for case in cases if case["family"] == name and case.get("seed")]
        for name in FAMILIES
    }


def short(cases):
    return [case for case in cases if number(case["length"]) <= LONGEST]


def order(case):
    head, digest = numbers(case["head"]), number(case["digest"])
    return f"({seed(case['seed'])}, {number(case['length'])}, ({head}, {digest}))"


def words():
    cases = chapter("01-words")
    check("bits_of_lengths", "fun '(m, b) => bits m =? b",
          [f"({number(c['length'])}, {c['bits']})" for c in cases["bits"]])
    check("odd_inverses", "fun '(b, a, y) => odd_inverse a b =? y",
          [f"({c['bits']}, {number(c['number'])}, {number(c['inverse'])})"
           for c in cases["odd_inverses"]])
    check("digests", "fun '(l, d) => digest l =? d",
          [f"({numbers(c['values'])}, {number(c['digest'])})" for c in cases["digests"]])


def keys():
    def tuple_of(values):
        return "(" + ", ".join(str(number(value)) for value in values) + ")"

    check("philox_blocks", "fun '(key, counter, output) =>\n"
          "  let '(a, b, c, d) := philox key counter in\n"
          "  equal [a; b; c; d] output",
          [f"({tuple_of(c['key'])}, {tuple_of(c['counter'])}, {numbers(c['output'])})"
           for c in chapter("02-philox")["blocks"]])
    check("streams", "fun '(s, domain, l) => equal (firstn (length l) (stream s domain 8)) l",
          [f"({seed(c['seed'])}, {number(c['domain'])}, {numbers(c['words'])})"
           for c in chapter("03-keys")["streams"]])
    check("children", "fun '(s, domain, c) => equal (words_of (child s domain)) (words_of c)",
          [f"({seed(c['seed'])}, {number(c['domain'])}, {seed(c['child'])})"
           for c in chapter("03-keys")["children"]])


def draws():
    cases = chapter("04-draws")
    check("batches", "fun '(n, count, product) =>\n  let (c, p) := batch n in"
          " (Z.of_nat c =? count) && (p =? product)",
          [f"({number(c['range'])}, {c['count']}, {number(c['product'])})"
           for c in cases["batches"]])
    check("draws", "check_order table_of", [order(c) for c in short(cases["permutations"])[::2]])


def families():
    for name, cases in by_family(chapter("05-families")["points"]).items():
        check("points_" + name_of(name), f"check_points {FAMILIES[name]}",
              [f"({seed(c['seed'])}, {number(c['length'])}, {number(c['last'])},"
               f" {numbers(c['slots'])}, {numbers(c['indexes'])})" for c in cases])
    for name, cases in by_family(chapter("06-compaction")["families"]).items():
        check("orders_" + name_of(name), f"check_order {FAMILIES[name]}",
              [order(c) for c in short(cases) if number(c["length"]) <= 100 or "Mul" in name])


def name_of(family):
    return "".join(c if c.isalnum() else "_" for c in family).strip("_")


def orders():
    cases = chapter("06-compaction")
    check("compactions", "fun '(v, m, l) => equal (survivors m v) l",
          [f"({numbers(c['bijection'])}, {number(c['length'])}, {numbers(c['compacted'])})"
           for c in cases["lists"]])
    check("standard_orders", "check_order standard",
          [order(c) for c in short(cases["standard"])[::12]])
    cases = chapter("07-walk")
    check("walked_chains", "check_walk (mul_xorshift_of 10)",
          [order(c) for c in short(cases["walked_chains"])])
    check("walks", "check_walk standard", [order(c) for c in short(cases["permutations"])])
    check("places", "fun '(s, m, places, items) => let f := snd (walk_of standard s m) in\n"
          "  equal (map (forward f) places) items && equal (map (inverse f) items) places",
          [f"({seed(c['seed'])}, {number(c['length'])}, {numbers(c['places'])},"
           f" {numbers(c['items'])})" for c in cases["places"]])


def blocks():
    def shape(c):
        return ", ".join(str(number(c[k])) for k in ("length", "block", "window"))

    cases = chapter("09-blocks")
    # Every slot draws the order of its window again.
    check("block_orders", "fun '(s, n, b, w, expected) =>\n"
          "  check_list (map (forward (block_shuffle_of s n b w)) (range n)) expected",
          [f"({seed(c['seed'])}, {shape(c)}, ({numbers(c['head'])}, {number(c['digest'])}))"
           for c in cases["permutations"] if number(c["length"]) <= 40])
    check("block_points", "fun '(s, n, b, w, slots, indexes) =>\n"
          "  let f := block_shuffle_of s n b w in\n"
          "  equal (map (forward f) slots) indexes &&\n"
          "  equal (map (inverse f) (firstn 2 indexes)) (firstn 2 slots)",
          [f"({seed(c['seed'])}, {shape(c)}, {numbers(c['slots'])}, {numbers(c['indexes'])})"
           for c in cases["points"]])


def shares():
    check("shards", "fun '(m, rank, ranks, l) => let s := (m * rank / ranks) in\n"
          "  equal [s; m * (rank + 1) / ranks] l",
          [f"({number(c['length'])}, {c['rank']}, {c['ranks']}, {numbers([c['start'], c['end']])})"
           for c in chapter("08-permutations")["shards"]])
    epochs = [c for c in chapter("10-sampler")["epochs"] if c["order"] != "blocks"]
    check("sampler_batches", "check_batches",
          [f"({seed(c['seed'])}, {str(c['order'] == 'shuffled').lower()}, {number(c['epoch'])},"
           f" {c['tail']}, {number(c['length'])}, {c['ranks']}, {c['batch']}, {c['rank']},"
           f" [{'; '.join(numbers(b) for b in c['batches'])}])"
           for c in epochs if number(c["length"]) <= LONGEST])


if __name__ == "__main__":
    print("From Proofs Require Import Orders.\nOpen Scope bool_scope.\nOpen Scope Z_scope.")
    words()
    keys()
    draws()
    families()
    orders()
    blocks()
    shares()
