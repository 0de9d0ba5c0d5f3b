"""The values are those that Rust gives: both are compared with tests/vectors, which a second
implementation writes."""

import json
import pathlib

import bijective_shuffle as bs
import numpy as np
import pytest
from bijective_shuffle import frames

VECTORS = pathlib.Path(__file__).resolve().parents[2] / "tests" / "vectors"


def entries(name):
    return json.loads((VECTORS / f"{name}.json").read_text())


def key(entry):
    seed = int(entry["seed"]) if "seed" in entry else bytes.fromhex(entry["seed_bytes"])
    return {"seed": seed, "epoch": int(entry["epoch"])}


def fnv1a64(values):
    """FNV-1a, 64 bits, over the values as 64-bit little-endian words."""
    hash = 0xCBF29CE484222325
    for byte in np.asarray(values, dtype="<u8").tobytes():
        hash = (hash ^ byte) * 0x100000001B3 & 0xFFFF_FFFF_FFFF_FFFF
    return f"{hash:016x}"


def check(p, entry):
    assert p[: len(entry["head"])].to_numpy().tolist() == entry["head"]
    assert list(p.head(len(entry["head"]))) == entry["head"]
    # Hashing takes Python half a microsecond a byte.
    if p.n <= 20_000:
        assert fnv1a64(p.to_numpy()) == entry["fnv1a64_le"]
        items = np.arange(p.n)
        bs._native.reorder(p, [items], False)
        assert np.array_equal(items, p.to_numpy())


def test_permutations_of_a_seed():
    found = entries("standard")
    assert len(found) >= 200
    for entry in found:
        check(bs.Permutation(entry["len"], **key(entry)), entry)


def test_walks():
    found = [e for e in entries("families") if e["family"] == "CycleWalk<MulXorshift<10>>"]
    # `Permutation.walk` has this family above 256 items, and below it that of `Permutation`.
    found = [entry for entry in found if entry["len"] > 256]
    assert found
    for entry in found:
        check(bs.Permutation.walk(entry["len"], **key(entry)), entry)
    small = [entry for entry in entries("standard") if entry["len"] <= 256]
    assert small
    for entry in small:
        check(bs.Permutation.walk(entry["len"], **key(entry)), entry)


CHAPTER = VECTORS.parents[1] / "crates" / "vectors" / "data" / "08-permutations.json"


def words(case, name):
    return [int(word, 16) for word in case[name]]


def key_of(case):
    seed, _, epoch = case["seed"].partition("@")
    return {"seed": bytes.fromhex(seed) if len(seed) == 64 else int(seed), "epoch": int(epoch or 0)}


@pytest.mark.parametrize("case", json.loads(CHAPTER.read_text())["cases"]["ends"])
def test_ends(case):
    n, places, items = int(case["length"], 16), words(case, "places"), words(case, "items")
    p = bs.Permutation(n, **key_of(case))
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


@pytest.mark.parametrize("case", json.loads(CHAPTER.read_text())["cases"]["samples"])
def test_samples(case):
    n, count, items, key = int(case["length"], 16), case["count"], words(case, "items"), key_of(case)
    assert list(bs.Permutation(n, **key).head(count)) == items
    assert bs.choice(n, count, **key).tolist() == list(bs.Permutation.walk(n, **key).head(count))
    if n <= 1_000_000:
        rows = np.arange(n)
        assert bs.shuffled(rows, **key)[:count].tolist() == items
        pd = pytest.importorskip("pandas", reason="pandas is not installed")
        assert frames.sample(pd.DataFrame({"row": rows}), count, **key)["row"].tolist() == items


def test_blocks():
    found = entries("blocks")
    assert len(found) >= 40
    for entry in found:
        blocks = bs.BlockShuffle(entry["len"], entry["block"], entry["window"], **key(entry))
        check(blocks.order, entry)


@pytest.mark.parametrize("epoch", [0, 1, 5])
def test_batches_are_permutations_of_the_epochs(epoch):
    rows = bs.permutations(epoch + 1, 300, 42)
    assert np.array_equal(rows[epoch], bs.Permutation(300, 42, epoch).to_numpy())
