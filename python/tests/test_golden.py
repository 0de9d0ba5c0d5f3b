"""The values are those that Rust gives: both are compared with crates/vectors, which a second
implementation writes."""

import json
import pathlib

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import frames

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "crates" / "vectors" / "data"


def cases(chapter, group):
    return json.loads((VECTORS / f"{chapter}.json").read_text())["cases"][group]


def length(case):
    return int(case["length"], 16)


def words(case, name):
    return [int(word, 16) for word in case[name]]


def key(case):
    seed, _, epoch = case["seed"].partition("@")
    return {"seed": bytes.fromhex(seed) if len(seed) == 64 else int(seed), "epoch": int(epoch or 0)}


def fnv1a64(values):
    """FNV-1a, 64 bits, over the values as 64-bit little-endian words."""
    hash = 0xCBF29CE484222325
    for byte in np.asarray(values, dtype="<u8").tobytes():
        hash = (hash ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return hex(hash)


def check(p, case):
    assert p[: len(case["head"])].to_numpy().tolist() == case["head"]
    assert list(p.head(len(case["head"]))) == case["head"]
    # Hashing takes Python half a microsecond a byte.
    if p.n <= 20_000:
        assert fnv1a64(p.to_numpy()) == case["digest"]
        items = np.arange(p.n)
        bs._native.reorder(p, [items], False)
        assert np.array_equal(items, p.to_numpy())


def test_permutations_of_a_seed():
    found = cases("06-compaction", "standard")
    assert len(found) >= 200
    for case in found:
        check(bs.Permutation(length(case), **key(case)), case)


def test_walks():
    found = cases("07-walk", "permutations")
    assert found
    for case in found:
        check(bs.Permutation.walk(length(case), **key(case)), case)


@pytest.mark.parametrize("case", cases("08-permutations", "ends"))
def test_ends(case):
    n, places, items = length(case), words(case, "places"), words(case, "items")
    p = bs.Permutation(n, **key(case))
    half = len(items) // 2
    assert [p[place] for place in places] == [p[place - n] for place in places] == items
    # Of fewer items, `position` builds an index, which takes long.
    if n > 2**33 or n == 2**32:
        assert [p.position(item) for item in items] == [p.inverted()[item] for item in items] == places
    assert list(p.head(half)) == list(p[:half]) == items[:half]
    assert list(p[-half:]) == items[half:]
    for beyond in (n, -n - 1):
        with pytest.raises(IndexError):
            p[beyond]


@pytest.mark.parametrize("case", cases("08-permutations", "samples"))
def test_samples(case):
    n, count, items, seed = length(case), case["count"], words(case, "items"), key(case)
    assert list(bs.Permutation(n, **seed).head(count)) == items
    assert bs.choice(n, count, **seed).tolist() == list(bs.Permutation.walk(n, **seed).head(count))
    if n <= 1_000_000:
        rows = np.arange(n)
        assert bs.shuffled(rows, **seed)[:count].tolist() == items
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        assert frames.sample(pd.DataFrame({"row": rows}), count, **seed)["row"].tolist() == items


def test_blocks():
    found = cases("09-blocks", "permutations")
    assert len(found) >= 40
    for case in found:
        block, window = int(case["block"], 16), int(case["window"], 16)
        check(bs.BlockShuffle(length(case), block, window, **key(case)).order, case)


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_batches_are_permutations_of_the_epochs(epoch):
    rows = bs.permutations(epoch + 1, 300, 42)
    assert np.array_equal(rows[epoch], bs.Permutation(300, 42, epoch).to_numpy())
